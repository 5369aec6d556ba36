"""Functions that need no simulation: placements, balance, topologies, scenario fields."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from isthmus import _core, arguments
from isthmus.arguments import APPLICATIONS, PES_MAX
from isthmus.core import ask_json, read_text
from isthmus.errors import IsthmusError, meant
from isthmus.objects import Fabric, PacketWorkload

Links = Sequence[tuple[int, int]]
"""Links of a machine, each a pair of nodes."""


def place(
    dimension: int | None = None,
    graph: str | Path | None = None,
    *,
    method: str | None = None,
    count: int | None = None,
    pes: Sequence[int | str] | None = None,
) -> dict[str, Any]:
    """Place I/O nodes on a hypercube or on any graph, like ``isthmus place --json``.

    Args:
        dimension: dimension of a hypercube of 2^dimension nodes, 1 to 20.
        graph: a GraphML file or an edge list (two names a line) instead. Every vertex is a PE;
            roles and widths of a network of switches are used in `Graph` only.
        method: ``"combined"``, ``"hamming"``, ``"dominating"``, ``"stride"``, ``"clustered"`` or
            ``"list"``; the first for hypercubes and ``"dominating"`` for graphs if left out.
        count: number of I/O nodes (stride, clustered).
        pes: PEs with an I/O node (list).

    Returns:
        ``io_nodes``, ``servers`` (that of each PE), ``coverage`` (PEs at distance 0, 1, ... hops),
        ``mean_distance``, ``pes_per_io_node`` (fewest, most), ``dominating``, ``perfect``,
        ``optimal``, ``lower_bound`` and more.

    Raises:
        IsthmusError: not exactly one of dimension and graph is given, or it is invalid.

    >>> place(7)["perfect"], len(place(7)["io_nodes"])
    (True, 16)

    """
    machine = described(dimension, graph)
    spec: dict[str, Any] = _placement(graph is None, method, count, pes)
    if graph is None:
        spec["dimension"] = machine["dimension"]
    else:
        spec["graph"] = {name: machine[name] for name in ("format", "text", "file")}
    return ask_json(_core.place, spec)


def topology(
    dimension: int | None = None,
    graph: str | Path | None = None,
    *,
    fabric: Fabric | None = None,
    method: str | None = None,
    count: int | None = None,
    pes: Sequence[int | str] | None = None,
    io_network: bool | None = None,
    failed_pes: Sequence[int] = (),
    failed_io_nodes: Sequence[int] = (),
    failed_links: Links = (),
    failed_io_links: Links = (),
) -> dict[str, Any]:
    """Describe a machine's networks, like ``isthmus topology --json``.

    Args:
        dimension: dimension of a hypercube, or
        graph: a file with any graph, read as for `place`, or
        fabric: a fabric of SCI rings, with its own faults.
        method: how I/O nodes are placed, with `count` and `pes`: as for `place`.
        count: number of I/O nodes (stride, clustered).
        pes: PEs with an I/O node (list).
        io_network: whether I/O nodes have a network of their own; in hypercubes if left out.
        failed_pes: PEs that have failed.
        failed_io_nodes: I/O nodes that have failed, by their position in the placement.
        failed_links: links between neighbouring PEs that have failed.
        failed_io_links: links between neighbouring I/O nodes that have failed, by position.

    Returns:
        For a hypercube or graph: ``nodes``, ``links``, ``diameter``, ``distances``, ``io_nodes``,
        ``servers``, ``deadlock`` (whether routing is free of it, and the proof or the cycle),
        ``broadcast`` and more; for a fabric: ``summary``, ``ring_lengths``, ``rings_per_node``,
        ``links``, ``distances``, ``deadlock``.

    Raises:
        IsthmusError: not exactly one of dimension, graph and fabric is given, or it is invalid.

    >>> topology(3)["diameter"]
    3

    """
    if fabric is not None:
        if dimension is not None or graph is not None:
            raise IsthmusError("fabric: not with a dimension or a graph; give one of the three")
        arguments.one_of("fabric", fabric, (Fabric,), 'a Fabric(fabric="torus", size="4x4")')
        return _fabric(fabric)
    spec = described(dimension, graph)
    spec["placement"] = _placement(graph is None, method, count, pes)
    spec["io_network"] = graph is None if io_network is None else io_network
    spec["faults"] = {
        "pes": list(failed_pes),
        "io_nodes": list(failed_io_nodes),
        "links": [list(link) for link in failed_links],
        "io_links": [list(link) for link in failed_io_links],
    }
    return ask_json(_core.topology, spec)


def balance(
    application: str,
    pes: int,
    *,
    grid_dimensions: int | None = None,
    memory: str | None = None,
    word: str | None = None,
    mips: float | None = None,
    io_bandwidth: str | None = None,
    io_node_bandwidth: str | None = None,
) -> dict[str, Any]:
    """Size the I/O side for an application, like ``isthmus balance --json`` (section 3 of the
    hypercube paper).

    Args:
        application: ``"sorting"``, ``"fft"``, ``"matrix-product"``, ``"grid"``, ``"io-bound"`` or
            ``"search"``.
        pes: number of PEs.
        grid_dimensions: dimensions of the grid (grid only).
        memory: memory of one PE, such as ``"8 MB"``; the default uses the simple law.
        word: size of one value in it; ``"8 B"`` if left out.
        mips: speed of one PE, in million instructions per second.
        io_bandwidth: I/O bandwidth that balances one PE, such as ``"5 MB/s"``.
        io_node_bandwidth: bandwidth of one I/O node; the default is `io_bandwidth`.

    Returns:
        ``factor`` (I/O bandwidth of the machine over that of one PE), ``law``, ``io_nodes``,
        ``pes_per_io_node``, ``hamming`` (the nearest perfect placement) and more.

    Raises:
        IsthmusError: an argument is invalid.

    >>> balance("sorting", 128)["simple_law"]
    'N / log N'

    """
    from isthmus.results.selection import check_known

    check_known("application", application, APPLICATIONS)
    arguments.whole("pes", pes, 0, PES_MAX)
    if word is not None and memory is None:
        raise IsthmusError("word: of no use without a memory; give both or none")
    spec = {
        "application": application,
        "pes": int(pes),
        "grid_dimensions": grid_dimensions,
        "memory": memory,
        "word": word,
        "compute": mips,
        "io_bandwidth": io_bandwidth,
        "io_node_bandwidth": io_node_bandwidth,
    }
    return ask_json(_core.balance, spec)


def fields(pattern: str = "*") -> list[dict[str, Any]]:
    """Return the fields of a scenario file whose key contains a pattern, or matches it if it has
    ``*``, ``?`` or ``[``, like ``isthmus check --fields --json``.

    Returns:
        For each field ``key``, ``type``, ``units``, ``default``, ``range``, ``meaning``,
        ``applies`` and ``machine`` (the kind that has it).

    Raises:
        IsthmusError: no key matches.

    >>> [field["key"] for field in fields("io_source")]
    ['machine.lanes.io_source']

    """
    arguments.text("pattern", pattern, "lanes")
    described: list[dict[str, Any]] = json.loads(_core.fields())
    wild = any(letter in pattern for letter in "*?[")
    found = [
        field
        for field in described
        if (fnmatchcase(field["key"], pattern) if wild else pattern.lower() in field["key"].lower())
    ]
    if not found:
        words = sorted({word for field in described for word in field["key"].split(".")})
        hint = meant(pattern.rpartition(".")[2], words, "`isthmus check --fields` lists all")
        raise IsthmusError(f"no key of a scenario matches {pattern!r}; {hint}")
    return found


def described(dimension: int | None, graph: str | Path | None) -> dict[str, Any]:
    """Return the description of a hypercube of this dimension, or of the network in the file
    `graph`, in the form that the Rust core takes.

    Raises:
        IsthmusError: both or neither are given, or the graph cannot be read.

    """
    if (dimension is None) == (graph is None):
        raise IsthmusError("give either a dimension, for a hypercube, or a graph")
    if graph is None:
        arguments.whole("dimension", dimension, 0, PES_MAX)
        return {"kind": "hypercube", "dimension": int(dimension)}  # type: ignore[arg-type]
    arguments.path("graph", graph, "net.graphml")
    file = Path(graph)
    known = {".graphml": "graphml", ".xml": "graphml"}
    format_ = known.get(file.suffix.lower(), "edge-list")
    return {"kind": "graph", "format": format_, "text": read_text(file), "file": str(file)}


def _placement(
    of_hypercube: bool,
    method: str | None,
    count: int | None,
    pes: Sequence[int | str] | None,
) -> dict[str, Any]:
    """Return the placement of I/O nodes in the form that the Rust core takes. Without a `method`,
    `pes` lists the processing elements that get an I/O node.
    """
    usual = "combined" if of_hypercube else "dominating"
    spec: dict[str, Any] = {"method": method or ("list" if pes else usual)}
    if count is not None:
        spec["count"] = count
    if pes is not None:
        spec["pes"] = list(pes)
    return spec


def _fabric(fabric: Fabric) -> dict[str, Any]:
    """Return summary and ring data of one fabric, from `isthmus._core.rings`."""
    from isthmus.scenario import Scenario

    scenario = Scenario.of(fabric, PacketWorkload(load="1 GB/s"), name="fabric")
    reply = ask_json(_core.rings, {"scenario": scenario.text, "file": "<python>"})
    found = reply["fabrics"][0]
    assert isinstance(found, dict)
    return found
