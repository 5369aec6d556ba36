"""Results as tidy tables: one row per number, one column per swept field, units in the names."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import msgspec

from isthmus.results.schema import AxisValue, Bottleneck, ChannelUse, Measure, RunResult
from isthmus.results.settings import Settings, columns

if TYPE_CHECKING:
    import polars as pl


def _numeric_axes(run: RunResult) -> list[bool]:
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
    """The columns of a table, those of the axes between its own."""
    import polars as pl

    names = run.columns({*before, *after})
    types = [pl.Float64 if is_number else pl.String for is_number in _numeric_axes(run)]
    return {**before, **dict(zip(names, types, strict=True)), **after}


def _axis_cells(run: RunResult, values: list[Any], numeric: list[bool]) -> list[Any]:
    return [
        None if v is None else v.number if is_number else v.text
        for v, is_number in zip(values, numeric, strict=True)
    ]


_Statistic = tuple[str, float | None, float | None, float | None, bool | None]


def _statistics(measure: Measure) -> list[_Statistic]:
    rows: list[_Statistic] = [("mean", measure.mean, measure.low, measure.high, None)]
    for p in measure.percentiles:
        rows.append((f"p{p.percent:g}", p.value, p.low, p.high, p.resolved))
    return rows


def settings_table(run: RunResult, settings: Settings) -> pl.DataFrame:
    """One row per point, one column per setting; see `isthmus.Results.settings`."""
    import polars as pl

    # Axes are columns as in all tables.
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
    """One row per point, measure and statistic (mean, p50, ...), or those that are wanted.

    Columns: ``point``, one per axis (named ``key`` or ``key [unit]``; numbers where the axis has
    them), ``offered [UNIT]`` in the unit of the run's load, ``verdict``, ``measure``,
    ``statistic``, ``unit`` (of value, low, high and analytic), ``value``, ``low``, ``high`` (the
    interval), ``resolved`` (of percentiles: false where a replication had fewer than ten
    observations above, so that the value is biased low), ``analytic``, ``residual``
    (value / analytic - 1), ``samples``, ``converged``, ``origin`` (of the verdict: simulation or
    model). A point of which nothing was measured has one row, without a measure.
    """
    import polars as pl

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
        "converged": pl.Boolean,
        "origin": pl.String,
    }
    schema = _schema(run, {"point": pl.Int64}, after)
    numeric = _numeric_axes(run)
    rows = []
    for point in run.points:
        left = [point.index, *_axis_cells(run, point.values, numeric), point.load]
        left.append(point.verdict.verdict)
        for m in point.measures:
            for statistic, value, low, high, resolved in _statistics(m):
                if wants is not None and statistic not in wants:
                    continue
                model = (m.analytic, m.residual) if statistic == "mean" else (None, None)
                right = [m.name, statistic, m.unit, value, low, high, resolved, *model]
                rows.append((*left, *right, m.samples, point.converged, point.verdict.origin))
        if not point.measures:
            none = [None] * 9
            rows.append((*left, *none, None, point.converged, point.verdict.origin))
    return pl.DataFrame(rows, schema=schema, orient="row")


def histograms_table(run: RunResult) -> pl.DataFrame:
    """One row per point, measure and occupied bin: ``lower``, ``upper`` (in ``unit``), count."""
    import polars as pl

    after = {
        "measure": pl.String,
        "unit": pl.String,
        "lower": pl.Float64,
        "upper": pl.Float64,
        "count": pl.Int64,
    }
    schema = _schema(run, {"point": pl.Int64}, after)
    numeric = _numeric_axes(run)
    names = ("lower", "upper", "count")
    types = {name: kind for name, kind in schema.items() if name not in names}
    rows = []
    flat: list[list[pl.Series]] = [[pl.Series(dtype=pl.Int64)] for _ in names]
    for p in run.points:
        left = [p.index, *_axis_cells(run, p.values, numeric)]
        numbers: tuple[list[int], ...] = ([], [], [])
        for h in p.histograms:
            bins = h.bins
            rows.append([*left, h.measure, h.unit, h.step, len(bins.count)])
            for column, each in zip(numbers, msgspec.structs.astuple(bins), strict=True):
                column.extend(each)
        # Point by point: numbers of Python take four times the memory.
        for series, each in zip(flat, numbers, strict=True):
            series.append(pl.Series(each, dtype=pl.Int64))
    types |= {"step": pl.Float64, "bins": pl.Int64}
    table = pl.DataFrame(rows, schema=types, orient="row")
    of_row = pl.select(pl.int_range(len(rows)).repeat_by(table["bins"]).explode()).to_series()
    bounds = [pl.col(name) * pl.col("step") for name in ("lower", "upper")]
    cells = [pl.concat(series).alias(name) for name, series in zip(names, flat, strict=True)]
    return table[of_row].with_columns(cells).with_columns(bounds).select(*schema)


def _repeat(columns: list[list[Any]], cells: list[Any], count: int) -> None:
    """Fill the first columns with the same cells, so many times."""
    for column, cell in zip(columns, cells, strict=False):
        column.extend([cell] * count)


def channels_table(run: RunResult) -> pl.DataFrame:
    """One row per point and channel, disk, interface or server, or kind of them (``from``, ``to``
    empty: the kind's mean; ``to`` empty alone: it is in one place).

    ``utilisation``, ``highest`` (busiest channel of the kind) and ``analytic`` are flits or symbols
    per cycle and lane or the share of the time, 0 to 1; ``busy`` and ``busiest`` the share of the
    time for which lanes were taken, ``held [us]`` for how long by one message, packet or request;
    ``fills_first`` marks the kind, and the channel, that limits the machine at the point. ``from``
    and ``to`` of a fat tree are nodes and, above them, switches. Where several rings join the same
    two nodes, each link has its row.
    """
    import polars as pl

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
    numeric = _numeric_axes(run)
    columns: list[list[Any]] = [[] for _ in schema]
    for p in run.points:
        left = [p.index, *_axis_cells(run, p.values, numeric)]
        _repeat(columns, left, len(p.channels))
        rest = zip(*(_use_cells(c, p.bottleneck) for c in p.channels), strict=True)
        for column, cells in zip(columns[len(left) :], rest, strict=False):
            column.extend(cells)
    return pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=schema)


def _use_cells(use: ChannelUse, limit: Bottleneck | None) -> tuple[Any, ...]:
    return (
        use.kind,
        use.from_,
        use.to,
        use.utilisation,
        use.highest,
        use.busy,
        use.busiest,
        use.held_us,
        _fills_first(use, limit),
        use.analytic,
    )


def _fills_first(use: ChannelUse, limit: Bottleneck | None) -> bool:
    """Whether a channel, or its kind, is what limits the machine."""
    if limit is None or use.kind != limit.kind:
        return False
    return use.from_ is None or (use.from_, use.to) == (limit.from_, limit.to)


def nodes_table(run: RunResult) -> pl.DataFrame:
    """One row per point and node: what it offered and what of it arrived.

    ``offered [UNIT]`` and ``accepted [UNIT]`` are of this node alone, in the unit of the run's
    load. Empty for kinds of machine that do not count it.
    """
    import polars as pl

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
    """One row per point and job: whether it ran, on how many nodes, what it got through.

    ``accepted [UNIT]`` is per node of the job, in the unit of the run's load, with the interval
    ``low`` and ``high``; it is empty for a job that did not run. A last row of each point that has
    I/O servers, ``I/O servers``, tells what each of them took and gave. Empty for kinds of machine
    without jobs.
    """
    import polars as pl

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
    """One row per saturation search: the bracket, the model's value, what limits it.

    ``highest_stable``, ``lowest_saturated``, ``undecided_low`` and ``undecided_high`` (the loads in
    the bracket that stayed undecided, empty if none) and ``analytic`` are in ``unit``. ``reached``
    says whether the bracket is as narrow as ``resolution``, relative to its middle, asked for.
    """
    import polars as pl

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
