"""`roamcast why`: what happened to an event at a node, from a log."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from roamcast.cli.options import SentencesOf, import_from_here


def why(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="A log (`run --log FILE`), or a folder with the logs of real nodes.")
    ],
    node: Annotated[
        str | None, typer.Option(metavar="N", help="The node's number: 7 or n7.", show_default="all nodes")
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(metavar="E", help="Publisher and number, as 3:12, or the id.", show_default="all events"),
    ] = None,
    protocol: SentencesOf = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object with everything.")] = False,
) -> None:
    """Explain what happened to an event at a node: heard from whom, delayed, suppressed, sent, lost, and why.

    Without --node or --event it lists what there is, and says what to ask next.
    """
    from roamcast.log.opened import Log
    from roamcast.protocols import registry

    if protocol is not None:
        import_from_here()
        registry.get(protocol)  # its sentences are declared when it is loaded
    answer = Log(log).why(node=node, event=event)
    if json:
        import json as format

        print(format.dumps(answer.as_dict()))
        return
    print(answer)
    question = answer.next_question()
    if question:
        options = "".join(f" --{option} {value}" for option, value in question.items())
        print(f"\nroamcast why {quote(str(log))}{options}")
