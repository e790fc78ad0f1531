"""The tables of docs/explanation/lora.md, from the campaigns about LoRa meshes.

    roamcast campaign docs/campaigns/mesh-city.toml
    roamcast campaign docs/campaigns/mesh-hills.toml
    python tools/mesh_tables.py out/mesh-city out/mesh-hills

Cells are delivery of what was possible with the half width of its 95 % interval, and airtime in seconds per hour. A
table takes the place of the one that follows a line such as `<!-- table of NAME -->`, where NAME is that of the folder.
Folders of one name are taken together, later ones first: a system that has changed can be run again alone.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from roamcast.lab.tables import read
from roamcast.lab.tables.folder import Folder

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "lora.md"
COLUMNS = [(1, 1.0), (5, 1.0), (20, 1.0), (5, 0.2), (5, 0.05), (20, 0.05)]
"""Messages per node and hour, and the share of the nodes that a message interests."""
HEAD = ["", "1 an hour", "5", "20", "5, of interest to 20 %", "5, of interest to 5 %", "20, of interest to 5 %"]
HOLDS = 0.5
CHANNEL = {
    "reach": ("reach", "{:.2f}"),
    "airtime, s/h": ("airtime_s_per_hour", "{:.0f}"),
    "channel busy": ("utilisation_mean", "{:.2f}"),
    "busiest node": ("utilisation_max", "{:.2f}"),
    "hops": ("hops", "{:.1f}"),
    "sent again": ("retransmissions", "{:.1f}"),
    "median latency, s": ("latency_p50_s", "{:.0f}"),
}

Cells = dict[tuple[str, int, float, str], tuple[float, float]]
"""(system, messages per hour, interest, metric) -> (mean, half width of its interval)"""


def main() -> None:
    parser = argparse.ArgumentParser(description="The tables of docs/explanation/lora.md.")
    parser.add_argument("folders", nargs="+", type=Path, help="out/mesh-city out/mesh-hills")
    worlds: dict[str, Cells] = {}
    for folder in parser.parse_args().folders:
        worlds.setdefault(folder.name, {}).update(cells(folder))
    text = PAGE.read_text()
    for name, means in worlds.items():
        text = replaced(text, f"table of {name}", table(means))
        text = replaced(text, f"channel of {name}", channel(means))
    PAGE.write_text(text)


def cells(folder: Path) -> Cells:
    means: Cells = {}
    for row in read.table(Folder(str(folder)), "summary").to_pylist():
        system = f"`{row['protocol']}`" + (f", {row['p_hops']} hops" if row.get("p_hops") else "")
        key = system, round(3600 * row["w_rate_hz"]), row["w_interested"], row["metric"]
        means[key] = row["mean"], row["half_width"]
    return means


def table(means: Cells) -> str:
    rows = [[s, *(cell(means, s, *column) for column in COLUMNS), holds(means, s)] for s in systems(means)]
    return markdown([*HEAD, "half arrive up to"], rows)


def channel(means: Cells) -> str:
    """At five messages an hour that interest all nodes."""
    rows = [[s, *(form.format(means[s, 5, 1.0, m][0]) for m, form in CHANNEL.values())] for s in systems(means)]
    return markdown(["", *CHANNEL], rows)


def systems(means: Cells) -> list[str]:
    return list(dict.fromkeys(system for system, *_ in means))


def markdown(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows])


def cell(means: Cells, system: str, rate: int, interest: float) -> str:
    mean, half = means[system, rate, interest, "of_possible"]
    airtime, _ = means[system, rate, interest, "airtime_s_per_hour"]
    return f"{mean:.2f} ± {half:.2f} ({airtime:.0f})"


def holds(means: Cells, system: str) -> str:
    """The highest of these rates at which half of the messages arrive, where all nodes are interested."""
    rates = sorted({rate for _, rate, _, _ in means})
    held = [str(rate) for rate in rates if means[system, rate, 1.0, "of_possible"][0] >= HOLDS]
    return held[-1] if held else "–"


def replaced(text: str, name: str, new: str) -> str:
    pattern = rf"(<!-- {name} -->\n\n)(?:\|.*\n)+"
    if not re.search(pattern, text):
        raise SystemExit(f"{PAGE}: has no {name}")
    return re.sub(pattern, lambda match: match[1] + new + "\n", text)


if __name__ == "__main__":
    main()
