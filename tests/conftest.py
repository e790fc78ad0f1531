"""Property tests try the same examples on every run, so that a failure is always somebody's change.

HYPOTHESIS_PROFILE=explore pytest …     new examples each time, to look for what the others miss
"""

from __future__ import annotations

import os

from hypothesis import settings

# Spark's jobs in tests are so short that compiling them well takes longer than running them.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
