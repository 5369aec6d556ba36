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

It prints its addresses and runs until SIGTERM or Ctrl-C. Then it accepts no
new requests, lets streams continue for --grace, and ends. SIGHUP reopens the
log and reads tokens and certificate again. Addresses beyond this machine must
be tls: with a token.
Files are written below --files only. Without --to and --accept, connections
stay on this machine.

A token file holds one line that only the daemon's user may read (chmod 600).
""",
)
@daemons.listen()
@click.option(
    "--socket-mode",
    metavar="MODE",
    help="Mode of the Unix socket: 660 also admits the daemon's group.  [default: 600]",
)
@daemons.file("--token-file", "The token that applications must show.")
@daemons.file("--operator-token-file", "The token that operators must show.")
@daemons.file("--tls-cert", "The certificate of the daemon, in PEM.")
@daemons.file("--tls-key", "The key of the certificate, in PEM.")
@click.option(
    "--files",
    multiple=True,
    type=click.Path(),
    metavar="DIR",
    help="A folder below which files may be written; several may be given.",
)
@click.option(
    "--to", multiple=True, metavar="NET", help="Network to which connections may go: 10.0.0.0/8."
)
@click.option(
    "--accept",
    multiple=True,
    metavar="NET",
    help="Network at whose addresses connections may wait for peers.",
)
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
    "Time without progress after which a stream is reported.",
)
@daemons.times(
    "--hello",
    "10 s",
    "Time within which a client must authenticate.",
)
@daemons.times(
    "--link-grace",
    "10 s",
    "Time within which a cut TCP or TLS link may be restored; 0 s: none is.",
)
@daemons.times(
    "--grace",
    "5 s",
    "Time for which streams may continue at the end.",
)
@click.option("--log", metavar="FILE", help="File of the audit log; - is standard error.")
@click.option(
    "--metrics", metavar="ADDRESS", help="Address of the metrics for Prometheus: 127.0.0.1:9464."
)
@click.option(
    "--screens", metavar="ADDRESS", help="Address of the page with screens: 127.0.0.1:8000."
)
@daemons.as_json()
def command(as_json: bool, **given: Any) -> None:
    """Start the daemon, print its addresses, and wait for a signal."""
    daemon = daemons.start("nic serve", "serve_streams", _options(given))
    daemons.run(daemon, as_json=as_json)


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
        raise IsthmusError("--files: the path is empty; name an existing folder, such as /data")
    return {**options, **given}
