"""A headless Chromium for tests, and pages as pictures for the eye.

As a script it renders every page below some folders in four forms, side by side in one folder::

    python tests/python/browser.py out/looks out/hypercube-128 out/papers

wide, narrow (390 px), dark and printed (pages of the PDF, if ``pdftoppm`` is there).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FORMS: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1280, "height": 900}},
    "narrow": {"viewport": {"width": 390, "height": 844}, "has_touch": True},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
}
SLICE = 3000
"""Most pixels of a picture's height: a higher page is cut into several."""


def chromium() -> str | None:
    """Path of an installed Chromium, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def reason() -> str:
    """Why there is no browser to test with; empty if there is one."""
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "the package playwright is not installed"
    return "" if chromium() else f"no Chromium is installed (looked for {', '.join(NAMES)})"


@contextmanager
def browser() -> Iterator[Any]:
    """A browser with nothing in it, gone afterwards."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as home, sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=chromium(), args=ARGUMENTS, env={"HOME": home, "TMPDIR": home}
        )
        try:
            yield started
        finally:
            started.close()


def opened(started: Any, path: Path, **options: Any) -> Any:
    """A page with all its pictures drawn."""
    page = started.new_context(**options).new_page()
    page.goto(path.resolve().as_uri())
    page.locator("html.all-drawn").wait_for(state="attached")
    return page


def look(started: Any, path: Path, out: Path, name: str) -> None:
    """Write a page in its four forms."""
    for form, options in FORMS.items():
        page = opened(started, path, **options)
        high = page.evaluate("document.documentElement.scrollHeight")
        for number, top in enumerate(range(0, high, SLICE)):
            page.screenshot(
                path=out / f"{name}-{form}-{number}.png",
                full_page=True,
                clip={
                    "x": 0,
                    "y": top,
                    "width": options["viewport"]["width"],
                    "height": min(SLICE, high - top),
                },
            )
        if form == "wide":
            pdf = out / f"{name}.pdf"
            page.pdf(path=pdf, format="A4", prefer_css_page_size=True)
            if shutil.which("pdftoppm"):
                command = ["pdftoppm", "-r", "60", "-png", pdf, out / f"{name}-print"]
                subprocess.run(command, check=True)
        page.context.close()


def main(out: str, *folders: str) -> None:
    """Render every page below the folders."""
    target = Path(out)
    target.mkdir(parents=True, exist_ok=True)
    with browser() as started:
        for folder in map(Path, folders):
            pages = [folder] if folder.is_file() else sorted(folder.rglob("*.html"))
            for path in pages:
                name = "-".join(path.with_suffix("").parts[-2:])
                look(started, path, target, name)
                print(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
