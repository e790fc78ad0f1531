from __future__ import annotations

from hypothesis import settings

settings.register_profile("no wall time", deadline=None)
settings.load_profile("no wall time")
