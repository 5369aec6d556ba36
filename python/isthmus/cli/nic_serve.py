"""``isthmus nic serve``: the daemon of the stream manager."""

from __future__ import annotations

from typing import Any

import click

from isthmus.cli import daemons
from isthmus.cli.voice import Voiced
from isthmus.errors import IsthmusError


@click.command(
    name="serve",
    cls=Voiced,
    help="""Serve streams to applications: the operator's daemon.

\b
  isthmus nic serve --listen unix:/run/isthmus.sock --files /data
  isthmus nic serve --listen tcp:127.0.0.1:7000 --token-file token \\
      --operator-token-file operator --to 10.0.0.0/8 --log nic.log \\
      --metrics 127.0.0.1:9464
  isthmus nic serve --listen tcp:127.0.0.1:0 --json     any free port, printed

It says where it listens, and runs until SIGTERM or Ctrl-C: then it takes
nothing new, lets streams go on for --grace, and ends. SIGHUP reopens the log
and reads tokens and certificate again. What leaves this machine is tls:, with
a token.
Files are written below --files only; connections go to --to and wait for
peers at --accept, both this machine alone if nothing is said.

A token file holds one line that only the daemon's user may read (chmod 600).
""",
)
@daemons.listen()
@click.option(
    "--socket-mode",
    metavar="MODE",
    help="Who has the Unix socket: 660, the daemon's group as well.  [default: 600]",
)
@daemons.file("--token-file", "What applications show.")
@daemons.file("--operator-token-file", "What operators show.")
@daemons.file("--tls-cert", "Its certificate, in PEM.")
@daemons.file("--tls-key", "The key of that, in PEM.")
@click.option(
    "--files",
    multiple=True,
    type=click.Path(),
    metavar="DIR",
    help="Where files may be written; several may be given.",
)
@click.option("--to", multiple=True, metavar="NET", help="Where connections may go: 10.0.0.0/8.")
@click.option("--accept", multiple=True, metavar="NET", help="Where they may wait for peers.")
@daemons.count("--applications", 16, "Applications at a time.")
@daemons.count("--sessions", 256, "Sessions at a time, of all applications.")
@daemons.count("--connections", 64, "Connections of an application.")
@daemons.count("--streams", 1024, "Streams of an application that have not ended.")
@daemons.count("--links", 64, "Links of an application.")
@daemons.count("--waits", 1024, "Requests of a session that wait for streams.")
@daemons.sizes("--staging", "16 MiB", "Staging memory of an application, in each direction.")
@daemons.sizes("--network", "64 MiB", "Network memory of an application, in each direction.")
@daemons.sizes(
    "--connection-network",
    None,
    "Network memory of a connection; a quarter of --network, if not given.",
)
@daemons.sizes("--rings", "256 MiB", "Rings of an application.")
@daemons.sizes("--screen-memory", "128 MiB", "Screens of an application, two frames each.")
@daemons.times(
    "--stall",
    "5 s",
    "Streams without progress for so long are named.",
)
@daemons.times(
    "--hello",
    "10 s",
    "How long a socket may take to say who it is.",
)
@daemons.times(
    "--link-grace",
    "10 s",
    "How long a link over TCP or TLS that was cut may take "
    "to be made anew; 0 s: none is.",  # codespell:ignore anew
)
@daemons.times(
    "--grace",
    "5 s",
    "How long streams may go on at the end.",
)
@click.option("--log", metavar="FILE", help="Who did what, a line each; - is standard error.")
@click.option("--metrics", metavar="ADDRESS", help="Where Prometheus asks: 127.0.0.1:9464.")
@click.option("--screens", metavar="ADDRESS", help="Where a page shows screens: 127.0.0.1:8000.")
@daemons.as_json()
def command(as_json: bool, **given: Any) -> None:
    """Start the daemon, print its addresses, and wait for a signal."""
    daemon = daemons.start("nic", "serve_streams", _options(given))
    daemons.run(daemon, "stream manager", as_json=as_json)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the command as the core takes them."""
    options: dict[str, Any] = {"server": daemons.server(given)}
    for name in ("staging", "network", "screen_memory"):
        options[f"{name}_bytes"] = daemons.value(given, name).data()
    options["ring_bytes"] = daemons.value(given, "rings").data()
    bound = given["connection_network"] is not None
    share = daemons.value(given, "connection_network")
    options["connection_network_bytes"] = share.data() if bound else None
    options["stall_ns"] = daemons.nanoseconds(given, "stall", 1e-9)
    for name in ("link_grace", "grace"):
        options[f"{name}_ns"] = daemons.nanoseconds(given, name)
    if "" in given["files"]:
        # Refuse an empty path, which would mean the current folder.
        raise IsthmusError("--files: it names no folder; give one that is there, such as /data")
    return {**options, **given}
