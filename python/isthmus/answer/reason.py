"""The reason for saturation in words: the bottleneck, and how long a request occupies it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from isthmus.results.schema import Bottleneck, PointResult
from isthmus.results.series import Series, View
from isthmus.wording import number

FULL = 0.9
"""A part of the machine counts as full if it is busy for at least this fraction of the time."""
ALIKE = 0.9
"""All parts of a type (such as all disks) are named together as the bottleneck if their mean
busy fraction is at least this share of that of the busiest part.
"""


@dataclass(frozen=True)
class Reason:
    """The bottleneck of one series in words: the reason why the series saturates."""

    point: PointResult = field(repr=False)
    limit: Bottleneck = field(repr=False)
    part: str
    """Name of the part of the machine, as it stands in a sentence: ``the disks``, ``the disk of
    I/O node 3``, ``the buffers behind the links``.
    """
    busy: str
    """How busy the part is, and how long each use holds it: ``98% busy, each held 12.9 ms per
    request``. For a link with a full buffer, its throughput instead: ``41% of the bandwidth
    carried, 42% possible``.
    """

    @property
    def full(self) -> bool:
        """Whether the part is full (`FULL`), rather than only the busiest part of the machine."""
        return self.limit.busy >= FULL

    @property
    def short(self) -> str:
        """The bottleneck as a short text for a table cell: ``disks 98%``."""
        return f"{self.part.removeprefix('the ')} {share(self.limit.busy)}"

    @property
    def words(self) -> str:
        """The bottleneck as text for a sentence: ``the disks fill first (98% busy)``."""
        plural = _is_plural(self.part)
        if self.full and self.limit.let_through is not None:
            return f"{self.limit.holder}s wait for space in {self.part} ({self.busy})"
        if self.full:
            return f"{self.part} {'fill' if plural else 'fills'} first ({self.busy})"
        return f"no part is full; {self.part} {'are' if plural else 'is'} busiest ({self.busy})"


def share(value: float) -> str:
    """Return a fraction in percent; a fraction below 1 is never rounded to 100%."""
    percent = 100 * value
    return (
        f"{percent:.0f}%"
        if percent <= 99 or value >= 1
        else f"{percent:.1f}%".replace("100.0", "99.9")
    )


def duration(us: float) -> str:
    """Return a time in a suitable unit: ``12.9 ms``."""
    for unit, per_us in (("s", 1e-6), ("ms", 1e-3), ("µs", 1.0)):
        if us * per_us >= 1:
            return f"{number(us * per_us)} {unit}"
    return f"{number(us * 1e3)} ns"


def limiting_point(
    layout: View, series: Series, shown: PointResult | None = None
) -> PointResult | None:
    """Return the point of a series that shows the bottleneck: the one with the lowest saturated
    load, or else with the highest load. If the load is not swept and no point is saturated,
    return the point `shown`, or else the one with the busiest bottleneck. None if no point has
    a bottleneck.
    """
    counted = [p for p in series.points if p.bottleneck is not None and not p.collapsed]
    if not counted:
        return None
    lost = [p for p in counted if p.verdict.verdict == "saturated"]
    if layout.by_load:
        return min(lost, key=_load) if lost else max(counted, key=_load)
    if not lost and shown in counted:
        return shown
    return max(lost or counted, key=lambda p: p.bottleneck.busy if p.bottleneck else 0.0)


def _load(point: PointResult) -> float:
    """Return the offered load of a point, in the unit of its run; 0 if it has none."""
    return point.load or 0.0


def reason(layout: View, series: Series, shown: PointResult | None = None) -> Reason | None:
    """Return the bottleneck of a series; None if it is unknown. `shown` is the point of the
    series that is compared with other series.
    """
    point = limiting_point(layout, series, shown)
    if point is None or point.bottleneck is None:
        return None
    limit = point.bottleneck
    machine = layout.run.machines[point.machine]
    uses = (c for c in point.channels if c.from_ is None and c.kind == limit.kind)
    mean = next(uses, None)
    together = mean is not None and mean.busy >= ALIKE * limit.busy
    if limit.server is not None and len(point.servers) > 1:
        rows = [c for c in point.channels if c.kind == "server" and c.from_ in point.servers]
        total = sum(c.busy for c in rows)
        together = bool(rows) and total / len(rows) >= ALIKE * limit.busy
    ends = (limit.from_, limit.to)
    part = machine.part(limit.kind, ends, limit.server, every=together)
    if limit.let_through is not None:
        part = f"the {'buffers' if _is_plural(part) else 'buffer'} behind {part}"
    return Reason(point, limit, part, _busy_text(limit, together))


def _is_plural(part: str) -> bool:
    """Return whether the name of a machine part is a plural, such as ``the disks``."""
    return re.split(" of | into | to | behind ", part)[0].endswith("s")


def _busy_text(limit: Bottleneck, together: bool) -> str:
    """Return in words how busy a bottleneck is. `together` means that it stands for several
    parts of the machine.
    """
    if limit.let_through is not None:
        most = share(limit.let_through)
        carried = share(limit.busy * limit.let_through)
        return f"{carried} of the bandwidth carried, {most} possible"
    text = f"{share(limit.busy)} busy"
    if limit.held_us is None:
        return text
    each = "each " if together else ""
    return f"{text}, {each}held {duration(limit.held_us)} per {limit.holder}"


def reasons_sentence(found: list[tuple[str, Reason]]) -> str:
    """Return one sentence that names the bottlenecks of all variants. Variants with the same
    one are named together; variants in which no part is full are last.
    """
    if len(found) == 1:
        return found[0][1].words
    groups: dict[str, list[tuple[str, Reason]]] = {}
    for label, each in found:
        groups.setdefault(each.part if each.full else "", []).append((label, each))
    busiest = {part: max(of, key=lambda one: one[1].limit.busy)[1] for part, of in groups.items()}
    if len(groups) == 1 and len({each.part for _, each in found}) == 1:
        # Name no variants: all of them share one bottleneck.
        return f"in every variant {next(iter(busiest.values())).words}"
    rest = groups.pop("", [])
    parts = [f"{_names_of_variants(of)} {busiest[part].words}" for part, of in groups.items()]
    if rest:
        shares = [
            share(each.limit.busy) for _, each in sorted(rest, key=lambda one: one[1].limit.busy)
        ]
        span = shares[0] if shares[0] == shares[-1] else f"{shares[0]} to {shares[-1]}"
        where = _names_of_variants(rest) if groups else "in no variant"
        full = "no part is full" if groups else "a part is full"
        parts.append(
            f"{where} {full} (the busiest {'is' if len(rest) == 1 else 'are'} {span} busy)"
        )
    return "; ".join(parts)


def _names_of_variants(found: list[tuple[str, Reason]]) -> str:
    """Return the words ``with a and b``: the names of the variants in `found`, which share a
    bottleneck.
    """
    from isthmus.answer.sentences import listed

    return f"with {listed([label for label, _ in found])}"
