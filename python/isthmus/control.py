"""Client of the daemon's control interface for operators: JSON lines in both directions."""

from __future__ import annotations

import json
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.errors import IsthmusError, RunFailedError

if TYPE_CHECKING:
    from typing_extensions import Self

VERSION = 2
"""Version of the control protocol."""
PORT_MAX = 65535
LINE_BYTES = 1 << 20
"""Maximum bytes of a line of the control protocol."""
TLS_ALERT = b"\x15\x03"
"""First bytes of a TLS alert: a record of type 21, version 3.x (RFC 8446, section 5.1)."""
NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
"""Reasons in OpenSSL's errors if the daemon's answer is not TLS."""


@dataclass(frozen=True)
class Endpoint:
    """The address and credentials of a control interface."""

    address: str
    """Address of the control interface: ``unix:/PATH``, ``tcp:HOST:PORT`` or ``tls:HOST:PORT``."""
    token: str | None = None
    authority: Path | None = None
    """A file of trusted certificates; the default is those of the system."""
    timeout: float = 10.0
    """Seconds within which the daemon must answer."""

    def wrong(self, problem: object, right: str) -> IsthmusError:
        """Return the error that the address of the control interface is wrong; `right` says how to
        correct it.
        """
        return IsthmusError(f"{self.address}: {problem}; {right}")

    def connect(self) -> socket.socket:
        """Connect to the control interface.

        Raises:
            IsthmusError: no daemon listens there, or its certificate is not trusted.

        """
        kind, _, rest = self.address.partition(":")
        host, _, port = rest.rpartition(":")
        unix = kind == "unix" and rest.startswith("/")
        inet = kind in ("tcp", "tls") and host and port.isdecimal() and int(port) <= PORT_MAX
        if not unix and not inet:
            raise self.wrong(
                "this is no address", "write unix:/run/isthmus.sock or tcp:127.0.0.1:7000"
            )
        if self.authority is not None and kind != "tls":
            raise IsthmusError(
                f"--tls-ca: certificates are for addresses with TLS, and this is {self.address}; "
                "leave it out, or write tls:HOST:PORT"
            )
        context = self._trusting() if kind == "tls" else None
        made = None
        try:
            if unix:
                made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                made.settimeout(self.timeout)
                made.connect(rest)
                return made
            made = socket.create_connection((host.strip("[]"), int(port)), self.timeout)
            if context is None:
                return made
            # Remove brackets and zone of an IPv6 address, because certificates contain neither.
            name = host.strip("[]").partition("%")[0]
            return context.wrap_socket(made, server_hostname=name)
        except OSError as error:
            if made is not None:
                made.close()
            if isinstance(error, ssl.SSLCertVerificationError):
                raise self.wrong(
                    f"its certificate is not trusted ({error.verify_message})",
                    "give --tls-ca, a file in PEM of the daemon's certificate or of its signer's",
                ) from None
            if isinstance(error, ssl.SSLError) and error.reason in NO_TLS:
                raise self.wrong(
                    "it speaks no TLS", "without TLS an address is tcp:HOST:PORT"
                ) from None
            silent = isinstance(error, TimeoutError)
            why = f"no answer in {self.timeout:g} s" if silent else error.strerror or error
            raise self.wrong(
                f"cannot connect: {why}", "isthmus nic serve --listen starts a daemon"
            ) from None

    def _trusting(self) -> ssl.SSLContext:
        """Return the TLS context with the trusted certificates.

        Raises:
            IsthmusError: the file does not exist, or holds no certificate.

        """
        try:
            return ssl.create_default_context(cafile=self.authority)
        except OSError as error:
            # A file without certificates raises an SSLError, which is an OSError as well.
            bad = isinstance(error, ssl.SSLError)
            why = "no certificate in PEM" if bad else error.strerror or error
            raise IsthmusError(
                f"--tls-ca {self.authority}: {why}; give a file of certificates in PEM"
            ) from None


class Control:
    """A session of an operator with the control interface of the daemon."""

    def __init__(self, endpoint: Endpoint, name: str) -> None:
        """Connect and authenticate.

        Raises:
            IsthmusError: no daemon answers, or it refuses the session.

        """
        self._door = endpoint
        self._socket = endpoint.connect()
        self._lines = self._socket.makefile("rb")
        self._number = 0
        hello = {"version": VERSION, "name": name, "operator": True}
        if endpoint.token is not None:
            hello["token"] = endpoint.token
        try:
            self.ask("hello", **hello)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        """Return the session, which is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the session."""
        self.close()

    def close(self) -> None:
        """Close the session."""
        self._lines.close()
        self._socket.close()

    def ask(self, ask: str, **fields: Any) -> Any:
        """Send a request of the kind `ask` and return the answer.

        Raises:
            IsthmusError: the daemon refuses.
            RunFailedError: the daemon has ended, or the request timed out.

        """
        self._number += 1
        question = {"id": self._number, "ask": ask, **fields}
        try:
            self._socket.sendall(json.dumps(question).encode() + b"\n")
            reply = self._reply()
        except OSError as error:
            ended = isinstance(error, ConnectionError)
            silent = isinstance(error, TimeoutError)
            why = "the daemon has ended" if ended else "it says nothing" if silent else str(error)
            raise RunFailedError(f"{self._door.address}: {why}") from None
        if refused := reply.get("refused"):
            raise IsthmusError(f"{self._door.address}: {refused['refusal']['text']}")
        return reply["answer"]["answer"]

    def _no_daemon(self) -> IsthmusError:
        """Return the error that the address is not that of a daemon."""
        return self._door.wrong("this is no daemon of isthmus", "give the address of one")

    def overview(self) -> dict[str, Any]:
        """Return all connections and streams of all applications."""
        found = self.ask("overview", all=True)["overview"]["overview"]
        assert isinstance(found, dict)
        return found

    def _reply(self) -> dict[str, Any]:
        """Read and return the next reply. Every line of the daemon is a reply, because this session
        does not subscribe to events.
        """
        line = self._lines.readline(LINE_BYTES + 1)
        if not line.endswith(b"\n"):
            if line.startswith(TLS_ALERT):
                raise self._door.wrong("it speaks TLS", "with TLS an address is tls:HOST:PORT")
            if line and not line.startswith(b"{"):
                raise self._no_daemon()
            raise RunFailedError(f"{self._door.address}: the daemon has ended")
        try:
            reply = json.loads(line)
        except ValueError:
            reply = None
        if not isinstance(reply, dict) or not {"answer", "refused"} & set(reply):
            raise self._no_daemon()
        return reply
