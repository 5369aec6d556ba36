"""Results as tidy tables: one row per number, one column per swept field, units in the names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from isthmus.results.packed import bin_columns, channel_columns
from isthmus.results.schema import AxisValue, Bottleneck, Measure, RunResult
from isthmus.results.settings import Settings, columns


def _numeric_axes(run: RunResult) -> list[bool]:
    """Return for each axis whether all of its values are numbers."""
    columns: list[list[AxisValue]] = [[] for _ in run.axes]
    for point in run.points:
        for column, value in zip(columns, point.values, strict=True):
            column.append(value)
    for search in run.searches:
        for column, found in zip(columns, search.values, strict=True):
            if found is not None:
                column.append(found)
    return [all(v.number is not None for v in column) for column in columns]


def _schema(run: RunResult, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the column types of a table by name: `before`, a column for each axis, and `after`."""
    names = run.columns({*before, *after})
    types = [pl.Float64 if is_number else pl.String for is_number in _numeric_axes(run)]
    return {**before, **dict(zip(names, types, strict=True)), **after}


def _axis_cells(run: RunResult, values: list[Any], numeric: list[bool]) -> list[Any]:
    """Return the table cells of axis values: numbers for numeric axes, else texts."""
    return [
        None if v is None else v.number if is_number else v.text
        for v, is_number in zip(values, numeric, strict=True)
    ]


def settings_table(run: RunResult, settings: Settings) -> pl.DataFrame:
    """Return one row per point, one column per setting; see `isthmus.Results.settings`."""
    # Give the columns of axes the names and types that they have in all other tables.
    axes = zip(run.axes, run.columns({"point"}), _numeric_axes(run), strict=True)
    table: dict[str, pl.Series] = {"point": pl.Series(range(len(run.points)), dtype=pl.Int64)}
    for i, (_, name, is_number) in enumerate(axes):
        cells = [p.values[i].number if is_number else p.values[i].text for p in run.points]
        table[name] = pl.Series(cells, dtype=pl.Float64 if is_number else pl.String)
    rest = [each for key, each in settings.items() if key not in {a.key for a in run.axes}]
    for each, column in zip(rest, columns([each.texts for each in rest]), strict=True):
        name = f"{each.key} [{column.unit}]" if column.unit else each.key
        if column.numbers is None:
            table[name] = pl.Series(each.texts, dtype=pl.String)
        else:
            table[name] = pl.Series(column.numbers, dtype=pl.Float64)
    return pl.DataFrame(table)


def results_table(run: RunResult, wants: Collection[str] | None = None) -> pl.DataFrame:
    """Return one row per point, measure and statistic (mean, p50, ...); `wants` limits the
    statistics.

    Columns: ``point``, one per axis (named ``key`` or ``key [unit]``; numbers if the axis has
    them), ``offered [UNIT]`` in the unit of the run's load, ``verdict``, ``measure``,
    ``statistic``, ``unit`` (of value, low, high and analytic), ``value``, ``low``, ``high`` (the
    interval), ``resolved`` (false for a percentile with too few observations: fewer than ten above
    it in some replication), ``analytic``, ``residual`` (value / analytic - 1), ``samples``,
    ``unended`` (observations that the end of the run cut off), ``converged``, ``origin`` (of the
    verdict: simulation or model). A point without measures has one row, with an empty measure.
    """
    after = {
        run.load.column: pl.Float64,
        "verdict": pl.String,
        "measure": pl.String,
        "statistic": pl.String,
        "unit": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "resolved": pl.Boolean,
        "analytic": pl.Float64,
        "residual": pl.Float64,
        "samples": pl.Int64,
        "unended": pl.Int64,
        "converged": pl.Boolean,
        "origin": pl.String,
    }
    schema = _schema(run, {"point": pl.Int64}, after)
    points = run.points
    of_point = _of_points(run, schema).with_columns(
        pl.Series(run.load.column, [p.load for p in points], dtype=pl.Float64),
        pl.Series("verdict", [p.verdict.verdict for p in points], dtype=pl.String),
        pl.Series("converged", [p.converged for p in points], dtype=pl.Boolean),
        pl.Series("origin", [p.verdict.origin for p in points], dtype=pl.String),
    )
    # A point without measures gets a row with an empty measure.
    measures = [m for p in points for m in p.measures or (_NONE,)]
    of_measure = _rows(of_point, [len(p.measures) or 1 for p in points]).with_columns(
        pl.Series("measure", [m.name or None for m in measures], dtype=pl.String),
        pl.Series("unit", [m.unit if m.name else None for m in measures], dtype=pl.String),
        pl.Series("samples", [m.samples if m.name else None for m in measures], dtype=pl.Int64),
        pl.Series("unended", [m.unended if m.name else None for m in measures], dtype=pl.Int64),
    )
    means = pl.DataFrame(
        {
            "statistic": ["mean" if m.name else None for m in measures],
            "value": [m.mean for m in measures],
            "low": [m.low for m in measures],
            "high": [m.high for m in measures],
            "resolved": [None] * len(measures),
            "analytic": [m.analytic for m in measures],
            "residual": [m.residual for m in measures],
        },
        schema={name: after[name] for name in _OF_STATISTIC},
    )
    percentiles = [p for m in measures for p in m.percentiles]
    names = {percent: f"p{percent:g}" for percent in {p.percent for p in percentiles}}
    others = pl.DataFrame(
        {
            "statistic": [names[p.percent] for p in percentiles],
            "value": [p.value for p in percentiles],
            "low": [p.low for p in percentiles],
            "high": [p.high for p in percentiles],
            "resolved": [p.resolved for p in percentiles],
            "analytic": [None] * len(percentiles),
            "residual": [None] * len(percentiles),
        },
        schema={name: after[name] for name in _OF_STATISTIC},
    )
    # Count the rows of each measure: one for its mean, then one for each percentile.
    of_each = [1 + len(m.percentiles) for m in measures]
    first = pl.Series(of_each, dtype=pl.Int64).cum_sum() - pl.Series(of_each, dtype=pl.Int64)
    place = pl.int_range(sum(of_each), eager=True)
    is_mean = place.is_in(first.implode())
    before = is_mean.cast(pl.Int64).cum_sum()
    taken = pl.select(
        pl.when(is_mean).then(before - 1).otherwise(len(measures) + place - before)
    ).to_series()
    statistics = pl.concat([means, others])[taken]
    table = _rows(of_measure, of_each).hstack(statistics).select(*schema)
    if wants is None:
        return table
    chosen = pl.col("statistic").is_null() | pl.col("statistic").is_in(list(wants))
    return table.filter(chosen)


_OF_STATISTIC = ("statistic", "value", "low", "high", "resolved", "analytic", "residual")
_NONE = Measure("", "", None, None, None, 0, 0, [], None, None, None, 0.0)


def _of_points(run: RunResult, schema: Mapping[str, Any]) -> pl.DataFrame:
    """Return one row per point with the first columns of a table: its position and its axes."""
    of_axes = zip(list(schema.items())[1 : 1 + len(run.axes)], _numeric_axes(run), strict=True)
    columns = [pl.Series("point", [p.index for p in run.points], dtype=pl.Int64)]
    for at, ((name, kind), is_number) in enumerate(of_axes):
        cells = [p.values[at].number if is_number else p.values[at].text for p in run.points]
        columns.append(pl.Series(name, cells, dtype=kind))
    return pl.DataFrame(columns)


def _rows(table: pl.DataFrame, counts: Any) -> pl.DataFrame:
    """Return a table with each row repeated by its count."""
    import numpy as np

    # Use 32-bit row numbers, which polars takes without conversion.
    return table[np.repeat(np.arange(table.height, dtype=np.uint32), counts)]


def histograms_table(run: RunResult) -> pl.DataFrame:
    """Return one row per point, measure and occupied bin: ``lower``, ``upper``, ``unit``, count."""
    after = {
        "measure": pl.String,
        "unit": pl.String,
        "lower": pl.Float64,
        "upper": pl.Float64,
        "count": pl.Int64,
    }
    schema = _schema(run, {"point": pl.Int64}, after)
    found = [h for p in run.points for h in p.histograms]
    of_each = _rows(_of_points(run, schema), [len(p.histograms) for p in run.points]).with_columns(
        pl.Series("measure", [h.measure for h in found], dtype=pl.String),
        pl.Series("unit", [h.unit for h in found], dtype=pl.String),
    )
    bins = bin_columns([h.packed for h in found], [h.step for h in found])
    table = _rows(of_each, bins.pop("lengths"))
    return table.with_columns(pl.Series(*each) for each in bins.items()).select(*schema)


def channels_table(run: RunResult) -> pl.DataFrame:
    """Return one row per point and channel, disk, interface or server, or kind of them.

    ``from`` and ``to`` are empty for the mean of a kind; ``to`` alone is empty for a part in one
    place. ``utilisation``, ``highest`` (busiest channel of the kind) and ``analytic`` are flits or
    symbols per cycle and lane, or the share of the time, 0 to 1. ``busy`` and ``busiest`` are the
    share of time for which lanes were occupied, ``held [us]`` the mean time by one message, packet
    or request. ``fills_first`` marks the kind, and the channel, that limits the machine at the
    point. ``from`` and ``to`` of a fat tree are nodes and, above them, switches. If several rings
    join the same two nodes, each link has its row.
    """
    after = {
        "kind": pl.String,
        "from": pl.Int64,
        "to": pl.Int64,
        "utilisation": pl.Float64,
        "highest": pl.Float64,
        "busy": pl.Float64,
        "busiest": pl.Float64,
        "held [us]": pl.Float64,
        "fills_first": pl.Boolean,
        "analytic": pl.Float64,
    }
    schema = _schema(run, {"point": pl.Int64}, after)
    kinds, columns = channel_columns([p.packed for p in run.points])
    limits = [p.bottleneck or _NOWHERE for p in run.points]
    places = {kind: at for at, kind in enumerate(kinds)}
    of_point = _of_points(run, schema).with_columns(
        pl.Series("limit", [places.get(each.kind, -1) for each in limits], dtype=pl.Int64),
        pl.Series("begins", [each.from_ for each in limits], dtype=pl.Int64),
        pl.Series("ends", [-1 if e.to is None else e.to for e in limits], dtype=pl.Int64),
    )
    table = _rows(of_point, columns.pop("lengths")).with_columns(
        pl.Series("held [us]" if name == "held_us" else name, column)
        for name, column in columns.items()
    )
    # Mark the channel that limits the machine, and the row with the mean of its kind.
    is_it = (pl.col("from") == pl.col("begins")) & (pl.col("to") == pl.col("ends"))
    is_mean = pl.col("from") < 0
    numbers = [name for name, kind in after.items() if kind == pl.Float64]
    whole = table.with_columns(
        pl.Series("kind", kinds, dtype=pl.String)[table["kind"]],
        (pl.col("kind") == pl.col("limit")).and_(is_mean | is_it).alias("fills_first"),
        *(pl.when(pl.col(name) >= 0).then(pl.col(name)).alias(name) for name in ("from", "to")),
        *(pl.col(name).fill_nan(None) for name in numbers),
    )
    return whole.select(*schema)


_NOWHERE = Bottleneck("", -1, None, 0.0, None, "", None)


def nodes_table(run: RunResult) -> pl.DataFrame:
    """Return one row per point and node: its offered and accepted load.

    ``offered [UNIT]`` and ``accepted [UNIT]`` are of this node alone, in the unit of the run's
    load. The table is empty for kinds of machine that do not record it.
    """
    after = {
        "verdict": pl.String,
        "node": pl.Int64,
        run.load.column: pl.Float64,
        f"accepted [{run.load.plain}]": pl.Float64,
    }
    schema = _schema(run, {"point": pl.Int64}, after)
    numeric = _numeric_axes(run)
    rows = [
        (
            p.index,
            *_axis_cells(run, p.values, numeric),
            p.verdict.verdict,
            n.node,
            n.offered,
            n.accepted,
        )
        for p in run.points
        for n in p.nodes
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def jobs_table(run: RunResult) -> pl.DataFrame:
    """Return one row per point and job: whether it ran, its number of nodes, its accepted
    bandwidth.

    ``accepted [UNIT]`` is per node of the job, in the unit of the run's load, with the interval
    ``low`` and ``high``; it is empty for a job that did not run. If a point has I/O servers, its
    last row, ``I/O servers``, has their bandwidth per server. The table is empty for kinds of
    machine without jobs.
    """
    after = {
        "verdict": pl.String,
        "job": pl.String,
        "active": pl.Boolean,
        "io": pl.Boolean,
        "nodes": pl.Int64,
        f"accepted [{run.load.plain}]": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
    }
    schema = _schema(run, {"point": pl.Int64}, after)
    numeric = _numeric_axes(run)
    rows = []
    for p in run.points:
        left = (p.index, *_axis_cells(run, p.values, numeric), p.verdict.verdict)
        parts = [(j.name, j.name, j.active, j.io, len(j.nodes)) for j in p.jobs]
        if p.servers:
            busy = any(j.active and j.io for j in p.jobs)
            parts.append(("I/O servers", "servers", busy, True, len(p.servers)))
        for name, measure, *right in parts:
            m = p.measure(f"{measure}.accepted")
            rows.append((*left, name, *right, *((m.mean, m.low, m.high) if m else (None,) * 3)))
    return pl.DataFrame(rows, schema=schema, orient="row")


def searches_table(run: RunResult) -> pl.DataFrame:
    """Return one row per saturation search: the bracket, the model's value, and the limiting
    channel.

    ``highest_stable``, ``lowest_saturated``, ``undecided_low`` and ``undecided_high`` (the
    undecided loads in the bracket, empty if none) and ``analytic`` are in ``unit``. ``reached``
    says whether the bracket is as narrow as the requested ``resolution``, relative to its middle.
    """
    after = {
        "over": pl.String,
        "unit": pl.String,
        "highest_stable": pl.Float64,
        "lowest_saturated": pl.Float64,
        "undecided_low": pl.Float64,
        "undecided_high": pl.Float64,
        "resolution": pl.Float64,
        "reached": pl.Boolean,
        "analytic": pl.Float64,
        "analytic_bottleneck": pl.String,
        "error_rate": pl.Float64,
        "trials": pl.Int64,
    }
    schema = _schema(run, {}, after)
    numeric = _numeric_axes(run)
    rows = [
        (
            *_axis_cells(run, s.values, numeric),
            run.load.key,
            run.load.unit,
            s.highest_stable,
            s.lowest_saturated,
            *(s.undecided or (None, None)),
            s.resolution,
            s.reached,
            s.analytic,
            s.analytic_bottleneck,
            s.error_rate,
            len(s.trials),
        )
        for s in run.searches
    ]
    table = pl.DataFrame(rows, schema=schema, orient="row")
    load = None if run.load_axis is None else run.columns(after)[run.load_axis]
    return table.drop(load) if load else table
