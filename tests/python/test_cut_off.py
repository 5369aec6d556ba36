"""Runs that are ended by SIGTERM in the middle of a point go on from its finished replications."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kill_rounds import files

TIMEOUT_S = 120
MACHINE = """\
version = 1
name = "cut"
[machine]
kind = "hypercube"
dimension = 3
lanes.io_link = 1
[workload]
rate = "3 /ms"
[stop]
replications = 4
"""
"""Replications of a third of a second here: on a machine of four times the speed they are still
worth keeping.
"""
RULES = {
    "fixed": 'rule = "fixed"\nmessages = 2000000\nwarmup_messages = 1000\n',
    "precision": (
        'rule = "precision"\nprecision = "0.01%"\nmessages_first = 500000\nmessages_max = 2000000\n'
    ),
}


def begin(scenario: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "isthmus", "run", str(scenario), "--out", str(out), *more]
    return subprocess.Popen(
        [*words, "--jobs", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, said


def spent_s(process: subprocess.Popen[str]) -> float | None:
    """Processor time that a run has had, which tells how far it is however busy the machine is;
    None once it has ended.
    """
    words = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    if words[0] == "Z":
        return None
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def simulates(process: subprocess.Popen[str], out: Path) -> float:
    """Wait until a run has begun to simulate, or has ended; the processor time that this took."""
    deadline = time.monotonic() + TIMEOUT_S
    spent = 0.0
    while not (out / "points/journal.json").exists() and (now := spent_s(process)) is not None:
        assert time.monotonic() < deadline
        spent = now
        time.sleep(0.01)
    return spent


def cut(scenario: Path, out: Path, moment_s: float) -> int:
    """Run, and end it so much processor time after it has begun to simulate; its exit status."""
    process = begin(scenario, out)
    deadline = time.monotonic() + TIMEOUT_S
    moment_s += simulates(process, out)
    while (now := spent_s(process)) is not None and now < moment_s:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    status, said = end(process)
    # Before Python has started the signal itself ends it.
    assert status in (0, 128 + signal.SIGTERM, -signal.SIGTERM), said
    assert "Traceback" not in said
    return status


@pytest.fixture(params=RULES)
def scenario(request, tmp_path):
    path = tmp_path / "cut.toml"
    path.write_text(MACHINE + RULES[request.param], encoding="utf-8")
    return path


@pytest.fixture
def whole(scenario, tmp_path):
    """An undisturbed run and the processor time that its simulation takes."""
    process = begin(scenario, tmp_path / "whole")
    began_s = lasts_s = simulates(process, tmp_path / "whole")
    while (now := spent_s(process)) is not None:
        lasts_s = now
        if (tmp_path / "whole/result.json").exists():
            break
        time.sleep(0.01)
    status, said = end(process)
    assert status == 0, said
    return files(tmp_path / "whole"), lasts_s - began_s


def test_ended_runs_leave_the_bytes_of_undisturbed_ones(scenario, whole, tmp_path):
    wanted, lasts_s = whole
    chance = random.Random(7)
    kept = 0
    for number in range(12):
        out = tmp_path / f"round-{number}"
        for _ in range(3):
            cut(scenario, out, chance.uniform(0, lasts_s))
            kept += (out / "points/point-00000.kept.json").exists()
        status, said = end(begin(scenario, out))
        assert status == 0, said
        assert files(out) == wanted
        if number >= 1 and kept:
            return
    pytest.fail("no cut came in the middle of a point")


def test_what_is_kept_and_damaged_is_refused_and_fresh_removes_it(scenario, whole, tmp_path):
    wanted, lasts_s = whole
    for number in range(20):
        out = tmp_path / f"round-{number}"
        cut(scenario, out, lasts_s * (0.55 + 0.02 * number))
        kept = out / "points/point-00000.kept.json"
        if kept.exists():
            break
    else:
        pytest.fail("no cut came in the middle of a point")
    kept.write_bytes(kept.read_bytes()[:-5])
    status, said = end(begin(scenario, out))
    assert status == 2, said
    assert kept.name in said
    assert "Traceback" not in said
    status, said = end(begin(scenario, out, "--fresh"))
    assert status == 0, said
    assert files(out) == wanted
