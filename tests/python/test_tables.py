import io
import json

import polars as pl
import pytest

from fixtures import synthetic, trees
from isthmus.results import Results
from isthmus.results.folder import parquet

COLUMNS = [
    "point",
    "machine.lanes.io_link",
    "workload.arrival.mean [ms]",
    "seed",
    "quick",
    "offered [1/ms]",
    "verdict",
    "measure",
    "statistic",
    "unit",
    "value",
    "low",
    "high",
    "resolved",
    "analytic",
    "residual",
    "samples",
    "unended",
    "converged",
    "origin",
]


def test_one_row_per_point_measure_and_statistic(load_sweep):
    table = load_sweep.table
    assert table.columns == COLUMNS
    # Three latencies with mean, p50, p90, p99, p99.9 and three rates with their mean, at 24 points.
    assert table.height == 24 * (3 * 5 + 3)
    assert table["machine.lanes.io_link"].dtype == pl.Float64


def test_values_are_the_result_s_own(load_sweep):
    point = load_sweep.run.points[9]
    row = load_sweep.table.filter(point=9, measure="read.network", statistic="mean").row(
        0, named=True
    )
    measure = point.measure("read.network")
    assert (row["value"], row["low"], row["high"]) == (measure.mean, measure.low, measure.high)
    assert (row["analytic"], row["residual"]) == (measure.analytic, measure.residual)
    assert row["workload.arrival.mean [ms]"] == point.values[1].number
    tail = load_sweep.table.filter(point=9, measure="read.network", statistic="p99").row(
        0, named=True
    )
    assert tail["value"] == measure.percentiles[2].value
    assert tail["analytic"] is None


def test_percentiles_say_whether_they_are_resolved(load_sweep):
    table = load_sweep.table
    told = {s: set(t["resolved"]) for (s,), t in table.group_by("statistic")}
    assert told == {
        "mean": {None},
        "p50": {True},
        "p90": {True},
        "p99": {True},
        "p99.9": {False},
    }
    assert set(table["origin"]) == {"simulation"}


def test_parquet_and_csv_hold_the_same(load_sweep):
    table = load_sweep.table
    again = pl.read_parquet(io.BytesIO(parquet(table)))
    assert again.equals(table)
    assert pl.read_csv(io.StringIO(table.write_csv()), schema=table.schema).equals(table)
    assert parquet(load_sweep.table) == parquet(load_sweep.table)


def test_other_tables(load_sweep):
    histograms = load_sweep.histograms
    total = histograms.filter(point=0, measure="read.network")["count"].sum()
    assert total == sum(load_sweep.run.points[0].histograms[1].bins.count)
    channels = load_sweep.channels
    assert channels.height == sum(len(p.channels) for p in load_sweep.run.points)
    searches = load_sweep.searches
    assert "workload.arrival.mean [ms]" not in searches.columns
    assert searches["highest_stable"].to_list() == [
        s.highest_stable for s in load_sweep.run.searches
    ]
    zone = load_sweep.run.searches[1].undecided
    assert searches["undecided_low"].to_list() == [None, zone[0], None, None]
    assert searches["undecided_high"].to_list() == [None, zone[1], None, None]


def test_pandas(load_sweep):
    frame = load_sweep.to_pandas()
    assert list(frame.columns) == COLUMNS
    assert len(frame) == load_sweep.table.height


def test_a_point_without_measures_has_a_row():
    """Its verdict would be missing from the table."""
    data = synthetic.result()
    data["points"][5]["measures"] = []
    table = Results.from_json(json.dumps(data)).table
    row = table.filter(point=5).row(0, named=True)
    assert table.filter(point=5).height == 1
    assert row["verdict"] == data["points"][5]["verdict"]["verdict"]
    assert row["measure"] is None and row["value"] is None


@pytest.mark.parametrize("name", ["nodes", "point", "kind", "job", "value"])
def test_an_axis_may_have_the_name_of_a_column(name):
    """Variants are named by their user: `[[sweep.nodes]]`, where the table of jobs has `nodes`."""
    data = trees.result()
    axis = next(axis for axis in data["axes"] if axis["key"] != "workload.active")
    axis["key"] = axis["label"] = name
    found = Results.from_json(json.dumps(data))
    tables = [found.table, found.jobs, found.channels, found.nodes, found.interference]
    columns = [table.columns for table in tables]
    # Beside a column of that name it says where it is from.
    assert all(f"sweep.{name}" in each or name in each for each in columns)
    assert any(f"sweep.{name}" in each for each in columns)
    assert all(table.height for table in tables)
