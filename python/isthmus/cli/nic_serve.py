"""``isthmus nic serve``: the daemon of the stream manager."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isthmus.cli.voice import Voiced
from isthmus.errors import IsthmusError, RunFailedError

if TYPE_CHECKING:
    from types import FrameType

    from isthmus._core import NicDaemon

Decorator = Callable[[Callable[..., None]], Callable[..., None]]

POLL_S = 0.5
"""Seconds between checks whether the daemon's stream manager is still running."""


def _sizes(name: str, default: str | None, help_: str) -> Decorator:
    """Return a click option whose value is an amount of data, as text such as ``64 KiB``."""
    return click.option(
        name, default=default, show_default=default is not None, help=help_, metavar="SIZE"
    )


def _count(name: str, default: int, help_: str) -> Decorator:
    """Return a click option whose value is a whole number from 1 to 65536."""
    return click.option(
        name, type=click.IntRange(1, 65536), default=default, show_default=True, help=help_
    )


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
@click.option(
    "--listen",
    multiple=True,
    required=True,
    metavar="ADDRESS",
    help="unix:/PATH, tcp:ADDRESS:PORT or tls:ADDRESS:PORT; several may be given.",
)
@click.option(
    "--socket-mode",
    metavar="MODE",
    help="Who has the Unix socket: 660, the daemon's group as well.  [default: 600]",
)
@click.option("--token-file", type=click.Path(path_type=Path), help="What applications show.")
@click.option("--operator-token-file", type=click.Path(path_type=Path), help="What operators show.")
@click.option("--tls-cert", type=click.Path(path_type=Path), help="Its certificate, in PEM.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="The key of that, in PEM.")
@click.option(
    "--files",
    multiple=True,
    type=click.Path(),
    metavar="DIR",
    help="Where files may be written; several may be given.",
)
@click.option("--to", multiple=True, metavar="NET", help="Where connections may go: 10.0.0.0/8.")
@click.option("--accept", multiple=True, metavar="NET", help="Where they may wait for peers.")
@_count("--applications", 16, "Applications at a time.")
@_count("--sessions", 256, "Sessions at a time, of all applications.")
@_count("--connections", 64, "Connections of an application.")
@_count("--streams", 1024, "Streams of an application that have not ended.")
@_count("--links", 64, "Links of an application.")
@_count("--waits", 1024, "Requests of a session that wait for streams.")
@_sizes("--staging", "16 MiB", "Staging memory of an application, in each direction.")
@_sizes("--network", "64 MiB", "Network memory of an application, in each direction.")
@_sizes(
    "--connection-network",
    None,
    "Network memory of a connection; a quarter of --network, if not given.",
)
@_sizes("--rings", "256 MiB", "Rings of an application.")
@_sizes("--screen-memory", "128 MiB", "Screens of an application, two frames each.")
@click.option(
    "--stall",
    default="5 s",
    show_default=True,
    metavar="TIME",
    help="Streams without progress for so long are named.",
)
@click.option(
    "--hello",
    default="10 s",
    show_default=True,
    metavar="TIME",
    help="How long a socket may take to say who it is.",
)
@click.option(
    "--link-grace",
    default="10 s",
    show_default=True,
    metavar="TIME",
    help="How long a link over TCP or TLS that was cut may take "
    "to be made anew; 0 s: none is.",  # codespell:ignore anew
)
@click.option(
    "--grace",
    default="5 s",
    show_default=True,
    metavar="TIME",
    help="How long streams may go on at the end.",
)
@click.option("--log", metavar="FILE", help="Who did what, a line each; - is standard error.")
@click.option("--metrics", metavar="ADDRESS", help="Where Prometheus asks: 127.0.0.1:9464.")
@click.option("--screens", metavar="ADDRESS", help="Where a page shows screens: 127.0.0.1:8000.")
@click.option("--json", "as_json", is_flag=True, help="Say where it listens as JSON.")
def command(as_json: bool, **given: Any) -> None:
    """Start the daemon, print its addresses, and wait for a signal."""
    from isthmus.cli.streams import document

    daemon = _start_daemon(given)
    end = threading.Event()
    before = _set_handlers(daemon, end)
    try:
        _notify("READY=1")
        listening = daemon.listening()
        _warn(listening)
        document(listening if as_json else _words(listening))
        while not end.wait(POLL_S):
            if not daemon.runs():
                break
        _notify("STOPPING=1")
        _stop(daemon)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _start_daemon(given: dict[str, Any]) -> NicDaemon:
    """Start the daemon with the options of the command."""
    import json

    from isthmus import _core
    from isthmus.given import Given

    if not hasattr(_core, "NicDaemon"):
        raise IsthmusError("isthmus nic serve: it needs Linux; run it there")

    def value(name: str) -> Given:
        """Remove an option of the command from `given`; return it with its name for messages."""
        return Given(f"--{name.replace('_', '-')}", "", "text", given.pop(name))

    question: dict[str, Any] = {}
    for name in ("staging", "network", "screen_memory"):
        question[f"{name}_bytes"] = value(name).data()
    question["ring_bytes"] = value("rings").data()
    bound = given["connection_network"] is not None
    share = value("connection_network").data() if bound else given.pop("connection_network")
    question["connection_network_bytes"] = share
    for name in ("stall", "hello", "link_grace", "grace"):
        least = 1e-9 if name in ("stall", "hello") else 0
        question[f"{name}_ns"] = round(value(name).quantity("a time", least) * 1e9)
    for name in ("token_file", "operator_token_file", "tls_cert", "tls_key"):
        path = given.pop(name)
        question[name] = None if path is None else str(path)
    for name in ("files", "listen", "to", "accept"):
        question[name] = list(given.pop(name))
    if "" in question["files"]:
        # Refuse an empty path, which would mean the current folder.
        raise IsthmusError("--files: it names no folder; give one that is there, such as /data")
    try:
        return _core.NicDaemon(json.dumps({**question, **given}))
    except ValueError as error:
        raise IsthmusError(str(error)) from None


def _words(listening: str) -> str:
    """Return the line to print with the addresses of the daemon, which `listening` has as JSON."""
    import json

    status = json.loads(listening)
    metrics = f", metrics at http://{status['metrics']}/metrics" if status["metrics"] else ""
    screens = f", screens at http://{status['screens']}/" if status["screens"] else ""
    return f"listens at {', '.join(status['listening'])}{metrics}{screens}\n"


def _warn(listening: str) -> None:
    """Warn if metrics are readable from other machines without a password."""
    import ipaddress
    import json

    at = json.loads(listening)["metrics"]
    if at and not ipaddress.ip_address(at.rpartition(":")[0].strip("[]")).is_loopback:
        who = "whoever reaches this machine"  # codespell:ignore whoever
        text = f"warning: metrics at {at}: {who} reads them, no password"
        click.echo(text, err=True)


def _set_handlers(daemon: NicDaemon, end: threading.Event) -> dict[int, Any]:
    """Install signal handlers and return the previous ones."""

    def stop(number: int, _frame: FrameType | None) -> None:
        """Handle a signal: the first stops the daemon, a second ends the process at once."""
        if end.is_set():
            # A second signal ends the process at once; the socket file remains.
            os._exit(128 + number)
        end.set()

    before: dict[int, Any] = {}
    for number in (signal.SIGTERM, signal.SIGINT):
        before[number] = signal.signal(number, stop)
    before[signal.SIGHUP] = signal.signal(signal.SIGHUP, lambda *_: daemon.reload())
    return before


def _stop(daemon: NicDaemon) -> None:
    """Stop the daemon on another thread, so that a second signal is handled."""
    failed: list[RuntimeError] = []
    done = threading.Event()

    def stop() -> None:
        """Stop the daemon; if this fails, add the error to `failed`."""
        try:
            daemon.stop()
        except RuntimeError as error:
            failed.append(error)
        finally:
            done.set()

    threading.Thread(target=stop, daemon=True).start()
    while not done.wait(POLL_S):
        pass
    if failed:
        raise RunFailedError(f"the stream manager had ended: {failed[0]}")


def _notify(state: str) -> None:
    """Notify systemd with one datagram (sd_notify(3)), if it started this process."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
        try:
            sock.connect(address)
            sock.sendall(state.encode())
        except OSError:
            # Ignore the error, as systemd itself reports a missing notification.
            return
