"""The short form of `iod_kill_rounds.py`, and what its model finds."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from iod_model import File, Model, differences
from iod_rig import no_fuse

ROUNDS, SEED = 6, 3
PROGRAM = Path(__file__).with_name("iod_kill_rounds.py")


@pytest.mark.skipif(bool(no_fuse()), reason=no_fuse())
def test_what_was_acknowledged_is_in_the_store():
    # In a process of its own, which forks before it has threads. One of the rounds has no store.
    words = [sys.executable, PROGRAM, "--seed", str(SEED), "--first", "5", "--rounds", str(ROUNDS)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    print(done.stdout)
    if "Operation not permitted" in done.stderr:
        pytest.skip("this host mounts nothing")
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", done.stdout)}
    assert counts["rounds"] == ROUNDS
    assert counts["violations"] == 0
    assert counts["acknowledged"] > 100 * ROUNDS
    assert min(counts["daemons_killed"], counts["mounts_killed"], counts["clients_killed"]) > 0


def written(data: bytes) -> File:
    """Return a file with a write in flight of `data` at byte 2."""
    return File(bytearray(b"01234567"), (2, data))


@pytest.mark.parametrize(
    ("found", "is_right"),
    [
        (b"01234567", True),
        (b"01ABCD67", True),
        (b"01A3C567", True),
        (b"0XABCD67", False),
        (b"01ABCX67", False),
        (b"01ABCD6", False),
        (b"01ABCD670", False),
    ],
)
def test_a_write_in_flight_may_be_there_in_part(found, is_right):
    assert (written(b"ABCD").difference(found) == "") is is_right


def test_a_write_in_flight_may_have_extended_the_file():
    for count in range(2):
        assert written(b"ABCDEFG").difference(b"01ABCDEFG"[: 8 + count]) == ""
    assert written(b"ABCDEFG").difference(b"01ABCDEFGH") != ""


def test_operations_on_names_in_flight_happen_whole_or_not(tmp_path):
    model = Model()
    for name, words in (("mkdir", ["a"]), ("open", [1, "a/x", "excl"]), ("mkdir", ["b"])):
        model.begin(name, words, b"")
        model.end(name, words, b"", 0, 0)
    model.begin("rename", ["a", "c"], b"")
    (tmp_path / "b").mkdir()
    (tmp_path / "c").mkdir()
    assert model.wrong(tmp_path) == ["c/x: missing"]
    (tmp_path / "c" / "x").touch()
    assert model.wrong(tmp_path) == []
    (tmp_path / "a").mkdir()
    assert model.wrong(tmp_path) != []
    model.end("rename", ["a", "c"], b"", 0, 0)
    assert differences(model.tree, tmp_path) == ["a: was removed, or was never there"]
