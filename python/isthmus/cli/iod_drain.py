"""``isthmus iod drain``: everything into the store."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isthmus.cli import daemons
from isthmus.cli.iod_daemon import ask, name_files
from isthmus.cli.voice import Voiced, voice
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from isthmus.iod.operators import Unstored


@click.command(
    name="drain",
    cls=Voiced,
    help="""Store everything that an I/O daemon has in its cache.

\b
  isthmus iod drain --address unix:/tmp/iod.sock     at the end of a job
  isthmus iod drain --cache /tmp/cache               the daemon has ended

The command ends with status 0 only when everything is stored. Otherwise it
names the files that are not, and ends with status 1: the cache keeps their
data. With --cache it needs no daemon: it stores what one has left.
""",
)
@daemons.targets(required=False)
@click.option(
    "--cache",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder of a daemon that has ended, instead of --address.",
)
@daemons.times(
    "--store-timeout", None, "With --cache: time without progress of the store.  [default: 30 s]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(cache: Path | None, store_timeout: str | None, as_json: bool, **given: Any) -> None:
    """Drain a daemon, or the folder that one has left."""
    import json

    from isthmus.cli.streams import document

    daemon = daemons.target(given)
    if (daemon["address"] is None) == (cache is None):
        raise IsthmusError("give --address ADDRESS, or --cache DIR of a daemon that has ended")
    if cache is None:
        if store_timeout is not None:
            raise IsthmusError("--store-timeout: the daemon has its own; leave it out")
        left, error = _drain(daemon)
    else:
        with _left_by_a_daemon(cache, store_timeout or "30 s") as address:
            left, error = _drain({**daemon, "address": address}) if address else ([], None)
    if as_json:
        document(json.dumps({"unstored": [file.as_json() for file in left]}, ensure_ascii=False))
    elif not left and not error:
        document("everything is stored\n")
    name_files(left)
    if error and not left:
        voice().note(f"a file was given up, or could not be stored for some time: {error}")
    if left or error:
        sys.exit(1)


def _drain(daemon: dict[str, Any]) -> tuple[list[Unstored], str | None]:
    """Drain a daemon, with a progress bar. Return the files that are not stored, and its error."""
    from isthmus.iod.operators import drain
    from isthmus.progress import Progress

    with voice().progress() as watch:
        first = None

        def show(status: dict[str, int]) -> None:
            nonlocal first
            first = status["stored"] if first is None else first
            done = status["stored"] - first
            unit = 1_000_000
            of = -(-(done + status["unstored"]) // unit)
            watch(Progress("storing", step=done // unit, steps=of, title="MB"))

        return ask(daemon, lambda client: drain(client, show))


@contextmanager
def _left_by_a_daemon(cache: Path, store_timeout: str) -> Iterator[str | None]:
    """Serve what a daemon has left in the folder of its cache, to this process alone.

    Yields:
        The address; None if nothing is left.

    """
    import os
    import tempfile

    from isthmus import _core
    from isthmus.cli.iod_serve import command as serve
    from isthmus.cli.iod_serve import options

    if not hasattr(_core, "cached_exports"):
        raise IsthmusError("isthmus iod drain: it needs Linux; run it there")
    try:
        exports = _core.cached_exports(os.fspath(cache))
    except ValueError as error:
        raise IsthmusError(str(error)) from None
    if not exports:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="isthmus-") as folder:
        address = f"unix:{folder}/socket"
        words = ["--listen", address, "--cache", os.fspath(cache), "--store-timeout", store_timeout]
        for export in exports:
            words += ["--export", export]
        given = serve.make_context("serve", words).params
        given.pop("as_json")
        daemon = daemons.start("iod drain", "serve_files", options(given))
        try:
            yield address
        finally:
            # Its error is that files are not stored, which the command reports.
            with suppress(RuntimeError):
                daemon.stop()
