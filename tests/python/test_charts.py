import ast
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import isthmus
from fixtures import rings, synthetic, trees
from isthmus.charts import chart, charts, curves, matrix
from isthmus.charts.matrix import contrast, parts
from isthmus.charts.spread import EDGES, thinned
from isthmus.looks import look
from isthmus.results import Results, series
from isthmus.results.series import MOST, is_drawn, view
from isthmus.results.shown import rates

WORDS = {"width", "height", "data", "layer", "params", "transform", "description", "autosize"}


@pytest.fixture(scope="module", params=["load_sweep", "locality_sweep", "rings", "trees"])
def layout(request):
    if request.param in ("rings", "trees"):
        module = {"rings": rings, "trees": trees}[request.param]
        return view(Results.from_json(json.dumps(module.result())).run)
    return view(request.getfixturevalue(request.param).run)


def layers(spec):
    return spec["layer"]


def values(spec):
    return [row for each in (spec, *layers(spec)) for row in each.get("data", {}).get("values", [])]


def test_every_picture_is_data_alone(layout):
    for each in charts(layout):
        for panel in each.panels:
            if panel.spec is None:
                assert panel.svg.startswith("<svg")
                continue
            assert set(panel.spec) == WORDS
            assert json.loads(json.dumps(panel.spec, allow_nan=False)) == panel.spec
            assert {p["name"] for p in panel.spec["params"]} == {"off", "lit", "xd", "yd"}


def test_every_picture_has_a_table(layout):
    for each in charts(layout):
        assert each.table is not None
        assert each.table.rows, each.name
        for row in each.table.rows:
            assert len(row) == len(each.table.columns), each.name
        assert len(each.table.points) in (0, len(each.table.rows))


def test_long_curves_are_drawn_with_fewer_points(load_sweep, monkeypatch):
    layout = view(load_sweep.run)
    whole = chart(layout, "latency")
    assert whole.note == ""
    for module in (curves, series):
        monkeypatch.setattr(module, "MOST", 3)
    layout = view(load_sweep.run)
    drawn = chart(layout, "latency")
    longest = max(len(each.points) for each in layout.series)
    assert drawn.note.startswith(f"Of a curve with {longest} points 3 are drawn")
    listed = set(drawn.table.points)
    assert len(listed) < len(set(whole.table.points))
    for each in layout.series:
        there = [point for point in each.points if point.index in set(whole.table.points)]
        verdicts = [point.verdict.verdict for point in there]
        # The ends, and both sides of where the verdict changes.
        ends = {each.points[0].index, each.points[-1].index} & {p.index for p in there}
        changes = {
            point.index
            for (a, b), pair in zip(pairwise(verdicts), pairwise(there), strict=True)
            if a != b
            for point in pair
        }
        assert ends | changes <= listed


@pytest.mark.parametrize("count", [200, 201, 399, 1000])
def test_two_hundred_points_of_a_curve_are_drawn(load_sweep, count):
    short = view(load_sweep.run).series[0]
    long = replace(short, points=[short.points[0]] * count)
    kept = [at for at in range(count) if is_drawn(at, count)]
    assert len(kept) == len(long.thinned().points) == MOST
    assert (kept[0], kept[-1]) == (0, count - 1)
    gaps = {b - a for a, b in pairwise(kept)}
    assert max(gaps) - min(gaps) <= 1


def test_points_carry_value_interval_verdict_model_and_place(load_sweep):
    layout = view(load_sweep.run)
    spec = chart(layout, "latency").panels[0].spec
    tips = [t for each in layers(spec) for t in each["encoding"].get("tooltip", [])]
    assert {t["field"] for t in tips} >= {"variant", "value", "interval", "verdict", "model"}
    (row,) = (r for r in values(spec) if r.get("point") == 7)
    point = load_sweep.run.points[7]
    measure = point.measure("read.network")
    assert row["y"] == pytest.approx(measure.mean, rel=1e-5)
    assert row["low"] == pytest.approx(measure.low, rel=1e-5)
    assert row["verdict"] == point.verdict.verdict
    assert row["model"].endswith(" µs")


def test_curves_of_saturated_points_are_cut_off(load_sweep):
    spec = chart(view(load_sweep.run), "response").panels[0].spec
    found = [r for r in values(spec) if "y" in r]
    stable = max(r["y"] for r in found if r["verdict"] == "stable")
    assert any(r.get("over") for r in found)
    assert max(r["y"] for r in found) <= 2.5 * stable * 1.0001


def test_bars_print_their_own_value_at_their_end():
    """A bar of 10 with a model of 20 says 10, where the bar and its interval end."""
    data = trees.result()
    layout = view(Results.from_json(json.dumps(data)).run)
    name = rates(layout)[0]
    for point in data["points"]:
        for measure in point["measures"]:
            if measure["name"] == name and measure["mean"] is not None:
                measure["analytic"] = 2 * measure["mean"]
    spec = chart(view(Results.from_json(json.dumps(data)).run), "bandwidth").panels[0].spec
    texts = [each for each in layers(spec) if each["mark"]["type"] == "text"]
    assert {each["encoding"]["x"]["field"] for each in texts} == {"end"}
    drawn = [row for row in values(spec) if "text" in row]
    assert drawn
    for row in drawn:
        assert float(row["text"].replace(",", "")) == pytest.approx(row["y"], rel=0.01)
        assert row["end"] == max(row["y"], row["high"] or 0)
        assert row["end"] < row["m"]


def test_cells_of_a_matrix_can_be_read_on_any_page():
    layout = view(Results.from_json(json.dumps(trees.result())).run)
    seen = 0
    for panel in chart(layout, "interference").panels:
        for row in values(panel.spec):
            if row["fill"].startswith("#"):
                assert contrast(parts(row["fill"]), parts(row["ink"])) >= 4.5
                seen += 1
    assert seen


def test_twelve_variants_are_told_apart():
    """Colour alone, and marker with dash alone where colours are few, tell twelve apart."""
    data = synthetic.result(searches=False)
    rows = []
    for n in range(12):
        for point in data["points"][:6]:
            copy = json.loads(json.dumps(point))
            copy["values"][0] = {"text": f"v{n}", "number": None}
            copy["index"] = len(rows)
            rows.append(copy)
    data["points"] = rows
    layout = view(Results.from_json(json.dumps(data)).run)
    looks = [look(layout, s) for s in layout.series]
    assert len({k.number for k in looks}) == len(looks) == 12
    keys = chart(layout, "latency").keys
    assert len({(k.number, k.marker, k.dash) for k in keys}) == 12


def two_axes(first, second):
    """A sweep over two fields with numbers."""
    data = synthetic.result(searches=False)
    data["axes"] = [
        {"key": "workload.locality", "label": "locality", "unit": None},
        {"key": "workload.io_probability", "label": "I/O share", "unit": "%"},
    ]
    data["load_axis"] = None
    data["points"] = [
        {
            **json.loads(json.dumps(data["points"][(i + j) % 24])),
            "index": i * second + j,
            "values": [
                {"text": f"{i / 10}", "number": i / 10},
                {"text": f"{j}%", "number": float(j)},
            ],
        }
        for i in range(first)
        for j in range(second)
    ]
    return view(Results.from_json(json.dumps(data)).run)


def test_a_sweep_over_two_fields_is_a_heat_map():
    layout = two_axes(14, 20)
    names = [each.name for each in charts(layout)]
    assert names[0] == "map"
    assert not {"latency", "response", "percentiles"} & set(names)
    told = chart(layout, "map")
    cells = values(told.panels[0].spec)
    assert len(cells) == 280
    assert len({(c["x"], c["y"]) for c in cells}) == 280
    lost = [c for c in cells if c["verdict"] == "saturated"]
    assert lost
    assert not any("v" in c for c in lost)
    assert len(told.table.rows) == 280 * len(told.panels)
    few = two_axes(5, 6)
    assert {"map", "latency"} <= {each.name for each in charts(few)}
    assert "map" not in [each.name for each in charts(two_axes(4, 9))]


def test_a_map_of_many_values_has_fewer_cells(monkeypatch):
    whole = chart(two_axes(6, 20), "map")
    assert whole.note == ""
    for module in (matrix, series):
        monkeypatch.setattr(module, "MOST", 9)
    layout = two_axes(6, 20)
    drawn = chart(layout, "map")
    assert drawn.note.startswith("Of 20 values of I/O share 9 are drawn and listed; the table")
    cells = values(drawn.panels[0].spec)
    assert (len({c["x"] for c in cells}), len({c["y"] for c in cells})) == (9, 6)
    assert len(cells) == 9 * 6
    shares = {c["x"] for c in cells}
    assert {0, 19} <= shares
    assert len(drawn.table.rows) == 9 * 6 * len(drawn.panels)
    # Cells are as they are where all are drawn.
    assert all(cell in values(whole.panels[0].spec) for cell in cells)


def test_channels_end_at_the_whole(load_sweep):
    spec = chart(view(load_sweep.run), "channels").panels[0].spec
    assert layers(spec)[1]["encoding"]["x"]["scale"]["domain"] == [0, 1]


def test_a_thinned_curve_stays_beside_the_whole_one():
    edges = [1.01**n for n in range(2000)]
    shares = [2.0 ** (-n / 80) for n in range(2000)]
    kept = thinned(edges, shares)
    assert len(kept) <= EDGES + 2
    whole = dict(zip(edges, shares, strict=True))
    assert all(whole[x] == y for x, y in kept)
    for (_, y), (_, after) in pairwise(kept[:-1]):
        assert y - after < 0.06
        assert after > 0.6 * y


def test_links_tell_how_busy_they_are(load_sweep):
    told = chart(view(load_sweep.run), "machine")
    svg = told.panels[0].svg
    assert svg.count("<title>0 – 1: ") == 1
    assert "% busy</title>" in svg
    assert svg.count("<path") == 7 * 64
    assert "var(--u" in svg
    assert chart(view(load_sweep.run), "machine").panels[0].svg == svg


def test_what_pictures_show_is_known_without_either_way_to_draw_them():
    """`scenes` and `results` draw nothing; `charts` and `plots` know nothing of one another."""
    package = Path(isthmus.__file__).parent
    barred = {"scenes": ("charts", "plots"), "results": ("charts",)}
    barred |= {"charts": ("plots",), "plots": ("charts",)}
    for name, others in barred.items():
        files = sorted((package / name).glob("*.py"))
        assert files
        for file in files:
            for other in others:
                assert f"isthmus.{other}" not in imports(file), (file, other)


def imports(file: Path) -> str:
    """The import statements of a module, in lines."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    return "\n".join(ast.unparse(each) for each in found)
