"""Tables of a study of failures: a row for each fabric and kind of failure, and for each case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isthmus.faults.outcome import CaseOutcome, Summary
from isthmus.faults.plan import Study

if TYPE_CHECKING:
    import polars as pl

DIGITS = 12
"""Decimals to which shares of nodes are rounded, which hides rounding errors."""


def summary_rows(study: Study, rows: Sequence[Summary]) -> list[dict[str, Any]]:
    """Return a row for each fabric and kind of failure; shares are 0 to 1, latencies in µs."""
    return [
        {
            "fabric": study.sites[s.site].label,
            "nodes": study.sites[s.site].nodes,
            "failure": s.kind,
            "cases": s.cases,
            "possible": s.possible,
            "nodes_kept": round(s.nodes_kept, DIGITS),
            "nodes_kept_worst": round(s.nodes_kept_worst, DIGITS),
            "cut_off": round(s.cut_off, DIGITS),
            "cut_off_worst": round(s.cut_off_worst, DIGITS),
            "throughput_kept": s.throughput_kept.value,
            "throughput_kept_low": s.throughput_kept.low,
            "throughput_kept_high": s.throughput_kept.high,
            "throughput_kept_worst": s.throughput_kept_worst.value,
            "throughput_kept_bound": s.bound,
            "throughput_kept_worst_bound": s.bound_worst,
            "worst_failure": s.worst,
            "latency_added [us]": s.latency_added_us.value,
            "latency_added_low [us]": s.latency_added_us.low,
            "latency_added_high [us]": s.latency_added_us.high,
            "latency_added_worst [us]": s.latency_added_us_worst.value,
            "collapsed": s.collapsed,
            "lost": s.lost,
        }
        for s in rows
    ]


def case_rows(study: Study, found: Sequence[CaseOutcome]) -> list[dict[str, Any]]:
    """Return a row for each case; each fabric starts with the case without a failure."""
    return [
        {
            "fabric": study.sites[o.case.site].label,
            "failure": o.case.kind,
            "failed": o.case.failure,
            "parts": o.case.weight,
            "live": o.case.live,
            "nodes_kept": round(o.nodes_kept, DIGITS),
            "cut_off": round(o.cut_off, DIGITS),
            "throughput [GB/s]": o.throughput.value,
            "throughput_low [GB/s]": o.throughput.low,
            "throughput_high [GB/s]": o.throughput.high,
            "throughput_kept": o.throughput_kept.value,
            "throughput_kept_low": o.throughput_kept.low,
            "throughput_kept_high": o.throughput_kept.high,
            "throughput_kept_bound": o.bound,
            "saturated": o.saturated,
            "latency [us]": o.latency_us.value,
            "latency_added [us]": o.latency_added_us.value,
            "latency_added_low [us]": o.latency_added_us.low,
            "latency_added_high [us]": o.latency_added_us.high,
            "collapses_from [GB/s]": o.collapses_from,
            "lost": o.lost,
        }
        for o in found
    ]


def table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return rows as a data frame; column types follow the values."""
    import polars as pl

    return pl.DataFrame(rows, infer_schema_length=None)
