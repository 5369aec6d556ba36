"""A scenario as an object: from a file, or from a machine and a workload."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from pathlib import Path
from typing import Any, get_args

from isthmus import _core, arguments
from isthmus.core import ask, processors, read_text
from isthmus.errors import IsthmusError, meant
from isthmus.objects import AnyWorkload, Machine, Precision, Search
from isthmus.results.collection import Results
from isthmus.scenario_fields import Described, attributes, plain, settings, toml_value


@dataclass(frozen=True)
class Scenario:
    """The text of a scenario, with changes.

    >>> from isthmus import Hypercube, Workload
    >>> scenario = Scenario.of(Hypercube(dimension=3, io_link_lanes=1), Workload(rate="5 /ms"))
    >>> "dimension = 3" in scenario.text
    True
    """

    text: str
    """The scenario file's text (TOML)."""
    file: str = "<python>"
    """Name of the scenario's source in messages."""
    changes: tuple[str, ...] = ()
    """Changes in the form ``key=value``, as on the command line."""

    def __post_init__(self) -> None:
        """Check the types of the fields."""
        arguments.text("text", self.text, "version = 1")
        arguments.text("file", self.file, "examples/hypercube-128.toml")
        arguments.one_of("changes", self.changes, (tuple, list), 'a tuple, such as ("seed=2",)')
        object.__setattr__(self, "changes", tuple(self.changes))
        for change in self.changes:
            arguments.text("changes", change, "machine.dimension=5")

    @classmethod
    def load(cls, path: str | Path) -> Scenario:
        """Read a scenario file."""
        arguments.path("path", path, "examples/hypercube-128.toml")
        return cls(read_text(Path(path)), str(path))

    @classmethod
    def of(
        cls,
        machine: Machine,
        workload: AnyWorkload,
        *,
        sweep: Mapping[str, Any] | None = None,
        search: Search | None = None,
        precision: Precision | float | str | None = None,
        name: str = "notebook",
        title: str | None = None,
    ) -> Scenario:
        """Create a scenario from objects.

        Args:
            machine: the machine.
            workload: the workload.
            sweep: values by field; a field is an attribute of the machine or the workload
                (``"io_link_lanes"``, ``"device.access"``) or a key of the scenario file
                (``"machine.lanes.io_link"``). Several fields: all combinations. A list of tables
                ``[{"label": ..., "field": value, ...}]`` is an axis of variants, and so is one of
                objects: ``{"placement": [Placement(kind="stride", count=8), "combined"]}``, or
                machines by the name ``"machine"``. Fields that they leave out are as in `machine`.
            search: parameters of a search for the saturation load.
            precision: requested half-width of the intervals, or a `Precision`.
            name: a short name of letters, digits, - and _.
            title: title of plots and report.

        """
        _check(machine, workload, sweep, search, precision)
        arguments.text("name", name, "notebook")
        if title is not None:
            arguments.text("title", title, "Is it worth it?")
        if precision is not None and not isinstance(precision, Precision):
            precision = Precision(precision=precision)
        lines = ["version = 1", f"name = {toml_value(name)}"]
        if title:
            lines.append(f"title = {toml_value(title)}")
        lines += [
            "",
            "[machine]",
            f"kind = {toml_value(machine.kind)}",
            *_table_lines("machine", machine),
        ]
        lines += ["", "[workload]", *_table_lines("workload", workload)]
        if precision is not None:
            lines += ["", "[stop]", *_table_lines("stop", precision)]
        if search is not None:
            given = {each.name: getattr(search, each.name) for each in fields(search)}
            limits = {name: value for name, value in given.items() if value is not None}
            search = replace(workload.search, **limits)
            lines += ["", "[search]", *_table_lines("search", search)]
        if sweep:
            lines += ["", "[sweep]", *_sweep(sweep)]
        return cls("\n".join(lines) + "\n")

    def changed(self, **changes: Any) -> Scenario:
        """Return a copy with changed fields: ``changed(dimension=5, locality=0.5)``.

        Attributes of machine and workload are keywords; any key of the scenario file can be given
        as ``**{"stop.precision": "1%"}``.
        """
        words = [f"{field_key(n)}={_word(plain(v, n))}" for n, v in changes.items()]
        return replace(self, changes=(*self.changes, *words))

    def check(self) -> dict[str, Any]:
        """Return a description of the run: name, axes, points, machines, the effective scenario.

        Raises:
            IsthmusError: the scenario is invalid; the message gives position and correction.

        """
        checked = json.loads(ask(_core.check, self.text, self.file, list(self.changes)))
        assert isinstance(checked, dict)
        return checked

    def analyze(self) -> Results:
        """Evaluate the queueing model at every point, without simulation."""
        text = ask(_core.analyze, self.text, self.file, list(self.changes))
        return Results.from_json(text, canonical=self.check()["canonical"])

    def run(
        self,
        *,
        seed: int | None = None,
        jobs: int | None = None,
        quick: bool = False,
        out: str | Path | None = None,
        plots: bool | Sequence[str] = False,
        executor: Any = None,
        memory: str | None = None,
        progress: bool | None = None,
    ) -> Results:
        """Simulate every point and evaluate the queueing model.

        Args:
            seed: master seed, which determines all numbers; the default is that of the scenario.
            jobs: number of threads, which does not affect the numbers; the default is one for each
                usable processor.
            quick: whether wider intervals suffice, for a run of seconds.
            out: folder for all files; a run continues from points finished there.
            plots: whether plots are written there as files: True, or formats such as ``("png",)``.
                The report always contains its charts.
            executor: executor of the points, of `concurrent.futures` or a Dask ``Client``, whose
                workers have the same isthmus. The results have the same bytes. A point (with a
                search, all its loads) is one task on `jobs` threads, by default one. With `out`,
                finished points are stored there, and a later call with any executor, or none,
                continues from them.
            memory: memory bound of simulations, such as "4 GB"; with an executor, that of each
                worker. The default is half of the memory that the process may use; threads of a
                Dask worker share it.
            progress: whether to show a progress bar; None shows one in notebooks and on terminals
                only.

        Raises:
            IsthmusError: the scenario is invalid, or the folder is unusable.
            RunFailedError: a worker of the executor ended without an answer.
            KeyboardInterrupt: interrupted; with a folder, finished points are kept.

        """
        from isthmus.execution import Job, Stopped
        from isthmus.parts import check
        from isthmus.progress import bar

        arguments.flag("quick", quick)
        if progress is not None:
            arguments.flag("progress", progress)
        if out is not None:
            arguments.path("out", out, "out/mine")
        forms = arguments.forms("plots", plots)
        if forms and out is None:
            raise IsthmusError("plots: files need a folder; give it as `out`")
        if executor is not None:
            check(executor)
        usual = processors() if executor is None else 1
        threads = usual if jobs is None else jobs
        text, changes = self.text, list(self.changes)
        with bar(progress) as watch:
            job = Job(text, self.file, changes, seed, threads, quick, watch, memory, executor)
            try:
                return job.run_into(Path(out), plots=forms) if out is not None else job.run()
            except Stopped as stop:
                raise KeyboardInterrupt(str(stop)) from None


def _check(machine: object, workload: object, sweep: object, search: object, stop: object) -> None:
    """Check the types of the arguments of `Scenario.of`; an error names the argument."""
    machines, works = get_args(Machine), get_args(AnyWorkload)
    arguments.one_of("machine", machine, machines, "a " + _class_names(machines, "dimension=3"))
    arguments.one_of("workload", workload, works, "a " + _class_names(works, 'rate="2 /ms"'))
    if sweep is not None:
        arguments.mapping("sweep", sweep, '{"locality": [0.2, 0.5]}')
    if search is not None:
        arguments.one_of("search", search, (Search,), 'a Search, such as Search(stop="50 /ms")')
    if stop is not None:
        right = 'a Precision, a share such as 0.05, or text such as "5%"'
        arguments.one_of("precision", stop, (Precision, Real, str), right)


def _class_names(kinds: Sequence[type], example: str) -> str:
    """Return class names as a list in text, with an example of the first class."""
    named = [kind.__name__ for kind in kinds]
    return f"{', '.join(named[:-1])} or {named[-1]}, such as {named[0]}({example})"


def field_key(name: str) -> str:
    """Return the scenario key of an attribute of machine or workload; return a key unchanged.

    Raises:
        IsthmusError: the attribute does not exist.

    """
    arguments.text("field", name, "io_link_lanes")
    known = attributes()
    if name in known:
        return known[name]
    if name.startswith("jobs."):
        return f"workload.{name}"
    if name.split(".", maxsplit=1)[0] in (
        "machine",
        "workload",
        "stop",
        "search",
        "measure",
        "verdict",
        "sweep",
    ):
        return name
    if name in ("seed", "title", "name", "description"):
        return name
    hint = meant(name, known, f"there are {', '.join(sorted(known))}")
    raise IsthmusError(f"{name!r}: no such field of a machine or a workload; {hint}")


def _table_lines(table: str, described: Any) -> list[str]:
    """Return TOML lines that set the fields of `table` to the attributes of an object."""
    cut = len(table) + 1
    return [f"{name[cut:]} = {toml_value(value)}" for name, value in settings(described, table)]


def _sweep(sweep: Mapping[str, Any]) -> list[str]:
    """Return TOML lines for the axes of a sweep and their values."""
    lines = []
    for name, given in sweep.items():
        if isinstance(given, set | frozenset):
            raise arguments.refuse(f"sweep[{name!r}]", given, "a list: a set has no order")
        if isinstance(given, list | tuple) and any(isinstance(v, Described) for v in given):
            lines.append(f"{toml_value(name)} = {toml_value(_variants(name, given))}")
            continue
        values = plain(given, f"sweep[{name!r}]")
        if isinstance(values, list) and any(isinstance(value, dict) for value in values):
            for table in values:
                arguments.one_of(f"sweep[{name!r}]", table, (dict,), "tables only, or values only")
            tables = [
                {n if n == "label" else field_key(n): v for n, v in table.items()}
                for table in values
            ]
            lines.append(f"{toml_value(name)} = {toml_value(tables)}")
        else:
            lines.append(f"{toml_value(field_key(name))} = {toml_value(values)}")
    return lines


def _variants(name: str, given: Sequence[Any]) -> list[dict[str, Any]]:
    """Convert objects to the variants of a sweep axis: tables of scenario fields."""
    prefix = name if name in ("machine", "workload") else field_key(name)
    variants = []
    for value in given:
        if isinstance(value, Described):
            fields = dict(settings(value, prefix))
            label = value.words
        else:
            fields, label = {prefix: plain(value, f"sweep[{name!r}]")}, str(value)
        variants.append({"label": label, **fields})
    return variants


def _word(value: Any) -> str:
    """Convert a value to the text after ``=`` in an override ``key=value``."""
    return value if isinstance(value, str) else toml_value(value)
