import json
import re

import pytest

from fixtures import synthetic
from isthmus import plots
from isthmus.errors import IsthmusError
from isthmus.looks import MARKERS
from isthmus.plots import curves
from isthmus.results import Results
from isthmus.results.curves import CAP
from isthmus.results.series import view
from isthmus.scenes.cube import project

ALL = [
    "latency",
    "saturation",
    "accepted",
    "response",
    "machine",
    "channels",
    "residuals",
    "percentiles",
    "distribution",
]


@pytest.fixture(scope="module")
def drawn(request):
    run = Results.from_json(synthetic.result_json()).run
    return {
        name: (figure, plots.image(figure, "svg").decode()) for name, figure in plots.draw_all(run)
    }


def words(svg):
    return " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def test_every_kind_is_drawn_where_there_is_material(drawn, locality_sweep):
    elsewhere = ("nodes", "interference", "bandwidth")
    assert list(drawn) == ALL == [n for n in plots.KINDS if n not in elsewhere]
    others = [name for name, _ in plots.draw_all(locality_sweep.run)]
    assert others == [n for n in ALL if n not in ("saturation", "accepted")]


@pytest.mark.parametrize("name", ALL)
def test_axes_carry_units(drawn, name):
    figure, _ = drawn[name]
    for ax in figure.axes:
        if not ax.get_visible() or not ax.axison or name == "machine":
            continue
        if ax.get_xlabel():
            assert re.search(r"\((messages/ms|µs|flits per cycle)\)", ax.get_xlabel())


@pytest.mark.parametrize("name", [n for n in ALL if n not in ("saturation", "machine")])
def test_the_series_are_named(drawn, name):
    text = words(drawn[name][1])
    for label in ("no I/O network", "b = 1", "b = 2", "b = 3"):
        assert label in text


def test_verdicts_show_in_the_marks(load_sweep):
    figure = plots.draw(load_sweep.run, "latency", measure="pe_pe.header")
    marked = [line for line in figure.axes[0].lines if line.get_marker() in MARKERS]
    fills = [line.get_fillstyle() for line in marked if len(line.get_xdata()) == 1]
    verdicts = [p.verdict.verdict for p in load_sweep.run.points]
    assert fills.count("none") == verdicts.count("saturated") > 0
    assert fills.count("full") == verdicts.count("stable")


def test_the_curves_go_through_the_means(load_sweep):
    figure = plots.draw(load_sweep.run, "latency", measure="read.network")
    layout = view(load_sweep.run)
    drawn = {
        (line.get_xdata()[0], line.get_ydata()[0])
        for line in figure.axes[0].lines
        if len(line.get_xdata()) == 1
    }
    for point in load_sweep.run.points:
        if point.verdict.verdict == "stable":
            assert (layout.x(point), point.measure("read.network").mean) in drawn


def test_values_of_saturated_points_do_not_press_the_others_flat(load_sweep):
    figure = plots.draw(load_sweep.run, "response")
    stable = [
        p.measure("read.response").mean
        for p in load_sweep.run.points
        if p.verdict.verdict == "stable"
    ]
    assert figure.axes[0].get_ylim()[1] < 3 * CAP * max(stable)


def test_unresolved_percentiles_are_left_out_and_the_legend_says_so(load_sweep):
    figure = plots.draw(load_sweep.run, "percentiles", measure="read.network")
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_visible()]
    assert titles == ["median", "90% are below", "99% are below"]
    assert "left out: 24 with too few observations above" in words(
        plots.image(figure, "svg").decode()
    )
    data = synthetic.result()
    for point in data["points"]:
        for measure in point["measures"]:
            for percentile in measure["percentiles"]:
                percentile["resolved"] = False
    none = Results.from_json(json.dumps(data)).run
    assert "percentiles" not in [name for name, _ in plots.draw_all(none)]
    with pytest.raises(IsthmusError, match=r"'read\.network' has no percentile"):
        curves.percentiles(view(none), "read.network")


def test_the_saturation_plot_shows_what_stayed_undecided(load_sweep):
    figure = plots.draw(load_sweep.run, "saturation")
    text = words(plots.image(figure, "svg").decode())
    assert "tried and still undecided" in text
    middles = [b.get_x() + b.get_width() / 2 for b in figure.axes[0].patches]
    low, high = load_sweep.run.searches[1].undecided
    assert len(middles) == 5
    assert any(middle == pytest.approx((low + high) / 2) for middle in middles)


def test_a_series_without_any_verdict_is_drawn_too():
    data = synthetic.result()
    search = data["searches"][1]
    search["highest_stable"] = search["lowest_saturated"] = None
    search["undecided"] = [5.0, 50.0]
    for point in data["points"][6:12]:
        point["verdict"]["verdict"] = "undecided"
    figure = plots.draw(Results.from_json(json.dumps(data)).run, "saturation")
    assert "undecided" in words(plots.image(figure, "svg").decode())


def test_the_same_bytes_each_time(load_sweep):
    for name in ("latency", "machine"):
        first, second = (plots.draw(load_sweep.run, name) for _ in range(2))
        for suffix in ("png", "svg"):
            assert plots.image(first, suffix) == plots.image(second, suffix)


def test_projection_keeps_nodes_apart():
    for dimension in range(1, 8):
        places = {tuple(round(c, 6) for c in project(n, dimension)) for n in range(1 << dimension)}
        assert len(places) == 1 << dimension


def test_large_machines_are_drawn_by_dimension():
    data = synthetic.result(searches=False)
    for machine in data["machines"]:
        machine["dimension"], machine["pes"] = 9, 512
    run = Results.from_json(json.dumps(data)).run
    figure = plots.draw(run, "machine")
    assert figure.axes[0].get_ylabel() == "dimension"
    assert plots.image(figure, "png").startswith(b"\x89PNG")


def test_a_wrong_kind_is_told(load_sweep, locality_sweep):
    with pytest.raises(IsthmusError, match="no plot 'letency'; did you mean 'latency'"):
        plots.draw(load_sweep.run, "letency")
    with pytest.raises(IsthmusError, match="nothing to draw for 'accepted'; there is latency"):
        plots.draw(locality_sweep.run, "accepted")


def test_many_series_get_a_colour_per_first_and_a_marker_per_second_axis():
    data = synthetic.result(searches=False)
    data["axes"].insert(1, {"key": "workload.locality", "label": "locality", "unit": None})
    data["load_axis"] = 2
    doubled = []
    for point in data["points"]:
        for locality in ("0.2", "0.8"):
            copy = json.loads(json.dumps(point))
            copy["values"].insert(1, {"text": locality, "number": float(locality)})
            copy["index"] = len(doubled)
            doubled.append(copy)
    data["points"] = doubled
    layout = view(Results.from_json(json.dumps(data)).run)
    looks = [plots.style.look(layout, s) for s in layout.series]
    assert len({(k.colour, k.marker) for k in looks}) == len(looks) == 8
    assert len({k.colour for k in looks}) == 4
