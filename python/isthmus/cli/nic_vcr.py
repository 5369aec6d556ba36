"""``isthmus nic vcr``: four moving images in step, in a browser."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from isthmus.cli.voice import Voiced, voice

if TYPE_CHECKING:
    from isthmus.vcr import Shown, Vcr

LOOK_S = 0.1
"""Seconds between checks whether the digital video recorder is still playing."""
TELL_S = 1.0
"""Seconds between two reports of the speed while the command runs."""


@click.command(
    name="vcr",
    cls=Voiced,
    help="""Show four moving images in step, on a page in a browser.

The paper's digital VCR: 32 ranks store two fields of each image, 26 rebuild
the images, 4 forward them to the stream manager, which shows them on four
screens in lock step. Ranks are threads here. It plays until Ctrl-C:

\b
  isthmus nic vcr
  isthmus nic vcr --color                      4 bytes a pixel, 12 frames/s
  isthmus nic vcr --time "30 s" --json
  isthmus nic vcr --rate "60 /s" --address 127.0.0.1:8080
  isthmus nic vcr --film film.raw              your own, over and over

A film is frames of 496 x 486 bytes of grey, or as many times 4 with --color:

\b
  ffmpeg -i film.mp4 -vf scale=496:486 -pix_fmt gray -f rawvideo film.raw

The page is for this machine; from another one: ssh -L 8080:127.0.0.1:8080.
""",
)
@click.option(
    "--time", "wanted", metavar="TIME", help='How long, as "30 s".  [default: until Ctrl-C]'
)
@click.option(
    "--rate", metavar="RATE", help='Frames per second.  [default: "30 /s"; "12 /s" with --color]'
)
@click.option("--color", is_flag=True, help="Red, green and blue, and not grey.")
@click.option(
    "--film",
    "films",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="Frames to show; several times for several cameras.",
)
@click.option(
    "--address", default="127.0.0.1:0", show_default=True, help="Of the page; port 0: a free one."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON when it ends.")
def command(
    wanted: str | None,
    rate: str | None,
    color: bool,
    films: tuple[Path, ...],
    address: str,
    as_json: bool,
) -> None:
    """Play and report the speed."""
    from isthmus.cli.process import ended
    from isthmus.cli.streams import document
    from isthmus.given import Given
    from isthmus.vcr import Vcr

    seconds = None
    if wanted is not None:
        seconds = Given("--time", "", "text", wanted).quantity("a time", 1e-3)
    vcr = Vcr(
        rate=("12 /s" if color else "30 /s") if rate is None else rate,
        color=color,
        films=films,
        address=address,
    )
    page = vcr.page
    voice().note(f"the page is {page}")
    try:
        _play(vcr, seconds)
    except KeyboardInterrupt:
        # Treat Ctrl-C as the normal end: without a duration, the command runs until then.
        voice().note("ending")
    shown = vcr.finish()
    if as_json:
        document(json.dumps({"page": page, **shown.as_json()}))
    else:
        _print(shown)
    ended()


def _play(vcr: Vcr, seconds: float | None) -> None:
    """Wait until the images have been played for `seconds`, or until a failure; report the
    speed meanwhile. Without `seconds`, only a failure ends the wait.
    """
    begin = reported = time.monotonic()
    before = vcr.shown()
    while vcr.failure() is None:
        now = time.monotonic()
        if seconds is not None and now - begin >= seconds:
            return
        if now - reported >= TELL_S:
            shown = vcr.shown()
            rate = (shown.frames - before.frames) / (shown.seconds - before.seconds)
            step = "in step" if shown.apart == 0 else f"{shown.apart} frames not in step"
            line = f"{shown.seconds:.0f} s: {rate:.1f} frames/s, {step}, {shown.viewers} looking"
            if shown.missed:
                line += f", {shown.missed} frames missed by who looks"
            if shown.waits and shown.frames == before.frames:
                line += f"; waiting: {'; '.join(shown.waits)}"
            voice().note(line)
            reported, before = now, shown
        time.sleep(LOOK_S)


def _print(shown: Shown) -> None:
    """Print the result of the digital video recorder as two lines of text."""
    from isthmus.cli.console import console
    from isthmus.vcr import SCREENS

    rate = shown.bytes / shown.seconds / 1e6 if shown.seconds else 0.0
    out = console()
    out.print(
        f"{shown.rate:.1f} frames/s for {shown.seconds:.1f} s: {shown.frames} frames on each of "
        f"{SCREENS} screens, {rate:.1f} MB/s",
        soft_wrap=True,
    )
    of = shown.in_step + shown.apart
    out.print(
        f"in step: {shown.in_step} of {of} frames began when all screens had shown the one before",
        soft_wrap=True,
    )
