"""What selectors take from fat trees: their nodes, their links, and what a scenario sets."""

from __future__ import annotations

import re
from typing import Any

from isthmus.core import parse_toml
from isthmus.errors import IsthmusError
from isthmus.papers.model import Model
from isthmus.results.schema import PointResult
from isthmus.scenario import Scenario
from isthmus.value import Value

KIND = "fat-tree"


def node(which: str, point: PointResult) -> Value:
    """MB/s that arrive for the process of a node; of several, ``4-15``, their mean.

    Raises:
        IsthmusError: there is no such node.

    """
    run = re.fullmatch(r"(\d+)(?:-(\d+))?", which)
    accepted = {use.node: use.accepted for use in point.nodes}
    wanted = range(0)
    if run:
        wanted = range(int(run[1]), int(run[2] or run[1]) + 1)
    if not wanted or any(number not in accepted for number in wanted):
        raise IsthmusError(
            f"node {which}: no such node; name one or several in a row, such as 0 or 4-15, "
            f"of {len(accepted)}"
        )
    return Value(sum(accepted[number] for number in wanted) / len(wanted))


def wire(kind: str, point: PointResult, model: Model | None) -> Value:
    """MB/s on the busiest link of a kind, headers and padding included.

    Raises:
        IsthmusError: no such kind of link, or the scenario does not state the bandwidth.

    """
    for use in point.channels:
        if use.kind == kind and use.from_ is None and use.highest is not None:
            bandwidth = setting("machine.bandwidth", "MB/s", model).value
            if bandwidth is None:
                raise IsthmusError("wire: the scenario states no machine.bandwidth")
            return Value(use.highest * bandwidth)
    kinds = dict.fromkeys(use.kind for use in point.channels)
    raise IsthmusError(f"wire {kind}: no such kind of link; there are {', '.join(kinds)}")


def setting(key: str, unit: str, model: Model | None) -> Value:
    """A number that the scenario states, in the unit asked for; ``not stated`` if it does not.

    Raises:
        IsthmusError: there is no scenario, or it states the number in another unit.

    """
    if model is None:
        raise IsthmusError(f"setting {key}: this selector needs a scenario")
    text = Scenario(model.text, model.file, model.changes).check()["canonical"]
    found: Any = parse_toml(text, model.file)
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    if found is None:
        return Value(None, words="not stated")
    amount, _, theirs = str(found).partition(" ")
    try:
        number = float(amount)
    except ValueError:
        raise IsthmusError(f"setting {key}: {found!r} is not a number") from None
    if theirs.strip() != unit:
        asked = f"in {unit}" if unit else "without a unit"
        raise IsthmusError(f"setting {key}: {found!r} is not {asked}")
    return Value(number)
