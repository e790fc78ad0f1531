"""Builds the program for ns-3 (gossip.cc) and runs it. Debian's package libns3-dev has what it needs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "gossip.cc"
OUT = HERE.parents[1] / "out" / "bench" / "ns3"
HEADERS = Path("/usr/include/ns3/wifi-module.h")
COMPILER = "g++"
LIBRARIES = ("wifi", "propagation", "mobility", "internet", "network", "core")


class Failed(Exception):
    """ns-3 cannot be built against, or its program ended with an error."""


def missing() -> str:
    """What is not installed, in one line; empty if nothing is."""
    if not HEADERS.exists():
        return f"ns-3 is not installed ({HEADERS} is missing; on Debian: apt install libns3-dev): not compared with it"
    if shutil.which(COMPILER) is None:
        return f"no {COMPILER} to build a program for ns-3 with: not compared with it"
    return ""


def build(folder: Path = OUT) -> Path:
    """The program, built again only if its source is newer."""
    program = folder / "gossip"
    if program.exists() and program.stat().st_mtime >= SOURCE.stat().st_mtime:
        return program
    folder.mkdir(parents=True, exist_ok=True)
    # not by pkg-config, whose list names libraries that libns3-dev does not install
    libraries = [f"-lns3-{name}" for name in LIBRARIES]
    command = [COMPILER, "-std=c++17", "-O2", "-Wall", "-o", str(program), str(SOURCE), *libraries]
    _checked(command)
    return program


def run(program: Path, world: Path, *options: str) -> dict[str, Any]:
    """The figures that the program prints. With `audit` it also counts the nodes in range of each frame; with `udp`
    frames go through UDP sockets."""
    figures: dict[str, Any] = json.loads(_checked([str(program), str(world), *options]))
    return figures


def _checked(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{Path(command[0]).name} failed with {done.returncode}\n{done.stderr}")
    return done.stdout
