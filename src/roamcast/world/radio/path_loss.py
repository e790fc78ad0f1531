"""Path loss between two antennas in dB, as a + b log10(distance in m).

    3gpp-suburban, 3gpp-urban    3GPP TR 25.996, 5.2: the macro cells of COST 231 (urban: 3 dB more)
    hata-urban, -suburban, -open Hata 1980, for a small or medium city
    log-distance                 free space up to 1 m, then `path_loss_exponent`
    free-space                   the same with exponent 2

Of two antennas the higher one counts as the base station's, and the other one as at most 10 m high, because that is how
far these laws go (Hata 1980). No law gives less than free space does: close to an antenna
some of them would.
"""

from __future__ import annotations

from math import log10
from typing import Final

LAWS: Final = ("3gpp-suburban", "3gpp-urban", "hata-urban", "hata-suburban", "hata-open", "log-distance", "free-space")

LOWER_MOST_M: Final = 10.0


def free_space(frequency_mhz: float) -> tuple[float, float]:
    return 20.0 * log10(frequency_mhz) - 27.55, 20.0


def coefficients(law: str, frequency_mhz: float, one_m: float, other_m: float, exponent: float) -> tuple[float, float]:
    """(a, b) for antennas at these heights."""
    if law == "free-space":
        return free_space(frequency_mhz)
    if law == "log-distance":
        return free_space(frequency_mhz)[0], 10.0 * exponent
    high_m, low_m = max(one_m, other_m), min(one_m, other_m, LOWER_MOST_M)
    b = 44.9 - 6.55 * log10(high_m)
    if law.startswith("3gpp"):
        return three_gpp(frequency_mhz, high_m, low_m, law == "3gpp-urban") - 3.0 * b, b
    return hata(frequency_mhz, high_m, low_m, law) - 3.0 * b, b


def three_gpp(frequency_mhz: float, high_m: float, low_m: float, urban: bool) -> float:
    """At a kilometre."""
    f = log10(frequency_mhz)
    return 45.5 + (35.46 - 1.1 * low_m) * f - 13.82 * log10(high_m) + 0.7 * low_m + (3.0 if urban else 0.0)


def hata(frequency_mhz: float, high_m: float, low_m: float, law: str) -> float:
    """At a kilometre."""
    f = log10(frequency_mhz)
    mobile = (1.1 * f - 0.7) * low_m - (1.56 * f - 0.8)
    urban = 69.55 + 26.16 * f - 13.82 * log10(high_m) - mobile
    if law == "hata-suburban":
        return urban - 2.0 * log10(frequency_mhz / 28.0) ** 2 - 5.4
    return urban - 4.78 * f * f + 18.33 * f - 40.94 if law == "hata-open" else urban
