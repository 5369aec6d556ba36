"""One run of a scenario by the core, with progress, interruption and stored results."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus import _core, arguments
from isthmus.core import ask
from isthmus.errors import IsthmusError, RunFailedError
from isthmus.owned import Identity, OwnedFolder
from isthmus.owned.mark import JOURNAL, RESULT
from isthmus.progress import Progress, StepCallback, Watch, ignore_progress, step_callback
from isthmus.results.collection import Results
from isthmus.wording import counted

if TYPE_CHECKING:
    from isthmus.files import Bytes
    from isthmus.sweeps.selection import Selection

TICK_S = 0.1
"""Seconds between progress updates."""
CANCEL_S = 60.0
"""Maximum time in seconds for a cancelled run to end; after it, the error is reported while the
run may still work.
"""


class Stopped(Exception):  # noqa: N818 - an interruption, not an error
    """The user interrupted the run; finished points are in the journal."""

    def __init__(self, reached: tuple[int, int] | None = None) -> None:
        """Create the error text, with the numbers of finished points and of all points if
        `reached` has them.
        """
        super().__init__(
            "interrupted" + (" after {} of {} points".format(*reached) if reached else "")
        )
        self.reached = reached
        """Number of finished points and of all points; None if unknown."""


@dataclass
class Job:
    """A run that can be started: a scenario's text with changes, a seed, and the number of
    threads.
    """

    text: str
    file: str
    overrides: list[str] = field(default_factory=list)
    seed: int | None = None
    jobs: int = 1
    quick: bool = False
    watch: Watch = field(default=ignore_progress, repr=False, compare=False)
    """Function that is called with the progress, from the building of machines to the drawing
    of plots.
    """
    memory: str | None = None
    """Memory bound of simulations, such as "4 GB"; None for half of the machine."""
    executor: Any = field(default=None, repr=False, compare=False)
    """Executor of the points, of `concurrent.futures` or a Dask client; None for this process."""
    elsewhere: bool = False
    """Whether an executor runs the points. The executor itself may be created later, once there
    is work.
    """
    share: str | None = None
    """Memory bound of simulations in the workers of an executor, if it is known, such as "4 GB"."""

    def __post_init__(self) -> None:
        """Check the arguments, and let the core read the scenario and prepare the summary of
        the run.
        """
        self.elsewhere = self.elsewhere or self.executor is not None

        self.warnings: list[str] = []
        """Warnings about this run, such as on its length; known once the run starts."""
        if self.seed is not None:
            arguments.whole("seed", self.seed, 0, arguments.SEED_MAX)
            self.seed = int(self.seed)
        arguments.whole("jobs", self.jobs, 1, arguments.JOBS_MAX)
        self.jobs = int(self.jobs)
        if self.memory is not None:
            arguments.text("memory", self.memory, "4 GB")
            # Check the memory bound before a folder is created.
            ask(_core.memory_amount, self.memory)

        self.watch(Progress("building", title=Path(self.file).name))
        summary = json.loads(ask(_core.check, self.text, self.file, self.overrides))
        self.summary: dict[str, Any] = summary
        self.name: str = summary["name"]
        self.title: str = summary["title"]
        self.canonical: str = summary["canonical"]
        self.digest: str = summary["digest"]

    def run(
        self, journal: Path | None = None, first: Callable[[Any], None] | None = None
    ) -> Results:
        """Run all points of the scenario to the end and return the results. `first` is called with
        the experiment before it starts, and may raise an error.

        Raises:
            Stopped: Ctrl-C; a journal keeps finished points.
            IsthmusError: the scenario is invalid, or the journal belongs to another run.
            RunFailedError: the run could not finish.

        """
        return Results.of_core(self._run_to_json(journal, first), canonical=self.canonical)

    def _run_to_json(self, journal: Path | None, first: Callable[[Any], None] | None) -> Bytes:
        """Run all points to the end, and return the results as JSON text. The data in the core
        is freed.
        """
        self.watch(Progress("building", title=self.title or self.name))
        experiment = self.experiment(journal)
        if first:
            first(experiment)
        self.warnings = json.loads(experiment.warnings())
        if self.executor is not None:
            self._run_by_executor(experiment)
        return self._run_to_end(experiment, None)

    def experiment(self, journal: Path | None = None, expiry_s: float | None = None) -> Any:
        """Create the experiment of the Rust core; with `expiry_s`, to run parts of it while other
        processes run other parts.
        """
        return ask(
            _core.Experiment,
            self.text,
            self.file,
            self.overrides,
            self.seed,
            self.jobs,
            self.quick,
            str(journal) if journal else None,
            self.memory,
            expiry_s,
        )

    def _run_to_end(self, experiment: Any, part: tuple[list[int], list[int]] | None) -> Bytes:
        """Run an experiment, or the part `part` of it, to the end. Return the result as JSON
        text.
        """
        try:
            experiment.start(part)
            while not experiment.wait(TICK_S):
                self.watch(self._progress(experiment))
            self.watch(self._progress(experiment))
            return self._result(experiment)
        except BaseException as error:
            # Cancel the run after any error of a watch: it must not continue in the background, and
            # write to a journal in a folder that is no longer locked.
            experiment.cancel()
            # Wait in short steps, so that a second Ctrl-C takes effect at once.
            for _ in range(round(CANCEL_S / TICK_S)):
                if experiment.wait(TICK_S):
                    break
            if not isinstance(error, KeyboardInterrupt):
                raise
            raise Stopped(self._progress_counts(experiment, part)) from None

    def _progress_counts(
        self, experiment: Any, part: tuple[list[int], list[int]] | None = None
    ) -> tuple[int, int]:
        """Return the number of finished points and searches, and the number of all of them, in
        a part or in the whole run. Those finished in an earlier run count from the start.
        """
        wanted = part or tuple(map(range, experiment.counts()))
        total, kept = sum(map(len, wanted)), 0
        # Ignore an unreadable journal here: a later start of the run reports it.
        with suppress(ValueError):
            lacks = zip(wanted, experiment.missing(), strict=True)
            kept = total - sum(len(set(some).intersection(left)) for some, left in lacks)
        return max(self._progress(experiment).points_done, kept), total

    def _result(self, experiment: Any) -> Bytes:
        """Return the result of a finished experiment as JSON; convert the core's errors."""
        try:
            data: Bytes = experiment.result()
        except ValueError as error:
            raise IsthmusError(f"{self.file}: {error}") from error
        except RuntimeError as error:
            raise RunFailedError(f"{self.file}: the run failed: {error}") from error
        return data

    def _run_by_executor(self, experiment: Any) -> None:
        """Run the points in parts by the executor, such as a Dask client, and pass the results
        to the experiment of the core.
        """
        from isthmus import __version__
        from isthmus.parts import RunSpec, run

        def tell(points: int, total: int, state: str) -> None:
            """Report the progress of the executor to the watch: points done of `total`, and its
            state in words.
            """
            title = self.title or self.name
            self.watch(Progress("simulating", points, total, title=title, state=state))

        spec = RunSpec(
            self.text,
            self.file,
            tuple(self.overrides),
            self.seed,
            self.quick,
            self.memory or self.share,
            self.jobs,
            __version__,
        )
        try:
            run(spec, self.executor, experiment, tell)
        except KeyboardInterrupt:
            # Count finished points again, because more may have finished since the last progress
            # update.
            raise Stopped(self._progress_counts(experiment)) from None

    def run_part(
        self, journal: Path, part: tuple[list[int], list[int]], expiry_s: float
    ) -> list[tuple[str, str]]:
        """Run those points and searches whose indices are in `part`, while other processes run
        others.

        Returns the failed journal entries with reasons.

        Raises:
            Stopped: Ctrl-C; finished points are in the journal.
            IsthmusError: the journal belongs to another run or is unusable.

        """
        report = self._run_to_end(self.experiment(journal, expiry_s), part)
        return [(name, reason) for name, reason in json.loads(bytes(report))["failed"]]

    def run_into(
        self,
        folder: Path,
        *,
        fresh: bool = False,
        write: Callable[[OwnedFolder, Results, StepCallback], None] | None = None,
        also: Mapping[str, str] | None = None,
        plots: tuple[str, ...] = (),
        only_collect: Callable[[Any], None] | None = None,
    ) -> Results:
        """Run all points to the end and write the results to a folder, which is checked before the
        run.

        Results in the folder are reused, unless a lack of memory has ended one of their points and
        more is available now. `write` replaces `isthmus.results.folder.write_results` and reports
        its progress. `also` are further files that the result needs. `plots` are the formats
        (``png``, ``svg``) of plot files. `only_collect` is like `first` of `run`, for runs without
        computation.

        Raises:
            Stopped: Ctrl-C; the same call continues from the finished points.
            IsthmusError: as `run`, or the folder is unusable.

        """
        from isthmus.owned.lock import COLLECTS, DOES_ALL
        from isthmus.results.folder import (
            keep_provenance,
            keep_result,
            keep_scenario,
            write_results,
        )
        from isthmus.sweeps.source import keep_source

        counts = self.summary["points"], self.summary["searches"]
        with OwnedFolder.opened(
            folder,
            self.identity,
            scenario=self.canonical,
            journal=counts,
            fresh=fresh,
            replaceable=only_collect is None,
            work=COLLECTS if only_collect else DOES_ALL,
        ) as own:
            results = None
            try:
                if write is None:
                    keep_source(own, self)
                keep_scenario(own, self.canonical)
                results = self._final_results(own, go_on=only_collect is None)
                if results is None:
                    began, clock = datetime.now(timezone.utc), time.monotonic()
                    results = self.run(own.path / JOURNAL, only_collect)
                    duration_s = time.monotonic() - clock
                    keep_provenance(own, self.provenance(results, began, duration_s))
                    keep_result(own, results, also)
                tell = step_callback(self.watch, self.title or self.name, _points(results))
                if write:
                    write(own, results, tell)
                else:
                    write_results(own, results, tell, plots=plots)
            except KeyboardInterrupt:
                # Report the finished points that the folder contains, whenever Ctrl-C was pressed.
                total = sum(counts)
                done = total if results else total - len(self.lacks(own.path))
                raise Stopped((done, total)) from None
        return results

    def lacks(self, folder: Path) -> Selection:
        """Return the points and searches of the run whose results the folder does not contain
        yet.
        """
        from isthmus.sweeps.state import missing_units

        return missing_units(folder, self.summary["points"], self.summary["searches"])

    def is_final(self, folder: Path, *, go_on: bool = True) -> bool:
        """Return whether a folder, which no process may have locked, contains the final results, so
        that nothing is left to compute. With `go_on`, results that more memory could improve are
        not final.

        Raises:
            IsthmusError: the folder holds results of another run.

        """
        own = OwnedFolder.opened_for_reading(
            folder, self.identity, scenario=self.canonical, replaceable=go_on
        )
        return own is not None and self._final_results(own, go_on=go_on) is not None

    def _final_results(self, own: OwnedFolder, *, go_on: bool) -> Results | None:
        """Return the stored results of a finished run. Return None if the folder has none, or if a
        point ran out of memory and could continue, or has continued, with more.
        """
        from isthmus.results.folder import result_key

        if not own.has("result", result_key(self.canonical)):
            return None
        results = Results.of_core(own.read(RESULT), canonical=self.canonical)
        if not results.run.ended_by_memory:
            return results
        further = not self.lacks(own.path) or (go_on and self._has_more(own))
        return None if further else results

    def _has_more(self, own: OwnedFolder) -> bool:
        """Return whether more memory is available than was for the results in the folder. If not,
        results of a new run would be worse and must not replace them.
        """
        from isthmus.results.folder import memory_of

        before, now = memory_of(own.path), self._memory_bytes()
        return before is not None and now is not None and now > before

    def _memory_bytes(self) -> float | None:
        """Return the memory bound of simulations in bytes; None if it depends on the worker
        that runs them.
        """
        if (given := self.memory or self.share) is not None:
            return ask(_core.memory_amount, given)
        return None if self.elsewhere else _core.memory_bound()

    @property
    def identity(self) -> Identity:
        """Return the identity of the run, by which its folder recognises results of the same
        run: name, digest of the scenario, seed and version.
        """
        from isthmus import __version__

        seed = self.summary["seed"] if self.seed is None else self.seed
        return Identity("run", self.name, self.digest, seed, self.quick, __version__)

    def _progress(self, experiment: Any) -> Progress:
        """Return how far a run has come, from the state of the core's experiment."""
        state = json.loads(experiment.progress())
        done, others = state["points_done"], state["elsewhere"]
        return Progress(
            # Show "simulating" also if points are finished: a process that runs a part of a run
            # builds simulated machines on demand.
            "simulating" if state["begun"] or done or others else "building",  # codespell:ignore
            done,
            state["points_total"],
            state["messages"],
            title=self.title or self.name,
            state=f"waits for {counted(others, 'point')} of others" if others else "",
        )

    def provenance(self, results: Results, began: datetime, duration_s: float) -> dict[str, Any]:
        """Return the provenance of results, as JSON values: the scenario, its versions, the
        start time and the duration of the run.
        """
        run = results.run
        return {
            "isthmus": run.version,
            "scenario": {
                "name": run.name,
                "file": self.file,
                "overrides": self.overrides,
                "digest": run.digest,
                "effective": self.canonical,
            },
            "seed": run.seed,
            "quick": run.quick,
            "jobs": self.jobs,
            "memory": self.memory,
            "memory_bytes": self._memory_bytes(),
            "began": began.isoformat(timespec="seconds"),
            "duration_s": round(duration_s, 3),
            "points": len(run.points),
            "searches": len(run.searches),
            "messages": sum(p.messages for p in run.points)
            + sum(t.messages for s in run.searches for t in s.trials),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "packages": _packages(),
        }


def _points(results: Results) -> int:
    """Return the number of points and searches together in the results of a run."""
    return len(results.run.points) + len(results.run.searches)


def _packages() -> dict[str, str]:
    """Return the versions of those installed packages that can affect results."""
    from importlib.metadata import version

    return {name: version(name) for name in ("polars", "matplotlib")}
