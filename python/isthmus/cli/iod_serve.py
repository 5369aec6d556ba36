"""``isthmus iod serve``: the I/O daemon."""

from __future__ import annotations

import os
from typing import Any

import click

from isthmus.cli import daemons
from isthmus.cli.voice import Voiced
from isthmus.errors import IsthmusError

MESSAGE_HEADER_BYTES = 24
"""Maximum size of the header of a message with data, as Linux counts it."""

LEAST_CACHE_BYTES = 16 << 20
"""Minimum size of a cache."""


@click.command(
    name="serve",
    cls=Voiced,
    help="""Serve folders to the processes of a job over 9P2000.L.

\b
  isthmus iod serve --export /scratch/job --listen unix:/tmp/iod.sock
  isthmus iod serve --export /scratch/job --listen unix:/tmp/iod.sock \\
      --cache /tmp/cache               takes data now, and stores it later
  isthmus iod serve --export /scratch/job --listen tls:0.0.0.0:5641 \\
      --tls-cert cert.pem --tls-key key.pem --token-file token
  isthmus iod serve --export s3://bucket/job --listen unix:/tmp/iod.sock \\
      --cache /tmp/cache               objects as files (AWS_... variables)
  isthmus iod serve --export /scratch/job --listen tcp:127.0.0.1:5640 \\
      --allow-plain                    for this machine's kernel, or diod

The daemon serves the user who runs it: clients can do what this user can
do beneath --export, whatever user they say they are. A client names an
export by its path; without a path it gets the first one.

It prints its addresses and runs until SIGTERM or Ctrl-C. Then it answers
what has arrived and ends. SIGHUP reopens the log and reads token and
certificate again. With --cache it stores what it can within --grace; the
next daemon with the same folder stores the rest. Every address that other
machines can reach must be a tls: address with a token.

With --allow-plain, Linux mounts an export so (as root):

\b
  mount -t 9p -o trans=tcp,port=5640,version=9p2000.L,access=any \\
      127.0.0.1 /mnt
""",
)
@click.option(
    "--export",
    "exports",
    multiple=True,
    required=True,
    type=click.Path(),
    metavar="DIR",
    help="A folder to serve, or s3://BUCKET/PREFIX with --cache; several may be given.",
)
@daemons.listen()
@click.option("--read-only", is_flag=True, help="Clients may only read.")
@click.option(
    "--allow-plain",
    is_flag=True,
    help="Admit clients without a token over tcp: from this machine, of all its users.",
)
@click.option(
    "--socket-mode",
    metavar="MODE",
    help="Mode of the Unix socket: 660 admits the daemon's group as well.  [default: 600]",
)
@daemons.file("--token-file", "The token that clients must show.")
@daemons.file("--tls-cert", "The certificate of the daemon, in PEM.")
@daemons.file("--tls-key", "The key of the certificate, in PEM.")
@daemons.count("--sessions", 1024, "Maximum number of clients at a time.")
@click.option(
    "--fids",
    type=click.IntRange(1, 2**31),
    default=1_000_000,
    show_default=True,
    help="Maximum number of files that a client has in use at a time.",
)
@daemons.sizes("--message", "1 MiB", "Maximum amount of data in a request or reply.")
@daemons.times("--hello", "10 s", "Time within which a client must attach.")
@daemons.times(
    "--store-timeout", "30 s", "Time without progress after which waiting for the store fails."
)
@click.option(
    "--cache",
    type=click.Path(),
    metavar="DIR",
    help="Keep written data in this folder until the store has it. A bucket requires it.",
)
@daemons.sizes("--cache-size", None, "Maximum size of the cache.  [default: 1 GiB]")
@daemons.sizes("--dirty", None, "Maximum amount of data that is not stored.  [default: half of it]")
@daemons.times("--dirty-age", None, "Time after which data is stored.  [default: 5 s]")
@click.option(
    "--fsync",
    type=click.Choice(["stored", "cache"]),
    help="Where data is safe when fsync returns.  [default: stored]",
)
@click.option(
    "--close",
    type=click.Choice(["written", "stored"]),
    help="Where data is safe when a file is closed.  [default: written]",
)
@daemons.times(
    "--fresh", None, "Time for which small files are read without asking the store.  [default: 0 s]"
)
@daemons.times("--grace", "5 s", "Time that clients have to read the last replies at the end.")
@click.option("--log", metavar="FILE", help="File of the audit log; - is standard error.")
@click.option("--metrics", metavar="ADDRESS", help="Address for Prometheus: 127.0.0.1:9465.")
@daemons.as_json()
def command(as_json: bool, **given: Any) -> None:
    """Start the daemon, print its addresses, and wait for a signal."""
    daemon = daemons.start("iod serve", "serve_files", options(given))
    if os.geteuid() == 0:
        text = "warning: as root, clients can do beneath --export what root can"
        click.echo(text, err=True)
    daemons.run(daemon, as_json=as_json)


def options(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the command as the core takes them."""
    found: dict[str, Any] = {"server": daemons.server(given)}
    message = daemons.value(given, "message")
    data = message.data()
    if not 4096 <= data <= 64 << 20:
        raise IsthmusError(f"--message: {message.value}: give 4 KiB to 64 MiB, such as 1 MiB")
    found["message_bytes"] = data + MESSAGE_HEADER_BYTES
    found["store_timeout_ns"] = daemons.nanoseconds(given, "store_timeout", 1e-3)
    found["grace_ns"] = daemons.nanoseconds(given, "grace")
    found["cache"] = _cache(given)
    if "" in given["exports"]:
        # Refuse an empty path, which would mean the current folder.
        raise IsthmusError("--export: the path is empty; name an existing folder, such as /scratch")
    return {**found, **given}


CACHE_OPTIONS = {
    "cache_size": "1 GiB",
    "dirty": None,
    "dirty_age": "5 s",
    "fsync": "stored",
    "close": "written",
    "fresh": "0 s",
}
"""The options of the cache, with their default values."""


def _cache(given: dict[str, Any]) -> dict[str, Any] | None:
    """Remove the options of the cache from ``given``. Return them as the core takes them."""
    folder = given.pop("cache")
    options = {name: given.pop(name) for name in CACHE_OPTIONS}
    if folder is None:
        for name, value in options.items():
            if value is not None:
                flag = f"--{name.replace('_', '-')}"
                raise IsthmusError(f"{flag}: there is no cache; give --cache DIR, or leave it out")
        return None
    if not folder:
        raise IsthmusError("--cache: the path is empty; name a folder, such as /tmp/cache")
    options = {name: value or CACHE_OPTIONS[name] for name, value in options.items()}
    size = daemons.value(options, "cache_size")
    bytes_ = size.data()
    if bytes_ < LEAST_CACHE_BYTES:
        raise IsthmusError(f"--cache-size: {size.value}: give 16 MiB or more, such as 10 GiB")
    dirty = daemons.value(options, "dirty")
    dirty_bytes = bytes_ // 2 if dirty.value is None else dirty.data()
    if not 0 < dirty_bytes <= bytes_:
        raise IsthmusError(f"--dirty: {dirty.value}: give more than 0, and at most --cache-size")
    return {
        "folder": folder,
        "bytes": bytes_,
        "dirty_bytes": dirty_bytes,
        "dirty_age_ns": daemons.nanoseconds(options, "dirty_age"),
        "fsync_in_cache": options["fsync"] == "cache",
        "close_stored": options["close"] == "stored",
        "fresh_ns": daemons.nanoseconds(options, "fresh"),
    }
