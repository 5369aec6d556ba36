"""Running a paper: each scenario once, then every row judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from isthmus.core import overrides, read_text
from isthmus.execution import Job, Watch, unwatched
from isthmus.files import ready_folder, write_text
from isthmus.papers.folder import Paper, Row
from isthmus.papers.select import is_analytic
from isthmus.papers.verdict import Outcome, judge
from isthmus.results.collection import Results
from isthmus.results.folder import JOURNAL
from isthmus.results.schema import RunResult


@dataclass(frozen=True)
class Need:
    """A scenario with changes, and whether it has to be simulated."""

    scenario: str
    changes: tuple[str, ...]
    simulate: bool


def run_paper(
    paper: Paper,
    out: Path,
    *,
    quick: bool = False,
    jobs: int = 1,
    seed: int | None = None,
    only: list[str] | None = None,
    reports: bool = False,
    watch: Watch = unwatched,
) -> Iterator[Outcome]:
    """Judge the rows of a paper (or `only` those of these ids), scenario by scenario.

    Yields:
        The outcome of each row, in the order of the file within each scenario.

    Raises:
        Stopped: interrupted; finished points are kept in `out`.
        IsthmusError: a scenario or a row makes no sense, or `out` cannot be written to.

    """
    rows = [r for r in paper.rows() if not only or r.id in only]
    ready_folder(out)
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.scenario, row.set), []).append(row)
    for (scenario, changes), members in groups.items():
        run = None
        if scenario:
            words = tuple(w.strip() for w in changes.split(";") if w.strip())
            simulate = not all(is_analytic(r.select) for r in members)
            need = Need(scenario, words, simulate)
            run = _run(paper, need, out, quick, jobs, seed, reports, watch)
        for row in members:
            yield judge(paper, row, run)


def _run(
    paper: Paper,
    need: Need,
    out: Path,
    quick: bool,
    jobs: int,
    seed: int | None,
    reports: bool,
    watch: Watch,
) -> RunResult:
    from isthmus.scenario import Scenario

    path = paper.scenario(need.scenario)
    text, changes = read_text(path), overrides(need.changes)
    if not need.simulate:
        return Scenario(text, str(path), tuple(changes)).analyze().run
    job = Job(text, str(path), changes, seed, jobs, quick)
    kind = "-quick" if quick else ""
    with_seed = "" if seed is None else f"-seed{seed}"
    folder = out / f"{need.scenario}-{job.digest[:8]}{kind}{with_seed}"
    if reports:
        return job.run_into(folder, watch=watch).run
    kept = folder / "result.json"
    if kept.is_file():
        return Results.load(folder).run
    ready_folder(folder)
    results = job.run(folder / JOURNAL, watch)
    write_text(folder / "scenario.toml", results.canonical)
    write_text(kept, results.json)
    return results.run


def write_outcomes(out: Path, outcomes: list[Outcome]) -> None:
    """Keep the verdicts beside the results."""
    listed = [o.as_json() for o in outcomes]
    write_text(out / "verdicts.json", json.dumps(listed, indent=2, ensure_ascii=False) + "\n")
