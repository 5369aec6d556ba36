"""isthmus: a workbench for the I/O side of parallel machines.

Describe a machine and its work once; analyse it, simulate it, read the answer with its
confidence interval::

    import isthmus

    cube = isthmus.Hypercube(dimension=7, io_link_lanes=2)
    work = isthmus.Workload(interarrival="0.156 ms")
    results = isthmus.simulate(cube, work, sweep={"io_link_lanes": [0, 1, 2]})
    results.table            # a polars data frame with units in its column names
    results.plot()

Importing is quick: the core, polars and matplotlib are loaded when first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # "typing" itself takes longer than all that is below

if TYPE_CHECKING:
    from typing import Any

    from isthmus.api import analyze, check, load, simulate
    from isthmus.errors import IsthmusError
    from isthmus.machine import (
        Device,
        Disk,
        Fabric,
        FatTree,
        Faults,
        Hypercube,
        Nic,
        Placement,
        Ports,
        Queues,
        RingFaults,
    )
    from isthmus.networks import balance, fields, place, topology
    from isthmus.results import Results
    from isthmus.results.comparison import compare
    from isthmus.scenario import Precision, Scenario, Search
    from isthmus.workload import (
        Collectives,
        Files,
        HotNode,
        HotSpot,
        Job,
        Jobs,
        PacketWorkload,
        Servers,
        Workload,
    )

    __version__: str

_HOMES = {
    "Collectives": "workload",
    "Device": "machine",
    "Disk": "machine",
    "Fabric": "machine",
    "FatTree": "machine",
    "Faults": "machine",
    "Files": "workload",
    "HotNode": "workload",
    "HotSpot": "workload",
    "Hypercube": "machine",
    "IsthmusError": "errors",
    "Job": "workload",
    "Jobs": "workload",
    "Nic": "machine",
    "PacketWorkload": "workload",
    "Placement": "machine",
    "Ports": "machine",
    "Precision": "scenario",
    "Queues": "machine",
    "Results": "results",
    "RingFaults": "machine",
    "Scenario": "scenario",
    "Search": "scenario",
    "Servers": "workload",
    "Workload": "workload",
    "analyze": "api",
    "balance": "networks",
    "check": "api",
    "compare": "results.comparison",
    "fields": "networks",
    "load": "api",
    "place": "networks",
    "simulate": "api",
    "topology": "networks",
}

__all__ = [
    "Collectives",
    "Device",
    "Disk",
    "Fabric",
    "FatTree",
    "Faults",
    "Files",
    "HotNode",
    "HotSpot",
    "Hypercube",
    "IsthmusError",
    "Job",
    "Jobs",
    "Nic",
    "PacketWorkload",
    "Placement",
    "Ports",
    "Precision",
    "Queues",
    "Results",
    "RingFaults",
    "Scenario",
    "Search",
    "Servers",
    "Workload",
    "__version__",
    "analyze",
    "balance",
    "check",
    "compare",
    "fields",
    "load",
    "place",
    "simulate",
    "topology",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__version__":
        return import_module("isthmus._core").version()
    if name in _HOMES:
        return getattr(import_module(f"isthmus.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'isthmus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
