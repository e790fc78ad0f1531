"""Hooks of mkdocs (mkdocs.yml): what `docs/` lacks of a site. The README is its first page, and notebooks are pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
TOP = {"index.md": "README.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
COLOURS = re.compile(r"\x1b\[[\d;]*m")


def on_files(files: Files, config: Any) -> Files:
    for page, name in TOP.items():
        files.append(File.generated(config, page, content=of_the_top((ROOT / name).read_text("utf-8"))))
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        notebook = json.loads(Path(str(file.abs_src_path)).read_text("utf-8"))
        files.append(File.generated(config, file.src_uri.replace(".ipynb", ".md"), content=page_of(notebook)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Sources are not part of the site; notebooks are pages of it."""
    return LINK.sub(_of_the_site, markdown)


def of_the_top(text: str) -> str:
    """A page of the checkout's first folder as one of docs/."""
    return text.replace("](docs/", "](").replace("](README.md", "](index.md")


def _of_the_site(match: re.Match[str]) -> str:
    picture, text, target = match.groups()
    source = re.match(r"(?:\.\./)*((?:src|tests|bench|tools)/.*|LICENSE)", target)
    if source:
        return f"{text} (`{source.group(1)}`)"
    return f"{picture}[{text}]({target.replace('.ipynb', '.md')})"


# ---- notebooks


def page_of(notebook: dict[str, Any]) -> str:
    parts: list[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(f"```python\n{source}\n```")
            parts += [shown(output) for output in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def shown(output: dict[str, Any]) -> str:
    """The richest form of an output, as a notebook would choose it."""
    data = output.get("data", {})
    if "image/png" in data:
        return f'<img class="output" alt="figure" src="data:image/png;base64,{data["image/png"].strip()}">'
    if "text/html" in data:
        return f'<div class="output">\n{_one_block("".join(data["text/html"]))}\n</div>'
    text = COLOURS.sub("", "".join(output.get("text") or data["text/plain"]))
    return f"```text\n{text.rstrip()}\n```"


def _one_block(html: str) -> str:
    """Markdown ends a block of HTML at an empty line."""
    return "\n".join(line for line in html.splitlines() if line.strip())
