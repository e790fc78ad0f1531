"""The command line: one file per verb. Here wrong input becomes one line and exit status 2.

Verbs import what they need when they run, so that `roamcast --help` does not wait for a simulator.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from roamcast.cli import (
    fields,
    key,
    lab,
    node,
    presets,
    protocols,
    publish,
    query,
    report,
    reproduce,
    run,
    status,
    subscribe,
    trace,
    why,
)
from roamcast.cli.help import Verbs
from roamcast.errors import RoamcastError

app = typer.Typer(
    cls=Verbs,
    help="Publish/subscribe for networks that have no network.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(run.run)
app.command()(why.why)
app.command()(protocols.protocols)
app.command()(presets.presets)
app.command()(fields.fields)
app.command()(query.query)
app.command()(reproduce.reproduce)
app.command()(node.node)
app.command()(publish.publish)
app.command()(subscribe.subscribe)
app.command()(status.status)
app.add_typer(key.app, name="key")
app.add_typer(lab.app, name="lab")
app.command()(report.report)
app.add_typer(trace.app, name="trace")


@app.command(
    help="Run a campaign of simulations: `campaign FILE`; `campaign plan FILE`; `campaign status DIR`.",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def campaign(context: typer.Context) -> Any:
    from roamcast.cli.campaign import app as campaigns  # here, because it loads the laboratory

    named = context.args[:1] in (["run"], ["plan"], ["status"], ["--help"], [])
    words = context.args if named else ["run", *context.args]
    return campaigns(words, standalone_mode=False, prog_name="roamcast campaign")


@app.command(
    help="The papers' stochastic models, solved and drawn.",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def model(context: typer.Context) -> Any:
    from roamcast.cli.model import app as models  # here, because it loads numpy

    return models(context.args, standalone_mode=False, prog_name="roamcast model")


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


def main() -> None:
    try:
        status = app(standalone_mode=False)
        sys.stdout.flush()
    except (RoamcastError, typer.TyperException) as error:
        text = error.format_message() if isinstance(error, typer.TyperException) else str(error)
        if text:  # a command without arguments has already shown its help
            print(f"roamcast: {text}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    main()
