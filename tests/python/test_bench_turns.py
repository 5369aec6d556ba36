"""Programs that have the machine by turns."""

import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "bench"))

from by_turns import TURN_S, Side, by_turns

NOTES = """
import os, sys, time
path, seconds, generation = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
if generation:
    # What it begins works as well, and begins others in the middle of it.
    pid = os.fork()
    if not pid:
        time.sleep(0.3 * generation)
        words = [path + "-child", str(seconds), str(generation - 1)]
        os.execv(sys.executable, [sys.executable, sys.argv[0], *words])
used = 0.0
with open(path, "w") as file:
    while time.process_time() < seconds:
        now = time.process_time()
        if now - used >= 0.005:
            used = now
            print(time.monotonic(), file=file)
if generation:
    os.waitpid(pid, 0)
"""
"""Writes down when it is at work, as others it begins do."""


@pytest.fixture
def side(tmp_path: Path):
    script = tmp_path / "notes.py"
    script.write_text(NOTES)

    def made(name: str, generations: int) -> Side:
        words = [str(tmp_path / name), "1.5", str(generations)]
        return Side([[sys.executable, str(script), *words]])

    return made


def at_work(path: Path) -> list[float]:
    return [float(line) for line in path.read_text().split()]


def test_while_one_side_works_the_other_stands_still(side, tmp_path):
    """Those that were begun by either as well."""
    first, second = side("a", 2), side("b", 0)
    by_turns(first, second)
    ours = [at for name in ("a", "a-child", "a-child-child") for at in at_work(tmp_path / name)]
    theirs = at_work(tmp_path / "b")
    assert len(ours) > 200
    assert len(theirs) > 50
    # Theirs are together in a few turns, and none of ours is well within one of them.
    gaps = [(a, b) for a, b in pairwise(theirs) if b - a > TURN_S / 2]
    assert len(gaps) >= 2
    ends = [theirs[0], *(each for gap in gaps for each in gap), theirs[-1]]
    turns = list(zip(ends[::2], ends[1::2], strict=True))
    within = [at for at in ours if any(a + 0.1 < at < b - 0.1 for a, b in turns)]
    assert within == []
    assert first.ended[0].cpu_s > 4
    assert second.ended[0].cpu_s > 1.4


def test_who_fails_ends_all(side, tmp_path):
    fails = Side([[sys.executable, "-c", "print('why'); raise SystemExit(3)"]])
    with pytest.raises(SystemExit, match="failed:\nwhy"):
        by_turns(side("a", 1), fails)
    before = (tmp_path / "a").read_text()
    time.sleep(0.2)
    assert (tmp_path / "a").read_text() == before
