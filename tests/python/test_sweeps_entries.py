"""Entries of a journal that are not what this run has written: what those say who only look."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from conftest import SMALL
from isthmus.sweeps import state_of
from test_sweeps import isthmus


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A folder with a run whose points are all done, not collected."""
    return done_in(tmp_path_factory.mktemp("whole"), "o")


def done_in(here: Path, out: str, *words: object) -> Path:
    (here / "small.toml").write_text(SMALL)
    part = isthmus("run", "small.toml", "--quick", *words, "--part", "1/1", "--out", out, cwd=here)
    assert part.returncode == 0, part.stderr
    return here / out


@pytest.fixture
def out(whole, tmp_path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "o"))


def flaws(out: Path) -> dict[str, str]:
    return {flaw.entry: flaw.reason for flaw in state_of(out).damaged}


def test_status_reports_a_changed_byte(out):
    assert flaws(out) == {}
    for entry in ("journal", "point-00001"):
        file = out / f"points/{entry}.json"
        written = file.read_bytes()
        line = written.index(b"\n") + 1
        # A sample of the first line and of the content.
        for at in [*range(0, line, 7), *range(line, len(written), 1999)]:
            file.write_bytes(written[:at] + bytes([written[at] ^ 1]) + written[at + 1 :])
            assert list(flaws(out)) == [entry], at
        file.write_bytes(written)
    assert flaws(out) == {}


def test_entries_copied_over_one_another_are_no_points(out):
    shutil.copy(out / "points/point-00001.json", out / "points/point-00003.json")
    assert flaws(out) == {"point-00003": "damaged (it is of another point)"}
    assert state_of(out).done == 3
    told = isthmus("status", out, cwd=out.parent).stdout
    assert told.startswith("small: 3 of 4 points done")
    assert "all is there" not in told


def test_entries_of_another_run_are_no_points(out, tmp_path):
    other = done_in(tmp_path, "other", "--seed", 7)
    for name in ("journal.json", "point-00000.json"):
        shutil.copy(other / "points" / name, out / "points" / name)
    told = "of another run (the seed differs)"
    assert flaws(out) == {"journal": told, "point-00000": told}
    assert state_of(out).done == 3


def test_all_that_is_not_used_is_told_at_once_to_who_collects(out):
    for at in (1, 3):
        (out / f"points/point-0000{at}.json").write_bytes(b"{}")
    done = isthmus("collect", out.name, cwd=out.parent)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert "o/points/point-00001.json:1: the finished result is damaged (" in line
    assert line.endswith("; 1 more file is not used: `isthmus status o` lists all of them")


def test_what_is_no_file_of_the_journal_is_told_and_never_waited_for(out, tmp_path):
    points = out / "points"
    shutil.move(points / "point-00000.json", tmp_path / "moved")
    (points / "point-00000.json").symlink_to(tmp_path / "moved")
    (points / "point-00001.json").unlink()
    os.mkfifo(points / "point-00001.json")
    told = "not a file (links are not followed)"
    assert flaws(out) == {"point-00000": told, "point-00001": told}
    assert state_of(out).done == 2
    # A part is at the others all the same.
    (points / "point-00002.json").unlink()
    part = isthmus("run", out, "--part", "1/1", cwd=out.parent)
    assert (part.returncode, part.stdout) == (1, f"2 of 4 points of this part are in {out}\n")
    assert part.stderr.count("links are not followed") == 2
    assert state_of(out).done == 2


def test_what_was_finished_of_a_point_and_is_damaged_is_told_as_what_it_is(out):
    points = out / "points"
    (points / "point-00001.json").unlink()
    (points / "point-00001.kept.json").write_bytes((points / "point-00000.json").read_bytes())
    (points / "point-00002.json").unlink()
    assert flaws(out) == {"point-00001.kept": "damaged (it is of another point)"}
    told = isthmus("status", out, cwd=out.parent).stdout
    assert "delete points/point-00001.kept.json or move it away" in told
    part = isthmus("run", out, "--part", "1/1", cwd=out.parent)
    assert part.returncode == 1
    (line,) = part.stderr.splitlines()
    assert "point-00001.kept.json:1: what is finished of a point is damaged" in line
    assert "result" not in line
    # The other one is done.
    assert (points / "point-00002.json").exists()
    (points / "point-00001.kept.json").unlink()
    assert isthmus("run", out, "--part", "1/1", cwd=out.parent).returncode == 0


def test_what_is_damaged_is_told_beside_what_is_missing(out):
    points = out / "points"
    (points / "point-00001.json").unlink()
    (points / "point-00001.json").symlink_to(points / "point-00000.json")
    (points / "point-00003.json").write_bytes((points / "point-00003.json").read_bytes()[:-9])
    collected = isthmus("collect", out, cwd=out.parent)
    assert collected.returncode == 1
    told = " ".join(collected.stderr.split())
    assert "1 point (1) is missing; point-00001: not a file (links are not followed)" in told
    assert "delete points/point-00003.json or move it away" in told
    assert "; once these are out of the way, `isthmus run" in told
    for at in (1, 3):
        (points / f"point-0000{at}.json").unlink()
    assert isthmus("run", out, cwd=out.parent).returncode == 0


def test_files_of_the_user_s_in_the_journal_are_nobody_s_points(out):
    for name in ("point-99999.json", "point-000001.json", "mine.json", "worker-me.jsonl"):
        (out / "points" / name).write_text("mine")
    (out / "points/point-00000.claim.old").write_text("mine")
    state = state_of(out)
    assert (state.done, state.damaged, state.running) == (4, [], [])
    assert isthmus("collect", out, cwd=out.parent).returncode == 0
    assert (out / "points/point-99999.json").read_text() == "mine"
    assert (out / "points/point-00000.claim.old").read_text() == "mine"
    assert isthmus("run", out, "--part", "1/1", cwd=out.parent).returncode == 0


def test_lines_of_processes_that_make_no_sense_are_left_out(out):
    (file,) = (out / "points").glob("worker-*.jsonl")
    before = state_of(out)
    with file.open("a") as told:
        told.write(
            '{"done": "point-00001"}\n{"failed": ["x"], "at_s": 1}\n{"done": 1, "took_s": "x"}\n'
        )
    assert state_of(out) == before
