"""How long a run is said to take still."""

from __future__ import annotations

import json
import signal

import pytest

from conftest import SMALL
from isthmus.execution import Job
from isthmus.sweeps import state_of
from isthmus.sweeps.remaining import remaining_alone_s, remaining_s
from isthmus.sweeps.selection import Selection
from isthmus.sweeps.shared import do_part
from isthmus.sweeps.workers import Timing, read_workers
from test_sweeps import started, wait_for

NOW = 1_000_000.0


def took(entry: str, seconds: float, ago_s: float) -> Timing:
    return Timing(entry, seconds, NOW - ago_s)


def missing(points: int, searches: int = 0) -> Selection:
    return Selection.whole(points, searches)


def test_searches_that_come_first_do_not_make_points_long():
    # Four searches of 100 s each, two at a time, and the first two points of 1 s.
    done = [took(f"search-{at}", 100, 100 * (1 - at // 2) + 1) for at in range(4)]
    done += [took(f"point-{at}", 1, 0) for at in range(2)]
    assert remaining_s(missing(38), done, 2, NOW) == pytest.approx(19)
    assert remaining_s(missing(338, 1), done, 2, NOW) == pytest.approx(219)


def test_what_was_not_seen_is_taken_from_what_was():
    points = [took(f"point-{at}", 2, 2 * (at // 4)) for at in range(8)]
    assert remaining_s(missing(0, 12), points, 4, NOW) == pytest.approx(120)
    searches = [took(f"search-{at}", 40, 0) for at in range(8)]
    assert remaining_s(missing(80), searches, 8, NOW) == pytest.approx(20)


def test_the_last_ones_take_as_long_as_they_do_however_many_have_ended():
    # Seven threads have ended; the eighth is at the last point.
    points = [took(f"point-{at}", 100, 10) for at in range(7)]
    assert remaining_s(missing(1), points, 1, NOW) == 100
    assert remaining_s(missing(3), points, 3, NOW) == 100
    # And a search beside many short points.
    both = [*points, took("search-0", 3600, 0)]
    assert remaining_s(missing(5, 1), both, 8, NOW) == 3600
    assert remaining_s(missing(0), points, 0, NOW) == 0


def test_those_who_are_between_two_short_points_are_counted():
    # Four processes are at work all the time, and one of them is at a point just now.
    done = [took(f"point-{at}", 0.01, 0.01 * (at // 4)) for at in range(4_000)]
    assert remaining_s(missing(400), done, 1, NOW) == pytest.approx(1.0, rel=0.01)
    # Those of ten minutes ago say nothing of who is at work, and do not hide who is now.
    late = [Timing(each.entry, each.seconds, each.ended_s - 600) for each in done]
    assert remaining_s(missing(400), late, 1, NOW) == pytest.approx(4.0)
    assert remaining_s(missing(400), [*late, *done[:200]], 1, NOW) == pytest.approx(1.0, rel=0.01)


def test_clocks_that_are_ahead_give_no_nonsense():
    ahead = [took(f"point-{at}", 1, -100) for at in range(100)]
    assert remaining_s(missing(10), ahead, 1, NOW) == pytest.approx(10)
    assert remaining_s(missing(10), [took("point-100", 1, 30), *ahead], 1, NOW) == pytest.approx(10)


@pytest.mark.parametrize(
    ("late", "left", "expected_s"),
    [
        # One search in 60 s, and 40 points are still to come.
        (["search-00000"], missing(40), 120.0),
        (["point-00000", "point-00001"], missing(1, 1), 30 * 21),
        ([], missing(1), None),
        ([], missing(0), 0.0),
    ],
)
def test_who_is_alone_counts_a_search_as_many_points(late, left, expected_s):
    ended = {"point-00009": 900.0, **dict.fromkeys(late, 1060.0)}
    assert remaining_alone_s(left, ended, 1000.0) == expected_s


def test_who_does_short_points_is_seen_at_work(tmp_path):
    rates = json.dumps([f"{1 + i / 1000} /ms" for i in range(4000)])
    text = SMALL.replace('["2 /ms", "4 /ms"]', rates).replace("40000", "400")
    text = text.replace("= 4000", "= 100").replace('precision = "10%"', 'precision = "90%"')
    (tmp_path / "short.toml").write_text(text)
    out = tmp_path / "o"
    words = ("run", "short.toml", "--part", "1/1", "--jobs", "1", "--out", "o")
    with started(*words, cwd=tmp_path) as process:
        wait_for(lambda: len(list(out.glob("points/point-*.json"))) > 20)
        told = [state_of(out) for _ in range(5)]
        process.send_signal(signal.SIGINT)
        process.wait(60)
    seen = [each for each in told if each.running]
    assert len(seen) >= 3
    assert all(each.remaining_s for each in seen)
    assert all(each.waiting > 1000 for each in told)


def test_what_was_given_up_is_not_waited_for(tmp_path):
    job, out = Job(SMALL, "small.toml"), tmp_path / "o"
    do_part(job, out, Selection((0,)))
    (out / "points/point-00001.json").write_text("damaged")
    worker = out / "points/worker-h-1-0123456789abcdef.jsonl"
    lines = [
        '{"failed":"point-00002","reason":"one\\u2028two","at_s":5}',
        '{"failed":"point-00003","reason":"never","at_s":NaN}',
        '{"failed":"point-00003","reason":"never","at_s":1' + "0" * 400 + "}",
        '{"failed":"no-point","reason":"odd","at_s":5}',
        "[" * 100_000,
    ]
    worker.write_text("\n".join(lines) + "\n")
    state = state_of(out)
    assert [(each.entry, each.reason) for each in state.failed] == [("point-00002", "one\u2028two")]
    assert (state.done, state.waiting, state.remaining_s) == (1, 1, None)
    assert json.loads(json.dumps(state.as_json(), allow_nan=False))["waiting"] == 1
    assert len(read_workers(out / "points").timings) == 1
