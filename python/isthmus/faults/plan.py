"""From scenarios to a study: every single failure, sampled double ones, one generated scenario."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from isthmus.core import ask_json
from isthmus.errors import IsthmusError
from isthmus.faults.source import CUT_OFF, LOAD, Fields, Source, left_out, merged, read_source
from isthmus.scenario import Scenario
from isthmus.scenario_fields import toml_value

NONE, LINK, NODE, DOUBLE = "none", "one link", "one node", "two parts"
"""Kinds of failure."""
AXIS = "fault"
"""Name of the axis of the generated scenario that has a value for each case."""
FAULTS = ("machine.faults.nodes", "machine.faults.links")
LIVE_MIN = 2
"""Fewest nodes that can send anything to one another."""


@dataclass(frozen=True)
class Site:
    """A fabric of the study."""

    label: str
    nodes: int
    single: int
    """Number of single failures that differ in what they stop."""
    pairs: int
    """Number of pairs of these."""
    harmed: list[str] = field(default_factory=list)
    """The faults that its scenario has already, in words."""


@dataclass(frozen=True)
class Case:
    """One state of one fabric."""

    label: str
    """Its value on the axis of the generated scenario."""
    site: int
    """Position of the fabric in the study."""
    kind: str
    """``none``, ``one link``, ``one node`` or ``two parts``."""
    failure: str
    """What failed, in words."""
    failed: list[int]
    """Nodes that failed, those of the scenario among them."""
    weight: int
    """Links or nodes (or pairs of these) whose failure is this case."""
    live: int
    """Nodes that still reach one another."""

    @property
    def simulated(self) -> bool:
        """Whether enough is left to be simulated."""
        return self.live >= LIVE_MIN


@dataclass(frozen=True)
class Study:
    """A study: its fabrics, its cases, and the scenario that runs them."""

    name: str
    title: str
    seed: int
    double: int
    """Double failures sampled in each fabric."""
    sites: list[Site]
    cases: list[Case]
    text: str = ""
    """The generated scenario."""
    left_out: str = ""
    """What further scenarios say and the study does not follow, in words."""

    def as_json(self) -> str:
        """What results of the generated scenario need to be read as a study."""
        told = asdict(self)
        del told["text"], told["left_out"]
        return json.dumps(told, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Study:
        """Read what `as_json` wrote."""
        told = json.loads(text)
        told["sites"] = [Site(**site) for site in told["sites"]]
        told["cases"] = [Case(**case) for case in told["cases"]]
        return cls(**told)


def plan(scenarios: Sequence[Scenario], double: int = 0, seed: int | None = None) -> Study:
    """List every single failure and so many double ones of each fabric of the scenarios.

    Args:
        scenarios: of SCI rings. An axis over machines gives several fabrics; rules and loads are
            those of the first scenario.
        double: pairs of single failures to draw in each fabric; all pairs if there are no more.
        seed: for the pairs drawn and for the runs; the first scenario's if left out.

    Raises:
        IsthmusError: a scenario makes no sense, or two fabrics cannot be told apart.

    """
    sources = [read_source(scenario) for scenario in scenarios]
    source = merged(sources)
    ignored = left_out(sources, [scenario.file for scenario in scenarios], seeded=seed is not None)
    seed = source.seed if seed is None else seed
    file = scenarios[0].file
    described = [_describe(fields, source, file, double, seed) for _, fields in source.fabrics]
    labels = _labels([told["summary"]["fabric"] for told in described], source)
    sites, cases, variants = [], [], []
    for position, (told, (_, fields)) in enumerate(zip(described, source.fabrics, strict=True)):
        failures = told["failures"]
        nodes = told["summary"]["nodes"]
        single, pairs = len(failures["single"]), failures["pairs"]
        sites.append(Site(labels[position], nodes, single, pairs, told["summary"]["faults"]))
        for case, faults in _cases(labels[position], position, told, fields):
            cases.append(case)
            if case.simulated:
                variants.append({**fields, **faults, "label": case.label})
    name = f"{source.name.removesuffix('-faults')}-faults"
    text = _text(name, source, variants, seed)
    return Study(name, source.title, seed, double, sites, cases, text, ignored)


def _describe(fields: Fields, source: Source, file: str, double: int, seed: int) -> dict[str, Any]:
    """What the core says of one fabric and of what can fail in it."""
    from isthmus import _core

    load = {LOAD: source.loads[0]} if source.loads else {}
    load[CUT_OFF] = "leave-out"
    spec = {
        "scenario": _tables({**fields, **load}, "fabric"),
        "file": file,
        "failures": {"double": double, "seed": seed},
    }
    (told,) = ask_json(_core.rings, spec)["fabrics"]
    assert isinstance(told, dict)
    return told


def _labels(names: list[str], source: Source) -> list[str]:
    """Names of the fabrics; what the axes say of them as well, where names alone are not enough."""
    if len(set(names)) == len(names):
        return names
    labels = [
        f"{name}, {label}" if label else name
        for name, (label, _) in zip(names, source.fabrics, strict=True)
    ]
    if len(set(labels)) < len(labels):
        raise IsthmusError(
            "two of the fabrics have the same name; give their scenarios titles that differ"
        )
    return labels


def _cases(
    label: str, site: int, told: dict[str, Any], fields: Fields
) -> list[tuple[Case, Fields]]:
    """All cases of a fabric, with the fields that make them: no failure first."""
    summary, failures = told["summary"], told["failures"]
    gone = summary["cut_off"]
    already = {key: list(fields.get(key, [])) for key in FAULTS}
    live = summary["nodes"] - len(gone) - len(already[FAULTS[0]])
    found = [
        (Case(f"{label}: nothing", site, NONE, "nothing", already[FAULTS[0]], 1, live), already)
    ]
    single = failures["single"]
    for each in single:
        kind = NODE if each["nodes"] else LINK
        case = Case(
            label=f"{label}: {_short(each)}",
            site=site,
            kind=kind,
            failure=each["label"],
            failed=already[FAULTS[0]] + each["nodes"],
            weight=each["components"],
            live=each["live"],
        )
        found.append((case, _with(already, each)))
    for pair in failures["double"]:
        first, second = single[pair["first"]], single[pair["second"]]
        words = f"{_short(first)} and {_short(second)}"
        case = Case(
            label=f"{label}: {words}",
            site=site,
            kind=DOUBLE,
            failure=words,
            failed=already[FAULTS[0]] + first["nodes"] + second["nodes"],
            weight=first["components"] * second["components"],
            live=pair["live"],
        )
        found.append((case, _with(already, first, second)))
    return found


def _short(failure: dict[str, Any]) -> str:
    """What fails without what it stops: ``link 0-1``."""
    return str(failure["label"]).partition(" (")[0]


def _with(already: Fields, *failures: dict[str, Any]) -> Fields:
    nodes, links = already[FAULTS[0]], already[FAULTS[1]]
    nodes = nodes + [n for each in failures for n in each["nodes"] if n not in nodes]
    links = links + [ends for each in failures for ends in each["links"] if ends not in links]
    return {FAULTS[0]: nodes, FAULTS[1]: links}


def _text(name: str, source: Source, variants: list[Fields], seed: int) -> str:
    """The generated scenario: what all cases have in common in its tables, the rest on the axis."""
    common = {
        key: value
        for key, value in variants[0].items()
        if key not in (*FAULTS, "label")
        and all(key in each and each[key] == value for each in variants)
    }
    common[CUT_OFF] = "leave-out"
    fields = {**common, **source.control}
    # Hundreds of points: the links of each would fill the disk and tell little.
    fields |= {"measure.channels": False, "measure.histograms": False}
    text = _tables(fields, name, title=source.title, seed=seed)
    text += "\n[sweep]\n"
    rows = [
        {key: value for key, value in each.items() if common.get(key) != value} for each in variants
    ]
    listed = ",\n".join(f"  {toml_value({'label': r.pop('label'), **r})}" for r in rows)
    text += f"{AXIS} = [\n{listed},\n]\n"
    if source.loads:
        text += f"{toml_value(LOAD)} = {toml_value(source.loads)}\n"
    return text


def _tables(fields: Fields, name: str, *, title: str = "", seed: int | None = None) -> str:
    """A scenario file of these fields."""
    lines = ["version = 1", f"name = {toml_value(name)}"]
    if title:
        lines.append(f"title = {toml_value(title)}")
    if seed is not None:
        lines.append(f"seed = {seed}")
    for table in dict.fromkeys(key.partition(".")[0] for key in fields):
        lines += ["", f"[{table}]"]
        lines += [
            f"{key.partition('.')[2]} = {toml_value(value)}"
            for key, value in fields.items()
            if key.startswith(f"{table}.")
        ]
    return "\n".join(lines) + "\n"
