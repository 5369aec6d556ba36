"""Which fabrics, loads and rules a study takes from the scenarios that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from isthmus.core import parse_toml
from isthmus.errors import IsthmusError
from isthmus.scenario import Scenario

Fields = dict[str, Any]
"""Values by scenario key."""
LOAD = "workload.load"
CUT_OFF = "machine.faults.cut_off"
"""A study always leaves out the nodes that are cut off."""
NODE_FIELDS = ("workload.hot_node", "workload.senders")
"""Fields that name nodes."""
CONTROL = ("stop", "verdict")
"""Tables that a study takes over as they are."""


@dataclass(frozen=True)
class Source:
    """What a scenario says to a study."""

    name: str
    title: str
    seed: int
    control: Fields
    """The fields of stop and verdict."""
    fabrics: list[tuple[str, Fields]]
    """Label and fields of machine and workload of each fabric."""
    loads: list[Any]
    """The values of the load axis; none where the scenario has no such axis."""


def read_source(scenario: Scenario) -> Source:
    """Take a scenario apart: axes over machines give fabrics, the load axis gives the loads; of
    other axes the first value counts.

    Raises:
        IsthmusError: the scenario makes no sense, or is not of SCI rings.

    """
    told = scenario.check()
    if any(machine["kind"] != "sci" for machine in told["machines"]):
        raise IsthmusError(
            f'{scenario.file}: not a fabric of rings; a study of faults needs machine.kind = "sci"'
        )
    effective = parse_toml(told["canonical"], "scenario")
    if "search" in effective:
        raise IsthmusError(
            f"{scenario.file}: search: a study runs every failure at the loads of the axis "
            f'"{LOAD}" and searches for none; leave [search] out'
        )
    fields = {
        key: value
        for table in ("machine", "workload")
        for key, value in _flat(effective.get(table, {}), table)
        if key != CUT_OFF
    }
    choices: list[list[tuple[str, Fields]]] = []
    loads: list[Any] = []
    for name, values in effective.get("sweep", {}).items():
        axis = _axis(name, values)
        if name == LOAD:
            loads = values
        elif any(key.startswith("machine.") for _, each in axis for key in each):
            choices.append(axis)
        else:
            fields.update(axis[0][1])
    fabrics = []
    for combination in product(*choices):
        label = ", ".join(label for label, _ in combination)
        changes = {key: value for _, each in combination for key, value in each.items()}
        fabrics.append((label, {**fields, **changes}))
    for label, given in fabrics:
        if named := [key for key in given if key.startswith(NODE_FIELDS)]:
            raise IsthmusError(
                f"{scenario.file}: {named[0]}: a study lets every node fail in turn, this one too"
                f"{f' (at {label})' if label else ''}; leave it out"
            )
    control = {
        key: value for table in CONTROL for key, value in _flat(effective.get(table, {}), table)
    }
    seed = int(effective.get("seed", 1))
    return Source(told["name"], told["title"], seed, control, fabrics, loads)


def merged(sources: Sequence[Source]) -> Source:
    """One study of the fabrics of several scenarios, under the rules and loads of the first."""
    first = sources[0]
    several = len(sources) > 1
    fabrics = [
        (", ".join(filter(None, [source.title or source.name if several else "", label])), fields)
        for source in sources
        for label, fields in source.fabrics
    ]
    return Source(first.name, first.title, first.seed, first.control, fabrics, first.loads)


def left_out(sources: Sequence[Source], files: Sequence[str], *, seeded: bool = False) -> str:
    """Which loads, rules and seed of further scenarios differ from those of the first and are not
    followed; empty if there are none. `seeded`: the study has a seed of its own.
    """
    first = sources[0]
    parts = []
    for source, file in zip(sources[1:], files[1:], strict=True):
        differs = [
            name
            for name, given, followed in (
                ("loads", _loads(source), _loads(first)),
                *((table, _of(source, table), _of(first, table)) for table in CONTROL),
                ("seed", source.seed, first.seed if not seeded else source.seed),
            )
            if given != followed
        ]
        if differs:
            parts.append(f"{file}: {', '.join(differs)}")
    if not parts:
        return ""
    return f"left out, those of {files[0]} count for all: {'; '.join(parts)}"


def _loads(source: Source) -> list[Any]:
    """The loads of a scenario, one where it has no load axis."""
    return source.loads or [fields.get(LOAD) for _, fields in source.fabrics[:1]]


def _of(source: Source, table: str) -> Fields:
    return {key: value for key, value in source.control.items() if key.startswith(f"{table}.")}


def _axis(name: str, values: list[Any]) -> list[tuple[str, Fields]]:
    """Label and fields of each value of an axis."""
    axis = []
    for value in values:
        if isinstance(value, dict):
            fields = {key: each for key, each in value.items() if key != "label"}
            flat = dict(field for key, each in fields.items() for field in _field(key, each))
            axis.append((str(value["label"]), flat))
        else:
            axis.append((str(value), {name: value}))
    return axis


def _flat(table: dict[str, Any], prefix: str) -> list[tuple[str, Any]]:
    return [field for name, value in table.items() for field in _field(f"{prefix}.{name}", value)]


def _field(key: str, value: Any) -> list[tuple[str, Any]]:
    """A field, or those of a table below it."""
    return _flat(value, key) if isinstance(value, dict) else [(key, value)]
