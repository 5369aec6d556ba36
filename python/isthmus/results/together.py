"""Combination of several results into one; its axes are the settings that differ."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from isthmus.errors import IsthmusError
from isthmus.machines import MachineSummary
from isthmus.results.schema import (
    Axis,
    AxisValue,
    PointResult,
    RunResult,
    SearchResult,
)
from isthmus.results.settings import Setting, Settings, columns

Part = tuple[RunResult, Settings]
"""One of the results to combine, and its settings."""


def put_together(parts: Sequence[Part]) -> tuple[RunResult, Settings]:
    """Combine the points and searches of several results, in order.

    Raises:
        IsthmusError: `parts` is empty, the kinds of machine differ, or two results have the same
            point.

    """
    if not parts:
        raise IsthmusError("concat: no results at all; give a list of one or more")
    runs = [run for run, _ in parts]
    first = runs[0]
    for run in runs[1:]:
        if run.load != first.load:
            raise IsthmusError(
                f"concat: {run.name!r} has loads in {run.load.words} and {first.name!r} in "
                f"{first.load.words}; put together results of one kind of machine"
            )
        if run.confidence != first.confidence:
            raise IsthmusError(
                f"concat: intervals of {run.name!r} have a confidence of {run.confidence:g}, those "
                f"of {first.name!r} of {first.confidence:g}; give results of one confidence"
            )
    settings = _settings(parts)
    axes = _axes(parts, settings)
    values = _values(axes, settings)
    machines: list[MachineSummary] = []
    points: list[PointResult] = []
    searches: list[SearchResult] = []
    seen: dict[tuple[str, ...], str] = {}
    for run in runs:
        places = [_place(machines, machine) for machine in run.machines]
        for point in run.points:
            index = len(points)
            row = [of[index] for of in values]
            key = tuple(value.text for value in row)
            if key in seen:
                where = ", ".join(f"{a.key} = {v.text}" for a, v in zip(axes, row, strict=True))
                raise IsthmusError(
                    f"concat: {run.name!r} has a point that {seen[key]!r} has, too"
                    f"{f' ({where})' if where else ''}; they differ in no setting that is known"
                )
            seen[key] = run.name
            machine = places[point.machine]
            points.append(msgspec.structs.replace(point, index=index, values=row, machine=machine))
        begin = len(points) - len(run.points)
        fixed = {
            axis.key: of[begin]
            for axis, of in zip(axes, values, strict=True)
            if run.points and not settings[axis.key].load
        }
        searches += [_on_combined_axes(run, search, axes, fixed, places) for search in run.searches]
    titles = dict.fromkeys(run.title for run in runs)
    loads = [i for i, axis in enumerate(axes) if axis.key in settings and settings[axis.key].load]
    whole = RunResult(
        schema=first.schema,
        version=first.version,
        name=first.name,
        title=" + ".join(titles),
        description="",
        changes=[],
        digest=hashlib.sha256("".join(run.digest for run in runs).encode()).hexdigest(),
        seed=first.seed,
        quick=first.quick,
        confidence=first.confidence,
        load=first.load,
        axes=axes,
        load_axis=loads[0] if len(loads) == 1 else None,
        machines=machines,
        points=points,
        searches=searches,
    )
    return whole, settings


def _settings(parts: Sequence[Part]) -> Settings:
    """Return the settings of all parts, with a value for each point of each part."""
    keys = dict.fromkeys(key for _, settings in parts for key in settings)
    found = {}
    for key in keys:
        own = [settings.get(key) for _, settings in parts]
        texts: list[str | None] = []
        for each, (run, _) in zip(own, parts, strict=True):
            texts += each.texts if each else [None] * len(run.points)
        known = [each for each in own if each]
        given, load = any(each.given for each in known), any(each.load for each in known)
        found[key] = Setting(key, texts, given, load)
    return found


def _axes(parts: Sequence[Part], settings: Settings) -> list[Axis]:
    """Return the axes of the combined result: first the given settings that differ between parts,
    which vary slowest, then all axes of the parts.
    """
    own = {axis.key: axis for run, _ in parts for axis in run.axes}
    new = [
        Axis(key, key.rpartition(".")[2].replace("_", " "), None)
        for key, setting in settings.items()
        if key not in own and setting.given and not setting.constant
    ]
    axes = {**{axis.key: axis for axis in new}, **own}
    # An axis with one value in all parts carries no information.
    varying = {key: axis for key, axis in axes.items() if not settings[key].constant}
    return list((varying or axes).values())


def _values(axes: list[Axis], settings: Settings) -> list[list[AxisValue]]:
    """Return the values of each axis at all points. Set the unit of each axis to that of its
    values.
    """
    read = columns([settings[axis.key].texts for axis in axes])
    found = []
    for i, (axis, column) in enumerate(zip(axes, read, strict=True)):
        axes[i] = replace(axis, unit=column.unit)
        texts = settings[axis.key].texts
        numbers = column.numbers or [None] * len(texts)
        found.append(
            [AxisValue("none" if t is None else t, n) for t, n in zip(texts, numbers, strict=True)]
        )
    return found


def _place(machines: list[MachineSummary], machine: MachineSummary) -> int:
    """Return the position of a machine in the combined list; append it if it is new."""
    if machine not in machines:
        machines.append(machine)
    return machines.index(machine)


def _on_combined_axes(
    run: RunResult,
    search: SearchResult,
    axes: list[Axis],
    fixed: dict[str, AxisValue],
    places: list[int],
) -> SearchResult:
    """Map a search to the combined axes; axes that its run did not vary have that run's value."""
    own = {axis.key: value for axis, value in zip(run.axes, search.values, strict=True)}
    values = [own[axis.key] if axis.key in own else fixed.get(axis.key) for axis in axes]
    return replace(search, values=values, machine=places[search.machine])
