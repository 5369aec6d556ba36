"""Planning of a study: the core lists all failures and generates their scenario."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from isthmus.core import ask_json
from isthmus.scenario import Scenario

NONE, LINK, NODE, DOUBLE = "none", "one link", "one node", "two parts"
"""Kinds of failure of a fabric."""
AXIS = "fault"
"""Name of the sweep axis of the generated scenario. The axis has one value for each failure case.
"""
LIVE_MIN = 2
"""Minimum number of connected nodes for a simulation."""


@dataclass(frozen=True)
class Site:
    """A fabric of SCI rings whose failures the study examines."""

    label: str
    nodes: int
    single: int
    """Number of single failures with different effects."""
    pairs: int
    """Number of pairs of single failures with different effects."""
    harmed: list[str] = field(default_factory=list)
    """Faults that the scenario has before any failure of the study, in words."""


@dataclass(frozen=True)
class Case:
    """One case of the study: a fabric without a failure, or with one failure."""

    label: str
    """Value of the case on the axis `AXIS` of the generated scenario."""
    site: int
    """Index of the fabric in the study."""
    kind: str
    """Kind of failure: ``none``, ``one link``, ``one node`` or ``two parts``."""
    failure: str
    """The failed parts, in words."""
    failed: list[int]
    """Nodes that have failed in this case, including those that have failed in the scenario."""
    weight: int
    """Number of links or nodes (or of pairs) whose failure has this effect."""
    live: int
    """Number of nodes that can still communicate."""

    @property
    def simulated(self) -> bool:
        """Whether enough nodes remain connected for a simulation."""
        return self.live >= LIVE_MIN


@dataclass(frozen=True)
class Study:
    """A dependability study: its fabrics, its cases, and the scenario that runs them."""

    name: str
    title: str
    seed: int
    double: int
    """Number of sampled double failures in each fabric."""
    sites: list[Site]
    cases: list[Case]
    text: str = ""
    """Text of the scenario that the study generates, with a value of its axis for each case."""
    left_out: str = ""
    """Settings of further scenarios that the study ignores, in words."""

    def as_json(self) -> str:
        """Return the study as JSON, which is stored beside the results of its scenario."""
        document = asdict(self)
        del document["text"], document["left_out"]
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Study:
        """Read the output of `as_json`."""
        document = json.loads(text)
        document["sites"] = [Site(**site) for site in document["sites"]]
        document["cases"] = [Case(**case) for case in document["cases"]]
        return cls(**document)


def plan(scenarios: Sequence[Scenario], double: int = 0, seed: int | None = None) -> Study:
    """List every single failure and `double` double failures of each fabric.

    Args:
        scenarios: scenarios of SCI rings. An axis over machines gives several fabrics; rules and
            loads are those of the first scenario.
        double: number of pairs of single failures to sample in each fabric; at most all pairs.
        seed: seed of the sampling and of the runs; the default is that of the first scenario.

    Raises:
        IsthmusError: a scenario is invalid, or two fabrics are identical.

    """
    from isthmus import _core

    given = [
        {"scenario": each.text, "file": each.file, "overrides": list(each.changes)}
        for each in scenarios
    ]
    document = ask_json(_core.study, {"scenarios": given, "double": double, "seed": seed})
    document["sites"] = [Site(**site) for site in document["sites"]]
    document["cases"] = [Case(**case) for case in document["cases"]]
    return Study(double=double, **document)
