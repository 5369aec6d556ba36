"""What was measured on a real machine, beside what a paper's scenarios simulate."""

import json

import pytest

from fixtures import synthetic
from isthmus.errors import IsthmusError
from isthmus.papers.figures import Figure, Panel, chart_of, draw
from isthmus.papers.live import live
from isthmus.results import Results

UNIT = "us"
AT = {"io_link": "1", "interarrival": "0.156 ms"}


@pytest.fixture(scope="module")
def run():
    data = synthetic.result()
    data["axes"][1]["key"] = "workload.interarrival"
    return Results.from_json(json.dumps(data)).run


@pytest.fixture
def write(tmp_path, run):
    def written(points, measure="accepted", name=run.name, unit=UNIT):
        path = tmp_path / "live.json"
        of = {"measure": measure, "unit": unit, "points": points}
        told = {"scenarios": {name: of}}
        path.write_text(json.dumps(told))
        return path

    return written


def test_measured_points_take_the_place_of_simulated_ones(run, write):
    other = {**AT, "io_link": "2"}
    path = write(
        [{"at": other, "each": [5.0]}, {"at": AT, "each": [4.0, 9.0, 2.0, 3.0]}], "read.network"
    )
    found = live(run, path).points
    assert [point.values[0].text for point in found] == ["1", "2"]
    first, second = (point.measure("read.network") for point in found)
    assert (first.mean, first.low, first.high, first.samples) == (3.5, 2.0, 9.0, 4)
    assert (second.mean, second.low, second.high) == (5.0, 5.0, 5.0)
    assert first.analytic is None
    assert [len(point.measures) for point in found] == [1, 1]


@pytest.mark.parametrize(
    ("points", "measure", "said"),
    [
        ([{"at": {"io_link": "7"}, "each": [1.0]}], "read.network", "io_link=7: the scenario has"),
        ([{"at": {"colour": "1"}, "each": [1.0]}], "read.network", "'colour': not an axis"),
        ([{"at": AT, "each": []}], "read.network", "one at least"),
        ([{"at": AT, "each": [float("nan")]}], "read.network", "numbers above 0"),
        ([{"at": AT}], "read.network", "'each'"),
        ([{"at": AT, "each": [1.0]}], "colour", "measures no 'colour'"),
        (3, "read.network", "not points that were measured"),
    ],
)
def test_what_is_no_measurement_is_told(run, write, points, measure, said):
    path = write(points, measure)
    with pytest.raises(IsthmusError) as told:
        live(run, path)
    assert said in str(told.value)
    assert str(told.value).startswith(str(path)) or "axis" in said
    assert "\n" not in str(told.value)


def test_a_file_that_is_missing_or_another_is_told(run, tmp_path, write):
    with pytest.raises(IsthmusError, match=r"not there; `isthmus nic measure --out"):
        live(run, tmp_path / "live.json")
    with pytest.raises(IsthmusError, match=f"nothing was measured of '{run.name}'"):
        live(run, write([], name="another"))
    (tmp_path / "live.json").write_text("{")
    with pytest.raises(IsthmusError, match="not what `isthmus nic measure` writes"):
        live(run, tmp_path / "live.json")


def test_a_figure_has_both(run, write):
    each = [[900.0, 1000.0, 1100.0], [1900.0, 2000.0, 2500.0]]
    path = write(
        [{"at": {**AT, "io_link": str(n + 1)}, "each": told} for n, told in enumerate(each)],
        "read.network",
    )
    panels = (
        Panel("simulated", "read.network"),
        Panel("measured", "read.network", live=True),
    )
    figure = Figure("both", "Both.", "small", panels, live=path)
    shown = json.dumps(chart_of(figure, run).panels[1].spec)
    assert "1000.0" in shown
    assert "2500.0" in shown
    axes = draw(figure, run).axes[:2]
    labels = {text.get_text() for text in draw(figure, run).legends[-1].get_texts()}
    assert "live: median of turns, least to most" in labels
    tops = [max(max(line.get_ydata(), default=0) for line in ax.lines) for ax in axes]
    assert tops[1] == 2500 > tops[0] > 0


def test_what_was_measured_keeps_the_colours_of_what_is_simulated(run, write):
    # Of all series but the one that comes first where all are drawn.
    first_text = run.points[0].values[0].text
    links = [point for point in run.points if point.values[0].text != first_text]
    told = [
        {
            "at": {"io_link": point.values[0].text, "interarrival": point.values[1].text},
            "each": [1.0],
        }
        for point in links
    ]
    path = write(told, "read.network")
    panels = (Panel("both", "read.network"), Panel("measured", "read.network", live=True))
    axes = draw(Figure("both", "Both.", "small", panels, live=path), run).axes[:2]
    colours = [
        {line.get_color() for line in ax.lines if line.get_linestyle() == "-"} for ax in axes
    ]
    assert colours[1] < colours[0]
    first = next(line for line in axes[0].lines if line.get_linestyle() == "-")
    assert first.get_color() not in colours[1]
