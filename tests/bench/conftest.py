"""The benchmarks are scripts: they find each other in their own folder."""

from __future__ import annotations

import sys

from tests.support.checkout import ROOT

sys.path.append(str(ROOT / "bench"))  # last, so that nothing of this name is hidden elsewhere
