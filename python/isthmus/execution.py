"""One run of a scenario by the core: watched, interruptible, its results kept."""

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

from isthmus import arguments
from isthmus.core import ask
from isthmus.errors import IsthmusError, RunFailedError
from isthmus.progress import Progress, Tell, Watch, telling, unwatched
from isthmus.results.collection import Results
from isthmus.wording import counted

if TYPE_CHECKING:
    from isthmus.files import Bytes
    from isthmus.owned import Identity, OwnedFolder
    from isthmus.sweeps.selection import Selection

TICK_S = 0.1
"""Seconds between two looks at the progress."""
CANCEL_S = 60.0
"""Seconds that a cancelled run is given to end; then its error is told all the same."""


class Stopped(Exception):  # noqa: N818 - an interruption, not an error
    """The run was interrupted; finished points are in the journal."""

    def __init__(self, reached: tuple[int, int] | None = None) -> None:
        super().__init__(
            "interrupted" + (" after {} of {} points".format(*reached) if reached else "")
        )
        self.reached = reached
        """Points that are finished, and all of them; None where it is not known."""


@dataclass
class Job:
    """What to run: a scenario's text with changes, a seed, a number of threads."""

    text: str
    file: str
    overrides: list[str] = field(default_factory=list)
    seed: int | None = None
    jobs: int = 1
    quick: bool = False
    watch: Watch = field(default=unwatched, repr=False, compare=False)
    """Told how far it is, from the building of machines to the last drawing."""
    memory: str | None = None
    """What simulations may take, such as "4 GB"; half of what there is if None."""
    executor: Any = field(default=None, repr=False, compare=False)
    """Who runs the points: an executor of `concurrent.futures` or a Dask client; this process if
    None.
    """
    elsewhere: bool = False
    """Whether an executor is to run the points; it may be there only once there is work for it."""
    share: str | None = None
    """What simulations of an executor's workers may take, where `memory` is not given and that is
    known all the same.
    """

    def __post_init__(self) -> None:
        from isthmus import _core

        self.elsewhere = self.elsewhere or self.executor is not None

        self.warnings: list[str] = []
        """What may mislead in a run of this length, known once it begins."""
        if self.seed is not None:
            arguments.whole("seed", self.seed, 0, arguments.SEED_MAX)
            self.seed = int(self.seed)
        arguments.whole("jobs", self.jobs, 1, arguments.JOBS_MAX)
        self.jobs = int(self.jobs)
        if self.memory is not None:
            arguments.text("memory", self.memory, "4 GB")
            # Told before a folder is made for the run.
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
        """Run to the end; `first` is called with what the core is about to run, and may refuse.

        Raises:
            Stopped: Ctrl-C; finished points are in the journal, if there is one.
            IsthmusError: the scenario makes no sense or the journal is not this run's.
            RunFailedError: the run could not be finished.

        """
        return Results.of_core(self._made(journal, first), canonical=self.canonical)

    def _made(self, journal: Path | None, first: Callable[[Any], None] | None) -> Bytes:
        """The JSON of the results; what the core has built for them is gone then."""
        self.watch(Progress("building", title=self.title or self.name))
        experiment = self.experiment(journal)
        if first:
            first(experiment)
        self.warnings = json.loads(experiment.warnings())
        if self.executor is not None:
            self._run_by_executor(experiment)
        return self._ended(experiment, None)

    def experiment(self, journal: Path | None = None, expiry_s: float | None = None) -> Any:
        """Build what the core runs; with `expiry_s` to do parts of it beside other processes."""
        from isthmus import _core

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

    def _ended(self, experiment: Any, part: tuple[list[int], list[int]] | None) -> Bytes:
        """Run all of it, or a part, to the end; what came of it as JSON."""
        try:
            experiment.start(part)
            while not experiment.wait(TICK_S):
                self.watch(self._progress(experiment))
            self.watch(self._progress(experiment))
            return self._result(experiment)
        except BaseException as error:
            # A watch may raise anything; whatever it was, no run is left behind that computes on
            # and writes to a journal whose folder is free again.
            experiment.cancel()
            # In steps: a second Ctrl-C waits for nothing.
            for _ in range(round(CANCEL_S / TICK_S)):
                if experiment.wait(TICK_S):
                    break
            if not isinstance(error, KeyboardInterrupt):
                raise
            raise Stopped(self._reached(experiment, part)) from None

    def _reached(
        self, experiment: Any, part: tuple[list[int], list[int]] | None = None
    ) -> tuple[int, int]:
        """Points and searches, of a part or of all, that are finished, and how many there are: also
        those that the journal had before and whose turn has not come.
        """
        wanted = part or tuple(map(range, experiment.counts()))
        total, kept = sum(map(len, wanted)), 0
        # What cannot be looked for is told by who begins again.
        with suppress(ValueError):
            lacks = zip(wanted, experiment.missing(), strict=True)
            kept = total - sum(len(set(some).intersection(left)) for some, left in lacks)
        return max(self._progress(experiment).points_done, kept), total

    def _result(self, experiment: Any) -> Bytes:
        try:
            data: Bytes = experiment.result()
        except ValueError as error:
            raise IsthmusError(f"{self.file}: {error}") from error
        except RuntimeError as error:
            raise RunFailedError(f"{self.file}: the run failed: {error}") from error
        return data

    def _run_by_executor(self, experiment: Any) -> None:
        from isthmus import __version__
        from isthmus.parts import RunSpec, run

        def tell(points: int, total: int, state: str) -> None:
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
            # More may be there than was told.
            raise Stopped(self._reached(experiment)) from None

    def run_part(
        self, journal: Path, part: tuple[list[int], list[int]], expiry_s: float
    ) -> list[tuple[str, str]]:
        """Do some points and searches of the run, by their positions, beside other processes.

        Returns what could not be done: the entry of the journal, and why.

        Raises:
            Stopped: Ctrl-C; finished points are in the journal.
            IsthmusError: the journal is not this run's, or cannot be used.

        """
        report = self._ended(self.experiment(journal, expiry_s), part)
        return [(name, reason) for name, reason in json.loads(bytes(report))["failed"]]

    def run_into(
        self,
        folder: Path,
        *,
        fresh: bool = False,
        write: Callable[[OwnedFolder, Results, Tell], None] | None = None,
        also: Mapping[str, str] | None = None,
        plots: tuple[str, ...] = (),
        only_collect: Callable[[Any], None] | None = None,
    ) -> Results:
        """Run to the end and write everything to a folder, which is checked before any work.

        Results that the folder holds are taken from there, unless memory has ended a point of them
        and there is more now. `write` writes tables and page in place of
        `isthmus.results.folder.write_results`, and tells how far it is with that; `also`
        are files that one needs to read the result, kept with it; `plots` are the forms (``png``,
        ``svg``) in which every plot is drawn as a file; `only_collect` is given where nothing is to
        be computed, and is as `first` of `run`.

        Raises:
            Stopped: Ctrl-C; the same call goes on from the finished points.
            IsthmusError: as `run`, or the folder cannot be used.

        """
        from isthmus.owned import OwnedFolder
        from isthmus.owned.lock import COLLECTS, DOES_ALL
        from isthmus.results.folder import (
            JOURNAL,
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
                results = self._standing(own, go_on=only_collect is None)
                if results is None:
                    began, clock = datetime.now(timezone.utc), time.monotonic()
                    results = self.run(own.path / JOURNAL, only_collect)
                    duration_s = time.monotonic() - clock
                    keep_provenance(own, self.provenance(results, began, duration_s))
                    keep_result(own, results, also)
                tell = telling(self.watch, self.title or self.name, _points(results))
                if write:
                    write(own, results, tell)
                else:
                    write_results(own, results, tell, plots=plots)
            except KeyboardInterrupt:
                # Wherever it was heard: what is finished is in the folder.
                total = sum(counts)
                done = total if results else total - len(self.lacks(own.path))
                raise Stopped((done, total)) from None
        return results

    def lacks(self, folder: Path) -> Selection:
        """The points and searches that the journal of a folder does not have."""
        from isthmus.sweeps.state import missing_units

        return missing_units(folder, self.summary["points"], self.summary["searches"])

    def stands(self, folder: Path, *, go_on: bool = True) -> bool:
        """Whether a folder, which nobody holds for that, has results that stand, so that nothing is
        to be computed. With `go_on` they do not where more memory may have them otherwise.

        Raises:
            IsthmusError: it holds other results.

        """
        from isthmus.owned import OwnedFolder

        own = OwnedFolder.opened_for_reading(
            folder, self.identity, scenario=self.canonical, replaceable=go_on
        )
        return own is not None and self._standing(own, go_on=go_on) is not None

    def _standing(self, own: OwnedFolder, *, go_on: bool) -> Results | None:
        """The results that a folder holds, unless a point that memory has ended gets further with
        more of it, or has got.
        """
        from isthmus.results.folder import RESULT, result_key

        if not own.has("result", result_key(self.canonical)):
            return None
        results = Results.of_core(own.read(RESULT), canonical=self.canonical)
        if not results.run.ended_by_memory:
            return results
        further = not self.lacks(own.path) or (go_on and self._has_more(own))
        return None if further else results

    def _has_more(self, own: OwnedFolder) -> bool:
        """Whether simulations are known to have more memory than those whose results a folder
        holds: with less, worse results would take the place of better ones.
        """
        from isthmus.results.folder import memory_of

        before, now = memory_of(own.path), self._memory_bytes()
        return before is not None and now is not None and now > before

    def _memory_bytes(self) -> float | None:
        """What simulations may take; None where that depends on who computes."""
        from isthmus import _core

        if (given := self.memory or self.share) is not None:
            return ask(_core.memory_amount, given)
        return None if self.elsewhere else _core.memory_bound()

    @property
    def identity(self) -> Identity:
        """Whose results a folder is to hold."""
        from isthmus import __version__
        from isthmus.owned import Identity

        seed = self.summary["seed"] if self.seed is None else self.seed
        return Identity("run", self.name, self.digest, seed, self.quick, __version__)

    def _progress(self, experiment: Any) -> Progress:
        state = json.loads(experiment.progress())
        done, others = state["points_done"], state["elsewhere"]
        return Progress(
            # A process that does a part builds what it needs when it needs it.
            "simulating" if state["begun"] or done or others else "building",  # codespell:ignore
            done,
            state["points_total"],
            state["messages"],
            title=self.title or self.name,
            state=f"waits for {counted(others, 'point')} of others" if others else "",
        )

    def provenance(self, results: Results, began: datetime, duration_s: float) -> dict[str, Any]:
        """Say what was run, when, how long, with what."""
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
    return len(results.run.points) + len(results.run.searches)


def _packages() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("polars", "matplotlib")}
