"""Output of the runs that reproduce a paper: its figures, and one page with all verdicts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from isthmus.core import read_text
from isthmus.owned import OwnedFolder
from isthmus.papers.counts import counted
from isthmus.papers.figures import Figure, chart_of, draw, figures
from isthmus.papers.folder import Paper, Row
from isthmus.papers.verdict import VERDICTS, Outcome, with_unit
from isthmus.progress import StepCallback, ignore_steps
from isthmus.results.collection import Results
from isthmus.sources import digest_of


def write_page(
    out: OwnedFolder,
    paper: Paper,
    outcomes: Sequence[Outcome],
    runs: Mapping[str, Results],
    tell: StepCallback = ignore_steps,
    plots: tuple[str, ...] = (),
) -> None:
    """Write ``index.html`` with the figures of the simulated scenarios and all verdicts. Write the
    figures as files only in the requested formats (``png``, ``svg``). Existing output is reused.
    """
    drawn = [figure for figure in figures(paper) if figure.scenario in runs]
    parts = [repr((paper, figures(paper))), json.dumps([_cells(o) for o in outcomes])]
    live = paper.folder / "live.json"
    parts += [read_text(live)] if live.is_file() else []
    numbers = [text for name in sorted(runs) for text in (name, runs[name].json)]
    key = digest_of(*parts, *numbers)
    if not out.has("page", key):
        tell("drawing", 0, 0)
        with out.part("page", key):
            out.write("index.html", _page(paper, drawn, outcomes, runs), "page")
    key = digest_of(*parts, *numbers, *plots)
    if plots and not out.has("plots", key):
        from isthmus.plots.style import image

        with out.part("plots", key):
            for done, figure in enumerate(drawn):
                tell("drawing", done, len(drawn))
                picture = draw(figure, runs[figure.scenario].run)
                for form in plots:
                    out.write(f"figures/{figure.name}.{form}", image(picture, form), "plots")


def _page(
    paper: Paper,
    drawn: Sequence[Figure],
    outcomes: Sequence[Outcome],
    runs: Mapping[str, Results],
) -> str:
    """Return the HTML page of a paper, with its figures and the verdicts on its claims."""
    from isthmus.report.page import render_page

    charts = {f.name: chart_of(f, runs[f.scenario].run) for f in drawn}
    return render_page(
        "paper.html",
        charts.values(),
        paper=paper,
        figures=[{"name": f.name, "caption": f.caption, "chart": charts[f.name]} for f in drawn],
        rows=[_cells(o) for o in outcomes],
        counts=counted((o.row, o.verdict) for o in outcomes),
        kinds={verdict: look for verdict, (_, look) in VERDICTS.items()},
        quick=any(results.run.quick for results in runs.values()),
    )


def _cells(outcome: Outcome) -> dict[str, Any]:
    """Return the cells of the table row of a claim."""
    row = outcome.row
    unit = unit_shown(row)
    return {
        "id": row.id,
        "where": row.where,
        "role": row.role,
        "quantity": row.quantity,
        "conditions": row.conditions,
        "expected": f"{row.expected} {unit}".strip(),
        "measured": with_unit(outcome.detail, outcome.measured, unit),
        "verdict": outcome.verdict,
        "note": row.note,
    }


def unit_shown(row: Row) -> str:
    """Return the unit for display after a row's numbers; empty if the cell is not only a number."""
    if row.rule in ("holds", "is"):
        return ""
    return {"us": "µs", "ratio": ""}.get(row.unit, row.unit)
