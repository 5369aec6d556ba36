"""What scientists do with results: choose, put together, compare, hand on to other libraries."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest

import isthmus
from fixtures import synthetic, trees
from isthmus import Fabric, Hypercube, IsthmusError, PacketWorkload, Precision, Results, Workload
from isthmus.results.settings import columns

STOP = Precision(rule="fixed", messages=6000, warmup_messages=1000, replications=4)
WORK = Workload()
RATES = ["2 /ms", "4 /ms"]


@pytest.fixture(scope="module")
def swept() -> Results:
    """Three networks at two loads."""
    sweep = {"io_link_lanes": [0, 1, 2], "rate": RATES}
    return isthmus.simulate(Hypercube(dimension=3), WORK, sweep=sweep, precision=STOP)


def one(lanes: int, **options) -> Results:
    cube = Hypercube(dimension=3, io_link_lanes=lanes)
    sweep = {"rate": options.pop("rates", RATES)}
    return isthmus.simulate(cube, WORK, sweep=sweep, precision=STOP, **options)


def test_every_setting_is_a_column(swept):
    table = swept.table
    assert table.columns[:3] == ["point", "machine.lanes.io_link", "workload.rate [/ms]"]
    # A default, one derived from an axis, one with a unit, one of the run.
    assert set(table["machine.lanes.link"]) == {1.0}
    derived = table.select("machine.lanes.io_link", "machine.lanes.io_source").unique()
    assert sorted(derived.rows()) == [(0.0, 0.0), (1.0, 4.0), (2.0, 8.0)]
    assert set(table["machine.bandwidth [MB/s]"]) == {20.0}
    assert set(table["stop.messages"]) == {6000.0}
    assert set(table["seed"]) == {1.0}
    told = {row["key"] for row in isthmus.load("examples/hypercube-128.toml").check()["resolved"]}
    settings = swept.settings
    plain = {name.partition(" [")[0] for name in settings.columns}
    missing = {key for key in told if key.startswith(("machine.", "workload."))} - plain
    assert missing == set()
    assert settings.height == len(swept.run.points)


def test_settings_are_those_of_each_point():
    """A field that means something at some points only is null at the others; two axes of which one
    has no effect at a value of the other are no mistake."""
    sweep = {"io_link_lanes": [0, 1], "io_source_lanes": [4, 8]}
    results = isthmus.analyze(Hypercube(dimension=3), Workload(rate="2 /ms"), sweep=sweep)
    told = results.settings.select("machine.lanes.io_link", "machine.lanes.io_source").rows()
    assert told[2:] == [(1.0, 4.0), (1.0, 8.0)]
    assert [lanes for lanes, _ in told[:2]] == [0.0, 0.0]


def test_settings_come_from_the_scenario_of_the_result(swept, load_sweep):
    assert load_sweep.settings.columns[-2:] == ["seed", "quick"]
    foreign = Results(swept.run, canonical=one(1).canonical)
    with pytest.raises(IsthmusError, match="not the scenario of this result"):
        _ = foreign.settings


def test_sel_by_attribute_key_number_text_list_range(swept):
    assert [p.values[0].text for p in swept.sel(io_link_lanes=2).run.points] == ["2", "2"]
    assert len(swept.sel({"machine.lanes.io_link": [0, 2]}).run.points) == 4
    by_text, by_number = swept.sel(rate="4000 /s"), swept.sel(rate=4)
    assert by_text.table.equals(by_number.table)
    assert [p.index for p in by_text.run.points] == [0, 1, 2]
    assert len(swept.sel(io_link_lanes=slice(1, None)).run.points) == 4
    assert (
        len(swept.sel(rate=slice("1 /ms", "3 /ms"), io_link_lanes=slice(None, 1)).run.points) == 2
    )
    assert len(swept.sel(dimension=3).run.points) == 6
    assert swept.sel().table.equals(swept.table)


def test_sel_by_measure_statistic_verdict(swept):
    chosen = swept.sel(measure=["read.network", "accepted"], statistic="p90")
    assert set(chosen.table["measure"]) == {"read.network"}
    assert set(chosen.table["statistic"]) == {"p90"}
    assert chosen.measures == ["accepted", "read.network"]
    with pytest.raises(IsthmusError, match="no point is stable; they are undecided"):
        swept.sel(verdict="stable")


def test_sel_by_verdict(load_sweep):
    stable = load_sweep.sel(verdict=["stable", "undecided"])
    assert {p.verdict.verdict for p in stable.run.points} <= {"stable", "undecided"}
    assert 0 < len(stable.run.points) < len(load_sweep.run.points)


def test_a_selection_is_a_result_like_any_other(load_sweep, tmp_path):
    chosen = load_sweep.sel({"machine.lanes.io_link": [0, 2]})
    assert [s.series.label for s in chosen.answer.series] == ["no I/O network", "b = 2"]
    assert chosen.searches.height == 2
    again = Results.load(chosen.save(tmp_path / "chosen"))
    assert again.run == chosen.run
    assert again.table.equals(chosen.table)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda r: r.sel(io_lnk_lanes=2), "'io_lnk_lanes': no setting of these results; did you"),
        (lambda r: r.sel(io_link_lanes=7), "7 is none of its values; there are 0, 1, 2"),
        (lambda r: r.sel(rate="5 kg"), "'5 kg' is none of its values; there are 2 /ms, 4 /ms"),
        (lambda r: r.sel(rate=slice(5, 9)), "none of its values is in"),
        (lambda r: r.sel(rate=slice("a", None)), "a range of its numbers"),
        (lambda r: r.sel(measure="read.netwrk"), "no measure 'read.netwrk'; did you mean 'read.n"),
        (lambda r: r.sel(statistic="p98"), "no statistic 'p98'; did you mean 'p99'"),
        (lambda r: r.sel(verdict="stble"), "no verdict 'stble'; did you mean 'stable'"),
        (lambda r: r.sel(measure=3), "measure: 3"),
        (lambda r: r.sel(load="1 GB/s"), "'load': no setting of these results"),
        (lambda r: r.sel([1]), "sel: "),
        (lambda r: r.compare("a", "b"), "first: 'a'"),
        (lambda r: r.compare({}, {"io_link_lanes": 9}), "9 is none of its values"),
        (lambda r: r.to_pandas("tables"), "no table 'tables'; did you mean 'table'"),
        (lambda r: Results.concat([]), "no results at all"),
        (lambda r: Results.concat([r, r]), "has a point that 'notebook' has, too"),
        (lambda r: Results.concat([r, 5]), "concat: 5"),
        (lambda r: Results.concat(5), "concat: 5"),
        (lambda r: r.plot("latency", ax=3), "ax: 3"),
        (lambda r: isthmus.compare(r, "x"), "second: 'x'"),
    ],
)
def test_mistakes_are_told_in_one_line(swept, call, told):
    with pytest.raises(IsthmusError) as error:
        call(swept)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_parts_put_together_are_the_sweep(swept):
    parts = [one(lanes) for lanes in (0, 1, 2)]
    whole = Results.concat(parts)
    assert [axis.key for axis in whole.run.axes] == ["machine.lanes.io_link", "workload.rate"]
    assert whole.run.load_axis == 1
    assert whole.table.equals(swept.table)
    assert [s.series.machine for s in whole.answer.series] == [0, 1, 2]
    assert whole.answer.series[2].badge == swept.answer.series[2].badge


def test_what_differs_between_parts_is_an_axis():
    parts = [one(1, rates=["2 /ms"]), one(1, rates=["4000 /s"]), one(1, rates=["8 /ms"], seed=2)]
    whole = Results.concat(parts)
    assert [axis.key for axis in whole.run.axes] == ["seed", "workload.rate"]
    assert [p.values[1].number for p in whole.run.points] == [2.0, 4.0, 8.0]
    assert whole.run.axes[1].unit == "/ms"


def test_searches_are_put_together_with_the_settings_of_their_part():
    def searched(dimension):
        cube = Hypercube(dimension=dimension, io_link_lanes=1)
        search = isthmus.Search(start="2 /ms", stop="200 /ms", resolution="50%")
        return isthmus.simulate(cube, WORK, sweep={"rate": RATES}, search=search, quick=True)

    whole = Results.concat([searched(2), searched(3)])
    assert whole.searches["machine.dimension"].to_list() == [2.0, 3.0]
    assert whole.sel(dimension=3).searches.height == 1


def test_other_kinds_are_not_put_together(swept):
    ring = isthmus.analyze(Fabric(fabric="ring", size=4), PacketWorkload(load="0.4 GB/s"))
    for call in (lambda: Results.concat([swept, ring]), lambda: isthmus.compare(swept, ring)):
        with pytest.raises(IsthmusError, match="one kind of machine"):
            call()
    sure = Results(replace(swept.run, confidence=0.99))
    with pytest.raises(IsthmusError, match="of one confidence"):
        Results.concat([swept, sure])


def test_compare_two_selections(swept):
    found = swept.compare({"io_link_lanes": 0}, {"io_link_lanes": 2})
    assert [change.words for change in found.changes] == ["lanes.io_link 0 → 2"]
    assert found.keys == ["workload.rate"]
    assert len(found.pairs) == 2
    row = found.table.filter(measure="pe_pe.header", statistic="mean", point_a=0).row(0, named=True)
    a, b = (swept.run.points[i].measure("pe_pe.header") for i in (0, 4))
    assert (row["a"], row["b"]) == (a.mean, b.mean)
    assert row["difference"] == pytest.approx(b.mean - a.mean)
    assert row["ratio"] == pytest.approx(b.mean / a.mean)
    # By hand: the paired t interval with 3 degrees of freedom, 3.182.
    differences = [y - x for x, y in zip(a.each, b.each, strict=True)]
    mean = sum(differences) / 4
    half = 3.18245 * (sum((d - mean) ** 2 for d in differences) / 3 / 4) ** 0.5
    assert row["difference_low"] <= mean - half + 1e-9
    assert row["difference_high"] >= mean + half - 1e-9


def test_unpaired_comparisons_are_wider(swept):
    pair = {"io_link_lanes": 1}, {"io_link_lanes": 2}
    paired, apart = swept.compare(*pair), swept.compare(*pair, paired=False)
    wide = (pl.col("difference_high") - pl.col("difference_low")).sum()
    assert apart.table.select(wide).item() > paired.table.select(wide).item()


def test_the_same_run_differs_in_nothing_and_its_seed_is_told():
    first, again, other = one(1), one(1), one(1, seed=9)
    same = isthmus.compare(first, again)
    assert (same.changes, same.differing) == ([], [])
    assert set(same.table["difference"].drop_nulls()) == {0.0}
    seeds = isthmus.compare(first, other)
    assert [change.words for change in seeds.changes] == ["seed 1 → 9"]
    # 95% for all together: with these seeds nothing is said to differ.
    assert seeds.differing == []
    assert seeds.conclusion.startswith("0 of ")


def test_points_are_paired_by_value_whatever_the_unit():
    first, second = one(1, rates=["2 /ms", "4 /ms"]), one(2, rates=["4000 /s", "8000 /s"])
    found = isthmus.compare(first, second)
    assert [(a.index, b.index) for a, b in found.pairs] == [(1, 0)]
    assert found.unpaired == (1, 1)
    with pytest.raises(
        IsthmusError, match=r"workload.rate is 2 /ms, 3 /ms in the first and 8000 /s, "
    ):
        isthmus.compare(one(1, rates=["2 /ms", "3 /ms"]), one(2, rates=["8000 /s", "9 /ms"]))


def test_times_of_saturated_points_are_not_judged(load_sweep):
    found = load_sweep.compare({"machine.lanes.io_link": 1}, {"machine.lanes.io_link": 2})
    lost = found.table.filter(pl.col("verdict_a") == "saturated", pl.col("unit") == "us")
    assert lost.height
    assert lost["differs"].null_count() == lost.height
    assert found.verdicts
    # The searches are brackets, compared by their ends: 11.7 and 23.5 messages/ms.
    row = found.table.filter(measure="saturation").row(0, named=True)
    assert row["differs"] is True
    assert row["difference_low"] > 0


def test_no_interval_is_no_difference():
    """Of numbers of a single replication it is not known how far they may be off."""
    data = synthetic.result()
    for point in data["points"]:
        for measure in point["measures"]:
            measure["low"] = measure["high"] = None
            for percentile in measure["percentiles"]:
                percentile["low"] = percentile["high"] = None
    results = Results.from_json(json.dumps(data))
    for paired in (True, False):
        found = results.compare(
            {"machine.lanes.io_link": 0}, {"machine.lanes.io_link": 3}, paired=paired
        )
        assert all(row.measure == "saturation" for row in found.differing)


def test_xarray(swept):
    data = swept.to_xarray()
    assert data["read.network"].dims == ("machine.lanes.io_link", "workload.rate", "statistic")
    assert data["read.network"].attrs["units"] == "us"
    assert data["workload.rate"].attrs["units"] == "/ms"
    at = data["read.network"].sel({"machine.lanes.io_link": 2, "workload.rate": 4.0})
    assert float(at.sel(statistic="mean")) == swept.run.points[5].measure("read.network").mean
    assert data["machine.lanes.io_source"].dims == ("machine.lanes.io_link",)
    assert data.attrs["machine.dimension"] == "3"
    assert data["verdict"].shape == (3, 2)
    assert data["load"].attrs["units"] == "1/ms"
    point = swept.sel(io_link_lanes=1, rate=2, statistic="mean").to_xarray()
    assert point["accepted"].dims == ("statistic",)


def test_xarray_has_nan_where_nothing_was_run(swept):
    some = Results.concat([swept.sel(io_link_lanes=0), swept.sel(io_link_lanes=1, rate=2)])
    data = some.to_xarray()
    assert int(data["accepted"].sel(statistic="mean").isnull().sum()) == 1
    assert data["verdict"].values[1, 1] == ""


def test_xarray_takes_what_is_no_number():
    data = Results.from_json(json.dumps(trees.result())).to_xarray()
    assert data["workload.active"].dtype.kind in "UO"


def test_pandas_and_arrow(swept):
    import pyarrow as pa

    frame = swept.to_pandas()
    assert list(frame.columns) == swept.table.columns
    assert frame.groupby("measure")["value"].count()["accepted"] == 6
    assert len(swept.to_pandas("settings")) == 6
    table = pa.table(swept)
    assert table.column_names == swept.table.columns
    assert pa.table(swept.compare({"io_link_lanes": 0}, {"io_link_lanes": 1})).num_rows
    assert pl.DataFrame(swept).equals(swept.table)


@pytest.mark.parametrize(
    ("call", "module", "extra"),
    [
        ("to_pandas", "pandas", "pandas"),
        ("to_pandas", "pyarrow", "pandas"),
        ("to_xarray", "xarray", "xarray"),
    ],
)
def test_what_is_not_installed_is_named_with_its_extra(swept, monkeypatch, call, module, extra):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == module else find(name)
    )
    with pytest.raises(IsthmusError, match=rf"{module} is not installed; .*'isthmus\[{extra}\]'"):
        getattr(swept, call)()


def test_quantities_are_read_by_the_core():
    lists = [["156 us", "0.2 ms"], ["70%", "0.5"], ["1 B", "2 s"], ["8", None], ["6x6"], []]
    told = columns([*lists, ["20 us, or four times a round", "20 us, or four times a round"]])
    assert [(each.unit, each.numbers) for each in told] == [
        ("us", [156.0, 200.0]),
        ("%", [70.0, 50.0]),
        (None, None),
        (None, [8.0, None]),
        (None, None),
        (None, None),
        (None, None),
    ]


def test_reading_results_needs_no_heavy_library(swept, tmp_path):
    swept.save(tmp_path / "run")
    code = (
        "import sys, isthmus\n"
        f"results = isthmus.Results.load({str(tmp_path / 'run')!r})\n"
        "results.sel(io_link_lanes=1).answer\n"
        "print({'numpy', 'pandas', 'pyarrow', 'xarray', 'polars'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
