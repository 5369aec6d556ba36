"""The VCR's page in a headless Chromium, measured in the page.

::

    python tests/browser/vcr.py --seconds 30 --screenshot docs/images/vcr.png

Status is 1 if the page drew all four images together less than ``--least`` times a second.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

from browser import browser, reason
from isthmus.vcr import Vcr

LOOK = """() => ({
    ...screens_drawn, frames: {...screens_drawn.frames}, ms: performance.now(),
    state: document.getElementById("state").textContent,
})"""
"""What the page has drawn so far."""
HAS_DRAWN = """(least) => Object.entries(least).every(
    ([name, count]) => screens_drawn.frames[name] >= count
)"""
"""Return whether each screen has drawn the given number of frames."""
PATIENCE_MS = 60_000


def watch(
    started: Any, page: str, seconds: float, screenshot: Path | None = None, *, frames: int = 0
) -> dict[str, Any]:
    """What the page drew in so many seconds, from the first images on.

    Args:
        started: The browser.
        page: The address of the page.
        seconds: How long to watch, in s.
        screenshot: Where to write a picture of the page.
        frames: Watch until each screen has drawn this many frames, even if that takes longer.

    Returns:
        ``seconds`` by the page's clock; ``together``: how often all images of one number were drawn
        at once; ``apart``: how often not; ``frames``, by screen; ``missed``.

    """
    view = started.new_context(viewport={"width": 1120, "height": 1180}).new_page()
    view.goto(page)
    view.wait_for_function("() => screens_drawn.together > 0", timeout=PATIENCE_MS)
    before = view.evaluate(LOOK)
    time.sleep(seconds)
    least = {name: count + frames for name, count in before["frames"].items()}
    view.wait_for_function(HAS_DRAWN, arg=least, timeout=PATIENCE_MS)
    after = view.evaluate(LOOK)
    if screenshot is not None:
        view.screenshot(path=screenshot, full_page=True)
    view.close()
    counts = {key: after[key] - before[key] for key in ("together", "apart", "missed")}
    return {
        "seconds": (after["ms"] - before["ms"]) / 1000,
        **counts,
        "frames": {
            name: after["frames"][name] - before["frames"][name] for name in after["frames"]
        },
        "state": after["state"],
    }


def main() -> int:
    """Measure, print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=30.0, help="how long, in seconds")
    options.add_argument("--rate", default="30 /s", help="frames per second that are played")
    options.add_argument("--least", type=float, default=29.0, help="frames per second that will do")
    options.add_argument("--color", action="store_true", help="four bytes a pixel")
    options.add_argument("--screenshot", type=Path, help="where to keep a picture of the page")
    asked = options.parse_args()
    if why := reason():
        print(f"vcr: {why}", file=sys.stderr)
        return 2
    vcr = Vcr(rate=asked.rate, color=asked.color)
    with browser() as started:
        seen = watch(started, vcr.page, asked.seconds, asked.screenshot)
        version = started.version
    shown = vcr.finish()
    rate = seen["together"] / seen["seconds"]
    told = {"chromium": version, "frames_per_second": rate, **seen, "manager": shown.as_json()}
    print(json.dumps(told, indent=1))
    return 0 if rate >= asked.least else 1


if __name__ == "__main__":
    sys.exit(main())
