"""What a plan is predicted to cost, from measurements that are made up."""

from itertools import pairwise

import pytest

from isthmus import IsthmusError
from isthmus.arrays import Layout, Plan
from isthmus.arrays.calibration import DTYPE, THREADS_RANKS, cases
from isthmus.arrays.costs import THREADS, Measured, Rates, Work, work, work_of


def rates(seconds, *, form="window", kept=None):
    """As if each case had taken what `seconds` says of its bytes."""
    measured = []
    for case in cases(THREADS_RANKS):
        one = case.measured([0.0])
        took = seconds(one) if one.moved or kept is None else kept(one)
        measured.append(Measured(one.size, one.moved, one.packed, one.unpacked, took))
    return Rates(THREADS_RANKS, 2, {form: measured})


def short(one):
    run = min(one.packed, one.unpacked)
    return 1e-5 + one.size * 1e-9 * (1 + 64 / run)


def test_what_was_measured_is_predicted():
    found = rates(short)
    largest = list(cases(THREADS_RANKS))[-20:]
    for case in largest:
        one = case.measured([0.0])
        if not one.moved:
            continue
        told = found.predict(case.plan, DTYPE, orders=("F", "F"))
        assert told == pytest.approx(short(one), rel=0.02)


def test_bytes_that_stay_are_never_dearer_than_those_that_move():
    """Noise in what was measured makes no exchange shorter than nothing."""
    found = rates(short, kept=lambda one: 10 * short(one))
    rows = Layout.block((640, 640), (4, 1))
    moved = found.predict(Plan(rows, Layout.block((640, 640), (1, 4))), "f8")
    assert 0 < found.predict(Plan(rows, rows), "f8") <= moved * (1 + 1e-9)


def test_more_takes_longer():
    found = rates(short)
    times = [
        found.predict(Plan(Layout.block((n, n), (4, 1)), Layout.block((n, n), (1, 4))), "f8")
        for n in (4, 64, 256, 1024, 4096)
    ]
    assert times == sorted(times)
    # Two microseconds are what next to nothing takes: beyond, four times the bytes take longer.
    assert all(longer > 2 * shorter for shorter, longer in pairwise(times[2:]))


def test_short_runs_on_either_side_count_for_threads():
    measured = [one.measured([1e-3]) for one in cases(THREADS_RANKS) if one.packed >= one.unpacked]
    slow = [Measured(m.size, m.moved, m.packed, m.unpacked, short(m)) for m in measured]
    found = Rates(2, 2, {THREADS: slow})
    shape = (4109, 2048)
    panels, rows = Layout.block(shape, (1, 4)), Layout.block_cyclic(shape, (4, 1), (1, 1))
    there, back = Plan(rows, panels), Plan(panels, rows)
    orders = ("F", "F")
    assert found.predict(there, "f4", orders=orders, form=THREADS) == pytest.approx(
        found.predict(back, "f4", orders=orders, form=THREADS)
    )
    blocks = Plan(Layout.block_cyclic(shape, (4, 1), (128, 1)), panels)
    assert found.predict(blocks, "f4", orders=orders, form=THREADS) < found.predict(
        there, "f4", orders=orders, form=THREADS
    )


def test_kept_and_read_again(tmp_path):
    found = rates(short)
    found.save(tmp_path / "rates.json")
    assert Rates.load(tmp_path / "rates.json") == found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"size": ', '"size": -'),
        ('"seconds": ', '"seconds": -'),
        ('"packed": ', '"packed": "long" or '),
        ('"processors": 2', '"processors": "two"'),
        ('"ranks": 4', '"ranks": NaN'),
    ],
)
def test_rates_that_make_no_sense(tmp_path, before, after):
    path = tmp_path / "rates.json"
    rates(short).save(path)
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(IsthmusError, match="no rates as"):
        Rates.load(path)


def test_each_rank_works_out_its_own_part_alone():
    """All of them together are what one that goes over all messages finds."""
    from_ = Layout.block_cyclic((60, 50), (2, 2), (3, 4))
    to = Layout.block((60, 50), (1, 3), ranks=[4, 2, 0])
    plan = Plan(from_, to)
    for direct in (False, True):
        todo = work(plan, "f8", ("F", "C"), direct=direct)
        assert sorted(todo) == [0, 1, 2, 3, 4]
        assert sum(one.size for one in todo.values()) == 60 * 50 * 8
        kept = sum(one.elements for one in plan.messages() if one.from_rank == one.to_rank)
        assert sum(one.unpacking.kept for one in todo.values()) == kept * 8
        assert all(not one.packing.moved for one in todo.values()) is direct
        alone = work_of(plan, 5, "f8", ("F", "C"), direct=direct)
        assert alone == Work()


def test_rates_of_nothing(tmp_path):
    empty = Rates(4, 2, {})
    plan = Plan(Layout.block((8,), (4,)), Layout.whole((8,)))
    with pytest.raises(IsthmusError, match="rates: no form has been measured"):
        empty.predict(plan, "f8")
    empty.save(tmp_path / "rates.json")
    with pytest.raises(IsthmusError, match="no rates as"):
        Rates.load(tmp_path / "rates.json")
