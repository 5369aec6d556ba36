"""Options, signals and output of the daemon commands."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isthmus.arguments import token
from isthmus.errors import IsthmusError, RunFailedError
from isthmus.wording import counted, quantity

if TYPE_CHECKING:
    from types import FrameType

    from isthmus._core import Daemon

Decorator = Callable[[Callable[..., None]], Callable[..., None]]

POLL_S = 0.5
"""Seconds between checks whether the daemon is still running."""

_SERVER_OPTIONS = (
    "listen",
    "socket_mode",
    "token_file",
    "operator_token_file",
    "tls_cert",
    "tls_key",
    "sessions",
    "log",
    "metrics",
)
"""Options of the server whose values are passed on as they are."""


def sizes(name: str, default: str | None, help_: str) -> Decorator:
    """Return a click option whose value is an amount of data, as text such as ``64 KiB``."""
    return click.option(
        name, default=default, show_default=default is not None, help=help_, metavar="SIZE"
    )


def times(name: str, default: str | None, help_: str) -> Decorator:
    """Return a click option whose value is a time, as text such as ``5 s``."""
    return click.option(
        name, default=default, show_default=default is not None, help=help_, metavar="TIME"
    )


def count(name: str, default: int, help_: str) -> Decorator:
    """Return a click option whose value is a whole number from 1 to 65536."""
    return click.option(
        name, type=click.IntRange(1, 65536), default=default, show_default=True, help=help_
    )


def file(name: str, help_: str) -> Decorator:
    """Return a click option whose value is the path of a file."""
    return click.option(name, type=click.Path(path_type=Path), help=help_)


def targets(*, required: bool = True) -> Decorator:
    """Return the options that say which I/O daemon a command uses, and how."""
    options = (
        click.option(
            "--address",
            required=required,
            help="The daemon: unix:/PATH, tcp:HOST:PORT or tls:HOST:PORT.",
        ),
        click.option(
            "--export",
            default="",
            metavar="PATH",
            help="A folder that it serves.  [default: the first]",
        ),
        file("--token-file", "The token that the daemon requires."),
        file("--tls-ca", "Certificates to trust, in PEM."),
        times("--timeout", "60 s", "Time for which requests wait for a daemon that is gone."),
    )

    def add(function: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def target(given: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of `targets` from ``given``. Return them for the core."""
    token_file, tls_ca = given.pop("token_file"), given.pop("tls_ca")
    return {
        "address": given.pop("address"),
        "export": given.pop("export"),
        "token": token("--token-file", token_file) if token_file else None,
        "tls_ca": str(tls_ca) if tls_ca else None,
        "timeout_ns": nanoseconds(given, "timeout", 0.1),
    }


def listen() -> Decorator:
    """Return the option for the addresses at which a daemon listens."""
    return click.option(
        "--listen",
        multiple=True,
        required=True,
        metavar="ADDRESS",
        help="unix:/PATH, tcp:ADDRESS:PORT or tls:ADDRESS:PORT; several may be given.",
    )


def as_json() -> Decorator:
    """Return the option that prints the addresses of a daemon as JSON."""
    return click.option("--json", "as_json", is_flag=True, help="Print what it prints as JSON.")


def value(given: dict[str, Any], name: str) -> Any:
    """Remove an option of a command from ``given``. Return it with its name for messages."""
    from isthmus.given import Given

    return Given(f"--{name.replace('_', '-')}", "", "text", given.pop(name))


def nanoseconds(given: dict[str, Any], name: str, least_s: float = 0) -> int:
    """Remove a time of at least ``least_s`` seconds from ``given``. Return it in ns."""
    seconds: float = value(given, name).quantity("a time", least_s)
    return round(seconds * 1e9)


def server(given: dict[str, Any]) -> dict[str, Any]:
    """Remove the options that all daemons have from ``given``. Return them for the core."""
    found = {name: given.pop(name) for name in _SERVER_OPTIONS if name in given}
    paths = {name: str(each) for name, each in found.items() if isinstance(each, Path)}
    hello_ns = nanoseconds(given, "hello", 1e-9)
    return {**dict.fromkeys(_SERVER_OPTIONS), **found, **paths, "hello_ns": hello_ns}


def start(what: str, serve: str, options: dict[str, Any]) -> Daemon:
    """Start a daemon by the function ``serve`` of the core, for the command ``what``."""
    import json

    from isthmus import _core

    _check_text(what, options)
    if not hasattr(_core, serve):
        raise IsthmusError(f"isthmus {what}: it needs Linux; run it there")
    try:
        daemon: Daemon = getattr(_core, serve)(json.dumps(options))
    except ValueError as error:
        raise IsthmusError(str(error)) from None
    return daemon


def _check_text(what: str, options: object) -> None:
    """Refuse options with bytes that are no UTF-8: the core takes text."""
    if isinstance(options, dict):
        options = list(options.values())
    if isinstance(options, (list, tuple)):
        for each in options:
            _check_text(what, each)
    elif isinstance(options, str):
        try:
            options.encode()
        except UnicodeEncodeError:
            name = os.fsencode(options)
            raise IsthmusError(f"isthmus {what}: {name!r} is no UTF-8; rename it") from None


def run(daemon: Daemon, *, as_json: bool) -> None:
    """Print where a daemon is to be found, and run it until a signal ends it."""
    import json

    from isthmus.cli.streams import document

    end = threading.Event()
    before = _set_handlers(daemon, end)
    try:
        _notify("READY=1")
        status = json.loads(daemon.status())
        _warn(status.get("metrics"))
        document(daemon.status() if as_json else _words(status))
        while not end.wait(POLL_S):
            if not daemon.runs():
                break
        _notify("STOPPING=1")
        _stop(daemon)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _words(status: dict[str, Any]) -> str:
    """Return the line to print when a daemon is ready."""
    if "mounted" in status:
        return f"mounted at {status['mounted']}\n"
    metrics = f", metrics at http://{status['metrics']}/metrics" if status["metrics"] else ""
    screens = f", screens at http://{status['screens']}/" if status.get("screens") else ""
    found = ""
    if status.get("found", {}).get("files"):
        files, size = counted(status["found"]["files"], "file"), status["found"]["bytes"]
        found = f", stores {quantity(size, 'B')} of {files} that the last daemon has left"
    return f"listens at {', '.join(status['listening'])}{metrics}{screens}{found}\n"


def _warn(at: str | None) -> None:
    """Warn if metrics are readable from other machines without a password."""
    import ipaddress

    if at and not ipaddress.ip_address(at.rpartition(":")[0].strip("[]")).is_loopback:
        text = (
            f"warning: metrics at {at}: every host that reaches this machine can read them without "
            "a password"
        )
        click.echo(text, err=True)


def _set_handlers(daemon: Daemon, end: threading.Event) -> dict[int, Any]:
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


def _stop(daemon: Daemon) -> None:
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
        raise RunFailedError(str(failed[0]))


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
