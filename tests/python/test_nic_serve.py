"""``isthmus nic serve``: what an operator says to it, and signals."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from isthmus.streams import connect
from nic_daemon import PATIENCE, Client, daemon, until
from nic_rig import Sink

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the daemon is Linux's")

TOKEN = "0123456789abcdef-clients"
OPERATOR = "0123456789abcdef-operators"


def secret(path, text):
    path.write_text(text + "\n")
    path.chmod(0o600)
    return path


def test_a_daemon_says_where_it_listens_and_ends_when_asked(tmp_path):
    unix = f"unix:{tmp_path}/nic.sock"
    words = ["--listen", unix, "--listen", "tcp:127.0.0.1:0", "--metrics", "127.0.0.1:0"]
    with daemon(*words, "--grace", "100 ms", "--log", "-") as (process, told):
        assert told["listening"][0] == unix
        with Client(unix) as first, Client(told["listening"][1]) as second:
            assert "welcome" in first.hello("first", watch=True)
            assert "welcome" in second.hello("second")
            assert len(second.ask("overview")["overview"]["overview"]["applications"]) == 1
            text = urllib.request.urlopen(f"http://{told['metrics']}/metrics", timeout=PATIENCE)
            assert b"\nisthmus_nic_applications 2\n" in text.read()
            process.send_signal(signal.SIGTERM)
            assert first.told() == {"event": {"event": {"what": "ending", "grace_ns": 100_000_000}}}
            assert first.told() is None
        assert process.wait(PATIENCE) == 0
        log = process.stderr.read()
        assert "first #0 uid" in log and "| hello | ok" in log
        assert not (tmp_path / "nic.sock").exists()


def test_tokens_come_from_files_and_a_moved_log_is_begun_anew(tmp_path):
    log = tmp_path / "log"
    words = ["--listen", "tcp:127.0.0.1:0", "--log", log]
    words += ["--token-file", secret(tmp_path / "token", TOKEN)]
    words += ["--operator-token-file", secret(tmp_path / "operator", OPERATOR)]
    with daemon(*words) as (process, told):
        (address,) = told["listening"]
        with Client(address) as denied:
            assert denied.hello("denied")["kind"] == "denied"
            assert denied.told() is None
        with Client(address) as operator:
            assert "welcome" in operator.hello("op", token=OPERATOR, operator=True)
            assert "overview" in operator.ask("overview", all=True)
        until(lambda: "leave" in log.read_text(), "end of a session in the log")
        log.rename(tmp_path / "log.1")
        process.send_signal(signal.SIGHUP)
        until(log.exists, "new log")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        assert TOKEN not in (tmp_path / "log.1").read_text()


def test_what_a_killed_daemon_was_writing_is_removed_by_the_next(tmp_path):
    data, unix = tmp_path / "data", f"unix:{tmp_path}/nic.sock"
    (data / "below").mkdir(parents=True)
    digits = "0123456789abcdef" * 2
    alike, outside = data / f"own.part-{digits}", tmp_path / f"outside.part-{digits}"
    precious = data / "precious"
    for path in (alike, outside, precious):
        path.write_text("a user's")
    (data / f".isthmus-writing-{digits}").symlink_to(tmp_path / "elsewhere")

    def parts():
        return {path for path in data.rglob("*") if ".part-" in path.name} - {alike}

    def write(nic, link, path):
        stream = nic.stream(nic.open(f"file:{path}"), adu=8, links=[link], adus=2)
        stream.send(np.zeros(8, np.uint8))

    with daemon("--listen", f"unix:{tmp_path}/other.sock", "--files", data) as (other, _):
        with connect(f"unix:{tmp_path}/other.sock", patience="60 s") as nic:
            write(nic, 1, data / "stays")
            until(parts, "part of the daemon that stays")
            stays = parts()
            with daemon("--listen", unix, "--files", data) as (process, _):
                nic_of_killed = connect(unix, patience="60 s")
                write(nic_of_killed, 1, data / "a")
                write(nic_of_killed, 2, data / "below" / "b")
                until(lambda: len(parts() - stays) == 2, "parts")
                process.kill()
                process.wait(PATIENCE)
            left = parts() - stays
            journals = [path for path in data.glob(".isthmus-*") if path.is_file()]
            (journal,) = [path for path in journals if b"/below/b.part-" in path.read_bytes()]
            # It names files that are not to be removed, too.
            with journal.open("ab") as file:
                file.truncate(2 * 4096)
                for path in (precious, outside, *stays):
                    file.write(str(path).encode().ljust(4096, b"\0"))
            log = tmp_path / "log"
            with daemon("--listen", unix, "--files", data, "--log", log) as (process, _):
                until(lambda: "| listen | ok" in log.read_text(), "line of the log")
                assert len(left) == 2
                assert parts() == stays
                # It is kept for what is not removed yet.
                assert journal.exists()
                assert all(f"remove | {path}" in log.read_text() for path in left)
                process.send_signal(signal.SIGTERM)
                assert process.wait(PATIENCE) == 0
        other.send_signal(signal.SIGTERM)
        assert other.wait(PATIENCE) == 0
    assert all(path.read_text() == "a user's" for path in (alike, outside, precious))
    # Below the directories that the journal's daemon had, it would have been removed.
    assert {path for path in data.glob(".isthmus-*") if not path.is_symlink()} == {journal}
    with daemon("--listen", unix, "--files", data, "--files", tmp_path) as (process, _):
        assert not journal.exists()
        assert not outside.exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert [path.is_symlink() for path in data.glob(".isthmus-*")] == [True]


def test_limits_and_policy_are_those_of_the_flags(tmp_path):
    words = ["--listen", "tcp:127.0.0.1:0", "--applications", 1, "--staging", "256 KiB"]
    words += ["--to", "10.0.0.0/8", "--files", tmp_path]
    with daemon(*words) as (_, told):
        (address,) = told["listening"]
        with Client(address) as first, Client(address) as second:
            welcome = first.hello("first")["welcome"]
            assert (welcome["staging_bytes"], welcome["network_bytes"]) == (256 << 10, 64 << 20)
            refusal = second.hello("second")
            assert (refusal["kind"], "1 applications" in refusal["text"]) == ("limit", True)
            refusal = first.ask("open", destination="tcp:127.0.0.1:9")
            assert refusal["kind"] == "denied"
            assert "connection" in first.ask("open", destination=f"file:{tmp_path}/image")


def test_systemd_is_told(tmp_path):
    place = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(place))
        told.settimeout(PATIENCE)
        words = ["--listen", "tcp:127.0.0.1:0"]
        with daemon(*words, NOTIFY_SOCKET=str(place)) as (process, _):
            assert told.recv(100) == b"READY=1"
            process.send_signal(signal.SIGTERM)
            assert told.recv(100) == b"STOPPING=1"
            assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--listen", "unix:here"], "unix:/run/isthmus.sock"),
        (["--listen", "unix:/nowhere/nic"], "address `unix:/nowhere/nic`: its folder is not there"),
        (["--listen", "tcp:0.0.0.0:0"], "token and TLS"),
        (["--listen", "tcp:127.0.0.1:0", "--staging", "4"], "unit"),
        (["--listen", "tcp:127.0.0.1:0", "--staging", "0 B"], "--staging"),
        (["--listen", "tcp:127.0.0.1:0", "--grace", "1 MB"], "--grace"),
        (["--listen", "tcp:127.0.0.1:0", "--to", "10.0.0.1/8"], "10.0.0.1/8"),
        (["--listen", "tcp:127.0.0.1:0", "--files", "/nowhere/at/all"], "/nowhere/at/all"),
        (["--listen", "tcp:127.0.0.1:0", "--files", ""], "--files: the path is empty"),
        (["--listen", "tcp:127.0.0.1:0", "--token-file", "none"], "none"),
        (["--listen", "tcp:127.0.0.1:0", "--metrics", "9464"], "127.0.0.1:9464"),
        (["--listen", "unix:/nowhere/nic", "--socket-mode", "777"], '"777" is no mode of a socket'),
        (
            ["--listen", "tcp:127.0.0.1:0", "--socket-mode", "660"],
            "--socket-mode: no unix: address is given",
        ),
        (
            ["--listen", "tcp:127.0.0.1:0", "--tls-cert", "x", "--tls-key", "y"],
            "--tls-cert and --tls-key: it listens at no tls: address",
        ),
        (
            ["--listen", "tcp:127.0.0.1:0", "--rings", "999 TiB"],
            "--rings: 1022976.0 GiB, and this machine has",
        ),
        (
            ["--listen", "tcp:127.0.0.1:0", "--screen-memory", "999 TiB"],
            "--screen-memory: 1022976.0 GiB, and this machine has",
        ),
        (["--listen", "tls:127.0.0.1:0", "--tls-cert", "x"], "--tls-key"),
        (["--listen", "tls:127.0.0.1:0"], "--tls-cert"),
        ([], "--listen"),
        (["--listen"], "'--listen' requires an argument; see `isthmus nic serve --help`"),
        (["--listen", "tcp:127.0.0.1:0", "--staging", "0"], 'for example "64 KiB"'),
        (["--listen", "tcp:127.0.0.1:0", "--hello", "0 s"], "--hello"),
        (["--listen", "tcp:127.0.0.1:0", "--screens", "9464"], "127.0.0.1:8000"),
        (
            ["--listen", "tcp:127.0.0.1:0", "--network", "1 MB", "--connection-network", "2 MB"],
            "--connection-network: 2000000 bytes are more than the 1000000 of --network",
        ),
    ],
)
def test_what_cannot_be_is_said_in_one_line(isthmus, words, says):
    ran = isthmus("nic", "serve", *words)
    assert ran.returncode == 2
    assert says in ran.stderr.splitlines()[-1]
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("option", ["--listen", "--metrics", "--screens"])
def test_a_port_is_one_programs(isthmus, option):
    with socket.create_server(("127.0.0.1", 0)) as server:
        at = f"127.0.0.1:{server.getsockname()[1]}"
        words = {"--listen": "tcp:127.0.0.1:0", option: at}
        if option == "--listen":
            words = {option: f"tcp:{at}"}
        ran = isthmus("nic", "serve", *(each for pair in words.items() for each in pair))
    assert ran.returncode == 2
    assert at in ran.stderr and "take another port (0: a free one)" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_an_address_is_one_daemons(isthmus, tmp_path):
    unix = f"unix:{tmp_path}/nic.sock"
    with daemon("--listen", unix) as (process, _):
        ran = isthmus("nic", "serve", "--listen", unix)
        assert ran.returncode == 2
        assert "another daemon listens there" in ran.stderr
        # Killed, it leaves its socket's file, and the next one takes it.
        process.kill()
        process.wait(PATIENCE)
        assert (tmp_path / "nic.sock").exists()
        with daemon("--listen", unix) as (_, told), Client(unix) as client:
            assert told["listening"] == [unix]
            assert "welcome" in client.hello("again")


def test_a_socket_may_be_the_groups(tmp_path):
    with daemon("--listen", f"unix:{tmp_path}/nic.sock", "--socket-mode", "660"):
        assert (tmp_path / "nic.sock").stat().st_mode & 0o777 == 0o660


@pytest.mark.parametrize("name", ["isthmus-nic", "isthmus-iod"])
def test_the_unit_file_is_one_of_systemd(name):
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("needs systemd-analyze")
    unit = Path(__file__).parents[2] / "packaging" / f"{name}.service"
    ran = subprocess.run(
        [verify, "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    # What it says of other units is not ours.
    said = [line for line in ran.stderr.splitlines() if name in line]
    assert not said


def test_the_page_for_operators_names_all_metrics():
    page = (Path(__file__).parents[2] / "docs" / "nic-operators.md").read_text()
    begin, end = page.index("## Metrics"), page.index("Worth an alarm")
    rows = [line.split("|")[1] for line in page[begin:end].splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"`(\w+)", row)}
    words = ["--listen", "tcp:127.0.0.1:0", "--metrics", "127.0.0.1:0"]
    with daemon(*words) as (_, listening):
        url = f"http://{listening['metrics']}/metrics"
        text = urllib.request.urlopen(url, timeout=PATIENCE).read().decode()
    assert told == set(re.findall(r"^# TYPE isthmus_nic_(\w+)", text, re.MULTILINE))


def test_the_page_for_operators_names_all_options(isthmus):
    page = (Path(__file__).parents[2] / "docs" / "nic-operators.md").read_text()
    options = set(re.findall(r"^ +(--[\w-]+)", isthmus("nic", "serve", "--help").stdout, re.M))
    assert {option for option in options if f"`{option}" not in page} <= {"--help"}


def test_tokens_are_read_again(tmp_path):
    log, token = tmp_path / "log", secret(tmp_path / "token", TOKEN)
    words = ["--listen", "tcp:127.0.0.1:0", "--log", log, "--token-file", token]
    with daemon(*words) as (process, told):
        (address,) = told["listening"]

        def welcomes(token):
            with Client(address) as client:
                return "welcome" in client.hello("asks", token=token)

        with Client(address) as stays:
            assert "welcome" in stays.hello("stays", token=TOKEN)
            for text, said, welcome in [
                ("fedcba9876543210-clients", "ok", "fedcba9876543210-clients"),
                ("two words-in-a-token", "it holds several words", "fedcba9876543210-clients"),
            ]:
                secret(token, text)
                process.send_signal(signal.SIGHUP)
                until(lambda said=said: re.search(rf"tokens \|.*{said}", log.read_text()), said)
                assert welcomes(welcome)
                assert not welcomes(TOKEN)
            # A FIFO without a writer would have the daemon wait.
            token.unlink()
            os.mkfifo(token, 0o600)
            process.send_signal(signal.SIGHUP)
            until(lambda: "it is not a regular file" in log.read_text(), "refusal of a FIFO")
            assert welcomes("fedcba9876543210-clients")
            assert "overview" in stays.ask("overview")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


def test_a_token_file_holds_one_word(isthmus, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("0123456789abcdef\nfedcba9876543210\n")
    tokens.chmod(0o600)
    ran = isthmus("nic", "serve", "--listen", "tcp:127.0.0.1:0", "--token-file", str(tokens))
    assert ran.returncode == 2
    assert "it holds several lines; a token is one" in ran.stderr
    tokens.write_text("0123456789abcdef fedcba9876543210\n")
    ran = isthmus("nic", "serve", "--listen", "tcp:127.0.0.1:0", "--token-file", str(tokens))
    assert ran.returncode == 2
    assert "it holds several words; a token is one" in ran.stderr
    ran = isthmus("nic", "top", "--address", "tcp:127.0.0.1:1", "--token-file", str(tokens))
    assert ran.returncode == 2
    assert "it holds several words; a token is one" in ran.stderr


def link_local():
    """Return a link-local address of this machine with its interface; none, if it has none."""
    for line in Path("/proc/net/if_inet6").read_text().splitlines():
        digits, _, _, scope, _, interface = line.split()
        if scope == "20":
            return f"{ipaddress.IPv6Address(int(digits, 16))}%{interface}"
    return None


def test_a_link_local_address_has_an_interface(tmp_path):
    host = link_local()
    if host is None:
        pytest.skip("no interface here has a link-local address")
    unix = f"unix:{tmp_path}/nic.sock"
    sink = Sink(tmp_path, host=f"[{host}]")
    port = sink.sink.address().rpartition(":")[2]
    with daemon("--listen", unix, "--to", "fe80::/10") as _, connect(unix, patience="60 s") as nic:
        with nic.open(f"raw:tcp:[{host}]:{port}") as out:
            nic.stream(out, adu=8, links=1, adus=1).send(np.arange(8, dtype=np.uint8))
        assert sink.taken() == bytes(range(8))
        # Its acknowledgements are asked for by the addresses.
        at = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0][4]
        with (
            socket.create_server(at, family=socket.AF_INET6) as listener,
            nic.open(f"tcp:[{host}]:{listener.getsockname()[1]}") as out,
        ):
            stream = nic.stream(out, adu=8, links=2, adus=1)
            stream.send(np.arange(8, dtype=np.uint8))
            stream.wait()
            with listener.accept()[0] as taken:
                assert taken.recv(8, socket.MSG_WAITALL) == bytes(range(8))
