"""Labels of measures and channels, and formats of numbers and intervals."""

from __future__ import annotations

import math

_MEASURES = {
    "pe_pe.header": "PE-PE header latency",
    "pe_pe.network": "PE-PE network latency",
    "request.header": "request header latency",
    "forward.header": "request-forward header latency",
    "write.header": "write header latency",
    "reply_local.header": "local reply header latency",
    "reply_remote.header": "remote reply header latency",
    "redirect.header": "redirect header latency",
    "broadcast.header": "broadcast header latency",
    "accepted": "accepted load",
    "offered": "offered load",
    "io.accepted": "accepted load of I/O demands",
    "io.offered": "offered load of I/O demands",
    "latency": "packet latency",
    "network": "packet time in the network",
    "response": "transaction response time",
    "dropped": "dropped load",
    "retries": "busy retries",
    "adu": "time of an ADU",
    "cycles_per_word": "cost of a word",
    "reshuffle": "reshuffling of a TU by a cell",
    "wait": "waiting of a cell for its turn",
    "send": "sending of a TU by a cell",
    "idle": "idle time of the interface processor",
    "packets": "packets sent",
    "per_packet": "processor time of a packet",
}
_OPERATIONS = {
    "read": "I/O read",
    "write": "I/O write",
    "broadcast": "I/O broadcast",
    "scatter": "scatter",
    "gather": "gather",
}
_ASPECTS = {
    "network": "time in the network",
    "response": "response time",
    "header": "header latency",
    "router": "header latency from router",
    "wait": "waiting time",
    "tail": "latency to the last flit",
}
_PLURALS = {
    "pe_pe": "PE-PE messages",
    "read": "I/O reads",
    "write": "I/O writes",
    "request": "requests",
    "forward": "forwarded requests",
    "reply_local": "local replies",
    "reply_remote": "remote replies",
    "broadcast": "broadcasts",
    "scatter": "scatters",
    "gather": "gathers",
    "latency": "packets",
    "network": "packets",
    "response": "transactions",
}
_JOB_ASPECTS = {
    "response": "message response time",
    "network": "message time in the network",
    "packet": "packet latency",
    "phase": "time of a phase",
    "accepted": "accepted bandwidth",
}
"""Labels of measures of jobs; the name of such a measure starts with that of its job."""
_FLOWS = {"io": "I/O", "messages": "PE-PE"}
_UNITS = {"us": "µs", "1/ms": "messages/ms", "/ms": "messages/ms", "1": "", "1/us": "1/µs"}
_SIZES = (
    ("B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"),
    ("B", "kB", "MB", "GB", "TB", "PB"),
    ("ns", "µs", "ms", "s"),
    ("MIPS", "GIPS", "TIPS"),
)
"""Units of bandwidth, data, time and speed, each a thousand times the one before it."""
LONG_US = 10_000
"""Time in microseconds from which a sentence uses a larger unit."""
LOPSIDED = 2
"""An interval whose halves differ by more than this factor is written with both ends."""


EXACT = "Nothing was drawn at random: the numbers are exact."
"""Note on a run without random numbers, whose values have no intervals."""


def measure_label(name: str, *, of_jobs: bool = False) -> str:
    """Return the label of a measure for an axis or a heading, without its unit.

    The name of a measure of a job begins with the job's name: ``io: packet latency``.
    """
    job, _, quantity = name.rpartition(".")
    if of_jobs and job and quantity in _JOB_ASPECTS:
        return f"{job_label(job)}: {_JOB_ASPECTS[quantity]}"
    if name in _MEASURES:
        return _MEASURES[name]
    who, _, aspect = name.partition(".")
    if who in _OPERATIONS and aspect in _ASPECTS:
        return f"{_OPERATIONS[who]} {_ASPECTS[aspect]}"
    if who in _PLURALS and aspect in _ASPECTS:
        return f"{who.replace('_', ' ').replace('pe pe', 'PE-PE')} {_ASPECTS[aspect]}"
    words = name.replace("_", " ").replace(".", ", ")
    return words[:1].upper() + words[1:]


def job_label(job: str) -> str:
    """Return the label of a job; ``servers`` are the I/O servers of all jobs."""
    return "I/O servers" if job == "servers" else job


def measure_subject(name: str, *, of_jobs: bool = False) -> str:
    """Return the things that a measure counts or times, in the plural: ``I/O reads`` for
    ``read.network``.
    """
    if of_jobs:
        job, _, quantity = name.rpartition(".")
        subjects = {"packet": "packets", "phase": "phases"}
        return f"{subjects.get(quantity, 'messages')} of {job_label(job)}"
    return _PLURALS.get(name.partition(".")[0], measure_label(name))


def flow_label(flow: str) -> str:
    """Return the name under which results show a flow of messages, such as the flow that decides a
    verdict.
    """
    return _FLOWS.get(flow, flow)


def unit_label(unit: str | None) -> str:
    """Return a unit in usual notation: ``µs`` for ``us``."""
    return _UNITS.get(unit or "", unit or "")


def with_unit(label: str, unit: str | None) -> str:
    """Return an axis title: ``latency (µs)``, or only the label for a pure number."""
    text = unit_label(unit)
    return f"{label} ({text})" if text else label


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with `digits` significant digits: ``1.23``, ``12,346``.

    Below 100,000 digits before the decimal point are never rounded. Numbers below 0.0001 or with
    more than nine digits before the point have an exponent.
    """
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    magnitude = _magnitude(value, digits)
    if magnitude >= 9 or magnitude < -4:
        return f"{value:.{digits - 1}e}"
    if magnitude >= 6:
        return f"{round(value, digits - 1 - magnitude):,.0f}"
    decimals = max(0, digits - 1 - magnitude)
    return f"{value:,.{decimals}f}" if magnitude >= 4 else f"{value:.{decimals}f}"


def _magnitude(value: float, digits: int) -> int:
    """Return the power of ten of the rounded first digit: 9.999 is 10.0, with magnitude 1."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])


def quantity(value: float | None, unit: str, digits: int = 3) -> str:
    """Return a number with a suitable multiple of its unit: ``1.02 TB/s``."""
    for family in _SIZES:
        if unit in family and value and math.isfinite(value):
            position = family.index(unit)
            while position + 1 < len(family) and abs(value) >= 1000:
                value, position = value / 1000, position + 1
            while position and abs(value) < 1:
                value, position = value * 1000, position - 1
            if position + 1 < len(family) and _magnitude(value, digits) >= 3:
                value, position = value / 1000, position + 1
            return f"{number(value, digits)} {family[position]}"
    return f"{number(value, digits)} {unit}".rstrip()


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a count with singular or plural noun: ``1 claim``, ``1,024 nodes``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Return an interval with the same digits at both ends: ``11.5–11.9``; ``≥ 11.5`` without upper
    end.
    """
    if low is None or high is None:
        return "–" if low is None else f"≥ {number(low, digits)}"
    if max(abs(low), abs(high)) == 0:
        return "0–0"
    magnitude = math.floor(math.log10(max(abs(low), abs(high))))
    if magnitude >= 6 or magnitude < -4:
        return f"{number(low, digits)}–{number(high, digits)}"
    decimals = max(0, digits - 1 - magnitude)
    return f"{low:.{decimals}f}–{high:.{decimals}f}"


def estimate(mean: float | None, low: float | None, high: float | None, digits: int = 3) -> str:
    """Return a mean with its half-width: ``11.7 ± 0.2``; only the mean without an interval or with
    an interval of zero width.

    Special forms: ``12.1 (≥ 9.8)`` without upper end, ``0 (≤ 0.4)`` if nothing was counted, ``34.3
    (30.3 to 115.9)`` if one half is more than twice the other, ``> 1400`` for a lower bound.
    """
    if mean is None:
        return "–" if low is None else f"> {number(low, digits)}"
    if low is not None and high is None:
        return f"{number(mean, digits)} (≥ {number(low, digits)})"
    if low is None or high is None or low == mean == high:
        return number(mean, digits)
    if mean == 0 and low == 0 < high:
        return f"0 (≤ {number(high, 2)})"
    less, half = sorted((mean - low, high - mean))
    if half > 0 and mean != 0:
        digits = min(6, max(digits, math.floor(math.log10(abs(mean) / half)) + 2))
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(mean)))) if mean else 2
    decimals = min(decimals, 6)
    if half > LOPSIDED * less and f"{half:.{decimals}f}" != f"{less:.{decimals}f}":
        ends = (f"{end:{',' if abs(end) >= 10_000 else ''}.{decimals}f}" for end in (low, high))
        return f"{number(mean, digits)} ({' to '.join(ends)})"
    return f"{number(mean, digits)} ± {half:.{decimals}f}"


def sentence(text: str) -> str:
    """Return a text as a sentence: with a capital first letter and a full stop, except for symbols:
    ``b = 1``.
    """
    first = text[:1] if text[1:4] == " = " else text[:1].upper()
    return first + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def estimate_in_unit(mean: float | None, low: float | None, high: float | None, unit: str) -> str:
    """Return an estimate with its unit; long times are in ms or s: ``881 ± 4 s``."""
    size = abs(mean if mean is not None else low or 0.0)
    factor, word = 1.0, unit_label(unit)
    if unit == "us" and size >= LONG_US:
        factor, word = (1e-6, "s") if size >= 100 * LONG_US else (1e-3, "ms")
    mean, low, high = (None if end is None else end * factor for end in (mean, low, high))
    return f"{estimate(mean, low, high)} {word}"


def ended(by: str | None) -> str:
    """Return the reason why a point ended early, as the end of a sentence; empty if it did not."""
    return {
        "backlog": "; ended early: more waits than a verdict needs",
        "memory": "; ended early: more waits than the run has memory for",
    }.get(by or "", "")
