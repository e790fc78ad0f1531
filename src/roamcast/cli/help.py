"""What all help pages have in common: -h, examples at the end, and flags without a type, because they take no value.

A page must come at once, so nothing here or in a verb's own module may load what only the work needs.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup, TyperOption

from roamcast.cli import examples

HELP = {"help_option_names": ["-h", "--help"]}
"""Settings of a group of commands."""


class Verbs(TyperGroup):
    """Commands whose help ends with examples, and whose flags appear without `<bool>`."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            command.epilog = examples.text(f"{ctx.command_path} {cmd_name}") or None
            _plain_flags(command.get_params(ctx))
        return command

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)
        _plain_flags(params)
        return params


def _plain_flags(params: list[Any]) -> None:
    for param in params:
        if isinstance(param, TyperOption) and (param.is_flag or param.count):
            param.metavar = ""
            if param.is_flag and param.default is None and not param.secondary_opts:
                param.default = False  # for None, Typer would load pydantic only to find that there is no value
