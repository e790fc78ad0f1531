"""Every golden script has exactly the effects it shows."""

from pathlib import Path

import pytest

from tests.support.golden import replay

SCRIPTS = sorted(Path(__file__).parent.glob("*.golden"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.stem)
def test_script_has_the_effects_it_shows(path: Path) -> None:
    shown, real = replay(path)
    assert real == shown
