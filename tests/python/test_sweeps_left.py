"""How long a run is said to take still."""

from __future__ import annotations

import os

import pytest

from isthmus.owned.lock import LOCK
from isthmus.owned.mark import JOURNAL
from isthmus.sweeps import state
from isthmus.sweeps.left import left_s
from isthmus.sweeps.selection import Selection
from isthmus.sweeps.workers import Took

NOW = 1_000_000.0


def took(entry: str, seconds: float, ago_s: float) -> Took:
    return Took(entry, seconds, NOW - ago_s)


def test_searches_that_come_first_do_not_make_points_long():
    # Four searches of 100 s each, two at a time, and the first two points of 1 s.
    done = [took(f"search-{at}", 100, 100 * (1 - at // 2) + 1) for at in range(4)]
    done += [took(f"point-{at}", 1, 0) for at in range(2)]
    assert left_s(38, 0, done, 2, NOW) == pytest.approx(19)
    assert left_s(38, 1, done, 2, NOW) == pytest.approx(69)


def test_what_was_not_seen_is_taken_from_what_was():
    points = [took(f"point-{at}", 2, 2 * (at // 4)) for at in range(8)]
    assert left_s(0, 3, points, 4, NOW) == pytest.approx(30)
    searches = [took(f"search-{at}", 40, 0) for at in range(8)]
    assert left_s(9, 0, searches, 8, NOW) == pytest.approx(18 / 8)


def test_those_who_are_between_two_short_points_are_counted():
    # Four processes are at work all the time, and one of them is at a point just now.
    done = [took(f"point-{at}", 0.01, 0.01 * (at // 4)) for at in range(4_000)]
    assert left_s(400, 0, done, 1, NOW) == pytest.approx(1.0, rel=0.01)
    # Ten minutes ago all of them have ended but one that has begun late.
    late = [Took(each.entry, each.seconds, each.ended_s - 600) for each in done]
    assert left_s(400, 0, late, 1, NOW) == pytest.approx(4.0)


def test_a_clock_that_is_behind_gives_no_nonsense():
    ahead = [took("point-0", 1, -100)]
    assert left_s(10, 0, ahead, 1, NOW) == pytest.approx(10)


@pytest.mark.parametrize(
    ("late", "missing", "expected_s"),
    [
        # One search in 60 s, and 40 points are still to come.
        (["search-00000"], Selection(tuple(range(40))), 120.0),
        (["point-00000", "point-00001"], Selection((2,), (0,)), 30 * 21),
        ([], Selection((2,)), None),
    ],
)
def test_a_run_in_one_piece_counts_a_search_as_many_points(tmp_path, late, missing, expected_s):
    (tmp_path / JOURNAL).mkdir()
    begun = [(LOCK, 1000), (f"{JOURNAL}/point-00009.json", 900)]
    for name, at_s in [*begun, *((f"{JOURNAL}/{each}.json", 1060) for each in late)]:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (at_s, at_s))
    done = {"point-00009", *late}
    assert state._left_alone_s(tmp_path, missing, done) == expected_s
