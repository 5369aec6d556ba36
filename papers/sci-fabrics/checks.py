"""What rows of expected.csv call: `r` has the results of the row's scenario."""

from isthmus import _core
from isthmus.core import ask_json
from isthmus.papers.row_results import Quantity, unbounded

SIZES = (9, 16, 25, 36)


def equation(name, nodes):
    """Return the peak throughput in GB/s by an equation or table of the paper."""
    return ask_json(_core.peak, {"equation": name, "nodes": nodes})["peak_gb_per_s"]


def rings(r, counts, lengths):
    """Claim number and length of the rings of tori of all sizes."""
    found = []
    for nodes, count, length in zip(SIZES, counts, lengths, strict=True):
        machine = r.machine(nodes=nodes)
        (actual,) = {len(ring) for ring in machine.rings}
        found += [r.alike(machine.ring_count, count), r.alike(actual, length)]
    return found


def knee(r, least):
    """Claim that rings carry 1.2 GB/s, up to `least`, and are saturated at 1.6 GB/s."""
    found = []
    for nodes in (4, 6, 8, 10):
        found.append(r.greater(r.mean("accepted", nodes=nodes, load="1.2 GB/s"), least))
        found.append(r.all_are("saturated", nodes=nodes, load="1.6 GB/s"))
    return found


def latencies(r, torus, *printed):
    """Claim that latencies of a torus of all sizes are as printed."""
    means = (r.mean("latency", torus=torus, nodes=nodes) for nodes in SIZES)
    return [r.alike(mean, each) for mean, each in zip(means, printed, strict=True)]


def collapse(r):
    """Return how a fabric collapsed, or `live`."""
    found = r.point().collapse
    return found.kind if found else "live"


def node(r, number=None):
    """Return the throughput of a node that sends, of the lowest one if no number is given."""
    accepted = {use.node: use.accepted for use in r.point().nodes if use.offered}
    return unbounded(Quantity(min(accepted.values()) if number is None else accepted[number]))
