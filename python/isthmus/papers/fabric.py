"""What selectors take from SCI fabrics: their rings, their collapse, their nodes, the equations."""

from __future__ import annotations

from isthmus.core import ask_json
from isthmus.errors import IsthmusError
from isthmus.machines import MachineSummary, SciSummary
from isthmus.results.schema import PointResult
from isthmus.value import Value


def equation(name: str, nodes: str | None) -> Value:
    """Peak throughput in GB/s by an equation or table of the SCI paper, for 64-byte moves.

    Raises:
        IsthmusError: no such equation, or it is not for so many nodes.

    """
    from isthmus import _core

    if nodes is None or not nodes.isdigit():
        raise IsthmusError(f"equation {name}: say of how many nodes, for example `@ nodes=16`")
    told = ask_json(_core.peak, {"equation": name, "nodes": int(nodes)})
    return Value(float(told["peak_gb_per_s"]))


def machine(field: str, summary: MachineSummary) -> Value:
    """A figure of a machine; for `ring_nodes` the nodes of each ring, if all have as many.

    Raises:
        IsthmusError: the machine has no such figure.

    """
    if field == "ring_nodes" and isinstance(summary, SciSummary):
        lengths = {len(ring) for ring in summary.rings}
        if len(lengths) == 1:
            return Value(float(lengths.pop()))
        raise IsthmusError(f"machine ring_nodes: {summary.rings_text}")
    found = getattr(summary, field, None)
    if isinstance(found, str):
        return Value(None, words=found)
    if isinstance(found, int | float):
        return Value(float(found))
    raise IsthmusError(f"machine {field}: not a figure of this kind of machine ({summary.kind})")


def collapse(field: str, point: PointResult) -> Value:
    """How a point collapsed: `kind` and `nodes` in words, `since` in µs, `replications`.

    A point that did not collapse has 0 `replications` and is `live`.

    Raises:
        IsthmusError: no such field.

    """
    if field not in ("kind", "nodes", "since", "replications"):
        raise IsthmusError(
            f"collapse {field}: no such field; there are kind, nodes, since, replications"
        )
    found = point.collapse
    if field == "replications":
        return Value(float(found.replications if found else 0))
    if found is None:
        return Value(None, words="live")
    if field == "since":
        return Value(found.since_us)
    return Value(None, words=found.kind if field == "kind" else " ".join(map(str, found.nodes)))


def node(which: str, point: PointResult) -> Value:
    """Throughput of one node that offers something: by number, or `lowest` or `highest`.

    Raises:
        IsthmusError: there is no such node.

    """
    accepted = {use.node: use.accepted for use in point.nodes if use.offered}
    if which in ("lowest", "highest") and accepted:
        return Value((min if which == "lowest" else max)(accepted.values()))
    if which.isdigit() and int(which) in accepted:
        return Value(accepted[int(which)])
    raise IsthmusError(f"node {which}: no such node sends; name one, or say lowest or highest")
