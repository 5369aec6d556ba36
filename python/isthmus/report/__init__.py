"""The report of a run: one HTML file that needs no network, the answer on its first screen."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from isthmus.report.picture import inline_svg
from isthmus.wording import (
    ended,
    estimate,
    flow_label,
    number,
    sentence,
    unit_label,
    with_unit,
)

if TYPE_CHECKING:
    from jinja2 import Environment, Template

    from isthmus.answer import Answer
    from isthmus.plots import Picture
    from isthmus.results.collection import Results
    from isthmus.results.schema import PointResult
    from isthmus.results.series import View

HEADINGS = {
    "interference": "Interference between jobs",
    "bandwidth": "Accepted bandwidth",
    "latency": "Latency",
    "saturation": "Where it saturates",
    "accepted": "Accepted against offered load",
    "response": "Response times",
    "machine": "The machine",
    "nodes": "Node by node",
    "channels": "Channels",
    "residuals": "Against the queueing model",
    "percentiles": "Percentiles",
    "distribution": "Distributions",
}


def render(results: Results, pictures: list[Picture] | None = None) -> str:
    """Return the whole report as HTML; the same bytes for the same results.

    `pictures` are those of `isthmus.plots.pictures`, drawn here if they are not given.
    """
    from isthmus import plots

    run = results.run
    said = results.answer
    figures = [
        {
            "name": picture.name,
            "heading": HEADINGS[picture.name],
            "caption": plots.KINDS[picture.name].caption,
            "svg": inline_svg(
                picture.svg.decode(), picture.name, plots.KINDS[picture.name].caption
            ),
            "wide": picture.width > 8,
        }
        for picture in (plots.pictures(run) if pictures is None else pictures)
    ]
    return template("report.html").render(
        run=run,
        answer=answer_rows(said),
        conclusion=sentence(said.conclusion),
        basis=said.basis,
        lessons=lessons_rows(said),
        lead=lead_pictures(said, figures),
        figures=figures,
        points=point_rows(said.view),
        measures=[with_unit(said.view.label(m), said.view.unit(m)) for m in said.measures],
        x_title=with_unit(said.view.x_label, said.view.x_unit),
        machines=run.machines,
        warnings=said.warnings,
        nodes=any(p.nodes for p in run.points),
        jobs=any(p.jobs for p in run.points),
        canonical=results.canonical,
        error_rate=max((p.verdict.error_rate for p in run.points), default=0.0),
        unresolved=sum(
            not each.resolved for p in run.points for m in p.measures for each in m.percentiles
        ),
        undecided=sum(p.verdict.verdict == "undecided" for p in run.points),
        unconverged=sum(not p.converged for p in run.points if p.verdict.verdict == "stable"),
    )


def lead_pictures(said: Answer, figures: list[dict[str, Any]]) -> list[Any]:
    """What stands beside the answer: the measure it is judged by, and where it saturates."""
    from isthmus import plots
    from isthmus.plots import curves
    from isthmus.plots.style import styled

    if said.lessons:
        return [figures[0]["svg"]] if figures else []
    if not said.headline or not plots.KINDS["latency"].applies(said.view):
        return [figures[0]["svg"]] if figures else []
    with styled():
        main = curves.latency(said.view, [said.headline], height=3.9)
        label = f"{said.view.label(said.headline)} against {said.view.x_label}"
        pictures = [inline_svg(plots.image(main, "svg").decode(), "lead-latency", label)]
        if said.has_peaks and plots.KINDS["accepted"].applies(said.view):
            svg = plots.image(curves.accepted(said.view), "svg").decode()
            label = "Accepted against offered load"
            return [inline_svg(svg, "lead-accepted", label), *pictures]
        if plots.KINDS["saturation"].applies(said.view):
            svg = plots.image(plots.saturation.saturation(said.view), "svg").decode()
            pictures.append(inline_svg(svg, "lead-saturation", "Where each variant saturates"))
    return pictures


def answer_html(results: Results) -> str:
    """The answer as a small HTML table, for notebooks."""
    said = results.answer
    return template("answer.html").render(
        run=results.run,
        answer=answer_rows(said),
        conclusion=sentence(said.conclusion),
        warnings=said.warnings,
    )


def lessons_rows(said: Answer) -> dict[str, Any] | None:
    """What jobs lose to one another as plain text cells: a row per job and set of jobs beside it,
    a column per variant; None where no jobs ran alone and together.
    """
    from isthmus.answer.lessons import percent

    if said.lessons is None:
        return None
    matrix = said.lessons.matrix
    rows = []
    for job in matrix.jobs:
        for beside in matrix.sets:
            cells = [matrix.cell(v, job, beside) for v in matrix.variants]
            if not any(cells):
                continue
            changes = [c.accepted if c else None for c in cells]
            rows.append(
                {
                    "job": job,
                    "beside": " + ".join(beside),
                    "cells": [
                        {
                            "text": percent(c) if c else "–",
                            "kind": "worse" if c and c.less else "better" if c and c.more else "",
                        }
                        for c in changes
                    ],
                }
            )
    return {
        "variants": [v.words or "accepted bandwidth" for v in matrix.variants],
        "rows": rows,
        "losses": [sentence(text) for text in said.lessons.losses],
        "choices": [sentence(text) for text in said.lessons.choices],
    }


def answer_rows(said: Answer) -> dict[str, Any]:
    """The answer table as plain text cells."""
    from isthmus.plots.style import look

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
                "colour": look(said.view, each.series).colour,
                "badge": each.badge,
                "kind": each.badge.replace(" ", "-"),
                "bracket": each.bracket.text if each.bracket else "–",
                "model": number(each.bracket.analytic) if each.bracket else "–",
                "cells": cells,
                "peak": each.peak.text if each.peak else "–",
                "peak_ratio": each.peak_ratio.text if each.peak_ratio else "",
                "sentence": sentence(each.sentence),
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
        "load_unit": said.view.run.load.whole_words,
        "compared": len(rows) > 1,
        "wide": len(heads) + said.has_saturation + said.has_peaks > 2,
    }


def point_rows(view: View) -> list[dict[str, Any]]:
    """Every point with its verdict and its grounds, series by series."""
    from isthmus.answer import judged

    rows = []
    for series in view.series:
        for point in series.points:
            verdict = point.verdict
            simulated = verdict.origin == "simulation" and not point.collapsed
            rows.append(
                {
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
                    "cells": [_cell(point, m) for m in judged(view)[:3]],
                    "replications": point.replications,
                    "messages": f"{point.messages:,}",
                    "converged": point.converged,
                }
            )
    return rows


def _percents(low: float, high: float) -> str:
    return f"{100 * low:.2f} to {100 * high:.2f}%"


def _cell(point: PointResult, measure: str) -> str:
    found = point.measure(measure)
    return estimate(*found.best) if found and not point.collapsed else "–"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("isthmus.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def template(name: str) -> Template:
    """Return one of the package's page templates."""
    return _environment().get_template(name)


__all__ = ["answer_html", "render"]
