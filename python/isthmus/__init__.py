"""isthmus: a workbench for the I/O side of parallel machines.

Describe a machine and its work once; analyse it, simulate it, read the answer with its
confidence interval::

    import isthmus

    cube = isthmus.Hypercube(dimension=7, io_link_lanes=2)
    work = isthmus.Workload(interarrival="0.156 ms")
    results = isthmus.simulate(cube, work, sweep={"io_link_lanes": [0, 1, 2]})
    results.table            # a polars data frame with units in its column names
    results.plot()

Importing is fast: the core, polars and matplotlib are loaded when first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing "typing" takes longer than the rest of this module

if TYPE_CHECKING:
    from typing import Any

    from isthmus.api import analyze as analyze
    from isthmus.api import check as check
    from isthmus.api import load as load
    from isthmus.api import simulate as simulate
    from isthmus.arrays.files import open_array as open_array
    from isthmus.errors import IsthmusError as IsthmusError
    from isthmus.networks import balance as balance
    from isthmus.networks import fields as fields
    from isthmus.networks import place as place
    from isthmus.networks import topology as topology
    from isthmus.objects import *  # noqa: F403
    from isthmus.results import Results as Results
    from isthmus.results.comparison import compare as compare
    from isthmus.scenario import Scenario as Scenario

    __version__: str

_HOMES = {
    "IsthmusError": "errors",
    "Results": "results",
    "Scenario": "scenario",
    "analyze": "api",
    "balance": "networks",
    "check": "api",
    "compare": "results.comparison",
    "fields": "networks",
    "load": "api",
    "open_array": "arrays.files",
    "place": "networks",
    "simulate": "api",
    "topology": "networks",
}
"""Module that defines each public name of the package, except the names of `isthmus.objects`."""


def __getattr__(name: str) -> Any:
    """Return a public object of the package, or a submodule; import its module at the first use."""
    from importlib import import_module

    if name == "__version__":
        return import_module("isthmus._core").version()
    if name in _HOMES:
        return getattr(import_module(f"isthmus.{_HOMES[name]}"), name)
    if name == "__all__":
        return __dir__()
    # Only names in capitals can be classes of `isthmus.objects`. Other names, such as submodules
    # that are not loaded yet, must not load it.
    if name[:1].isupper():
        objects = import_module("isthmus.objects")
        if name in objects.__all__:
            return getattr(objects, name)
    raise AttributeError(f"module 'isthmus' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names of all public objects, imported or not."""
    from isthmus.objects import __all__ as objects

    return sorted([*_HOMES, *objects, "__version__"])
