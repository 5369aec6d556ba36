"""Which points executors are given together."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from isthmus import __version__, parts
from isthmus.parts import AHEAD, BUSY_TICK_S, RECENT, TASK_S, TICK_S, RunSpec, Waiting, run_part

POINTS = list(range(1000))
A_WHILE = """
import sys, time
from pathlib import Path
from isthmus import __version__, parts
text = Path(sys.argv[1]).read_text()
fixed = ("rule=fixed", "warmup=fixed", "warmup_messages=500", "messages=4000000")
fixed = tuple(f"stop.{each}" for each in fixed)
whole = parts.RunSpec(text, "small.toml", fixed, None, False, None, 1, __version__)
parts.run_part(whole, ([], []))
began = time.perf_counter()
print("begun", flush=True)
done = parts.run_part(whole, ([1], []))
print(done.took_s, time.perf_counter() - began)
"""


def done(waiting, threads, point_s):
    """All tasks, done in turn as soon as they are handed out, by points of each."""
    sizes, points, under_way = [], [], []
    while waiting.count or under_way:
        under_way += waiting.handed_out(len(under_way), threads)
        assert len(under_way) <= AHEAD * max(threads, RECENT)
        part = under_way.pop(0)
        sizes.append(len(part[0]))
        points += part[0]
        waiting.took(part, sum(point_s(point) for point in part[0]))
    assert points == POINTS
    return sizes


def test_short_points_are_handed_out_together_once_it_is_known_that_they_are_short():
    sizes = done(Waiting(POINTS, []), 2, lambda _: TASK_S / 10)
    assert set(sizes[: RECENT // 2]) == {1}
    assert max(sizes) in (9, 10)
    assert len(sizes) < 250
    # At the end no thread is left without.
    assert set(sizes[-AHEAD * 2 :]) == {1}


def test_few_points_are_single_before_it_is_known_how_long_they_take():
    waiting = Waiting(POINTS, [])
    first = list(waiting.handed_out(0, 2))
    assert first == [([point], []) for point in range(RECENT)]
    for part in first[: RECENT // 2]:
        waiting.took(part, TASK_S / 10)
    then = list(waiting.handed_out(RECENT // 2, 2))
    assert len(then) == AHEAD * RECENT - RECENT // 2
    assert {len(points) for points, _ in then[:AHEAD]} <= {9, 10}


def test_nobody_looks_often_while_much_is_handed_out_and_more_waits():
    waiting = Waiting(POINTS, [])
    out = list(waiting.handed_out(0, 2))
    assert waiting.tick_s(2) == TICK_S
    for part in out:
        waiting.took(part, TASK_S / 10)
    list(waiting.handed_out(0, 2))
    assert waiting.tick_s(2) == BUSY_TICK_S
    # The last ones are waited for.
    while waiting.count:
        list(waiting.handed_out(0, 2))
    assert waiting.tick_s(2) == TICK_S


def test_who_may_soon_have_nothing_to_do_is_looked_at_often():
    # One long point has short ones handed out one by one.
    mixed = Waiting(POINTS, [])
    for at, part in enumerate(mixed.handed_out(0, 16)):
        mixed.took(part, 0.005 if at % RECENT else TASK_S)
    assert mixed.count
    assert mixed.tick_s(16) == TICK_S
    # Towards the end tasks are small.
    last = Waiting(list(range(3 * AHEAD * 16)), [])
    for part in last.handed_out(0, 16):
        last.took(part, 0.005)
    assert last.count
    assert last.tick_s(16) == TICK_S


def test_long_points_are_tasks_of_their_own():
    assert set(done(Waiting(POINTS, []), 2, lambda _: TASK_S)) == {1}


def test_the_slowest_of_late_counts():
    sizes = done(Waiting(POINTS, []), 2, lambda point: 0.001 if point % RECENT else TASK_S)
    assert max(sizes) <= RECENT
    assert sum(sizes[50:]) / len(sizes[50:]) < 4


def test_points_that_take_nothing_are_as_many_as_leave_some_for_all():
    sizes = done(Waiting(POINTS, []), 4, lambda _: 0.0)
    assert max(sizes) <= 1000 // (AHEAD * 4)


@pytest.mark.parametrize("threads", [0, 1, 2, 400])
def test_nobody_waits_who_could_work(threads):
    waiting = Waiting(POINTS, [])
    assert len(list(waiting.handed_out(0, threads))) >= min(1000, AHEAD * threads)


def test_where_nobody_knows_of_threads_all_is_handed_out_at_once():
    waiting = Waiting(POINTS, [3, 4])
    out = list(waiting.handed_out(0, None))
    # Searches take longest: at the end nobody waits for one that was begun last.
    assert out == [([], [3]), ([], [4])] + [([point], []) for point in POINTS]
    assert waiting.count == 0


def test_searches_are_tasks_of_their_own_come_first_and_tell_nothing_of_points():
    waiting = Waiting(POINTS, list(range(100)))
    out = []
    while len(out) < 100:
        first = list(waiting.handed_out(0, 1))
        for part in first:
            # As long as a search takes.
            waiting.took(part, 1e6 if part[1] else TASK_S / 10)
        out += first
    assert [part for part in out if part[1]] == [([], [search]) for search in range(100)]
    assert all(searches for _, searches in out[:100])
    # Points are taken together by what points took, long as searches were.
    list(waiting.handed_out(0, 1))
    for _ in range(RECENT):
        waiting.took(([0], []), TASK_S / 10)
    assert max(len(points) for points, _ in waiting.handed_out(0, 1)) in (9, 10)


def processor_s(pid: int) -> float:
    """CPU seconds of a process so far."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(sys.platform != "linux", reason="processor time is read from /proc")
def test_a_worker_that_others_keep_from_the_processor_is_not_taken_for_slow(small: Path):
    small.write_text(small.read_text().partition("[stop]")[0])
    words = [sys.executable, "-c", A_WHILE, str(small)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "begun\n"
        # Not before it is at it.
        begun = processor_s(worker.pid)
        while processor_s(worker.pid) < begun + 0.05:
            time.sleep(0.005)
        os.kill(worker.pid, signal.SIGSTOP)
        time.sleep(2)
        os.kill(worker.pid, signal.SIGCONT)
        took_s, all_of_it_s = map(float, worker.stdout.read().split())
    assert all_of_it_s > 2
    assert 0.05 < took_s < all_of_it_s - 1.5


@pytest.mark.parametrize(("clock", "took_s"), [((5.0, 0.5), 0.5), ((0.5, 5.0), 0.5)])
def test_of_both_clocks_the_one_that_is_behind_counts(clock, took_s, small, monkeypatch):
    """Of a process with several threads at work the processor's clock is ahead."""
    whole = RunSpec(small.read_text(), "small.toml", (), None, True, None, 1, __version__)
    now = iter([(0.0, 0.0), clock])
    monkeypatch.setattr(parts, "_now", lambda: next(now))
    assert run_part(whole, ([0], [])).took_s == took_s
