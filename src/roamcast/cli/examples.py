"""What to type: an example or two for the help of every command."""

from __future__ import annotations

EXAMPLES = {
    "": [
        "roamcast run baldoni",
        "roamcast compare baldoni proximity gossip",
        "roamcast reproduce --quick",
    ],
    "run": [
        "roamcast run baldoni",
        "roamcast run li --protocol gossip --set p=0.7 --world nodes=200 --seed 3",
        "roamcast run my.toml --log out/run.parquet",
    ],
    "why": ["roamcast why out/run.parquet", "roamcast why out/run.parquet --node 7 --event 3:12"],
    "replay": [
        "roamcast replay out/run.parquet",
        "roamcast replay gossip.parquet frugal.parquet --from 60 --to 90",
    ],
    "fields": ["roamcast fields", "roamcast fields speed_max_mps", "roamcast fields mobility=city"],
    "protocols": ["roamcast protocols", "roamcast protocols frugal", "roamcast protocols mine:Class"],
    "compare": [
        "roamcast compare baldoni proximity gossip",
        "roamcast compare my.toml frugal gossip,p=0.5 mine:Class --seeds 20 --plot out/figure.svg",
        "roamcast compare out/before out/after --metric overhead",
    ],
    "sweep": [
        "roamcast sweep baldoni gossip p=0.1,0.5,1.0",
        "roamcast sweep baldoni proximity credits=0,2 nodes=50,100 --out out/credits",
    ],
    "league": ["roamcast league my.toml --without flooding-periodic", "roamcast league baldoni --with mine:Class"],
    "campaign": ["roamcast campaign credits.toml --local", "roamcast campaign plan credits.toml"],
    "campaign run": ["roamcast campaign credits.toml", "roamcast campaign credits.toml --local --out out/credits"],
    "campaign plan": ["roamcast campaign plan credits.toml"],
    "campaign status": ["roamcast campaign status out/credits"],
    "campaign log": ["roamcast campaign log out/credits 4f1c6b0a9d2e --out run.parquet"],
    "query": [
        'roamcast query out/credits "select label, avg(delivery) from metrics group by label"',
        "roamcast query out/credits",
    ],
    "export": [
        "roamcast export out/credits metrics metrics.csv",
        "roamcast export out/credits summary summary.arrow",
    ],
    "report": ["roamcast report out/credits"],
    "presets": ["roamcast presets", "roamcast presets baldoni", "roamcast presets my.toml"],
    "reproduce": ["roamcast reproduce", "roamcast reproduce costa --full", "roamcast reproduce --kept"],
    "model": ["roamcast model distance --figure out/distance.svg"],
    "model distance": ["roamcast model distance --figure out/distance.svg"],
    "node": ["roamcast node --key group.key", "roamcast node --key group.key --protocol gossip --state ~/node -v"],
    "publish": ["roamcast publish weather.roof temperature=31.5 --validity 600"],
    "subscribe": [
        "roamcast subscribe 'temperature > 30'",
        "roamcast subscribe 'topic weather' --name alarm --json",
        "roamcast subscribe 'topic weather' --after 0 --patience 1",
    ],
    "status": ["roamcast status", "roamcast status --json", "roamcast status --web"],
    "motion": ["roamcast motion 8.5", "roamcast motion 0 --state ~/node"],
    "bridge": [
        "roamcast bridge mqtt://broker.example --in 'sensors/#' --out 'topic alarm'",
        "roamcast bridge mqtts://user@broker.example --out 'temperature > 30' --prefix mesh/ --state ~/node",
    ],
    "watch": ["roamcast watch", "roamcast watch --state ~/node --port 8080"],
    "key": ["roamcast key new group.key"],
    "key new": ["roamcast key new group.key"],
    "key next": ["roamcast key next group.key"],
    "key promote": ["roamcast key promote group.key"],
    "key retire": ["roamcast key retire group.key"],
    "key rotate": ["roamcast key rotate --state ~/node"],
    "service": ["roamcast service show"],
    "service show": ["roamcast service show --serial"],
    "service install": ["roamcast service install --user roamcast --config /etc/roamcast/node.toml"],
    "trace": ["roamcast trace stats contacts.txt", "roamcast trace convert run.tcl run.csv --to csv"],
    "trace stats": ["roamcast trace stats contacts.txt"],
    "trace convert": ["roamcast trace convert run.tcl run.csv --to csv"],
    "lab": ["roamcast lab field logs/"],
    "lab field": ["roamcast lab field logs/ --out out/field --follow"],
}
"""By command, as one types it."""


def text(path: str) -> str:
    """For the end of a help page; empty for a command that has none. Typer takes an empty line for a new one."""
    lines = EXAMPLES.get(path.partition("roamcast")[2].strip(), [])
    return "\n\n".join(["Examples:", *(f"  {line}" for line in lines)]) if lines else ""
