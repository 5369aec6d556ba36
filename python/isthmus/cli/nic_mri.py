"""``isthmus nic mri``: runs the medical imaging application of Steenkiste's paper."""

from __future__ import annotations

import json

import click

from isthmus.cli.voice import Voiced


@click.command(
    name="mri",
    cls=Voiced,
    help="""Send the surface of a brain by the stream manager, made by 32 ranks.

The paper's medical imaging: each rank has lines of 52 slices and makes as
many triangles as there happen to be, about 580,000 and 22 MB in all. One at
a time has control over two routes to the interface, sends what it has, and
hands control to the next; the others compute for the next image meanwhile.
Ranks are threads here, the brain is a formula, a sink checks what comes:

\b
  isthmus nic mri
  isthmus nic mri --images 20 --json
""",
)
@click.option(
    "--images",
    type=click.IntRange(1, 1000),
    default=4,
    show_default=True,
    help="One after the other.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(images: int, as_json: bool) -> None:
    """Run the application and print the result."""
    from isthmus.cli.console import console
    from isthmus.cli.streams import document
    from isthmus.imaging import RANKS, send

    sent = send(images)
    if as_json:
        document(json.dumps(sent.as_json()))
        return
    out = console()
    least, most = sent.of_rank
    out.print(
        f"{sent.images} images in {sent.seconds:.2f} s: {sent.triangles:,} triangles, "
        f"{sent.bytes / 1e6:.1f} MB came, each looked at",
        soft_wrap=True,
    )
    out.print(
        f"{sent.bytes / sent.seconds / 1e6:.0f} MB/s with what was computed, "
        f"{sent.bytes / sent.sending_seconds / 1e6:.0f} MB/s while a rank sent",
        soft_wrap=True,
    )
    out.print(f"a rank has {least:,} to {most:,} triangles of an image; there are {RANKS}")
    computed, waited, sending = sent.ranks
    out.print(
        f"ranks: computed {computed:.0%}, waited for control {waited:.0%}, sent {sending:.0%}",
        soft_wrap=True,
    )
