"""Reference pages are made from the code, so they are always up to date. UPDATE_DOCS=1 writes them."""

from __future__ import annotations

import ast
import json
import re
from typing import Any, get_args, get_origin

import msgspec
import pytest

from roamcast.cli.protocols import headline
from roamcast.errors import InputError
from roamcast.judging import quantities
from roamcast.log import catalogue, schema
from roamcast.net.live import DEFAULT_PROTOCOL, live_params
from roamcast.net.wire import costs
from roamcast.net.wire.codec import protocol_tag
from roamcast.papers import presets
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.pubsub import filters
from roamcast.pubsub.text import parse
from roamcast.world import fields
from roamcast.world.parts import PARTS
from roamcast.world.scenario import FILES
from tests.docs import control_page, frames, python_page
from tests.docs.pages import ROOT, UPDATE

CORPUS = ROOT / "tests" / "net" / "corpus"
MADE = "<!-- made by tests/docs/test_reference.py from the code: UPDATE_DOCS=1 pytest tests/docs -->\n"


def table(headings: list[str], rows: list[list[str]]) -> str:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "".join("| " + " | ".join(row) + " |\n" for row in [headings, ["---"] * len(headings), *cells])


# ------------------------------------------------------------------------------------------------------- scenario


SCENARIO = """
Everything about a run except the protocol and the seed: `--world FIELD=VALUE` on the command line, the table `[world]`
of a [scenario file](scenario-files.md) or a [campaign file](campaign-files.md), `world={…}` in Python. Units are in the
names. What begins with a value, such as "city:", matters only if a field of its section has that value.

`roamcast fields` shows the same, `roamcast fields NAME` also what the papers' presets set, and
`roamcast fields mobility=city` the fields that one value needs.
"""
OWN = """
`module:Class` is a class of your own, and installed packages add further names:
[write a world](../how-to/write-a-world.md). Their parameters are `{part}.KEY`, or together the table `{part}_set`.
"""


def scenario_page() -> str:
    page = "# Scenario fields\n\n" + MADE + SCENARIO
    for title, listed in fields.sections().items():
        page += f"\n## {title[0].upper()}{title[1:]}\n\n"
        page += table(["field", "default", "values", "what it is"], [scenario_row(field) for field in listed])
        if listed[0].name in PARTS:
            page += "\n" + table([listed[0].name, ""], [[f"`{k}`", v] for k, v in PARTS[listed[0].name].own.items()])
            page += OWN.format(part=listed[0].name)
        if "overhead_bytes" in [field.name for field in listed]:
            page += (
                f"\nSecurity ([the wire](wire.md)) costs {costs.OVERHEAD_BYTES} bytes a frame (`overhead_bytes`), "
                f"{costs.ADDRESS_BYTES} more\nif it is for one neighbour, and {costs.SEAL_BYTES} bytes a signed "
                "publication (`payload_bytes`).\n"
            )
    return page


def scenario_row(field: fields.Field) -> list[str]:
    default = "" if field.default == {} else f"{fields.shown(field.default)} {field.unit}".strip()
    return [f"`{field.name}`", default, field.range, field.meaning]


def value_text(value: object) -> str:
    return fields.shown(value)


# ------------------------------------------------------------------------------------------------- scenario files

ENTRIES = re.compile(r"(?<=## Entries\n\n)\|.*?\n(?=\n)", re.DOTALL)
ENTRY_KINDS = {str: "text", int: "whole number", dict: "table"}


def test_the_page_on_scenario_files_lists_their_entries() -> None:
    rows = []
    for entry in msgspec.structs.fields(presets.ScenarioFile):
        kind, about = get_args(entry.type)[:2]
        name = f"`[{entry.name}]`" if entry.name == "world" else f"`{entry.name}`"
        rows.append([name, ENTRY_KINDS[get_origin(kind) or kind], about.description])
    made = table(["entry", "value", "what it is"], rows)
    path = ROOT / "docs" / "reference" / "scenario-files.md"
    if UPDATE:
        path.write_text(ENTRIES.sub(lambda _: made, path.read_text()))
    assert ENTRIES.findall(path.read_text()) == [made]


def test_the_page_on_scenario_files_names_the_fields_that_name_files() -> None:
    named = ", ".join(f"`{field}`" for field in FILES)
    assert f"({named})" in (ROOT / "docs" / "reference" / "scenario-files.md").read_text()


# ------------------------------------------------------------------------------------------------------ protocols


def protocols_page() -> str:
    page = "# Protocols\n\n" + MADE
    page += "\nParameters are set by `--set PARAMETER=VALUE`. Readings of the paper are in the protocol's module.\n"
    for name in registry.BUILT_IN:
        try:
            protocol = registry.get(name)
        except InputError:
            continue
        module = registry.BUILT_IN[name].partition(":")[0]
        source = f"../../src/{module.replace('.', '/')}.py"
        page += f"\n## {name}\n\n{headline(protocol)} [Source]({source}).\n"
        if protocol.only_subscribers_forward:
            page += "\nOnly nodes that subscribe to an event forward it: it does not cross others.\n"
        if name == DEFAULT_PROTOCOL:
            page += "\nReal nodes run it unless another one is named.\n"
        if live_params(name):
            live = ", ".join(f"`{key}={value_text(value)}`" for key, value in live_params(name).items())
            page += f"\nOn real nodes the defaults are {live}.\n"
        rows = [
            [f"`{p.name}`", f"{value_text(p.default)} {p.unit}".strip(), p.range, p.doc, p.source]
            for p in parameters.describe(protocol)
        ]
        page += "\n" + (table(["parameter", "default", "range", "what it does", "source"], rows) if rows else "")
    return page


# --------------------------------------------------------------------------------------------------------- frames

FRAMES = """
What protocols send each other, inside the datagrams of [the wire](wire.md): a frame is a msgpack array, first its code
and then exactly the fields below, in that order. A frame that does not match this page is refused as a whole.

| written as | on the air |
| --- | --- |
| 0 … 255 | a whole number from here to there, in any of msgpack's encodings |
| number | a float, or a whole number |
| truth value, bytes, nil | msgpack's own |
| list of at most n: x | an array of x's |
| [0] x, [1:] y | of an array, the first is an x, and all others are y's |
| [0::2] x, [1::2] y | the array goes x, y, x, y, … |
| [a x, b y] | an array of exactly these |
| event | `[id, topic, attributes, payload, validity, scope]`, as on [the wire](wire.md#publications) |
| filter | an array, its code first: below |

Names are those of the code: `…_us` are microseconds, `…_s` seconds. The tag is the byte that names the protocol in
datagrams. When a protocol sends its frames, and how it handles them, is in its module.

## Filters

Operators are numbered from 0: OPERATORS. A filter in a filter is one level deeper; there are at most DEPTH levels, and
LEAVES conditions.

"""
FILTERS = (
    "true",
    "false",
    "topic weather.roof",
    "exists room",
    "temperature > 30.5",
    "n between 1 and 5",
    'room in ("hall", "lab")',
    'room prefix "la"',
    "n = 1 and open = true",
    "n = 1 or n = 2",
)


def frames_page() -> str:
    text = FRAMES.replace("OPERATORS", ", ".join(f"`{op}`" for op in filters.OPERATORS))
    page = (
        "# Frames\n\n" + MADE + text.replace("DEPTH", str(filters.MAX_DEPTH)).replace("LEAVES", str(filters.MAX_LEAVES))
    )
    parsed = [(text, parse(text)) for text in FILTERS]
    page += table(["filter", "fields"], [[f"`{text}`", f"`{json.dumps(f.fields())}`"] for text, f in parsed])
    for name in registry.BUILT_IN:
        protocol = registry.get(name)
        page += f"\n## {name}\n\nClass `{protocol.__name__}`, tag `{protocol_tag(protocol):02x}`.\n\n"
        page += table(["code", "kind", "fields", "what it is"], frames.rows(protocol))
    return page


def test_frames_have_as_many_fields_as_their_page_says() -> None:
    """Against frames that were really sent: what the page says is read from the checks on what arrives."""
    samples = sorted(CORPUS.glob("frame-*"))
    assert len(samples) > len(registry.BUILT_IN)
    for sample in samples:
        _, _, called = sample.name.partition("-")
        name, _, kind = called.rpartition("-")
        code, *content = msgspec.msgpack.decode(sample.read_bytes()[1:])
        frame = registry.get(name).frames[code]
        assert (frame.__name__, len(frames.fields(frame))) == (kind, len(content))


# -------------------------------------------------------------------------------------------------- presets, log


def presets_page() -> str:
    page = "# Presets\n\n" + MADE
    page += "\nThe papers' scenarios. A source is a place in the paper, a numbered reading of it, or our reason.\n"
    for name in presets.names():
        preset = presets.load(name)
        page += f"\n## {name}\n\n{preset.title}. Protocol: `{preset.protocol}`.\n{preset.paper}.\n\n"
        values = dict(preset.values)
        for protocol, params in preset.params.items():
            values |= {f"{protocol}.{k}": value for k, value in params.items()}
        page += table(
            ["field", "value", "source"], [[f"`{k}`", value_text(v), preset.sources[k]] for k, v in values.items()]
        )
    return page


def log_page() -> str:
    page = f"# The event log, schema {schema.VERSION}\n\n" + MADE
    page += "\nA Parquet file with one row for each thing that happened.\n\n## Columns\n\n"
    page += table(["column", "type"], [[f"`{field.name}`", plain(field.type)] for field in schema.arrow_schema()])
    page += "\n## Levels\n\nThe kinds of rows in a log of each level.\n\n"
    held = {level: schema.kinds_at(level) for level in schema.LEVELS}
    rows = [[f"`{kind}`", *("×" if code in held[x] else "" for x in held)] for code, kind in enumerate(schema.KINDS)]
    page += table(["kind", *held], rows)
    page += "\n## What each column means\n\n```text\n" + text_of("log/schema.py") + "\n```\n"
    return page


def text_of(module: str) -> str:
    """From the source: a compiled module does not keep its texts."""
    return ast.get_docstring(ast.parse((ROOT / "src/roamcast" / module).read_text())) or ""


def plain(arrow_type: Any) -> str:
    return re.sub(r"dictionary<values=(\w+).*", r"\1, dictionary-encoded", str(arrow_type))


# --------------------------------------------------------------------------------------------------------- metrics

METRICS = """
Each is one number of one run, computed from its [event log](log.md). How to understand them is
[another page](../explanation/metrics.md). They are columns of the table [`metrics`](tables.md#metrics) and keys of
`roamcast run --json`. Campaigns can average all of them (`until`, the table [`summary`](tables.md#summary)) except
counts by name. Metrics marked * are known for simulated runs only.
"""
QUANTITIES_TEXT = """
Figures and claims of the papers also use numbers that follow from a run's metrics, from `nodes`, the number of nodes,
and from `header`, the bytes that the MAC adds to each frame.
"""


def metrics_page() -> str:
    page = "# Metrics\n\n" + MADE + METRICS
    formulas = text_of("log/catalogue.py").partition("Formulas are")[2]
    page += f"\n## Formulas\n\n```text\nFormulas are{formulas}\n```\n"
    for group, title in catalogue.GROUPS.items():
        rows = [
            [f"`{m.name}`{'*' if m.simulated else ''}", m.unit, m.means, f"`{m.formula}`", m.kind]
            for m in catalogue.METRICS
            if m.group == group
        ]
        page += f"\n## {title}\n\n" + table(["metric", "unit", "what it is", "formula", "how"], rows)
    listed = [[f"`{q.name}`", q.unit, q.means, f"`{q.formula}`"] for q in quantities.QUANTITIES.values()]
    page += "\n## Quantities\n" + QUANTITIES_TEXT + "\n" + table(["quantity", "unit", "what it is", "formula"], listed)
    return page


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("scenario", scenario_page),
        ("protocols", protocols_page),
        ("frames", frames_page),
        ("presets", presets_page),
        ("log", log_page),
        ("metrics", metrics_page),
        ("python", python_page.page),
        ("control", lambda: control_page.page(MADE, table)),
    ],
)
def test_reference_page_says_what_the_code_says(name: str, make: Any) -> None:
    path = ROOT / "docs" / "reference" / f"{name}.md"
    if UPDATE:
        path.write_text(make())
    assert path.read_text() == make()
