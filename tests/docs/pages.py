"""Pages whose examples are run.

    ```console     lines that begin with `$ ` are typed, what follows is what they print; a line `…` stands for any
                   lines, `…` inside a line for any text. Spaces count once; wall-clock durations do not count.
    ```python      runs, all blocks of a page in one namespace; `# file: NAME` on the first line makes it a file.
    ```toml        with `# file: NAME` on the first line is a file.

A page's blocks run in order, in one folder that is empty at first. `make`, `git` and `cd` are not typed, but a target
that `make` is asked for must exist. With UPDATE_DOCS=1 in the environment outputs are written anew where they have no
`…`; look at the diff before you commit it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
UPDATE = bool(os.environ.get("UPDATE_DOCS"))
FENCE = re.compile(r"^```(console|python|toml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NOT_TYPED = ("make", "git", "cd")


def pages() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@dataclass
class Example:
    command: str
    shown: str


def examples(block: str) -> list[Example]:
    blocks: list[Example] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            blocks.append(Example(line[2:], ""))
        elif blocks:
            blocks[-1].shown += line + "\n"
    return blocks


def written(blocks: list[Example]) -> str:
    return "".join(f"$ {e.command}\n{e.shown}" for e in blocks)


def typed(command: str, folder: Path) -> str:
    """What a command prints, as a person at a terminal of 100 columns would see it."""
    words = shlex.split(command)
    if words[0] == "roamcast":
        words = [sys.executable, "-m", "roamcast", *words[1:]]
    elif words[0] == "python":
        words = [sys.executable, *words[1:]]
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        words, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600
    )
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


def same(shown: str, real: str) -> bool:
    pattern = "".join(r"(.*\n)*" if line.strip() == "…" else _line(line) + r"\n" for line in shown.splitlines())
    return re.fullmatch(pattern, "".join(_spaced(line) + "\n" for line in real.splitlines())) is not None


def _spaced(line: str) -> str:
    line = re.sub(r"simulated in [\d.]+ s", "simulated in * s", line)
    line = re.sub(r'"wall_s": [\d.e-]+', '"wall_s": *', line)
    return " ".join(line.split())


def _line(line: str) -> str:
    return ".*".join(re.escape(part) for part in _spaced(line).split("…"))


def play(page: Path, folder: Path) -> str:
    """Run a page's examples; returns the page with the outputs they really have (outputs that fit stay as shown)."""
    names: dict[str, object] = {"__name__": "page"}

    def play_block(match: re.Match[str]) -> str:
        language, block = match.groups()
        if language != "console":
            first, _, _ = block.partition("\n")
            if first.startswith("# file: "):
                (folder / first.removeprefix("# file: ").strip()).write_text(block)
            elif language == "python":
                exec(compile(block, f"{page.name}, python block", "exec"), names)
            return match.group(0)
        played = examples(block)
        for example in played:
            if example.command.split()[0] in NOT_TYPED:
                continue
            real = typed(example.command, folder)
            if not same(example.shown, real):
                example.shown = real
        return f"```console\n{written(played)}```"

    return FENCE.sub(play_block, page.read_text())
