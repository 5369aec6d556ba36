"""What is presented of fabrics of rings, from a made-up result."""

import json
import math
import re
from dataclasses import replace
from itertools import pairwise

import msgspec
import pytest

from fixtures import keep_points, rings
from isthmus import plots
from isthmus.answer.grounds import Peak
from isthmus.answer.sentences import collapse_words
from isthmus.cli.fabric import _distances
from isthmus.machines import read_fabric, read_machines
from isthmus.report import render
from isthmus.results import Results
from isthmus.results.curves import load_bound
from isthmus.results.schema import Collapse
from isthmus.results.series import view
from isthmus.results.shown import loaded_point
from isthmus.scenes.rings import Layout, failed_nodes, used_links
from test_cli import one_line


def results(edit=None):
    data = rings.result()
    if edit:
        edit(data)
    return Results.from_json(json.dumps(data))


@pytest.fixture(scope="module")
def tori():
    return results()


@pytest.fixture(scope="module")
def collapsed():
    # The last load of the uniform-ring torus: the only one above its knee.
    return results(lambda data: rings.collapse(data, 14))


def words(svg):
    return " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def test_fabrics_are_judged_by_what_they_carry_and_by_latency_at_a_light_load(tori):
    said = tori.answer
    assert [s.badge for s in said.series] == ["baseline", "far better", "far better"]
    assert said.place == "at 0.600 GB/s"
    assert said.busy_place == "at 8.00 GB/s"
    peaks = [s.peak.measure.mean for s in said.series]
    assert peaks == [9.0, 25.0, 27.0]
    assert said.series[1].peak_ratio.text == "2.8 × as much"
    assert "carries 25.00 ± 0.25 GB/s at most, 2.8 times as much as unidirectional" in (
        said.series[1].sentence
    )
    assert "packets are" in said.series[1].sentence
    assert said.basis == (
        "Judged by the load at which it saturates, by the highest accepted load and by packet "
        "latency at 0.600 GB/s."
    )


def test_a_peak_that_was_not_reached_is_a_lower_bound(tori):
    def light(data):
        keep_points(data, lambda point: point["index"] not in (9, 13, 14))

    said = results(light).answer
    uniform = said.series[2]
    assert uniform.peak.more
    assert uniform.peak.text.startswith("≥ 8.00")
    # More than the first one carries at most? 8.0 is less than 9.0: it may carry more or less.
    assert uniform.peak_ratio is None
    measure = uniform.peak.measure
    assert Peak(measure, False).against(said.series[0].peak, 0.95).tendency == "shorter"
    assert "carries 8.00 ± 0.08 GB/s and more" in uniform.sentence


def test_an_undecided_light_load_counts_where_twice_of_it_is_accepted():
    def undecided(data):
        for each in data["points"]:
            if each["load"] == 0.6:
                each["verdict"]["verdict"] = "undecided"

    assert results(undecided).answer.place == "at 0.600 GB/s"


def test_a_collapse_is_told_and_is_no_throughput(collapsed):
    said = collapsed.answer
    uniform = said.series[2]
    assert uniform.badge == "collapses"
    assert "uniform-ring collapses" in said.conclusion
    # Below the load at which it collapsed it had accepted 16 GB/s.
    assert uniform.peak.measure.mean == 16.0
    assert not uniform.peak.more
    assert (uniform.bracket.low, uniform.bracket.high) == (16.0, 34.0)
    assert uniform.sentence.startswith("collapses at 34.0 GB/s (livelock)")
    assert said.warnings == [
        "uniform-ring at 34.0 GB/s: livelock since 143 µs: nodes 3, 9 and 8 wait for one another "
        "(in 2 of 8 runs; 1,234 messages wait)"
    ]


def test_many_collapses_are_counted():
    def most(data):
        for index in range(1, 15):
            rings.collapse(data, index)

    warnings = results(most).answer.warnings
    assert len(warnings) == 6
    assert warnings[-1] == "9 more points have collapsed."


def test_the_report_warns_on_its_first_screen(collapsed, tori):
    html = render(collapsed)
    first = html[: html.index("<nav")]
    assert 'class="warning"' in first
    assert "livelock since 143 µs: nodes 3, 9 and 8 wait for one another" in first
    assert 'badge collapsed"' in html
    assert 'class="warning"' not in render(tori)
    row = next(r for r in html.split("<tr>") if 'badge collapsed"' in r)
    # Neither growth nor latency: only how long the run was would show.
    assert row.count(">–<") >= 3


def test_units_are_those_of_the_load(tori):
    html = render(tori)
    assert "messages/ms" not in html
    assert "carries at most" in html
    figure = plots.draw(tori.run, "accepted")
    assert figure.axes[0].get_xlabel() == "offered load (GB/s)"
    assert figure.axes[0].get_ylabel() == "accepted load (GB/s)"
    assert "offered [GB/s]" in tori.table.columns
    assert plots.draw(tori.run, "channels").axes[0].get_xlabel() == (
        "utilisation of a link (symbols per cycle)"
    )


def test_the_bound_is_drawn_where_a_point_comes_near_it(tori):
    layout = view(tori.run)
    assert [load_bound(layout, s) for s in layout.series] == pytest.approx(
        [1.08 * knee for knee in rings.KNEES_GB.values()]
    )
    figure = plots.draw(tori.run, "accepted")
    flat = [line for line in figure.axes[0].lines if len(set(line.get_ydata())) == 1]
    drawn = {line.get_ydata()[0] for line in flat if len(line.get_ydata()) == 2}
    assert {load_bound(layout, s) for s in layout.series} <= drawn
    assert "analytic bound" in words(plots.image(figure, "svg").decode())


def test_collapsed_points_have_a_cross_and_no_value(collapsed):
    figure = plots.draw(collapsed.run, "accepted")
    crosses = [ln for ln in figure.axes[0].lines if ln.get_marker() == "X" and len(ln.get_xdata())]
    assert [list(line.get_xdata()) for line in crosses] == [[34.0]]
    marked = [
        (x, y)
        for line in figure.axes[0].lines
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]
    assert (34.0, 25.0) in marked
    assert (34.0, 27.0) not in marked
    assert "collapsed: nothing arrives any more" in words(plots.image(figure, "svg").decode())


def test_every_kind_of_plot_is_drawn(tori, collapsed):
    drawn = [name for name, _ in plots.draw_all(tori.run)]
    assert {"latency", "accepted", "machine", "nodes", "channels", "residuals"} <= set(drawn)
    assert [name for name, _ in plots.draw_all(collapsed.run)] == drawn
    first, second = (plots.image(plots.draw(tori.run, "machine"), "svg") for _ in range(2))
    assert first == second


def test_nodes_are_shown_at_the_highest_load_that_has_not_collapsed(tori, collapsed):
    loads = [loaded_point(s).load for s in view(collapsed.run).series]
    assert loads == [34.0, 34.0, 16.0]
    figure = plots.draw(tori.run, "nodes")
    heights = [bar.get_height() for bar in figure.axes[1].patches]
    assert heights == [n.accepted for n in tori.run.points[9].nodes]


def test_nodes_have_a_table_and_a_file(tori, tmp_path):
    table = tori.nodes
    assert table.columns[-3:] == ["node", "offered [GB/s]", "accepted [GB/s]"]
    assert table.height == 15 * 16
    tori.canonical = "version = 1\n"
    tori.save(tmp_path)
    assert (tmp_path / "nodes.parquet").is_file()
    again = Results.load(tmp_path)
    assert again.nodes.equals(table)


def test_links_keep_their_ring_where_several_join_the_same_nodes():
    described = rings.machine("bidirectional", side=2)
    fabric = read_fabric({k: v for k, v in described.items() if k != "kind"})
    assert len(fabric.links()) == 16
    pairs = [(a, b) for _, a, b in fabric.links()]
    # Both rings of a row of two lead from either node to the other.
    assert pairs.count((0, 1)) == 2


def test_utilisations_are_those_of_the_links(tori):
    point, machine = tori.run.points[9], tori.run.machines[1]
    used = used_links(machine, point)
    assert len(used) == len(machine.links()) == 64
    assert used == [c.utilisation for c in point.channels if c.from_ is not None]


@pytest.mark.parametrize("kind", list(rings.KNEES_GB))
def test_links_that_wrap_around_a_grid_are_told_from_others(kind):
    described = rings.machine(kind)
    layout = Layout(described["places"], described["rings"])
    around = {
        (a, b)
        for ring in described["rings"]
        for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)
        if layout.around(a, b)
    }
    expected = {
        (a, b)
        for ring in described["rings"]
        for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)
        if max(abs(a % 4 - b % 4), abs(a // 4 - b // 4)) == 3
    }
    assert around == expected != set()
    # Squares that turn to the left bend their links to the left, into themselves.
    assert layout.side == (-1.0 if kind == "uniform-ring" else 1.0)


def test_nothing_wraps_around_on_a_circle():
    places = [(math.cos(n * math.pi / 3), math.sin(n * math.pi / 3)) for n in range(6)]
    chords = [[0, 1, 2, 3, 4, 5], [0, 3], [1, 4]]
    layout = Layout(places, chords)
    assert not layout.grid
    assert not any(layout.around(a, b) for ring in chords for a, b in pairwise(ring))


def test_failed_nodes_are_those_without_a_ring_that_are_not_cut_off():
    described = rings.machine("unidirectional")
    described["dead_rings"] = [0, 4, 5]
    described["cut_off"] = [1]
    (fabric,) = read_machines([described])
    assert failed_nodes(fabric) == [0]
    facts = dict(fabric.facts)
    assert facts["Rings out of service"] == "3 of 8 (0, 4, 5)"
    assert facts["Cut off"] == "1 of 16 nodes (1)"


def test_large_fabrics_are_drawn_ring_by_ring():
    def large(data):
        data["machines"] = [rings.machine(kind, side=12) for kind in rings.KNEES_GB]

    figure = plots.draw(results(large).run, "machine")
    assert figure.axes[0].get_ylabel() == "utilisation of its links"
    assert plots.image(figure, "png").startswith(b"\x89PNG")


def test_many_distances_are_told_in_ranges():
    assert _distances([0.0, 0.5, 0.0, 0.5]) == "links of a packet's path: 1: 50%, 3: 50%"
    ring = _distances([0.0] + [1 / 511] * 511).partition("path: ")[2].split(", ")
    assert (len(ring), ring[0], ring[-1]) == (11, "1 to 50: 10%", "501 to 511: 2%")
    uneven = _distances([0.0, 0.999, *[0.00004] * 25])
    assert uneven.endswith(
        "1 to 5: 100%, 6 to 10: <1%, 11 to 15: <1%, 16 to 20: <1%, 21 to 25: <1%, 26: <1%"
    )
    assert _distances([]).endswith("none")


@pytest.mark.parametrize(
    ("options", "start"),
    [
        (("ring", "--size", "4", "--failed-nodes", "1"), "--failed-nodes: no two nodes are left"),
        (("ring", "--size", "4", "--failed-links", "0-1"), "--failed-links: no two nodes"),
        (
            ("ring", "--size", "4", "--failed-nodes", "1", "--failed-links", "2-3"),
            "--failed-nodes, --failed-links: no two nodes",
        ),
        (("ring", "--size", "65536"), "--size: ring 0 has 65536 nodes"),
        (("torus", "--size", "4x4", "--failed-nodes", "77"), "--failed-nodes: node 77"),
    ],
)
def test_mistakes_about_a_fabric_name_the_option(isthmus, options, start):
    line = one_line(isthmus("topology", "--fabric", *options))
    assert line.startswith(f"isthmus: {start}")


def test_a_single_message_waits(tori):
    run = tori.run
    point = run.points[0]
    collapse = Collapse(kind="livelock", since_us=1.0, replications=1, nodes=[], waiting=1)
    assert collapse_words(run, msgspec.structs.replace(point, collapse=collapse)).endswith(
        "; 1 message waits)"
    )
    collapse = replace(collapse, waiting=2)
    assert collapse_words(run, msgspec.structs.replace(point, collapse=collapse)).endswith(
        "; 2 messages wait)"
    )
