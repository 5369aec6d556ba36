"""What a run leaves in the hands of a user: tables, plots, a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus import arguments
from isthmus.core import read_text
from isthmus.errors import IsthmusError
from isthmus.results.schema import RunResult

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.figure import Figure

    from isthmus.answer import Answer


class Results:
    """The results of one run.

    Times are in microseconds, loads in the unit of the run's load (``run.load``: messages per
    millisecond and PE of a hypercube, GB/s of all nodes together on SCI rings, MB/s per node of a
    fat tree), utilisations in
    flits or symbols per cycle and lane; every table names its units.
    """

    def __init__(self, run: RunResult, *, canonical: str = "", text: str | None = None) -> None:
        self.run = run
        """The whole result as typed objects."""
        self.canonical = canonical
        """The effective scenario, as TOML."""
        self._text = text

    @classmethod
    def from_json(cls, text: str, *, canonical: str = "") -> Results:
        """Read the JSON of the result schema."""
        arguments.text("text", text, '{"schema": ...}')
        return cls(RunResult.from_json(text), canonical=canonical, text=text)

    @classmethod
    def load(cls, directory: str | Path) -> Results:
        """Read what ``isthmus run`` left in a folder.

        Raises:
            IsthmusError: the folder holds no whole result.

        """
        arguments.path("directory", directory, "out/hypercube-128")
        folder = Path(directory)
        file = folder / "result.json"
        if file.exists() and not file.is_file():  # a device or a pipe may have no end
            raise IsthmusError(f"{file}: no ordinary file; give the folder of a run")
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise IsthmusError(
                f"{folder}: no result here (result.json: {error.strerror}); "
                "give the folder that `isthmus run` wrote"
            ) from error
        except UnicodeDecodeError as error:
            raise IsthmusError(
                f"{file}: damaged result: byte {error.start} is not UTF-8 ({error.reason})"
            ) from error
        scenario = folder / "scenario.toml"
        canonical = read_text(scenario) if scenario.is_file() else ""
        run = RunResult.from_json(text, str(folder / "result.json"))
        _refuse_changed(folder, text)
        return cls(run, canonical=canonical, text=text)

    @property
    def json(self) -> str:
        """The result as the core wrote it."""
        if self._text is None:
            raise IsthmusError("this result was not read from JSON")
        return self._text

    @property
    def has_json(self) -> bool:
        """Whether the result is at hand as the core wrote it."""
        return self._text is not None

    @property
    def table(self) -> pl.DataFrame:
        """One row per point, measure and statistic; see `isthmus.results.tables`."""
        from isthmus.results.tables import results_table

        return results_table(self.run)

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
        """One row per point and node: offered and accepted load; not of hypercubes."""
        from isthmus.results.tables import nodes_table

        return nodes_table(self.run)

    @property
    def jobs(self) -> pl.DataFrame:
        """One row per point and job: whether it ran, its nodes, its accepted bandwidth."""
        from isthmus.results.tables import jobs_table

        return jobs_table(self.run)

    @property
    def interference(self) -> pl.DataFrame | None:
        """One row per job and set of jobs beside it: how much longer its phases or messages take,
        what it gets through; None unless jobs ran alone and together.
        """
        from isthmus.results.interference import interference, interference_table

        found = interference(self.run)
        return None if found is None else interference_table(found)

    @property
    def searches(self) -> pl.DataFrame:
        """One row per saturation search: bracket and model."""
        from isthmus.results.tables import searches_table

        return searches_table(self.run)

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas data frame (needs the extra ``isthmus[pandas]``)."""
        frame: Any = self.table.to_dict(as_series=False)
        import pandas as pd

        return pd.DataFrame(frame)

    @property
    def answer(self) -> Answer:
        """Each variant against the first one, in plain words."""
        from isthmus.answer import answer

        return answer(self.run)

    def plot(self, kind: str = "latency", **options: Any) -> Figure:
        """Draw one of the plots of a run; `isthmus.plots.KINDS` lists them."""
        from isthmus import plots

        arguments.text("kind", kind, "latency")
        return plots.draw(self.run, kind, **options)

    def report(self, path: str | Path) -> Path:
        """Write the self-contained report to `path` and return it.

        In a folder that isthmus wrote, it becomes one of that folder's files.

        Raises:
            IsthmusError: that folder holds other results, or a file that was changed since is in
                the way; or `path` cannot be written to.

        """
        from isthmus.results.folder import write_report

        arguments.path("path", path, "report.html")
        target = Path(path)
        write_report(target, self)
        return target

    def save(
        self, directory: str | Path, plots: tuple[str, ...] = (), *, fresh: bool = False
    ) -> Path:
        """Write tables and report to a folder, the same files as ``isthmus run``; with `plots`
        (``"png"``, ``"svg"``) every plot as a file, too.

        The folder is made, is empty, or holds these results already; with `fresh` it may hold
        others of isthmus, which are removed.

        Raises:
            IsthmusError: the folder holds anything else, or cannot be written to.

        """
        from isthmus.results.folder import opened_for, write_results

        arguments.path("directory", directory, "out/mine")
        arguments.forms("plots", plots)
        folder = Path(directory)
        with opened_for(folder, self, fresh=fresh) as own:
            write_results(own, self, plots=tuple(plots))
        return folder

    def __repr__(self) -> str:
        run = self.run
        return f"<Results {run.name!r}: {len(run.points)} points, {len(run.searches)} searches>"

    def _repr_html_(self) -> str:
        from isthmus.report import answer_html

        return answer_html(self)


def _refuse_changed(folder: Path, text: str) -> None:
    """Refuse numbers other than those that the folder's mark lists."""
    from isthmus.owned import changed, read_mark
    from isthmus.owned.mark import sha256

    mark = read_mark(folder)
    written = mark.files.get("result.json") if mark else None
    if written and written.sha256 != sha256(text.encode()):
        raise changed(folder / "result.json", written)
