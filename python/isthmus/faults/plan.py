"""From scenarios to a study: the core lists all failures and writes the scenario of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from isthmus.core import ask_json
from isthmus.scenario import Scenario

NONE, LINK, NODE, DOUBLE = "none", "one link", "one node", "two parts"
"""Kinds of failure."""
AXIS = "fault"
"""Name of the axis of the generated scenario that has a value for each case."""
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
    from isthmus import _core

    given = [
        {"scenario": each.text, "file": each.file, "overrides": list(each.changes)}
        for each in scenarios
    ]
    told = ask_json(_core.study, {"scenarios": given, "double": double, "seed": seed})
    told["sites"] = [Site(**site) for site in told["sites"]]
    told["cases"] = [Case(**case) for case in told["cases"]]
    return Study(double=double, **told)
