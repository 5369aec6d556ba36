"""The results of a run, with tables, plots and a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, overload

from isthmus import arguments
from isthmus.core import read_text
from isthmus.errors import IsthmusError
from isthmus.owned.mark import LARGE, sha256
from isthmus.results.schema import RunResult, Verdict
from isthmus.results.selection import check_known, chosen, chosen_searches, several
from isthmus.results.settings import Settings, Sweep, of_result

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import xarray as xr
    from matplotlib.figure import Figure

    from isthmus.answer import Answer
    from isthmus.files import Bytes
    from isthmus.results.comparison import Comparison

OnAxes = TypeVar("OnAxes")
"""Type variable for an argument with axes of matplotlib, one or several."""
TABLES = ("table", "settings", "searches", "histograms", "channels", "nodes", "jobs")
"""Names of the attributes of `Results` that are tables."""


class Results:
    """The results of one run.

    Times are in microseconds, loads in the unit of the run's load (``run.load``: with jobs MB/s per
    node on any kind of machine; without, messages per millisecond and PE of a hypercube, GB/s of
    all nodes together on SCI rings), utilisations in flits or symbols per cycle and lane; every
    table names its units.
    """

    def __init__(
        self,
        run: RunResult,
        *,
        canonical: str = "",
        data: Bytes | None = None,
        settings: Settings | None = None,
        wants: frozenset[str] | None = None,
    ) -> None:
        """Create the object for a result; use `load`, `from_json` or `isthmus.simulate` instead."""
        self.run = run
        """The whole result, as typed objects."""
        self.canonical = canonical
        """The effective scenario, as TOML."""
        self.wants = wants
        """The statistics selected by `sel`; None for all."""
        self._data = data
        self._settings = settings

    @classmethod
    def from_json(cls, text: str, *, canonical: str = "") -> Results:
        """Return the results in a JSON text that has the form of the result schema."""
        arguments.text("text", text, '{"schema": ...}')
        data = text.encode()
        return cls(RunResult.from_json(data), canonical=canonical, data=data)

    @classmethod
    def of_core(cls, data: Bytes, *, canonical: str = "") -> Results:
        """Return the results in JSON that the Rust core has just written; it is not checked."""
        if len(data) < LARGE:
            return cls(RunResult.of_core(data), canonical=canonical, data=data)
        from concurrent.futures import ThreadPoolExecutor

        # Computing the digest takes a while, and parsing takes longer: do both in parallel.
        with ThreadPoolExecutor(1) as beside:
            digest = beside.submit(sha256, data)
            results = cls(RunResult.of_core(data), canonical=canonical, data=data)
            results.digest = digest.result()
        return results

    @classmethod
    def load(cls, directory: str | Path) -> Results:
        """Read the results in a folder that ``isthmus run`` wrote.

        Raises:
            IsthmusError: the folder holds no complete result.

        """
        arguments.path("directory", directory, "out/hypercube-128")
        folder = Path(directory)
        file = folder / "result.json"
        if file.exists() and not file.is_file():  # reading a device or a pipe may never end
            raise IsthmusError(f"{file}: no ordinary file; give the folder of a run")
        try:
            data = file.read_bytes()
        except OSError as error:
            raise IsthmusError(
                f"{folder}: no result here (result.json: {error.strerror}); "
                "give the folder that `isthmus run` wrote"
            ) from error
        try:
            # Check that all bytes are UTF-8, because the parser below does not read all of them.
            data.isascii() or data.decode()
        except UnicodeDecodeError as error:
            raise IsthmusError(
                f"{file}: damaged result: byte {error.start} is not UTF-8 ({error.reason})"
            ) from error
        scenario = folder / "scenario.toml"
        canonical = read_text(scenario) if scenario.is_file() else ""
        run = RunResult.from_json(data, str(folder / "result.json"))
        results = cls(run, canonical=canonical, data=data)
        _refuse_changed(folder, results)
        return results

    @property
    def data(self) -> bytes:
        """The result in the form of the result schema, as JSON in bytes."""
        data = self.content
        if not isinstance(data, bytes):
            self._data = data = bytes(data)
        return data

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling; a `memoryview` cannot be pickled."""
        return {**self.__dict__, "_data": self._data and bytes(self._data)}

    @property
    def content(self) -> Bytes:
        """The result as JSON, like `data`, but in any bytes-like object, to avoid a copy."""
        if self._data is None:
            self._data = self.run.to_json()
        return self._data

    @property
    def json(self) -> str:
        """The result in the form of the result schema, as JSON text."""
        return self.data.decode()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of `data`, in hexadecimal."""
        return sha256(self.content)

    @cached_property
    def every_setting(self) -> Settings:
        """Every setting at every point, by its key; see `settings`."""
        if self._settings is not None:
            return self._settings
        return Sweep(self.run, self.canonical).settings() if self.canonical else of_result(self.run)

    @property
    def measures(self) -> list[str]:
        """Names of the measured quantities, such as ``read.network``."""
        return list(dict.fromkeys(m.name for point in self.run.points for m in point.measures))

    @property
    def table(self) -> pl.DataFrame:
        """One row per point, measure and statistic; every setting of the point is a column.

        Columns: ``point``, one per axis (``key`` or ``key [unit]``), the other ones of `settings`,
        then ``offered [UNIT]``, ``verdict``, ``measure``, ``statistic``, ``unit`` (of value, low,
        high and analytic), ``value``, ``low``, ``high`` (its interval), ``resolved`` (false for a
        percentile with too few observations: fewer than ten above it in some replication),
        ``analytic``, ``residual`` (value / analytic - 1), ``samples``, ``converged``, ``origin``
        (of the verdict: simulation or model). A point without measures has one row, with an empty
        measure.
        """
        from isthmus.results.tables import results_table

        table = results_table(self.run, self.wants)
        settings = self.settings
        more = [name for name in settings.columns if name not in table.columns]
        left = ["point", *(name for name in table.columns if name in settings.columns[1:])]
        right = [name for name in table.columns if name not in left]
        whole = table.join(settings.select("point", *more), on="point", how="left")
        return whole.select(*left, *more, *right)

    @property
    def settings(self) -> pl.DataFrame:
        """One row per point, one column per setting of the scenario, including defaults.

        Columns are ``point`` and keys of the scenario file, ``machine.dimension`` or with the unit
        ``workload.rate [/ms]``. A column has numbers if all its values have one dimension, else
        text. A setting that does not apply to a point is null. A result without its scenario has
        only its axes, the seed and whether it was quick.
        """
        from isthmus.results.tables import settings_table

        return settings_table(self.run, self.every_setting)

    @property
    def histograms(self) -> pl.DataFrame:
        """One row per point, measure and occupied bin of the distribution."""
        from isthmus.results.tables import histograms_table

        return histograms_table(self.run)

    @property
    def channels(self) -> pl.DataFrame:
        """One row per point and channel or kind of channel: utilisation, 0 to 1."""
        from isthmus.results.tables import channels_table

        return channels_table(self.run)

    @property
    def nodes(self) -> pl.DataFrame:
        """One row per point and node: offered and accepted load; of hypercubes only with jobs."""
        from isthmus.results.tables import nodes_table

        return nodes_table(self.run)

    @property
    def jobs(self) -> pl.DataFrame:
        """One row per point and job: whether it ran, its nodes, its accepted bandwidth."""
        from isthmus.results.tables import jobs_table

        return jobs_table(self.run)

    @property
    def interference(self) -> pl.DataFrame | None:
        """One row per job and set of jobs beside it: slowdown of its phases or messages, and its
        bandwidth; None unless jobs ran alone and together.
        """
        from isthmus.results.interference import interference, interference_table

        found = interference(self.run)
        return None if found is None else interference_table(found)

    @property
    def searches(self) -> pl.DataFrame:
        """One row per saturation search: bracket of the saturation load, and the model's value."""
        from isthmus.results.tables import searches_table

        return searches_table(self.run)

    def sel(
        self,
        where: Mapping[str, Any] | None = None,
        /,
        *,
        measure: str | Iterable[str] | None = None,
        statistic: str | Iterable[str] | None = None,
        verdict: str | Iterable[str] | None = None,
        **settings: Any,
    ) -> Results:
        """Select the points with these settings; the selection has its own tables, plots and
        answer.

        Points are numbered again. Searches stay if they are over the load of a selected point.

        Args:
            where: values by setting, for keys that are not Python names, such as
                ``{"workload.rate": "5 /ms"}``.
            measure: only these measures, such as ``"read.network"``.
            statistic: only these statistics in the table: ``"mean"``, ``"p99"``.
            verdict: only points with these verdicts, such as ``"stable"``.
            settings: values by attribute of machine or workload (``io_link_lanes=2``) or name of an
                axis: a value, a list of values, or a range of numbers, ``slice(1, 5)``, with both
                ends included. Text has a unit, ``"0.2 ms"``; numbers have the unit of the table.

        Raises:
            IsthmusError: a setting, measure, statistic or verdict does not exist, or no point has
                such a value.

        >>> from isthmus import Hypercube, Workload, analyze
        >>> cube, work = Hypercube(dimension=3), Workload(rate="5 /ms")
        >>> results = analyze(cube, work, sweep={"io_link_lanes": [1, 2], "locality": [0.2, 0.5]})
        >>> chosen = results.sel(io_link_lanes=2, measure="read.network", statistic="mean")
        >>> chosen.table.select("workload.locality", "analytic").height
        2

        """
        if where is not None:
            arguments.mapping("sel", where, '{"workload.rate": "5 /ms"}')
        asked = {**(where or {}), **settings}
        run, own = self.run, self.every_setting
        points = list(range(len(run.points)))
        if points:
            points = chosen(own, asked, points)
        else:
            run = replace(run, searches=chosen_searches(run, asked))
        if verdict is not None:
            verdicts = {
                check_known("verdict", each, get_args(Verdict)) for each in several(verdict)
            }
            found = dict.fromkeys(run.points[i].verdict.verdict for i in points)
            points = [i for i in points if run.points[i].verdict.verdict in verdicts]
            if not points:
                have = ", ".join(found) or "none"
                raise IsthmusError(f"verdict: no point is {' or '.join(verdicts)}; they are {have}")
        run = run.at(points)
        if measure is not None:
            names = {check_known("measure", each, self.measures) for each in several(measure)}
            run = replace(run, points=[point.only(names) for point in run.points])
        wants = self.wants
        if statistic is not None:
            there = list(dict.fromkeys(s for p in self.run.points for s in p.statistics))
            wants = frozenset(check_known("statistic", each, there) for each in several(statistic))
        kept = {key: each.at(points) for key, each in own.items()}
        return Results(run, settings=kept, wants=wants)

    def compare(
        self, first: Mapping[str, Any], second: Mapping[str, Any], *, paired: bool = True
    ) -> Comparison:
        """Compare the points with some settings to those with others.

        ``results.compare({"io_link_lanes": 0}, {"io_link_lanes": 2})`` compares two selections
        point by point; see `isthmus.compare`, which compares two results.

        Raises:
            IsthmusError: as `sel`, and as `isthmus.compare`.

        """
        from isthmus.results.comparison import compare

        for name, given in (("first", first), ("second", second)):
            arguments.mapping(name, given, '{"io_link_lanes": 0}')
        return compare(self.sel(first), self.sel(second), paired=paired)

    @staticmethod
    def concat(results: Iterable[Results]) -> Results:
        """Combine several results into one, with the points of all of them.

        Its axes are those of any part, and other given settings that differ between parts. So the
        parts of a sweep may run on several machines. The load becomes an axis if it differs.
        Selections, comparisons, plots and `save` work as for any other result.

        Raises:
            IsthmusError: the parts differ in kind of machine or in confidence, or two of them have
                the same point.

        >>> from isthmus import Hypercube, Results, Workload, analyze
        >>> work = Workload(rate="5 /ms")
        >>> cubes = [Hypercube(dimension=d, io_link_lanes=1) for d in (3, 4)]
        >>> results = Results.concat(analyze(cube, work) for cube in cubes)
        >>> results.settings["machine.dimension"].to_list()
        [3.0, 4.0]

        """
        from isthmus.results.together import put_together

        arguments.one_of("concat", results, (Iterable,), "a list of Results")
        given = list(results)
        for each in given:
            arguments.one_of("concat", each, (Results,), "a list of Results")
        run, settings = put_together([(each.run, each.every_setting) for each in given])
        wants = given[0].wants
        same = all(each.wants == wants for each in given)
        return Results(run, settings=settings, wants=wants if same else None)

    def to_pandas(self, table: str = "table") -> pd.DataFrame:
        """Return a table as a pandas data frame (needs the extra ``isthmus[pandas]``).

        Args:
            table: ``"table"``, ``"settings"``, ``"searches"``, ``"histograms"``, ``"channels"``,
                ``"nodes"`` or ``"jobs"``.

        Raises:
            IsthmusError: pandas or pyarrow is not installed, or the table does not exist.

        """
        check_known("table", table, TABLES)
        needed("pandas", "pandas", "pyarrow")
        frame: pd.DataFrame = getattr(self, table).to_pandas()
        return frame

    def to_xarray(self) -> xr.Dataset:
        """Return the measures over the axes, as an xarray dataset (needs the extra
        ``isthmus[xarray]``).

        Dimensions are the axes with more than one value, by their keys (``workload.rate``), and
        ``statistic`` (``mean``, ``p50``, ...). Each measure is a variable, with ``MEASURE.low``,
        ``MEASURE.high`` and the model's ``MEASURE.analytic``, and units in ``attrs``. Further
        variables are ``verdict`` and ``load``, the offered load. Settings that differ are
        coordinates; all others are ``attrs``. Combinations that were not run are NaN.

        Raises:
            IsthmusError: xarray is not installed.

        """
        needed("xarray", "xarray")
        from isthmus.results.labelled import dataset

        return dataset(self.run, self.every_setting, self.wants)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the table for readers of Arrow: ``pyarrow.table(results)``."""
        return self.table.__arrow_c_stream__(requested_schema)

    @property
    def answer(self) -> Answer:
        """The answer of the run: each variant compared with the first one, in plain words."""
        from isthmus.answer import answer

        return answer(self.run)

    @overload
    def plot(
        self, kind: str = ..., *, measure: str | Iterable[str] | None = ..., ax: None = ...
    ) -> Figure: ...

    @overload
    def plot(
        self, kind: str = ..., *, measure: str | Iterable[str] | None = ..., ax: OnAxes
    ) -> OnAxes: ...

    def plot(
        self,
        kind: str = "latency",
        *,
        measure: str | Iterable[str] | None = None,
        ax: Any = None,
    ) -> Any:
        """Draw a plot of the run.

        Args:
            kind: ``"latency"``, ``"saturation"``, ``"accepted"``, ``"response"``, ``"machine"``,
                ``"nodes"``, ``"channels"``, ``"residuals"``, ``"percentiles"``, ``"distribution"``,
                ``"bandwidth"`` or ``"interference"``, as in the report.
            measure: only this measure, or these; each has a panel.
            ax: axes of matplotlib to draw on, one per panel; sizes, fonts and colours follow pyplot
                and its style sheets.

        Returns:
            A figure in the style of isthmus, or `ax` if it was given.

        Raises:
            IsthmusError: the plot or measure does not exist, the run has no data for it, or the
                number of axes is not the number of panels.

        """
        arguments.text("kind", kind, "latency")
        from matplotlib.axes import Axes

        from isthmus import plots

        if ax is None:
            return plots.draw(self.run, kind, measure=measure)
        if not isinstance(ax, Axes):
            given = getattr(ax, "flat", ax)
            arguments.one_of("ax", given, (Iterable,), "axes of matplotlib, such as plt.gca()")
        axes = [ax] if isinstance(ax, Axes) else list(given)
        for each in axes:
            arguments.one_of("ax", each, (Axes,), "axes of matplotlib, such as plt.gca()")
        plots.draw(self.run, kind, measure=measure, axes=axes)
        return ax

    def report(self, path: str | Path) -> Path:
        """Write the self-contained report to `path` and return the path.

        In a folder that isthmus wrote, the report becomes one of the folder's files.

        Raises:
            IsthmusError: the folder holds other results, a changed file is in the way, or `path`
                cannot be written to.

        """
        from isthmus.results.folder import write_report

        arguments.path("path", path, "report.html")
        target = Path(path)
        write_report(target, self)
        return target

    def save(
        self, directory: str | Path, *, plots: bool | Sequence[str] = False, fresh: bool = False
    ) -> Path:
        """Write tables and report to a folder, the same files as ``isthmus run``.

        With `plots` (True, or file formats such as ``("png",)``) every plot is written as a file
        too. The folder may be missing, empty, or hold these results already. With `fresh` it may
        hold other results of isthmus, which are removed.

        Raises:
            IsthmusError: the folder holds anything else, or cannot be written to.

        """
        from isthmus.results.folder import opened_for, write_results

        arguments.path("directory", directory, "out/mine")
        forms = arguments.forms("plots", plots)
        folder = Path(directory)
        with opened_for(folder, self, fresh=fresh) as own:
            write_results(own, self, plots=forms)
        return folder

    def __repr__(self) -> str:
        run = self.run
        return f"<Results {run.name!r}: {len(run.points)} points, {len(run.searches)} searches>"

    def _repr_html_(self) -> str:
        """Return the answer as HTML for a notebook."""
        from isthmus.report import answer_html

        return answer_html(self)


def needed(extra: str, *modules: str) -> None:
    """Check that the libraries of an extra are installed.

    Raises:
        IsthmusError: one of them is not installed.

    """
    from importlib.util import find_spec

    for module in modules:
        if find_spec(module) is None:
            raise IsthmusError(
                f"{module} is not installed; `pip install 'isthmus[{extra}]'` brings it"
            )


def _refuse_changed(folder: Path, results: Results) -> None:
    """Refuse results read from a file that was changed after isthmus wrote it to the folder."""
    from isthmus.owned import changed, read_mark

    mark = read_mark(folder)
    written = mark.files.get("result.json") if mark else None
    if written and written.sha256 != results.digest:
        raise changed(folder / "result.json", written)
