"""A picture of a page, as a browser without a window shows it: for the documentation.

    python tools/picture.py out/report.html report.png
    python tools/picture.py out/report.html claims.png --at fig-costa-fig3 --size 1440x1100
    python tools/picture.py run.html replay.png --script 'replay.seek(12)'

It needs Chromium and its driver (Debian: apt-get install chromium chromium-driver), and Pillow for fewer colours.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from PIL import Image
from tests.show.browser import started

EACH = 100  # colours that are frequent, and that lie far apart


def with_few_colours(shot: Image.Image) -> Image.Image:
    """Means over many pixels would turn the colours of small marks into those of what lies around them."""
    counted = sorted(shot.getcolors(shot.width * shot.height) or [], reverse=True)[:EACH]
    apart = shot.quantize(EACH, Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*(part for _, colour in counted for part in colour), *apart[: 3 * EACH]])
    return shot.quantize(palette=palette, dither=Image.Dither.NONE)


def main() -> None:
    parser = argparse.ArgumentParser(description="A picture of a page.")
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--at", default="", metavar="ID", help="the part of the page to be led to")
    parser.add_argument("--size", default="1440x900", metavar="WxH", help="of the window, in pixels")
    parser.add_argument("--scheme", default="light", choices=("light", "dark"))
    parser.add_argument("--script", default="", metavar="JS", help="what to do before the picture is taken")
    parser.add_argument("--wait", default=3.0, type=float, metavar="S", help="for pages that draw themselves")
    parser.add_argument("--check", action="store_true", help="only whether these arguments make sense")
    asked = parser.parse_args()
    width, height = map(int, asked.size.split("x"))
    if asked.check:
        return
    with tempfile.TemporaryDirectory() as profile, started(Path(profile)) as browser:
        browser.emulate(asked.scheme)
        browser.open(asked.page, width, height, asked.at)
        time.sleep(asked.wait)
        if asked.script:
            browser.run(asked.script)
            time.sleep(asked.wait)
        browser.picture(asked.picture)
    with Image.open(asked.picture) as shot:
        few = with_few_colours(shot.convert("RGB"))
    few.save(asked.picture, optimize=True)
    print(f"{asked.picture}: {asked.picture.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
