"""The report of a run: one HTML file that needs no network, with the answer on its first screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isthmus.charts import chart, charts
from isthmus.charts.chart import Chart
from isthmus.charts.curves import latency
from isthmus.looks import Look, look
from isthmus.report.page import render_page, template
from isthmus.results.kinds import KINDS, MAP
from isthmus.results.series import VARIANTS
from isthmus.wording import (
    EXACT,
    counted,
    ended,
    estimate,
    flow_label,
    number,
    sentence,
    unit_label,
    with_unit,
)

if TYPE_CHECKING:
    from isthmus.answer import Answer
    from isthmus.results.collection import Results
    from isthmus.results.schema import PointResult
    from isthmus.results.series import View


def render(results: Results, inputs: str | None = None) -> str:
    """Return the whole report as HTML; equal results give equal bytes.

    `inputs` is the digest from `inputs_of`.
    """
    run = results.run
    said = results.answer
    drawn = charts(said.view)
    lead = lead_charts(said, drawn)
    kinds = {**KINDS, MAP.name: MAP}
    figures = [
        {
            "name": each.name,
            "heading": kinds[each.name].heading,
            "caption": kinds[each.name].caption,
            "terms": kinds[each.name].terms,
            "chart": each,
        }
        for each in drawn
    ]
    return render_page(
        "report.html",
        [*lead, *drawn],
        inputs_of(results) if inputs is None else inputs,
        run=run,
        answer=answer_rows(said),
        conclusion=sentence(said.conclusion),
        sentences=[sentence(text) for text in said.sentences],
        basis=said.basis,
        unmodelled=said.unmodelled,
        exact=EXACT,
        lessons=lessons_rows(said),
        lead=lead,
        figures=figures,
        points=point_rows(said.view),
        measures=[with_unit(said.view.label(m), said.view.unit(m)) for m in said.measures],
        x_title="" if said.view.x_axis is None else with_unit(said.view.x_label, said.view.x_unit),
        machines=run.machines,
        warnings=said.warnings,
        nodes=any(p.nodes for p in run.points),
        jobs=any(p.jobs for p in run.points),
        canonical=results.canonical,
        error_rate=max((p.verdict.error_rate for p in run.points), default=0.0),
        too_few=too_few(run.points),
        undecided=sum(p.verdict.verdict == "undecided" for p in run.points),
        unconverged=sum(not p.converged for p in run.points if p.verdict.verdict == "stable"),
    )


def too_few(points: Sequence[PointResult]) -> str:
    """Return how many values of each percentile have too few observations, as text such as ``3 of
    10 values of p99``; empty if there are none.
    """
    values = [each for p in points for m in p.measures for each in m.percentiles]
    of = Counter(each.percent for each in values)
    few = Counter(each.percent for each in values if not each.resolved)
    return " and ".join(
        f"{few[percent]:,} of {counted(of[percent], 'value')} of p{percent:g}"
        for percent in sorted(few)
    )


def inputs_of(results: Results) -> str:
    """Return a digest of everything that a report is made from, to detect an outdated report."""
    from isthmus.results.folder import output_key

    return output_key(results)


def lead_charts(said: Answer, drawn: Sequence[Chart]) -> list[Chart]:
    """Return the charts to show beside the answer, the summary at the top of a report: those of the
    judged measure and of saturation.
    """
    applies = {name: KINDS[name].applies(said.view) for name in ("latency", "accepted")}
    crowded = len(said.view.series) > VARIANTS
    if said.lessons:
        return [replace(drawn[0], name=f"lead-{drawn[0].name}", table=None)] if drawn else []
    if not said.headline or not applies["latency"] or crowded:
        return [_beside(drawn[0])] if drawn else []
    if said.view.x_axis is None:
        return [_beside(each) for each in drawn if each.name in ("latency", "saturation")]
    main = _beside(latency(said.view, [said.headline]))
    if said.has_peaks and applies["accepted"]:
        return [_beside(chart(said.view, "accepted")), replace(main, keys=[])]
    if KINDS["saturation"].applies(said.view):
        return [main, _beside(chart(said.view, "saturation"))]
    return [main]


def _beside(shown: Chart) -> Chart:
    """Return a chart reduced to its first panel, without a table, to show beside the summary."""
    return replace(shown, name=f"lead-{shown.name}", panels=shown.panels[:1], table=None)


def answer_html(results: Results) -> str:
    """Return the answer, the summary of the results, as a small HTML table for notebooks."""
    said = results.answer
    return template("answer.html").render(
        run=results.run,
        answer=answer_rows(said),
        conclusion=sentence(said.conclusion),
        warnings=said.warnings,
    )


def lessons_rows(said: Answer) -> dict[str, Any] | None:
    """Return the table of the answer's lessons (how much jobs slow one another down) as text cells.

    It has a row per job and set of jobs beside it, and a column per variant. Return None unless
    jobs ran alone and together.
    """
    from isthmus.answer.lessons import felt_text, tail_text

    if said.lessons is None:
        return None
    matrix = said.lessons.matrix
    rows = []
    for job in matrix.jobs:
        for beside in matrix.sets:
            cells = [matrix.cell(v, job, beside) for v in matrix.variants]
            if not any(cells):
                continue
            found = [c.felt if c else None for c in cells]
            rows.append(
                {
                    "job": job,
                    "beside": " + ".join(beside),
                    "cells": [
                        {
                            "text": felt_text(c),
                            "tail": tail_text(c),
                            "kind": ""
                            if c is None
                            else "worse"
                            if c.piles_up or c.mean.more
                            else "better"
                            if c.mean.less
                            else "",
                        }
                        for c in found
                    ],
                }
            )
    return {
        "variants": [v.words or "time" for v in matrix.variants],
        "rows": rows,
        "rest": [sentence(text) for text in said.lessons.rest],
    }


def answer_rows(said: Answer) -> dict[str, Any]:
    """Return the table of the answer, the summary of a report, as text cells."""
    shown = said.shown
    modelled = any(s.bracket and s.bracket.analytic is not None for s in said.series)
    rows = []
    for each in said.series:
        cells = [
            {"value": each.cell(m), "ratio": each.ratios[m].text if m in each.ratios else ""}
            for m in shown
        ]
        rows.append(
            {
                "label": each.series.label,
                "paint": paint(look(said.view, each.series)),
                "badge": each.badge,
                "kind": each.badge.replace(" ", "-"),
                "bracket": each.bracket.text if each.bracket else "–",
                "model": number(each.bracket.analytic) if each.bracket else "–",
                "cells": cells,
                "peak": each.peak.text if each.peak else "–",
                "peak_ratio": each.peak_ratio.text if each.peak_ratio else "",
                "sentence": sentence(each.sentence),
                "reason": each.reason.short if each.reason else "–",
                "fills": sentence(each.reason.words) if each.reason else "",
            }
        )
    heads = [
        {
            "name": said.head(m),
            "unit": unit_label(said.view.unit(m)),
            "place": "" if said.view.of_jobs else said.place,
        }
        for m in shown
    ]
    return {
        "rows": rows,
        "heads": heads,
        "saturation": said.has_saturation,
        "modelled": said.has_saturation and modelled,
        "peaks": said.has_peaks,
        "reasons": said.has_reasons,
        "load_unit": said.view.run.load.whole_words,
        "compared": len(rows) > 1,
        "wide": len(heads) + said.has_saturation + said.has_peaks > 2,
    }


def paint(style: Look) -> str:
    """Return the colour of a series as CSS: that of the page's theme or, without one,
    `style.colour`.
    """
    return f"var(--s{style.number}, {style.colour})"


def point_rows(view: View) -> list[dict[str, Any]]:
    """Return every point with its verdict and evidence, series by series."""
    from isthmus.answer import judged

    rows, measures = [], judged(view)[:3]
    for series in view.series:
        for point in series.points:
            verdict = point.verdict
            simulated = verdict.origin == "simulation" and not point.collapsed
            rows.append(
                {
                    "index": point.index,
                    "label": series.label,
                    "x": number(view.x(point)),
                    "verdict": verdict.verdict,
                    "growth": f"{100 * verdict.growth:.2f}%" if simulated else "–",
                    "interval": _percents(verdict.growth_low, verdict.growth_high)
                    if simulated
                    else "–",
                    "flow": (
                        flow_label(verdict.flow)
                        if verdict.origin == "simulation"
                        else "queueing model"
                    )
                    + ended(point.ended_by),
                    "cells": [_cell(point, m) for m in measures],
                    "replications": point.replications,
                    "messages": f"{point.messages:,}",
                    "converged": point.converged,
                }
            )
    return rows


def _percents(low: float, high: float) -> str:
    """Return an interval of shares in percent as text."""
    return f"{100 * low:.2f} to {100 * high:.2f}%"


def _cell(point: PointResult, measure: str) -> str:
    """Return the value of a measure with its half-width as text; a dash if there is none."""
    found = point.measure(measure)
    return estimate(*found.best) if found and not point.collapsed else "–"


__all__ = ["answer_html", "inputs_of", "render", "template"]
