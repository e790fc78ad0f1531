"""Parameters from text that people type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.protocols.gossip import Gossip
from roamcast.protocols.kit.interface import Params, Protocol, param
from roamcast.protocols.kit.parameters import build, describe


@dataclass(frozen=True)
class SampleParams(Params):
    p: float = param(0.5, "probability", "Fig. 10", low=0, high=1)
    delay_s: float = param(1.0, "delay", "ours", unit="s", low=0)
    gain: float = param(1.0, "gain", "ours", high=3)
    free: float = param(1.0, "anything finite", "ours")
    ttl: int = param(0, "hops", "Table 1", low=0, high=255)
    size: int = param(200, "buffer", "Table 3", low=1)
    offset: int = param(0, "any whole number", "ours")
    quiet: bool = param(False, "say less", "ours")
    mode: str = param("all", "who", "reading R6", choices=("all", "subscribers"))
    label: str = param("", "free text", "ours")

    def __post_init__(self) -> None:
        if self.ttl > self.size:
            raise ValueError("ttl must not be above size")


class Sample(Protocol):
    params_class = SampleParams


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("p", "0.25", 0.25),
        ("p", "0", 0.0),
        ("p", "1", 1.0),
        ("p", 1, 1.0),
        ("p", 0.25, 0.25),
        ("free", "-1e3", -1000.0),
        ("ttl", "200", 200),
        ("ttl", 7, 7),
        ("size", "1", 1),
        ("offset", "-3", -3),
        ("offset", str(1 << 53), 1 << 53),
        ("quiet", "true", True),
        ("quiet", "YES", True),
        ("quiet", "1", True),
        ("quiet", "False", False),
        ("quiet", "no", False),
        ("quiet", "0", False),
        ("quiet", True, True),
        ("mode", "subscribers", "subscribers"),
        ("label", "a b", "a b"),
    ],
)
def test_a_value_takes_the_type_of_the_default(name: str, given: object, value: Any) -> None:
    got = getattr(build(Sample, {name: given}), name)
    assert (got, type(got)) == (value, type(value))


def test_a_parameter_that_is_not_given_has_its_default() -> None:
    assert build(Sample, {}) == SampleParams()
    assert build(Sample, {"p": "0.1"}) == SampleParams(p=0.1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"p": "1.5"}, "p=1.5: must be a number between 0 and 1"),
        ({"p": "-0.1"}, "p=-0.1: must be a number between 0 and 1"),
        ({"p": 1.0000001}, "p=1.0000001: must be a number between 0 and 1"),
        ({"p": "nan"}, "p=nan: must be a number between 0 and 1"),
        ({"p": "half"}, "p=half: must be a number between 0 and 1"),
        ({"p": True}, "p=True: must be a number between 0 and 1"),
        ({"delay_s": "-1"}, "delay_s=-1: must be a number of at least 0"),
        ({"delay_s": "inf"}, "delay_s=inf: must be a number of at least 0"),
        ({"gain": "3.1"}, "gain=3.1: must be a number of at most 3"),
        ({"free": "nan"}, "free=nan: must be a number"),
        ({"free": "-inf"}, "free=-inf: must be a number"),
        ({"free": "1e300"}, "free=1e300: must be a number"),
        ({"ttl": "2.5"}, "ttl=2.5: must be a whole number between 0 and 255"),
        ({"ttl": 2.5}, "ttl=2.5: must be a whole number between 0 and 255"),
        ({"ttl": True}, "ttl=True: must be a whole number between 0 and 255"),
        ({"ttl": "256", "size": "300"}, "ttl=256: must be a whole number between 0 and 255"),
        ({"size": "0"}, "size=0: must be a whole number of at least 1"),
        ({"offset": "x"}, "offset=x: must be a whole number"),
        ({"offset": str(10**30)}, f"offset={10**30}: must be a whole number"),
        ({"quiet": "maybe"}, "quiet=maybe: must be true or false"),
        ({"mode": "some"}, "mode=some: must be one of all, subscribers"),
        ({"label": 3}, "label=3: must be a text"),
        ({"dely_s": "1"}, "unknown Sample parameter 'dely_s'; did you mean 'delay_s'?"),
        ({"ttl": "9", "size": "3"}, "ttl must not be above size"),
    ],
)
def test_an_error_names_the_parameter_the_given_value_and_what_would_be_right(
    given: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        build(Sample, given)
    assert str(caught.value) == message


def test_a_parameter_of_a_protocol_without_parameters_is_refused() -> None:
    with pytest.raises(InputError, match=r"^p=1: Protocol has no parameters$"):
        build(Protocol, {"p": "1"})


def test_describe_returns_default_unit_doc_source_and_range_in_order() -> None:
    rows = [(d.name, d.default, d.unit, d.doc, d.source, d.range) for d in describe(Sample)]
    assert rows == [
        ("p", 0.5, "", "probability", "Fig. 10", "0 … 1"),
        ("delay_s", 1.0, "s", "delay", "ours", "≥ 0"),
        ("gain", 1.0, "", "gain", "ours", "≤ 3"),
        ("free", 1.0, "", "anything finite", "ours", ""),
        ("ttl", 0, "", "hops", "Table 1", "0 … 255"),
        ("size", 200, "", "buffer", "Table 3", "≥ 1"),
        ("offset", 0, "", "any whole number", "ours", ""),
        ("quiet", False, "", "say less", "ours", "true | false"),
        ("mode", "all", "", "who", "reading R6", "all | subscribers"),
        ("label", "", "", "free text", "ours", ""),
    ]


def test_an_error_uses_the_protocol_name_that_people_use() -> None:
    with pytest.raises(InputError, match=r"^unknown gossip parameter 'q'"):
        build(Gossip, {"q": "1"}, "gossip")
    with pytest.raises(InputError, match=r"^p=1: nothing has no parameters$"):
        build(Protocol, {"p": "1"}, "nothing")
