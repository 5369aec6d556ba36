"""What is submitted to Slurm: tasks that take about as long as one another, and their script."""

import random
import re
import subprocess
import time
from itertools import pairwise, product
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import SMALL
from isthmus import IsthmusError, _core
from isthmus.execution import Job
from isthmus.progress import Progress
from isthmus.sweeps import Selection, do_part
from isthmus.sweeps.selection import ranges
from isthmus.sweeps.slurm import Array, Script, SlurmError, Wanted, costs
from isthmus.sweeps.slurm.control import Ended, _ended
from isthmus.sweeps.slurm.costs import LEAST, finished, predicted, spread
from isthmus.sweeps.slurm.packing import packed, tasks_for
from isthmus.sweeps.slurm.sweep import was_cancelled


def loads(tasks, costs):
    return [sum(costs[at] for at in task) for task in tasks]


def test_tasks_hold_everything_once_and_the_longest_is_near_the_best_there_is():
    chance = random.Random(12)
    worst = 1.0
    for _ in range(60):
        count, tasks = chance.randint(1, 8), chance.randint(1, 3)
        costs = [float(chance.randint(2, 9)) for _ in range(count)]
        found = packed(costs, tasks)
        assert sorted(at for task in found for at in task) == list(range(count))
        assert len(found) == min(tasks, count)
        assert all(found)
        ways = product(range(tasks), repeat=count)
        best = min(
            max(
                sum(c for c, t in zip(costs, way, strict=True) if t == task)
                for task in range(tasks)
            )
            for way in ways
        )
        # Graham's bound for the longest first: 4/3 - 1/(3 m).
        assert max(loads(found, costs)) <= best * (4 / 3 - 1 / (3 * tasks)) + 1e-9
        worst = max(worst, max(loads(found, costs)) / best)
    assert worst > 1.0, "no case was hard"


def test_neighbours_of_the_same_cost_come_to_the_same_task():
    count = 60_000
    for seconds in ([0.005] * count, [0.005, 0.01] * (count // 2)):
        tasks = packed(seconds, 2)
        assert [len(ranges(task)) < 200 for task in tasks] == [True, True]
        assert loads(tasks, seconds) == pytest.approx([sum(seconds) / 2] * 2)


def test_a_list_of_points_always_fits_into_a_command():
    # Every second one, as others are done.
    long = Selection(tuple(range(1, 200_000, 2)))
    text = Script("x", Path("/o"), Wanted(), 1, None, [long], None).as_text()
    assert "set -- --points 1:200000 ;;" in text
    few = Selection(tuple(range(1, 20_000, 2)))
    text = Script("x", Path("/o"), Wanted(), 1, None, [few], None).as_text()
    assert "--points 1,3,5," in text


def test_unequal_points_come_to_equal_tasks():
    costs = [100.0] * 4 + [1.0] * 396
    assert loads(packed(costs, 4), costs) == [199.0] * 4


@pytest.mark.parametrize(
    ("costs", "threads", "limit_s", "tasks"),
    [
        ([0.05] * 1000, 1, None, 1),  # 50 s are one task
        ([6.0] * 100, 1, None, 10),  # a minute each
        ([6.0] * 100, 2, None, 5),
        ([3600.0] * 1000, 1, None, 100),
        ([3600.0] * 1000, 1, 7200.0, 1000),  # half of the time limit
        ([3600.0] * 3, 1, 60.0, 3),  # no more tasks than points
    ],
)
def test_how_many_tasks_there_are(costs, threads, limit_s, tasks):
    assert tasks_for(costs, threads, limit_s) == tasks


def test_any_beginning_is_spread():
    assert list(spread([10, 11, 12, 13, 14])) == [10, 14, 12, 11, 13]
    assert sorted(spread(range(100))) == list(range(100))
    first = sorted(list(spread(range(1000)))[:64])
    assert max(b - a for a, b in pairwise(first)) < 40


def test_durations_are_those_of_the_nearest_points_that_are_known(tmp_path):
    job = Job(SMALL.replace('["2 /ms", "4 /ms"]', '["2 /ms", "2.1 /ms", "8 /ms"]'), "small.toml")
    out = tmp_path / "out"
    do_part(job, out, Selection((0, 2, 3, 5)))
    known = finished(out)
    assert sorted(known) == [("point", at) for at in (0, 2, 3, 5)]
    # Rates are three to a row; 1 and 4 lie as near to either of their neighbours.
    told = predicted(job, out, Selection((1, 4)))
    assert told[0] in (known["point", 0], known["point", 2])
    assert told[1] in (known["point", 3], known["point", 5])


def test_a_few_are_tried_where_nothing_is_known_and_kept_only_if_they_may_be(tmp_path):
    job = Job(SMALL, "small.toml")
    for keep in (False, True):
        told = predicted(job, tmp_path / "out", Selection((0, 1, 2, 3)), keep=keep)
        assert len(told) == 4
        assert all(seconds > 0 for seconds in told)
        assert (tmp_path / "out").exists() == keep
    assert len(finished(tmp_path / "out")) == 4


def test_the_time_for_trying_begins_when_all_is_built(tmp_path, monkeypatch):
    job = Job(SMALL, "small.toml")
    # As much as even a busy machine needs for some points of a few milliseconds.
    monkeypatch.setattr(costs, "TRIED_S", 60.0)
    ahead = 0.0
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + ahead)
    monkeypatch.setattr(costs, "time", clock)
    monkeypatch.setattr(_core, "check", None)  # which would build all machines again
    do_part = costs.do_part

    def slowly(tried, folder, part, *more):
        """As if the first machine took longer than all that may be tried."""
        nonlocal ahead
        for _ in range(3):
            tried.watch(Progress("building"))
            ahead += costs.TRIED_S
        return do_part(tried, folder, part, *more)

    monkeypatch.setattr(costs, "do_part", slowly)
    predicted(job, tmp_path / "out", Selection((0, 1, 2, 3)))
    assert len(finished(tmp_path / "out")) >= LEAST
    assert (job.quick, job.jobs) == (False, 1)


def test_a_part_builds_before_its_first_point_begins(tmp_path):
    seen = []
    job = Job(
        SMALL, "small.toml", watch=lambda p: seen.append((p.phase, p.points_done, p.messages))
    )
    do_part(job, tmp_path / "out", Selection((0, 1)))
    assert seen[-1][:2] == ("simulating", 2)
    assert all(phase == "simulating" for phase, done, messages in seen if done or messages)
    seen.clear()
    # What is there needs no machine.
    do_part(job, tmp_path / "out", Selection((0, 1)))
    assert seen[-1][:2] == ("simulating", 2)


TIME = "2026-11-25T12:00:00"
TASKS = (Selection((0, 1, 2, 7)), Selection((3,), (0,)))


def script(**wanted):
    folder = Path("/data/my study")
    return Script("isthmus-x-1", folder, Wanted(**wanted), 2, "4 GB", TASKS, 90.0).as_text()


def test_the_script_says_what_each_task_does(tmp_path):
    text = script(time_s=5400.0, partition="long", words=("--qos=low", "--comment=a b"))
    lines = text.splitlines()
    assert lines[0] == "#!/bin/bash"
    asked = [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH ")]
    for word in (
        "--array=0-1",
        "--cpus-per-task=2",
        "--time=01:30:00",
        "--partition=long",
        "--signal=B:TERM@60",
        "--qos=low",
        '"--comment=a b"',
        '"--output=/data/my study/slurm/%A_%a.log"',
    ):
        assert word in asked
    # What bash makes of it.
    plain = text.replace("exec ", "printf '%s\\n' ")
    for task, points in ((0, ["--points", "0:3,7"]), (1, ["--points", "3", "--searches", "0"])):
        done = subprocess.run(
            ["bash"],
            input=plain,
            env={"SLURM_ARRAY_TASK_ID": str(task), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        words = done.stdout.splitlines()
        assert words[1:5] == ["-m", "isthmus", "run", "/data/my study"]
        assert words[5 : 5 + len(points)] == points
        assert words[-2:] == ["--jobs", "1"]
        assert words[words.index("--memory") + 1] == "4 GB"


def test_short_time_limits_have_no_notice_that_might_come_at_once():
    assert "--signal" not in script(time_s=60.0)
    assert "--time=00:01:00" in script(time_s=61.0 - 1.0)
    assert "--time=00:02:00" in script(time_s=61.0)
    assert "--time=2-00:00:00" in script(time_s=2 * 86400.0)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"words": ("--array=0-9",)}, "--array is chosen by isthmus"),
        ({"words": ("-o", "x")}, "--output is chosen by isthmus"),
        ({"words": ("--job=other",)}, "--job-name is chosen by isthmus"),
        ({"words": ("--out=x",)}, "--output is chosen by isthmus"),
        ({"words": ("--wait",)}, "--wait is chosen by isthmus"),
        ({"words": ("-W",)}, "--wait is chosen by isthmus"),
        ({"words": ("--test-only",)}, "--test-only is chosen by isthmus"),
        ({"words": ("--time=1:00",)}, "--time is chosen by isthmus; give --time"),
        ({"words": ("-t1:00",)}, "--time is chosen by isthmus; give --time"),
        ({"words": ("--cpus-per-task=2",)}, "--cpus-per-task is chosen by isthmus; give --jobs"),
        ({"words": ("-c", "2")}, "--cpus-per-task is chosen by isthmus; give --jobs"),
        ({"words": ("-plong",)}, "--partition is chosen by isthmus; give --partition"),
        ({"words": ("--account=me",)}, "--account is chosen by isthmus; give --account"),
        ({"words": ("mem=4G",)}, "is no option of sbatch"),
        ({"words": ("--a\nrm -rf /",)}, "a word in one line"),
        ({"partition": "a\nb"}, "--partition"),
        ({"account": ""}, "--account"),
    ],
)
def test_words_that_would_break_the_script_are_refused(wanted, said):
    with pytest.raises(IsthmusError, match=said):
        Wanted(**wanted)


def test_what_sbatch_and_scontrol_say_is_read():
    assert Array.parsed("123\n") == Array("123")
    assert Array.parsed("123;big\n").cancel == "scancel --clusters=big 123"
    with pytest.raises(SlurmError, match="in place of the number"):
        Array.parsed("Submitted batch job 123")
    line = "JobId=7 ArrayJobId=4 ArrayTaskId=2 JobState={} ExitCode={} NodeList=node3 EndTime={}"
    for state, code, lost, reason in (
        ("FAILED", "0:9", True, "killed by signal 9"),
        ("FAILED", "137:0", True, "killed by signal 9"),
        ("FAILED", "143:0", True, "told to end"),
        ("FAILED", "2:0", False, "ended with status 2"),
        ("TIMEOUT", "0:15", True, "time limit"),
        ("NODE_FAIL", "0:0", True, r"its node failed \(node3\)"),
        ("PREEMPTED", "0:15", True, "preempted"),
        ("CANCELLED", "0:15", True, "cancelled"),
    ):
        ended = _ended(line.format(state, code, TIME))
        assert (ended.task, ended.lost, ended.at) == (2, lost, TIME)
        assert re.search(reason, ended.reason)
    assert _ended(line.format("RUNNING", "0:0", "Unknown")) is None
    waits = line.replace("ArrayTaskId=2", "ArrayTaskId=5-9%4")
    assert _ended(waits.format("PENDING", "0:0", "Unknown")) is None
    assert _ended(waits.format("CANCELLED", "0:0", TIME)).task == 5


def test_an_array_is_cancelled_as_a_whole_if_no_task_went_on():
    def task(state, at, status=0):
        return Ended(1, state, status, 0, "node1", f"2026-11-25T12:00:{at:02}")

    assert was_cancelled([task("COMPLETED", 1), task("CANCELLED", 3), task("CANCELLED", 4)])
    assert not was_cancelled([task("CANCELLED", 3), task("COMPLETED", 4)])
    # One that ended well or by itself in the same second, and one that was lost.
    assert was_cancelled([task("CANCELLED", 3), task("COMPLETED", 3), task("FAILED", 3, 1)])
    assert not was_cancelled([task("CANCELLED", 3), task("NODE_FAIL", 3)])
    assert not was_cancelled([task("TIMEOUT", 3)])
    assert not was_cancelled([])
