"""Running a paper: each scenario once, then every row judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from isthmus.core import overrides, read_text
from isthmus.execution import Job, Watch, unwatched
from isthmus.files import ready_folder, write_text
from isthmus.papers.folder import Paper, Row
from isthmus.papers.model import Model
from isthmus.papers.select import is_analytic
from isthmus.papers.verdict import Outcome, judge
from isthmus.results.collection import Results
from isthmus.results.folder import JOURNAL, clear
from isthmus.results.schema import RunResult
from isthmus.scenario import Scenario

Finished = Callable[[str, RunResult], None]
"""Told the name and the result of each scenario that was simulated as it is."""


@dataclass(frozen=True)
class How:
    """How to run a paper's scenarios."""

    quick: bool = False
    jobs: int = 1
    seed: int | None = None
    reports: bool = False
    """Also write tables, plots and a report for each scenario."""
    fresh: bool = False
    """Run again what is there."""
    watch: Watch = unwatched
    memory: str | None = None
    """What simulations may take, such as "4 GB"."""


def run_paper(
    paper: Paper,
    out: Path,
    how: How | None = None,
    *,
    only: Sequence[str] = (),
    finished: Finished | None = None,
) -> Iterator[Outcome]:
    """Judge the rows of a paper (or `only` those of these ids), scenario by scenario.

    Yields:
        The outcome of each row, in the order of the file within each scenario.

    Raises:
        Stopped: interrupted; finished points are kept in `out`.
        IsthmusError: a scenario or a row makes no sense, or `out` cannot be written to.

    """
    how = how or How()
    ready_folder(out)
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in paper.rows():
        if not only or row.id in only:
            groups.setdefault((row.scenario, row.set), []).append(row)
    for (name, changes), members in groups.items():
        if not name:
            for row in members:
                yield judge(paper, row, None)
            continue
        scenario = Scenario(
            read_text(paper.scenario(name)),
            str(paper.scenario(name)),
            tuple(overrides(tuple(w.strip() for w in changes.split(";") if w.strip()))),
        )
        if all(is_analytic(s) for r in members for s in (r.select, r.under) if s):
            run = scenario.analyze().run
        else:
            run = _simulate(scenario, name, out, how)
            if finished and not changes:
                finished(name, run)
        model = Model(scenario.text, scenario.file, scenario.changes)
        for row in members:
            yield judge(paper, row, run, model)


def _simulate(scenario: Scenario, name: str, out: Path, how: How) -> RunResult:
    """Run a scenario, or take its result where it is kept."""
    changes = list(scenario.changes)
    job = Job(
        scenario.text, scenario.file, changes, how.seed, how.jobs, how.quick, memory=how.memory
    )
    kind = "-quick" if how.quick else ""
    with_seed = "" if how.seed is None else f"-seed{how.seed}"
    folder = out / f"{name}-{job.digest[:8]}{kind}{with_seed}"
    if how.reports:
        return job.run_into(folder, fresh=how.fresh, watch=how.watch).run
    kept = folder / "result.json"
    ready_folder(folder)
    if how.fresh:
        clear(folder)
    if kept.is_file():
        return Results.load(folder).run
    results = job.run(folder / JOURNAL, how.watch)
    write_text(folder / "scenario.toml", results.canonical)
    write_text(kept, results.json)
    return results.run


def write_outcomes(out: Path, outcomes: list[Outcome]) -> None:
    """Keep the verdicts beside the results."""
    listed = [o.as_json() for o in outcomes]
    write_text(out / "verdicts.json", json.dumps(listed, indent=2, ensure_ascii=False) + "\n")
