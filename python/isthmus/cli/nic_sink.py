"""``isthmus nic sink``: receives streams, checks them, and reports their speed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isthmus.cli.voice import Voiced
from isthmus.errors import IsthmusError, RunFailedError

if TYPE_CHECKING:
    from isthmus._core import NicSink, NicTaking

POLL_S = 0.1
"""Seconds between checks whether a sender has connected or finished."""
NUMBER_MAX = (1 << 32) - 1


@click.command(
    name="sink",
    cls=Voiced,
    help="""Take streams outside: a sink to try them with.

ADDRESS is numeric, with a port, or port 0 for any free one. Applications open
raw:tcp:ADDRESS at the daemon. What comes is checked (order, lengths, sums) and
confirmed; when a sender leaves, a line says what it sent and how fast:

\b
  isthmus nic sink 127.0.0.1:5000
  isthmus nic sink 127.0.0.1:5000 --senders 1 --out image.raw
  isthmus nic sink --json                  any free port, printed as JSON

It takes one sender after another until Ctrl-C. A sender begins with a packet
of a stream manager; other connections do not count. --out is emptied when the
first valid data arrives. Data that is not what was sent ends that sender's
connection, and the exit status is 1; so it is if a stream was cut short, as by
Ctrl-C. If all is well, but fewer came than --senders says when Ctrl-C ends it,
it is 130.
""",
)
@click.argument("address", default="127.0.0.1:0")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="Write good data to this file."
)
@click.option(
    "--senders", type=click.IntRange(1), help="End after so many; with Ctrl-C if not given."
)
@click.option(
    "--window",
    default="64 MiB",
    show_default=True,
    metavar="SIZE",
    help="What a sender may send before it is confirmed.",
)
@click.option(
    "--checksum",
    type=click.Choice(["crc32c", "internet", "none"]),
    default="crc32c",
    show_default=True,
    help="Of data, as the connection has it.",
)
@click.option(
    "--channel",
    type=click.IntRange(0, NUMBER_MAX),
    default=0,
    show_default=True,
    help="Of the connection.",
)
@click.option("--repair", is_flag=True, help="Wait for corrupted packets to be sent again.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON each.")
def command(
    address: str,
    out: Path | None,
    senders: int | None,
    window: str,
    checksum: str,
    channel: int,
    repair: bool,
    as_json: bool,
) -> None:
    """Listen, receive streams, and report them."""
    from isthmus import _core
    from isthmus.cli.process import ended
    from isthmus.cli.streams import document
    from isthmus.core import ask
    from isthmus.given import Given

    if not hasattr(_core, "NicSink"):
        raise IsthmusError("isthmus nic sink: it needs Linux; run it there")
    if out is not None and senders != 1:
        raise IsthmusError("--out: it holds what one sender sends; give --senders 1 too")
    if repair and checksum == "none":
        raise IsthmusError("--repair: without sums none is seen to be corrupted; give a --checksum")
    bytes_ = Given("--window", "", "text", window).data()
    sink: NicSink = ask(_core.NicSink, address, bytes_, checksum, channel, repair)
    if out is not None:
        _writable(out)
    at = sink.address()
    done, wrong, ends = 0, [], False
    try:
        document(json.dumps({"address": at}) if as_json else f"listening: raw:tcp:{at}")
        while not ends and (senders is None or done < senders):
            taking = ask(sink.take, POLL_S, None if out is None else str(out))
            if taking is None:
                continue
            done += 1
            found, ends = _received(taking)
            if problem := _problem(found):
                wrong.append(problem)
            document(json.dumps(found) if as_json else _words(found))
    except KeyboardInterrupt:
        ends = True
    if strays := sink.strays():
        they = "1 connection" if strays == 1 else f"{strays} connections"
        click.echo(f"{they} sent no packet, and none of it was taken", err=True)
    if wrong:
        raise RunFailedError(f"{len(wrong)} of {done} senders: {wrong[0]}")
    if ends and senders is not None and done < senders:
        raise KeyboardInterrupt
    ended()


def _writable(out: Path) -> None:
    """Raise an error if the output file cannot be written. The check takes place before any
    data arrives and does not change the file.
    """
    try:
        # Check the file to which a symbolic link points, rather than the link.
        place = out.resolve()
        there = place.exists()
        place.open("ab").close()
        if not there:
            place.unlink()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise IsthmusError(
            f"--out {out}: it cannot be written ({why}); give a file in a folder that is there"
        ) from None


def _problem(found: dict[str, Any]) -> str | None:
    """Return a text that describes the error in a sender's data, or None if there is no error."""
    if "problem" in found:
        return str(found["problem"])
    if not found["cut"]:
        return None
    stream, adu, byte = found["cut_at"]
    more = f", and {found['cut'] - 1} more" if found["cut"] > 1 else ""
    return f"stream {stream} was cut short at byte {byte} of ADU {adu}{more}"


def _received(taking: NicTaking) -> tuple[dict[str, Any], bool]:
    """Wait until a sender has finished. Return its address, bytes received and outcome, and whether
    Ctrl-C ended the wait.
    """
    peer, begin, interrupted = taking.peer(), time.monotonic(), False
    try:
        while not taking.over(POLL_S):
            pass
    except KeyboardInterrupt:
        interrupted = True
    found: dict[str, Any] = {"peer": peer, "seconds": time.monotonic() - begin}
    found["bytes"] = taking.bytes()
    try:
        found |= json.loads(taking.end())
    except RuntimeError as error:
        found["problem"] = str(error)
    return found, interrupted


def _words(found: dict[str, Any]) -> str:
    """Return a text that reports what a sender has sent: bytes, time, rate, and streams or the
    problem.
    """
    rate = found["bytes"] / max(found["seconds"], 1e-9) / 1e6
    came = (
        f"{found['peer']}: {found['bytes']:,} bytes in {found['seconds']:.3g} s, {rate:,.0f} MB/s"
    )
    if "problem" in found:
        return f"{came}; then {found['problem']}"
    cut = f", {found['cut']} cut short" if found["cut"] else ""
    return f"{came}; {found['adus']:,} ADUs, {found['ended']} streams whole{cut}"
