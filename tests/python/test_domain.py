"""Values of a model outside its domain: kept with the reason, and not drawn but in papers."""

import json

import pytest

from fixtures import synthetic
from isthmus.answer import answer
from isthmus.papers.figures import Figure, Panel, chart_of
from isthmus.papers.select import Source, value
from isthmus.results import Results
from isthmus.results.curves import model_of, numbers, with_residuals
from isthmus.results.schema import Outside

REASON = "two lanes per link above 30% of the saturation load"


def results(outside):
    """Move the model's PE-PE latency out of the domain at points that `outside` accepts."""
    data = synthetic.result()
    for point in data["points"]:
        for measure in point["measures"]:
            if measure["name"] == "pe_pe.header" and measure["analytic"] and outside(point):
                measure["outside"] = {"value": measure["analytic"], "reason": REASON}
                measure["analytic"] = measure["residual"] = None
    return Results.from_json(json.dumps(data))


def modelled(run):
    """The points whose model value is outside its domain, with the measure."""
    found = [(p, p.measure("pe_pe.header")) for p in run.points]
    return [(point, measure) for point, measure in found if measure.outside]


@pytest.fixture(scope="module")
def upper():
    return results(lambda point: point["load"] > 5)


def test_a_value_outside_is_kept_with_its_reason_and_not_shown(upper):
    outside = modelled(upper.run)
    assert 0 < len(outside) < len(upper.run.points)
    table = upper.table.filter(measure="pe_pe.header", statistic="mean")
    for point, measure in outside:
        assert measure.outside == Outside(measure.outside.value, REASON)
        assert measure.model_anywhere == measure.outside.value
        row = table.filter(point=point.index)
        assert row["analytic"].to_list() == row["residual"].to_list() == [None]
    view = answer(upper.run).view
    pick = model_of("pe_pe.header")
    shown = {x for s in view.series for x, *_ in numbers(view, s, pick)}
    inside = {p.load for p in upper.run.points if p.measure("pe_pe.header").analytic}
    assert shown == inside


def test_one_note_says_why_no_value_is_given(upper):
    note = answer(upper.run).unmodelled
    count, total = len(modelled(upper.run)), len(upper.run.points)
    assert note.startswith("No model value is given for PE-PE ")
    assert note.endswith(f" at {count} of {total} points ({REASON}).")
    assert answer(results(lambda _: False).run).unmodelled == ""


@pytest.mark.parametrize(
    ("outside", "entry"),
    [
        (lambda _: False, "queueing model"),
        (lambda _: True, "queueing model (outside the domain)"),
        (lambda point: point["load"] > 5, "queueing model (in part outside the domain)"),
    ],
)
def test_papers_draw_the_model_outside_its_domain_and_say_so(outside, entry):
    run = results(outside).run
    figure = Figure("f", "", run.name, (Panel("a", "pe_pe.header", model=True),))
    chart = chart_of(figure, run)
    assert entry in [symbol.label for symbol in chart.marks]
    point = run.points[1]
    at = "; ".join(f"{a.key}={v.text}" for a, v in zip(run.axes, point.values, strict=True))
    expected = results(lambda _: False).run.points[1].measure("pe_pe.header").analytic
    assert value(f"analytic pe_pe.header @ {at}", Source(run)).value == expected


def test_a_curve_without_any_value_inside_has_no_residuals():
    run = results(lambda _: True).run
    assert "pe_pe.header" not in with_residuals(answer(run).view)
