"""Values of a model outside its domain: kept with the reason, and not drawn but in papers."""

import json

import pytest

from fixtures import synthetic
from isthmus import Fabric, FatTree, Job, Jobs, PacketWorkload, Scenario, analyze
from isthmus.answer import answer
from isthmus.papers.figures import Figure, Panel, chart_of
from isthmus.papers.row_results import RowResults
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


def test_an_analysis_without_a_model_says_why(tmp_path):
    """Of UGAL's ways nothing is known; a simulation beside it needs no such note."""
    file = tmp_path / "ugal.toml"
    file.write_text(
        """version = 1
name = "ugal"
[machine]
kind = "graph"
graph = "dragonfly"
nodes = 1
routers = 2
groups = 3
group_routing = "ugal"
virtual_channels = 3
[workload.jobs.all]
traffic = "uniform"
load = "10 MB/s"
[stop]
rule = "fixed"
messages = 1000
warmup = "none"
"""
    )
    scenario = Scenario.load(file)
    said = scenario.analyze().answer.unmodelled
    assert said == "No model value is given at any point (routes depend on the queues)."
    assert scenario.run(jobs=1).answer.unmodelled == ""


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
    without = Figure("f", "", run.name, (Panel("a", "pe_pe.header"),))
    marks = [symbol.label for symbol in chart_of(without, run).marks]
    assert marks
    assert marks == [symbol.label for symbol in chart.marks if "model" not in symbol.label]
    point = run.points[1]
    at = {a.key: v.text for a, v in zip(run.axes, point.values, strict=True)}
    expected = results(lambda _: False).run.points[1].measure("pe_pe.header").analytic
    assert RowResults(run).analytic("pe_pe.header", **at).value == expected


def test_a_curve_without_any_value_inside_has_no_residuals():
    run = results(lambda _: True).run
    assert "pe_pe.header" not in with_residuals(answer(run).view)


def test_a_ring_leaves_the_domain_once_and_its_bound_never_does():
    """Loads from 10% to 90% of the bound: a mean packet and its echo cross half of the links each,
    41 and 5 symbols of 2 ns.
    """
    bound = 64 / (2 * (41 + 5) / 2)
    loads = [f"{share * bound / 10:.4f} GB/s" for share in range(1, 10)]
    work = PacketWorkload(load=loads[0])
    found = analyze(Fabric(fabric="ring", size=4), work, sweep={"load": loads})
    inside = [p.measure("latency").analytic is not None for p in found.run.points]
    assert inside == sorted(inside, reverse=True)
    assert inside[0]
    assert not inside[-1]
    assert all(p.measure("accepted").analytic for p in found.run.points)
    rows = found.table.filter(measure="latency")["analytic"].to_list()
    assert [row is not None for row in rows] == inside
    last = found.run.points[-1].measure("latency").outside
    assert last.value > found.run.points[0].measure("latency").analytic
    assert last.reason in found.answer.unmodelled


def test_uniform_traffic_with_cut_through_is_outside_the_domain():
    work = Jobs(jobs={"all": Job(traffic="uniform")})
    for switching, is_inside in (("circuit", True), ("cut-through", False)):
        tree = FatTree(arity=4, levels=2, switching=switching)
        measure = analyze(tree, work).run.points[0].measure("all.accepted")
        assert (measure.analytic is not None) == is_inside
        assert is_inside or "links between switches" in measure.outside.reason
