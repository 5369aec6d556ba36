"""The output of a study of failures (``isthmus faults``): tables, plots and one HTML page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from isthmus.errors import IsthmusError
from isthmus.faults.chart import study_chart, worst_chart
from isthmus.faults.outcome import AT_LEAST, CaseOutcome, Summary, outcomes, summaries
from isthmus.faults.plan import DOUBLE, Study
from isthmus.faults.tables import case_rows, summary_rows, table
from isthmus.looks import colour_number
from isthmus.owned import OwnedFolder
from isthmus.progress import StepCallback, ignore_steps
from isthmus.results.collection import Results
from isthmus.results.folder import keep_result, output_key, write_tables
from isthmus.value import Value
from isthmus.wording import estimate, number

STUDY = "faults.json"
"""Name of the file that marks a folder of results as that of a study."""


def write_study(
    folder: OwnedFolder,
    study: Study,
    results: Results,
    tell: StepCallback = ignore_steps,
    *,
    plots: tuple[str, ...] = (),
) -> None:
    """Write the results of a study to a folder: first the numbers, then the tables and the page.

    Tables and page of the same results are not written again. The plots are written as files only
    in the formats `plots` (``png``, ``svg``).
    """
    tell("writing", 0, 0)
    found = outcomes(study, results.run)
    by_kind = summaries(study, found)
    keep_result(folder, results, {STUDY: study.as_json()})
    write_tables(folder, results)
    key = output_key(results, study.as_json())
    if not folder.has("study", key):
        with folder.part("study", key):
            csv = table(summary_rows(study, by_kind)).write_csv()
            folder.write("faults.csv", csv, "study")
            csv = table(case_rows(study, found)).write_csv()
            folder.write("faults-cases.csv", csv, "study")
    inputs = inputs_of(study, results)
    if not folder.has("page", inputs):
        tell("drawing", 0, 0)
        with folder.part("page", inputs):
            folder.write("report.html", page(study, results, found, by_kind), "page")
    key = output_key(results, study.as_json(), *plots)
    if plots and not folder.has("plots", key):
        with folder.part("plots", key):
            for name, data in _plots(study, results, plots, tell):
                folder.write(name, data, "plots")


def inputs_of(study: Study, results: Results) -> str:
    """Return a digest of all inputs of the page; a page with this digest is up to date."""
    return output_key(results, study.as_json())


def page(
    study: Study, results: Results, found: Sequence[CaseOutcome], by_kind: Sequence[Summary]
) -> str:
    """Return the HTML page of a dependability study."""
    from isthmus.report.page import render_page

    light, heavy = loads(results)
    charts = {"faults": study_chart(study, found, by_kind, light)}
    if worst := worst_chart(study, found, results.run):
        charts["worst"] = worst
    return render_page(
        "faults.html",
        charts.values(),
        inputs_of(study, results),
        run=results.run,
        study=study,
        conclusions=conclusions(study, by_kind),
        rows=rows(study, by_kind),
        charts=charts,
        light=light,
        heavy=heavy,
        cases=len(study.cases),
        sampled=any(s.possible > s.cases for s in by_kind),
        canonical=results.canonical,
    )


def _plots(
    study: Study, results: Results, forms: tuple[str, ...], tell: StepCallback
) -> Iterator[tuple[str, bytes]]:
    """Yield the file name and the content of each plot of a study, in each format."""
    from isthmus.faults.picture import draw, draw_worst
    from isthmus.plots.style import image, styled

    found = outcomes(study, results.run)
    by_kind = summaries(study, found)
    with styled():
        figures = [("faults", draw(study, found, by_kind, loads(results)[0]))]
        if worst := draw_worst(study, found, results.run):
            figures.append(("worst", worst))
    for done, (name, figure) in enumerate(figures):
        tell("drawing", done, len(figures))
        for form in forms:
            yield f"plots/{name}.{form}", image(figure, form)


def read_study(folder: Path) -> Study | None:
    """Read the study of a folder of results; None for an ordinary run."""
    path = folder / STUDY
    if not path.is_file():
        return None
    try:
        return Study.from_json(path.read_text(encoding="utf-8"))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise IsthmusError(
            f"{path}: damaged study ({type(error).__name__}: {str(error)[:80]}); "
            "run `isthmus faults` again with --fresh"
        ) from None


def loads(results: Results) -> tuple[str, str]:
    """Return the lowest and the highest load of the run, as text with the unit."""
    run = results.run
    values = [p.load for p in run.points if p.load is not None]
    low, high = min(values, default=None), max(values, default=None)
    return f"{number(low)} {run.load.words}", f"{number(high)} {run.load.words}"


def conclusions(study: Study, by_kind: Sequence[Summary]) -> list[str]:
    """Return a sentence for each kind of failure, then the remarks."""
    sentences = []
    for kind in dict.fromkeys(s.kind for s in by_kind):
        parts = [
            f"the {study.sites[s.site].label} keeps {_percent(s.nodes_kept)} of its nodes and "
            f"{s.bound + ' ' if s.bound else ''}"
            f"{_percent(s.throughput_kept.value)} of "
            f"{'the highest load' if s.unsaturated else 'its throughput'} (worst "
            f"{_percent(s.nodes_kept_worst)} and "
            f"{_percent(s.throughput_kept_worst.value)})"
            + (f"; {s.collapsed} of {s.cases} cases collapse under more" if s.collapsed else "")
            for s in by_kind
            if s.kind == kind
        ]
        sentences.append(f"After {kind} failed, {'; '.join(parts)}.")
    return sentences + remarks(study, by_kind)


def remarks(study: Study, by_kind: Sequence[Summary]) -> list[str]:
    """Return sentences that say how to read the shares of a fabric in the table, if it had faults
    before, did not saturate, or has fewer pairs of failures than requested.
    """
    sentences = []
    for position, site in enumerate(study.sites):
        kinds = [s for s in by_kind if s.site == position]
        if site.harmed:
            sentences.append(
                f"The {site.label} has faults to start with ({', '.join(site.harmed)}): shares of "
                "nodes are of all its nodes, throughput and latency are relative to the fabric "
                "with these faults."
            )
        if any(s.unsaturated for s in kinds):
            sentences.append(
                f"The {site.label} is not seen to saturate at any load that it carries, even "
                "before anything more fails: its throughput kept is a share of the highest load "
                "accepted, not of what it could carry; give higher loads."
            )
        if study.double > site.pairs and any(s.kind == DOUBLE for s in kinds):
            sentences.append(
                f"All {site.pairs:,} pairs of failures of the {site.label} were taken; "
                f"there are no {study.double:,}."
            )
    return sentences


def rows(study: Study, by_kind: Sequence[Summary]) -> list[dict[str, Any]]:
    """Return the rows of the page's table, a row for each fabric and kind of failure, as plain
    text.
    """
    return [
        {
            "fabric": study.sites[s.site].label,
            "paint": f"var(--s{colour_number(s.site)})",
            "failure": s.kind,
            "cases": f"{s.cases}" if s.possible == s.cases else f"{s.cases} of {s.possible:,}",
            "nodes": _percent(s.nodes_kept),
            "nodes_worst": _percent(s.nodes_kept_worst),
            "cut_off": _percent(s.cut_off),
            "cut_off_worst": _percent(s.cut_off_worst),
            "throughput": _bound_sign(s.bound) + _percents(s.throughput_kept),
            "throughput_worst": _bound_sign(s.bound_worst)
            + _percent(s.throughput_kept_worst.value),
            "worst": s.worst,
            "latency": _ns(s.latency_added_us),
            "latency_worst": _ns(s.latency_added_us_worst),
            "collapsed": str(s.collapsed),
            "lost": str(s.lost),
        }
        for s in by_kind
    ]


def study_json(study: Study, found: Sequence[CaseOutcome], by_kind: Sequence[Summary]) -> str:
    """Return the summaries, the cases and the remarks as JSON."""
    return json.dumps(
        {
            "name": study.name,
            "seed": study.seed,
            "summaries": summary_rows(study, by_kind),
            "cases": case_rows(study, found),
            "remarks": remarks(study, by_kind),
        },
        ensure_ascii=False,
    )


def _percent(share: float | None) -> str:
    """Return a share in percent as text; a dash if it is unknown."""
    return "–" if share is None else f"{100 * share:.1f}%"


def _percents(share: Value) -> str:
    """Return a share with its interval in percent as text; a dash if it is unknown."""
    return "–" if share.value is None else f"{estimate(*share.scaled(100))}%"


def _bound_sign(bound: str | None) -> str:
    """Return ``≥`` or ``≤`` for a value that is only a bound, an empty text for an exact value."""
    return "" if bound is None else "≥ " if bound == AT_LEAST else "≤ "


def _ns(value: Value) -> str:
    """Return a latency with its interval in nanoseconds as text."""
    return estimate(*value.scaled(1000), 2)
