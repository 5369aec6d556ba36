"""``isthmus nic top``: on a terminal, in a pipe, and where no daemon is."""

from __future__ import annotations

import json
import re
import signal
import socket
import sys
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from conftest import REPOSITORY
from isthmus.streams import UnreachableError, connect
from nic_daemon import PATIENCE, Client, daemon, until
from terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the daemon is Linux's")

OPERATOR = "0123456789abcdef-operators"


def spec(connection):
    form = {"adu_bytes": 4096, "tu_bytes": 4096, "su_order": [0]}
    form |= {"granule_bytes": 1, "packet_bytes": 4096}
    return {"connection": connection, "direction": "transmit", "format": form, "adus": 7}


@contextmanager
def served(tmp_path, *words):
    """A daemon with an application that has a connection and a stream that waits for data."""
    unix = f"unix:{tmp_path}/nic.sock"
    with (
        daemon("--listen", unix, "--stall", "100 ms", *words) as (process, _),
        Client(unix) as client,
        socket.create_server(("127.0.0.1", 0)) as sink,
    ):
        client.hello("imaging [1]")
        to = f"tcp:127.0.0.1:{sink.getsockname()[1]}"
        connection = client.ask("open", destination=to)["connection"]["connection"]
        client.ask("submit", streams=[spec(connection)])
        until(
            lambda: client.ask("connection", connection=connection)["connection-status"][
                "connection"
            ]["open"],
            "open connection",
        )
        yield process, unix, to


def test_in_a_pipe_it_says_what_there_is(isthmus, tmp_path):
    with served(tmp_path) as (_, unix, to):
        ran = isthmus("nic", "top", "--address", unix, "--every", "10 ms")
        assert ran.returncode == 0, ran.stderr
        for words in (unix, "1 stream", "imaging [1]", to, "open", "0/7", "no data on link 0"):
            assert words in ran.stdout
        ran = isthmus("nic", "top", "--address", unix, "--every", "10 ms", "--json")
        told = json.loads(ran.stdout)
        assert told["connections"][0]["destination"] == to
        assert told["rates"]["connections"]["0"] == [0.0, 0.0]


def test_on_a_terminal_it_goes_on_until_ctrl_c(tmp_path):
    with served(tmp_path) as (_, unix, to):
        command = ["-m", "isthmus", "nic", "top", "--address", unix]
        terminal = Terminal([*command, "--every", "20 ms"], tmp_path)
        for words in ("imaging [1]", to, "no data on"):
            terminal.until(lambda words=words: words in "\n".join(terminal.screen.display))
        terminal.signal(signal.SIGINT)
        assert terminal.end() == 0
        assert b"Traceback" not in terminal.raw


def test_a_terminal_that_only_prints_gets_each_look(tmp_path):
    with served(tmp_path) as (_, unix, to):
        command = ["-m", "isthmus", "nic", "top", "--address", unix, "--every", "20 ms"]
        terminal = Terminal(command, tmp_path, environment={"TERM": "dumb"})
        terminal.until(lambda: terminal.text().count("imaging [1]") >= 6)
        assert to in terminal.text()
        terminal.signal(signal.SIGTERM)
        assert terminal.end() == 143
        assert b"\x1b" not in terminal.raw


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (40, 10), (40, 5), (200, 60)])
def test_connections_and_streams_share_the_screen(tmp_path, columns, lines):
    with served(tmp_path) as (_, unix, to), Client(unix) as other:
        other.hello("many")
        for _ in range(29):
            other.ask("open", destination=to)
        command = ["-m", "isthmus", "nic", "top", "--address", unix, "--every", "20 ms"]
        terminal = Terminal(command, tmp_path, columns=columns, lines=lines)
        shown = lambda: "\n".join(terminal.screen.display)  # noqa: E731
        # What a stream waits for comes first where there is little room.
        words = ["streams", "connections", "no data on"]
        if lines < 60:
            words.append(" more")
        if columns > 40:
            words += ["0 out", "imaging"]
        for each in words:
            terminal.until(lambda each=each: each in shown())
        if lines < 60:
            told = re.search(r"connections: (\d+) shown, \.\.\. (\d+) more", shown())
            assert told and (int(told[1]) >= 1 or lines < 10)
            assert int(told[1]) + int(told[2]) == 30
        terminal.signal(signal.SIGINT)
        assert terminal.end() == 0


@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), ConnectionResetError()])
def test_a_daemon_that_was_killed_has_ended(error):
    from isthmus.control import Control, Endpoint
    from isthmus.errors import RunFailedError

    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = Endpoint(f"tcp:127.0.0.1:{server.getsockname()[1]}")

        def serve():
            guest, _ = server.accept()
            with guest:
                guest.recv(1000)
                guest.sendall(b'{"id": 1, "answer": {"answer": {}}}\n')

        thread = threading.Thread(target=serve)
        thread.start()
        with Control(endpoint, "a test") as control:
            thread.join(PATIENCE)

            def sendall(_bytes):
                raise error

            real, control._socket = control._socket, SimpleNamespace(sendall=sendall)
            with pytest.raises(RunFailedError, match="the daemon has ended"):
                control.overview()
            control._socket = real


def test_one_that_is_killed_under_it_is_told(tmp_path):
    with served(tmp_path) as (process, unix, _to):
        command = ["-m", "isthmus", "nic", "top", "--address", unix, "--every", "100 ms"]
        terminal = Terminal(command, tmp_path)
        terminal.until(lambda: "imaging [1]" in "\n".join(terminal.screen.display))
        process.kill()
        assert terminal.end() == 1
        # The terminal breaks the line wherever the path in it lets it.
        said = "".join(terminal.text().split())
        assert "thedaemonhasended" in said


def test_an_operator_has_a_token(isthmus, tmp_path):
    token = tmp_path / "operator"
    token.write_text(OPERATOR + "\n")
    token.chmod(0o600)
    with served(tmp_path, "--operator-token-file", token) as (_, unix, _to):
        ran = isthmus("nic", "top", "--address", unix)
        assert (ran.returncode, "asks for a token" in ran.stderr) == (2, True)
        ran = isthmus("nic", "top", "--address", unix, "--token-file", token, "--every", "1 ms")
        assert (ran.returncode, "imaging [1]" in ran.stdout) == (0, True)
        ran = isthmus("nic", "top", "--address", unix, "--token-file", tmp_path / "none")
        assert (ran.returncode, "--token-file" in ran.stderr) == (2, True)


def test_what_leaves_the_machine_is_hidden_and_known(isthmus, tmp_path):
    fixtures = REPOSITORY / "crates" / "nic" / "tests" / "fixtures"
    for name, text in (
        ("cert.pem", (fixtures / "cert.pem").read_text()),
        ("key.pem", (fixtures / "key.pem").read_text()),
        ("operator", OPERATOR),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    words = ["--tls-cert", tmp_path / "cert.pem", "--tls-key", tmp_path / "key.pem"]
    words += ["--operator-token-file", tmp_path / "operator"]
    with daemon("--listen", "tls:127.0.0.1:0", *words) as (_, told):
        (address,) = told["listening"]
        looks = ["nic", "top", "--token-file", tmp_path / "operator", "--every", "1 ms"]
        trust = ["--tls-ca", tmp_path / "cert.pem"]
        named = address.replace("127.0.0.1", "localhost")
        for each in (address, named):
            ran = isthmus(*looks, *trust, "--address", each)
            assert (ran.returncode, "1 application" in ran.stdout) == (0, True), ran.stderr
        # A certificate that nobody vouches for, and one that is no file.
        ran = isthmus(*looks, "--address", address)
        assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
        assert "certificate" in ran.stderr
        ran = isthmus(*looks, "--address", address, "--tls-ca", tmp_path / "none")
        assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
        assert f"--tls-ca {tmp_path / 'none'}: No such file or directory" in ran.stderr
        # One that holds no certificate.
        ran = isthmus(*looks, "--address", address, "--tls-ca", tmp_path / "operator")
        assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
        assert "no certificate in PEM" in ran.stderr
        # By the wrong kind of address.
        without = address.replace("tls:", "tcp:")
        ran = isthmus(*looks, "--address", without)
        assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
        assert "with TLS an address is tls:HOST:PORT" in ran.stderr
        with pytest.raises(UnreachableError, match="with TLS an address is tls:HOST:PORT"):
            connect(without)


def test_a_socket_that_is_closed_is_no_sign_of_tls(isthmus):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            server.accept()[0].close()

        thread = threading.Thread(target=serve)
        thread.start()
        ran = isthmus("nic", "top", "--address", f"tcp:127.0.0.1:{server.getsockname()[1]}")
        thread.join(PATIENCE)
    assert (ran.returncode, "the daemon has ended" in ran.stderr) == (1, True)


def test_one_without_tls_is_told_from_one_with_it(isthmus):
    with daemon("--listen", "tcp:127.0.0.1:0") as (_, told):
        (address,) = told["listening"]
        by_tls = address.replace("tcp:", "tls:")
        ran = isthmus("nic", "top", "--address", by_tls)
        with pytest.raises(
            UnreachableError, match="if it speaks no TLS, its address is tcp:HOST:PORT"
        ):
            connect(by_tls, ca=REPOSITORY / "crates" / "nic" / "tests" / "fixtures" / "cert.pem")
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
    assert "it speaks no TLS" in ran.stderr
    assert "without TLS an address is tcp:HOST:PORT" in ran.stderr


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("unix:here", "unix:/run/isthmus.sock"),
        ("7000", "tcp:127.0.0.1:7000"),
        ("tcp:127.0.0.1:99999", "tcp:127.0.0.1:7000"),
        ("unix:/nowhere/at/all", "isthmus nic serve"),
    ],
)
def test_where_no_daemon_is_it_says_so(isthmus, address, says):
    ran = isthmus("nic", "top", "--address", address, "--once")
    assert ran.returncode == 2
    assert says in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n", b"[]\n", b"x" * 100])
def test_something_else_is_no_daemon(isthmus, answer):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            guest, _ = server.accept()
            with guest:
                guest.recv(1000)
                guest.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        ran = isthmus("nic", "top", "--address", f"tcp:127.0.0.1:{server.getsockname()[1]}")
        thread.join(PATIENCE)
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
    assert "daemon" in ran.stderr


def test_rates_are_bytes_by_the_time_between_two_looks():
    from isthmus.cli.nic_top import _look

    def overview(up_ns, out, into):
        return {
            "applications": [[0, "a"]],
            "connections": [{"connection": 3, "moved_bytes": [out, into]}],
            "streams": [
                {"stream": 5, "direction": "transmit", "bytes": out},
                {"stream": 6, "direction": "receive", "bytes": into},
            ],
            "counts": {"up_ns": up_ns},
        }

    looks = iter([overview(1_000, 10, 20), overview(500_001_000, 1_010, 20)])
    told = SimpleNamespace(overview=lambda: next(looks))
    look = _look(told, _look(told, None))
    # 1,000 bytes in half a second.
    assert look.rate("connections", 3) == [2000.0, 0.0]
    assert look.rate("streams", 5) == [2000.0, 0.0]
    assert look.rate("streams", 6) == [0.0, 0.0]
    assert look.rate("streams", 7) == [0.0, 0.0]


@pytest.mark.parametrize("columns", [90, 72, 60])
@pytest.mark.parametrize("lines", range(7, 40))
def test_all_that_is_shown_fits_and_each_part_is_there(columns, lines):
    from isthmus.cli.console import console
    from isthmus.cli.nic_top import _screen, _Snapshot

    way = {"application": 0, "bytes": 0, "over": False, "direction": "transmit", "done": 3}
    streams = [
        {
            **way,
            "stream": n,
            "connection": n,
            "state": "active",
            "waits": ["no data on link 3, " * 5],
        }
        for n in range(20)
    ]
    way = {"application": 0, "open": True, "moved_bytes": [0, 0], "transmit_bytes": 0}
    connections = [
        {**way, "connection": n, "destination": "raw:tcp:127.0.0.1:5000", "receive_bytes": 0}
        for n in range(20)
    ]
    memory = {f"{what}_bytes": [[0, 1 << 20]] * 2 for what in ("staging", "network")}
    look = _Snapshot(
        {
            "applications": [[0, "a program with a name"]],
            "connections": connections,
            "streams": streams,
            "links": [],
            "counts": {"up_ns": 1, **memory},
        }
    )
    out = console()
    out._width, out._height = columns, lines
    shown = out.render_lines(_screen(out, look, "unix:/run/isthmus.sock"))
    assert len(shown) <= lines
    text = "\n".join("".join(segment.text for segment in line) for line in shown)
    assert "no data" in text
    assert "raw:tcp:127.0" in text
    assert "shown" in text
    assert not re.search(r"\b0 shown", text)
