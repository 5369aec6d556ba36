"""The short form of `kill_rounds.py`: a few rounds of ``kill -9`` on each kind of machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kill_rounds import KINDS

ROUNDS = 3


@pytest.mark.parametrize("kind", KINDS)
def test_killed_runs_leave_the_bytes_of_undisturbed_ones(kind):
    # In a process of its own, which forks before it has threads.
    words = [sys.executable, str(Path(__file__).with_name("kill_rounds.py")), "--kind", kind]
    done = subprocess.run(
        [*words, "--rounds", str(ROUNDS)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    counts = {name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", done.stdout)}
    assert counts["rounds"] == ROUNDS
    assert counts["killed"] >= ROUNDS
