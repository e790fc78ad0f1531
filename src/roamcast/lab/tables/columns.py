"""The columns that say which run a row is about: for code that must do without Arrow. schemas.py has all columns."""

from __future__ import annotations

from typing import Final

TEXT, INT, LONG, TEXTS = "text", "int", "long", "texts"

COORDINATES: Final = {
    "run": TEXT,  # digest of all that decides the run
    "campaign": TEXT,
    "preset": TEXT,
    "reading": TEXT,  # another reading of the preset's paper; empty for the joint one
    "cell": INT,  # place of the experiment in the campaign
    "protocol": TEXT,
    "label": TEXT,  # what the campaign calls protocol and parameters
    "params": TEXTS,  # what the campaign set
    "world": TEXTS,  # what the campaign changed in the preset's scenario
    "seed": LONG,
    "nodes": INT,
}
"""Names, in order, and types."""
