"""Run a paper: simulate each scenario once, then judge every row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from isthmus.core import read_text
from isthmus.execution import Job
from isthmus.files import ready_folder
from isthmus.owned import OwnedFolder
from isthmus.owned.mark import sha256
from isthmus.papers.cells import settings
from isthmus.papers.folder import Paper, Row
from isthmus.papers.model import Model
from isthmus.papers.row_results import NotSimulatedError
from isthmus.papers.verdict import Outcome, check, judge
from isthmus.progress import Progress, StepCallback, Watch, ignore_progress
from isthmus.results.collection import Results
from isthmus.scenario import Scenario

Finished = Callable[[str, Results], None]
"""Function that is called with name and results of each scenario that was simulated without
changes.
"""


@dataclass(frozen=True)
class How:
    """Options for the simulation of a paper's scenarios."""

    quick: bool = False
    jobs: int = 1
    seed: int | None = None
    reports: bool = False
    """Also write tables and a report for each scenario."""
    fresh: bool = False
    """Run scenarios again even if their results exist."""
    watch: Watch = ignore_progress
    plots: tuple[str, ...] = ()
    """Plots of each scenario's report to write as files: ``png``, ``svg``."""
    memory: str | None = None
    """Memory limit of each simulation, such as "4 GB"."""


def run_paper(
    paper: Paper,
    out: Path,
    how: How | None = None,
    *,
    only: Sequence[str] = (),
    finished: Finished | None = None,
) -> Iterator[Outcome]:
    """Judge the rows of a paper, or only the rows with ids in `only`, scenario by scenario.

    Yields:
        The outcome of each row, in the order of the file within each scenario.

    Raises:
        Stopped: interrupted; finished points are kept in `out`.
        IsthmusError: a scenario or a row is invalid, or `out` is not writable.

    """
    how = how or How()
    ready_folder(out)
    groups: dict[tuple[str, str], list[Row]] = {}
    rows = paper.rows()
    for row in rows:
        check(paper, row)
    for row in rows:
        if not only or row.id in only:
            groups.setdefault((row.scenario, row.set), []).append(row)
    for position, ((name, changes), members) in enumerate(groups.items(), 1):
        run = model = None
        if name:
            path = paper.scenario(name)
            model = Model(Scenario(read_text(path), str(path), settings(changes)))
        for row in members:
            try:
                outcome = judge(paper, row, run, model)
            except NotSimulatedError:
                assert model is not None
                watch = _titled(how.watch, f"{name} ({position} of {len(groups)})")
                results = _simulate(model.scenario, name, out, replace(how, watch=watch))
                run = results.run
                if finished and not changes:
                    finished(name, results)
                outcome = judge(paper, row, run, model)
            yield outcome


def _titled(watch: Watch, title: str) -> Watch:
    """Return a progress callback that passes reports on to `watch` under another title."""

    def report(progress: Progress) -> None:
        """Pass a progress report on under the other title."""
        watch(replace(progress, title=title))

    return report


def _simulate(scenario: Scenario, name: str, out: Path, how: How) -> Results:
    """Run a scenario, or read its result if it exists."""
    changes = list(scenario.changes)
    job = Job(
        scenario.text,
        scenario.file,
        changes,
        how.seed,
        how.jobs,
        how.quick,
        how.watch,
        memory=how.memory,
    )
    kind = "-quick" if how.quick else ""
    with_seed = "" if how.seed is None else f"-seed{how.seed}"
    folder = out / f"{name}-{job.digest[:8]}{kind}{with_seed}"
    write = None if how.reports else _numbers_only
    return job.run_into(folder, fresh=how.fresh, write=write, plots=how.plots)


def _numbers_only(_folder: OwnedFolder, _results: Results, _tell: StepCallback) -> None:
    """Write no tables, plots or report: a substitute for the function that writes them."""


def write_outcomes(out: OwnedFolder, outcomes: list[Outcome]) -> None:
    """Write the verdicts on the claims of a paper to the folder of its results."""
    listed = [o.as_json() for o in outcomes]
    text = json.dumps(listed, indent=2, ensure_ascii=False) + "\n"
    with out.part("verdicts", sha256(text.encode())):
        out.write("verdicts.json", text, "verdicts")
