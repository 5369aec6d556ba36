"""One run of a scenario by the core: watched, interruptible, its results kept."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from isthmus.core import ask
from isthmus.errors import IsthmusError, RunFailedError
from isthmus.results.collection import Results

TICK_S = 0.1
"""Seconds between two looks at the progress."""
CANCEL_S = 60.0
"""Seconds that a cancelled run is given to end."""


SEED_MAX = 2**64 - 1


def _check_whole(name: str, value: object, least: int, most: int | None) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):  # type: ignore[operator]
        limits = f"{least} to {most}" if most is not None else f"{least} or more"
        raise IsthmusError(f"{name}: {value!r} is impossible; give a whole number, {limits}")


class Stopped(Exception):  # noqa: N818 - an interruption, not an error
    """The run was interrupted; finished points are in the journal."""

    def __init__(self, done: int, total: int) -> None:
        super().__init__(f"interrupted after {done} of {total} points")
        self.done = done
        self.total = total


@dataclass(frozen=True)
class Progress:
    """How far a run is; a saturation search counts as a point."""

    points_done: int
    points_total: int
    messages: int


Watch = Callable[[str], AbstractContextManager[Callable[[Progress], None]]]
"""Given a title: a context whose value is called with the progress again and again."""


@contextmanager
def unwatched(_title: str) -> Iterator[Callable[[Progress], None]]:
    """Show nothing."""
    yield lambda _progress: None


@dataclass
class Job:
    """What to run: a scenario's text with changes, a seed, a number of threads."""

    text: str
    file: str
    overrides: list[str] = field(default_factory=list)
    seed: int | None = None
    jobs: int = 1
    quick: bool = False

    def __post_init__(self) -> None:
        from isthmus import _core

        if self.seed is not None:
            _check_whole("seed", self.seed, 0, SEED_MAX)
        _check_whole("jobs", self.jobs, 1, None)

        summary = json.loads(ask(_core.check, self.text, self.file, self.overrides))
        self.summary: dict[str, Any] = summary
        self.name: str = summary["name"]
        self.title: str = summary["title"]
        self.canonical: str = summary["canonical"]
        self.digest: str = summary["digest"]

    def run(self, journal: Path | None = None, watch: Watch = unwatched) -> Results:
        """Run to the end.

        Raises:
            Stopped: Ctrl-C; finished points are in the journal, if there is one.
            IsthmusError: the scenario makes no sense or the journal is not this run's.
            RunFailedError: the run could not be finished.

        """
        from isthmus import _core

        experiment = ask(
            _core.Experiment,
            self.text,
            self.file,
            self.overrides,
            self.seed,
            self.jobs,
            self.quick,
            str(journal) if journal else None,
        )
        for warning in json.loads(experiment.warnings()):
            print(f"isthmus: {self.file}: {warning}", file=sys.stderr)
        experiment.start()
        with watch(self.title or self.name) as show:
            try:
                while not experiment.wait(TICK_S):
                    show(_progress(experiment))
                show(_progress(experiment))
            except KeyboardInterrupt:
                experiment.cancel()
                experiment.wait(CANCEL_S)
                progress = _progress(experiment)
                raise Stopped(progress.points_done, progress.points_total) from None
        try:
            text = experiment.result()
        except ValueError as error:
            raise IsthmusError(f"{self.file}: {error}") from error
        except RuntimeError as error:
            raise RunFailedError(f"{self.file}: the run failed: {error}") from error
        return Results.from_json(text, canonical=self.canonical)

    def run_into(
        self,
        folder: Path,
        *,
        fresh: bool = False,
        watch: Watch = unwatched,
        write: Callable[[Path, Results], None] | None = None,
    ) -> Results:
        """Run to the end and write everything to a folder, which is checked before any work.

        `write` writes tables, plots and page in place of `isthmus.results.folder.write_results`.

        Raises:
            Stopped: Ctrl-C; the same call goes on from the finished points.
            IsthmusError: as `run`, or the folder cannot be used.

        """
        from isthmus.files import ready_folder
        from isthmus.results.folder import JOURNAL, claim, clear, write_provenance, write_results

        ready_folder(folder)
        if fresh:
            clear(folder)
        claim(folder, self.digest, self.seed, self.quick, self.name)
        began, clock = datetime.now(timezone.utc), time.monotonic()
        results = self.run(folder / JOURNAL, watch)
        duration_s = time.monotonic() - clock
        write_provenance(folder, self.provenance(results, began, duration_s))
        (write or write_results)(folder, results)
        return results

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


def _packages() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("polars", "matplotlib")}


def _progress(experiment: Any) -> Progress:
    told = json.loads(experiment.progress())
    return Progress(told["points_done"], told["points_total"], told["messages"])
