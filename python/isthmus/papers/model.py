"""The queueing model of section 6 of the hypercube paper, under readings that have a name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from isthmus.core import ask_json
from isthmus.errors import IsthmusError


@dataclass(frozen=True)
class Model:
    """The model at the points of a scenario; evaluated when first asked for."""

    text: str
    file: str
    changes: tuple[str, ...] = ()

    @cached_property
    def points(self) -> list[dict[str, Any]]:
        """What the core says of each point, in the order of the scenario."""
        from isthmus import _core

        spec = {"scenario": self.text, "file": self.file, "overrides": list(self.changes)}
        told: list[dict[str, Any]] = ask_json(_core.model, spec)["points"]
        return told

    def value(self, point: int, reading: str, what: str) -> float | None:
        """A quantity at a point under a reading; `None` where it is infinite.

        `what` is ``saturation`` or ``bound`` (messages/ms), ``read.network``, ``CLASS.header`` or
        ``CLASS.router`` (µs), or a field of a kind of channel such as ``io_link.base_scv`` (the
        highest dimension's).

        Raises:
            IsthmusError: no such reading or quantity, or the model does not cover the point.

        """
        readings = self.points[point]["readings"]
        if readings is None:
            raise IsthmusError(f"{self.file}: the queueing model does not cover this point")
        if reading not in readings:
            raise IsthmusError(f"{reading!r}: no such reading; there are {', '.join(readings)}")
        solved = readings[reading]
        known = _quantities(solved)
        if what not in known:
            raise IsthmusError(f"{what!r}: not of the model; it has {', '.join(known)}")
        return known[what]


def _quantities(solved: dict[str, Any]) -> dict[str, float | None]:
    known: dict[str, float | None] = {
        "saturation": solved["saturation_per_ms"],
        "bound": solved["bound_per_ms"],
        "read.network": solved["read_us"],
        "reply.header": solved["reply_us"],
    }
    for name, latency in solved["classes"].items():
        known[f"{name}.header"] = latency["generation_us"]
        known[f"{name}.router"] = latency["router_us"]
    for channel in solved["channels"]:
        for quantity, value in channel.items():
            if quantity not in ("kind", "dimension"):
                known.setdefault(f"{channel['kind']}.{quantity}", value)
    return known


def balance(field: str, asked: dict[str, str]) -> float | str:
    """A field of the balance calculator's answer, section 3.

    Raises:
        IsthmusError: no such field, or the question makes no sense.

    """
    from isthmus import _core
    from isthmus.core import ask

    spec = {k: int(v) if v.isdigit() else v for k, v in asked.items()}
    told = json.loads(ask(_core.balance, json.dumps(spec)))
    found = told.get(field)
    if not isinstance(found, int | float | str):
        have = ", ".join(k for k, v in told.items() if isinstance(v, int | float | str))
        raise IsthmusError(f"balance: no field {field!r}; there are {have}")
    return found
