"""The command line: one file per verb. Here wrong input becomes one line and exit status 2, and a failing disk 75.

Verbs import what they need when they run, so that `roamcast --help` does not wait for a simulator.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Annotated, Any

import typer

from roamcast.cli import (
    bridge,
    compare,
    examples,
    export,
    fields,
    key,
    lab,
    motion,
    node,
    presets,
    protocols,
    publish,
    query,
    replay,
    report,
    reproduce,
    run,
    service,
    status,
    subscribe,
    trace,
    watch,
    why,
)
from roamcast.cli.help import HELP, Verbs
from roamcast.errors import Interrupted, NotNow, RoamcastError, StoreError
from roamcast.extras import missing

TRY_AGAIN = 75
"""The exit status if the disk is full or fails (EX_TEMPFAIL of sysexits.h): another start may succeed."""
SIMULATE, COMPARE, PAPERS, LIVE, DATA = "Simulate", "Compare", "Papers", "Live", "Data"
"""The groups of the help page."""
LATER = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""For a verb that loads much: it gets its words, also -h, when that is done."""

PLAIN = (
    ("a valid integer.*", "a whole number"),
    ("a valid number.*", "a number"),
    (r"greater than or equal to (\S+)", "at least "),
    (r"less than or equal to (\S+)", "at most "),
)
"""What pydantic wants of a value, and our words for it."""

app = typer.Typer(
    cls=Verbs,
    help="Publish/subscribe for networks that have no network.",
    epilog=examples.text("roamcast"),
    context_settings=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command(rich_help_panel=SIMULATE)(run.run)
app.command(rich_help_panel=SIMULATE)(why.why)
app.command(rich_help_panel=SIMULATE)(replay.replay)
app.command(rich_help_panel=SIMULATE)(protocols.protocols)
app.command(rich_help_panel=SIMULATE)(fields.fields)
app.command(rich_help_panel=COMPARE)(compare.compare)
app.command(rich_help_panel=COMPARE)(compare.sweep)
app.command(rich_help_panel=COMPARE)(compare.league)


@app.command(
    help="Run a campaign of simulations: `campaign FILE`, and about one: `plan FILE`, `status DIR`, `log DIR RUN`.",
    rich_help_panel=COMPARE,
    context_settings=LATER,
)
def campaign(context: typer.Context) -> Any:
    from roamcast.cli.campaign import app as campaigns  # here, because it loads the laboratory

    first = context.args[0] if context.args else "--help"
    named = first in ("run", "plan", "status", "--help", "-h") or (len(context.args) > 1 and first.isalpha())
    words = context.args if named else ["run", *context.args]
    return campaigns(words, standalone_mode=False, prog_name="roamcast campaign")


app.command(rich_help_panel=COMPARE)(query.query)
app.command(rich_help_panel=COMPARE)(export.export)
app.command(rich_help_panel=COMPARE)(report.report)
app.command(rich_help_panel=PAPERS)(presets.presets)
app.command(rich_help_panel=PAPERS)(reproduce.reproduce)


@app.command(help="The papers' stochastic models, solved and drawn.", rich_help_panel=PAPERS, context_settings=LATER)
def model(context: typer.Context) -> Any:
    from roamcast.cli.model import app as models  # here, because it loads numpy

    return models(context.args, standalone_mode=False, prog_name="roamcast model")


app.command(rich_help_panel=LIVE)(node.node)
app.command(rich_help_panel=LIVE)(publish.publish)
app.command(rich_help_panel=LIVE)(subscribe.subscribe)
app.command(rich_help_panel=LIVE)(status.status)
app.command(rich_help_panel=LIVE)(bridge.bridge)
app.command(rich_help_panel=LIVE)(motion.motion)
app.command(rich_help_panel=LIVE)(watch.watch)
app.add_typer(key.app, name="key", rich_help_panel=LIVE)
app.add_typer(service.app, name="service", rich_help_panel=LIVE)
app.add_typer(trace.app, name="trace", rich_help_panel=DATA)
app.add_typer(lab.app, name="lab", rich_help_panel=DATA)


def _version(wanted: bool) -> None:
    if wanted:
        from roamcast import __version__
        from roamcast.cli.build import mode

        print(f"roamcast {__version__} ({mode()})")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None: ...


def _plain(text: str) -> str:
    """A message of Typer about a value as a line of ours: `--seeds: must be at least 1`."""
    for theirs, ours in PLAIN:
        match = re.fullmatch(f"Invalid value for '([^']+)': Input should be {theirs}", text)
        if match:
            return f"{match[1]}: must be {ours}{''.join(match.groups()[1:])}"
    return text


def main() -> None:
    try:
        status = app(standalone_mode=False, prog_name="roamcast")
        sys.stdout.flush()
    except (RoamcastError, typer.TyperException) as error:
        text = _plain(error.format_message()) if isinstance(error, typer.TyperException) else str(error)
        if text:  # a command without arguments has already shown its help
            print(f"roamcast: {text}", file=sys.stderr)
        sys.exit(TRY_AGAIN if isinstance(error, StoreError | Interrupted | NotNow) else 2)
    except ModuleNotFoundError as error:
        line = missing(sys.argv[1], error)
        if line is None:
            raise
        print(f"roamcast: {line}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    main()
