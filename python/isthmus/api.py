"""The functions of the package: `load`, `check`, `analyze`, `simulate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isthmus.objects import AnyWorkload, Machine, Precision, Search
from isthmus.results.collection import Results
from isthmus.scenario import Scenario


def load(path: str | Path) -> Scenario:
    """Read a scenario file: ``isthmus.load("examples/hypercube-128.toml").run(quick=True)``."""
    return Scenario.load(path)


def check(
    machine: Machine, workload: AnyWorkload, sweep: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a description of the run without running it, like ``isthmus check --json``.

    Returns:
        ``points``, ``machines``, ``axes``, ``resolved`` (every effective value and its origin),
        ``capacity`` (demand against supply), ``warnings`` and more; see `Scenario.check`.

    Raises:
        IsthmusError: the machine, the workload or the sweep is invalid.

    """
    return Scenario.of(machine, workload, sweep=sweep).check()


def simulate(
    machine: Machine,
    workload: AnyWorkload,
    *,
    sweep: Mapping[str, Any] | None = None,
    search: Search | None = None,
    precision: Precision | float | str | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    quick: bool = False,
    title: str | None = None,
    name: str = "notebook",
    out: str | Path | None = None,
    plots: bool | Sequence[str] = False,
    executor: Any = None,
    memory: str | None = None,
    progress: bool | None = None,
) -> Results:
    """Simulate a workload on a machine and evaluate the queueing model.

    Runs stop when every requested measure has reached `precision`. See `Scenario.of` for `sweep`
    and `search`, and `Scenario.run` for the other arguments.

    >>> from isthmus import Hypercube, Workload
    >>> cube = Hypercube(dimension=3, io_link_lanes=1)
    >>> results = simulate(cube, Workload(interarrival="0.5 ms"), precision="10%", quick=True)
    >>> results.run.points[0].verdict.verdict
    'stable'
    """
    scenario = Scenario.of(
        machine,
        workload,
        sweep=sweep,
        search=search,
        precision=precision,
        title=title,
        name=name,
    )
    return scenario.run(
        seed=seed,
        jobs=jobs,
        quick=quick,
        out=out,
        plots=plots,
        executor=executor,
        memory=memory,
        progress=progress,
    )


def analyze(
    machine: Machine,
    workload: AnyWorkload,
    *,
    sweep: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> Results:
    """Evaluate the analysis without simulation: the queueing model of section 6 of the hypercube
    paper, bounds and queueing estimate of SCI rings, the estimate of fat trees.

    Every mean is null; the model's values are in the column ``analytic``. Outside the model's
    domain the column is empty, and ``results.answer.unmodelled`` gives the reason. Only `simulate`
    returns the saturation load and the bottleneck.
    """
    return Scenario.of(machine, workload, sweep=sweep, title=title).analyze()
