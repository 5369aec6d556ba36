import json
from dataclasses import replace

import pytest

from conftest import SMALL
from fixtures import rings, synthetic
from isthmus.errors import IsthmusError
from isthmus.papers import find
from isthmus.papers.figures import Figure, Panel, draw
from isthmus.papers.folder import COLUMNS
from isthmus.papers.select import Source, claim, conditions, is_analytic, points, value
from isthmus.papers.verdict import judge
from isthmus.results import Results
from isthmus.value import Value
from test_cli import one_line

LOAD = "interarrival"


@pytest.fixture(scope="module")
def run():
    data = synthetic.result()
    data["axes"][1]["key"] = "workload.interarrival"
    return Results.from_json(json.dumps(data)).run


@pytest.fixture(scope="module")
def source(run):
    return Source(run, {LOAD: "0.156 ms"}, tolerance=0.05)


def mean(run, b, index=3, name="read.network"):
    """The measure at the b-th series and the index-th interarrival time (3: 0.156 ms)."""
    return run.points[6 * b + index].measure(name)


def test_a_mean_is_taken_with_its_interval(run, source):
    found = value("mean read.network @ io_link=2", source)
    wanted = mean(run, 2)
    assert (found.value, found.low, found.high) == (wanted.mean, wanted.low, wanted.high)
    other = value("mean read.network @ io_link=2; interarrival=0.313", source)
    assert other.value == mean(run, 2, 2).mean


def test_other_selectors(run, source):
    point = run.points[6 + 3]
    at = "@ machine.lanes.io_link=1"
    assert value(f"p90 pe_pe.header {at}", source).value == (
        point.measure("pe_pe.header").percentiles[1].value
    )
    assert value(f"analytic read.network {at}", source).value == mean(run, 1).analytic
    growth = value(f"growth {at}", source)
    assert growth.ends == (point.verdict.growth_low, point.verdict.growth_high)
    assert value(f"stable {at}", source).value == 1.0
    assert value(f"saturated {at}", source).value == 0.0
    busy = next(c for c in point.channels if c.kind == "io_link" and c.from_ is None)
    assert value(f"busy io_link {at}", source).value == busy.utilisation
    assert value("3.5", source).value == 3.5


def test_saturation_is_a_bracket(run):
    found = value("saturation @ io_link=1", Source(run))
    search = run.searches[1]
    assert found.ends == (search.highest_stable, search.lowest_saturated)
    assert found.text == "11.5–11.9"
    assert value("saturation analytic @ io_link=1", Source(run)).value == search.analytic


def test_quotients_carry_their_intervals(run, source):
    found = value("mean read.network @ io_link=1 / mean read.network @ io_link=0", source)
    a, b = mean(run, 1), mean(run, 0)
    assert found.value == a.mean / b.mean
    assert found.ends == (a.low / b.high, a.high / b.low)
    assert value("5 - 3.5", source).value == 1.5


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("mean read.network @ io_link=1 > mean read.network @ io_link=0", True),
        ("mean read.network @ io_link=0 > mean read.network @ io_link=1", False),
        ("mean read.network @ io_link=1 > mean read.network @ io_link=0 > 4", True),
        ("3.5 < 3.4", False),
        ("1.00 ~ 1.04", True),
        ("1.00 ~ 1.06", False),
        ("1 < 2 and 2 < 1", False),
        ("stable @ io_link=1", True),
        ("saturated @ io_link=1", False),
        ("rises read.network along interarrival @ io_link=2", False),
    ],
)
def test_claims(source, text, holds):
    free = Source(source.run, {} if "along" in text else source.at, source.tolerance)
    assert claim(text, free).holds is holds


def test_claims_along_an_axis(run):
    # Latency rises with load, so it falls with the interarrival time.
    told = claim("falls read.network along interarrival @ io_link=2", Source(run))
    assert told.holds
    assert told.text.count("→") == 5
    largest, smallest = mean(run, 2, 5).mean, mean(run, 2, 0).mean
    found = value("range read.network along interarrival @ io_link=2", Source(run))
    assert found.value == pytest.approx(largest / smallest)
    assert value("lowest read.network along interarrival @ io_link=2", Source(run)).value == 1.25


def test_overlapping_intervals_decide_nothing_be_the_run_quick_or_not(run):
    data = synthetic.result()
    for point in data["points"]:
        for each in point["measures"]:
            each["low"], each["high"] = each["mean"] * 0.01, each["mean"] * 100
    wide = Source(Results.from_json(json.dumps(data)).run, {"mean": "0.156 ms"})
    text = "mean read.network @ io_link=1 > mean read.network @ io_link=0"
    assert claim(text, wide).holds is None
    assert claim(text, replace(wide, run=replace(wide.run, quick=True))).holds is None


def test_verdicts_of_several_points_at_once(run):
    told = claim("stable @ io_link=1", Source(run))
    assert not told.holds
    assert told.text == "5 of 6 stable"
    assert not claim("stable @ io_link=9", Source(run)).holds


def test_another_reading_is_asked_only_if_the_first_fails(run, folder):
    row = {"id": "x", "rule": "within", "tolerance": "1%", "under": "11.28"}
    for expected, select, verdict in (
        ("11.3", "11.3", "reproduced"),
        ("11.3", "10.28", "differs by reading"),
        ("15", "10.28", "not reproduced"),
    ):
        write_rows(folder, [{**row, "expected": expected, "select": select}])
        paper = find(str(folder))
        told = judge(paper, paper.rows()[0], run)
        assert told.verdict == verdict
        assert told.measured == (11.28 if verdict == "differs by reading" else float(select))
    assert (told.detail, told.other) == ("10.3", "11.3")


def test_a_bracket_keeps_being_one():
    bracket = Value(11.7, 11.5, 11.9, bracket=True)
    assert bracket.minus(Value(1.0)).text == "10.5–10.9"
    assert bracket.over(Value(2.0)).ends == (5.75, 5.95)
    assert Value(3.0).over(Value(2.0)).text == "1.50"
    assert Value(None).minus(bracket).value is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mean read.network", r"4 points of scenario 'io-network-demo' fit, one must"),
        ("mean read.network @ io_link=7", r"0 points"),
        ("mean read.network @ lanes=1", r"'lanes': not an axis .* it has machine\.lanes\.io_link"),
        ("men read.network", r"no such selector; there are mean"),
        ("mean", r"say of what"),
        ("range read.network", r"write `range MEASURE along KEY`"),
    ],
)
def test_selectors_that_make_no_sense(source, text, message):
    with pytest.raises(IsthmusError, match=message):
        value(text, source)


def test_conditions():
    assert conditions("a=1; b = 0.156 ms;") == {"a": "1", "b": "0.156 ms"}
    with pytest.raises(IsthmusError, match="a condition is key=value"):
        conditions("a")


def test_what_needs_no_simulation():
    assert is_analytic("analytic read.network @ io_link=1")
    assert is_analytic("saturation analytic @ io_link=1 / 2")
    assert not is_analytic("analytic read.network / mean read.network")


PAPER = """\
title = "A paper"
authors = "A. Author"
year = 1995
published = "J. Tests 1"
"""
ROWS = [
    {
        "id": "faster",
        "where": "Fig. 1",
        "quantity": "I/O latency",
        "conditions": "4 /ms",
        "rule": "holds",
        "scenario": "small",
        "select": "mean read.network @ io_link=0 > mean read.network @ io_link=1",
        "at": "rate=4 /ms",
        "note": "why",
    },
    {
        "id": "near",
        "where": "Table 1",
        "quantity": "C^2",
        "expected": "1.0",
        "tolerance": "1%",
        "rule": "within",
        "scenario": "small",
        "select": "model literal io_link.base_scv @ io_link=1; rate=2 /ms",
        "under": "model counted io_link.base_scv @ io_link=1; rate=2 /ms / model counted "
        "io_link.base_scv @ io_link=1; rate=2 /ms",
    },
    {
        "id": "wrong",
        "quantity": "PE-PE header",
        "expected": "100-200",
        "unit": "us",
        "rule": "inside",
        "scenario": "small",
        "set": "machine.dimension=4",
        "select": "mean pe_pe.header @ io_link=1; rate=4 /ms",
    },
]


@pytest.fixture
def folder(tmp_path):
    """A paper of one scenario and three claims."""
    home = tmp_path / "papers" / "tiny"
    (home / "scenarios").mkdir(parents=True)
    (home / "paper.toml").write_text(PAPER)
    (home / "scenarios/small.toml").write_text(SMALL)
    write_rows(home, ROWS)
    return home


def write_rows(home, rows):
    lines = [",".join(COLUMNS)]
    for row in rows:
        lines.append(",".join(f'"{row.get(c, "")}"' for c in COLUMNS))
    (home / "expected.csv").write_text("\n".join(lines) + "\n")


def test_a_paper_is_run(isthmus, folder):
    done = isthmus("papers", "run", "tiny", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    assert [o["id"] for o in listed] == ["faster", "near", "wrong"]
    for each in listed:
        keys = {"id", "expected", "measured", "low", "high", "unit", "verdict", "note"}
        assert keys <= set(each)
    faster, near, wrong = listed
    assert faster["verdict"] == {True: "reproduced", False: "not reproduced"}.get(
        faster["measured"], "undecided"
    )
    assert near["verdict"] == "differs by reading"
    assert near["expected"] == 1.0
    assert near["low"] is None
    assert wrong["verdict"] == "not reproduced"
    assert wrong["low"] < wrong["measured"] < wrong["high"]

    # A second run takes what is there, and the table says the same.
    again = isthmus("papers", "run", "tiny", "--quick", "--only", "wrong")
    assert again.returncode == 0
    assert "1 not reproduced" in again.stdout
    assert "100-200 us" in again.stdout
    kept = folder.parents[1] / "out/papers/tiny/verdicts.json"
    assert [o["id"] for o in json.loads(kept.read_text())] == ["wrong"]
    assert "A. Author: A paper (1995); 3 claims" in isthmus("papers").stdout


def test_papers_that_make_no_sense(isthmus, folder):
    one_line(isthmus("papers", "run", "none"), "no paper 'none'; there is tiny")
    one_line(isthmus("papers", "run", "tiny", "--only", "x"), "tiny: no claim x")
    write_rows(folder, [ROWS[0], ROWS[0]])
    one_line(isthmus("papers", "run", "tiny"), "expected.csv:3: id 'faster' comes twice")
    write_rows(folder, [{**ROWS[0], "scenario": "large"}])
    one_line(isthmus("papers", "run", "tiny"), "expected.csv:2: scenario: no file")
    (folder / "expected.csv").write_text("id,where\n")
    one_line(isthmus("papers", "run", "tiny"), "expected.csv:1: no column 'quantity'")
    (folder / "paper.toml").write_text("title =")
    one_line(isthmus("papers"), "paper.toml: not TOML")
    one_line(isthmus("papers", ISTHMUS_PAPERS="/nowhere"), "no papers found")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rule": "roughly"}, r"expected\.csv:2: rule: no rule 'roughly'; there are within"),
        ({"select": "mean x y"}, r"expected\.csv:2: select: .* compares with"),
        (
            {"rule": "within", "select": "3", "expected": "many"},
            r"expected: 'many': the rule `within`",
        ),
        ({"rule": "inside", "select": "3", "expected": "many"}, r"needs a range such as 10-12\.8"),
        ({"tolerance": "some"}, r"tolerance 'some': write 3%"),
        ({"select": "2 < 1", "under": "men x"}, r"under: .*'men x'"),
        ({"select": "model literal bound < 1"}, r"write `model READING WHAT` for a scenario"),
    ],
)
def test_rows_that_make_no_sense(run, folder, change, message):
    write_rows(folder, [{**ROWS[0], **change}])
    paper = find(str(folder))
    with pytest.raises(IsthmusError, match=message):
        judge(paper, paper.rows()[0], run)


@pytest.mark.parametrize(
    ("rule", "expected", "tolerance", "select", "verdict"),
    [
        ("within", "3.3", "3%", "3.39", "reproduced"),
        ("within", "3.3", "3%", "3.41", "not reproduced"),
        ("within", "3.3", "0.2", "3.49", "reproduced"),
        ("within", "3.3", "last digit", "3.349", "reproduced"),
        ("within", "3.30", "last digit", "3.349", "not reproduced"),
        ("within", "2064", "last digit", "2064.6", "not reproduced"),
        ("within", "-3.3", "1%", "-3.28", "reproduced"),
        # The bracket of the search is 11.5 to 11.9.
        ("within", "11.7", "0.3", "saturation @ io_link=1", "reproduced"),
        ("within", "11.7", "0.1", "saturation @ io_link=1", "undecided"),
        ("within", "12", "2%", "saturation @ io_link=1", "undecided"),
        ("within", "12", "0.5%", "saturation @ io_link=1", "not reproduced"),
        ("inside", "10-12.8", "", "saturation @ io_link=1", "reproduced"),
        ("inside", "11.6-12.8", "", "saturation @ io_link=1", "undecided"),
        ("inside", "11.65-11.75", "", "saturation @ io_link=1", "undecided"),
        ("inside", "12-12.8", "", "saturation @ io_link=1", "not reproduced"),
        ("inside", "-1e1--5", "", "0 - 7", "reproduced"),
        ("is", "0 7 25", "", "io_nodes", "not reproduced"),
        ("holds", "", "5%", "saturation @ io_link=1 ~ 11.7", "reproduced"),
        ("holds", "", "1%", "saturation @ io_link=1 ~ 11.7", "undecided"),
        ("holds", "", "2%", "saturation @ io_link=1 ~ 12.2", "not reproduced"),
        ("holds", "", "0.3", "saturation @ io_link=1 ~ 11.7", "reproduced"),
    ],
)
def test_rules(run, folder, rule, expected, tolerance, select, verdict):
    row = {"id": "x", "rule": rule, "expected": expected, "tolerance": tolerance, "select": select}
    write_rows(folder, [row])
    paper = find(str(folder))
    assert judge(paper, paper.rows()[0], run).verdict == verdict


@pytest.fixture(scope="module")
def fabrics():
    """A result of fabrics: three tori, five loads; the last point of the last torus collapsed."""
    data = rings.collapse(rings.result(), -1)
    return Source(Results.from_json(json.dumps(data)).run)


def test_selectors_of_fabrics(fabrics):
    points_ = fabrics.run.points
    torus, load = (axis.key for axis in fabrics.run.axes)
    at = f"@ {torus}=bidirectional"
    peak = value(f"peak accepted along {load} {at}", fabrics)
    assert peak.value == max(
        p.measure("accepted").mean for p in points_ if p.values[0].text == "bidirectional"
    )
    heavy = f"{at}; {load}=34 GB/s"
    assert value(f"verdict {heavy}", fabrics).text == "saturated"
    assert value(f"machine ring_count {heavy}", fabrics).value == 16
    assert value(f"machine ring_nodes {heavy}", fabrics).value == 4
    assert value(f"machine routing {heavy}", fabrics).text == "x first, then y"
    (point,) = points(fabrics.run, {torus: "bidirectional", load: "34 GB/s"})
    accepted = [use.accepted for use in point.nodes]
    assert value(f"node 3 {heavy}", fabrics).value == accepted[3]
    assert value(f"node lowest {heavy}", fabrics).value == min(accepted)
    assert value(f"node highest {heavy}", fabrics).value == max(accepted)
    assert claim(f"live {at}", fabrics).holds


def test_collapses(fabrics):
    torus, load = (axis.key for axis in fabrics.run.axes)
    dead = f"@ {torus}=uniform-ring; {load}=34 GB/s"
    assert value(f"verdict {dead}", fabrics).text == "collapsed"
    assert value(f"collapse kind {dead}", fabrics).text == "livelock"
    assert value(f"collapse nodes {dead}", fabrics).text == "3 9 8"
    assert value(f"collapse replications {dead}", fabrics).value == 2
    # 71,500 cycles of 2 ns.
    assert value(f"collapse since {dead}", fabrics).value == pytest.approx(143)
    assert claim(f"collapsed {dead}", fabrics).holds
    assert claim(f"live @ {torus}=uniform-ring", fabrics).text == "4 of 5 live"
    calm = f"@ {torus}=uniform-ring; {load}=0.6 GB/s"
    assert value(f"collapse kind {calm}", fabrics).text == "live"
    assert value(f"collapse replications {calm}", fabrics).value == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("machine lanes", r"machine lanes: not a figure of this kind of machine \(sci\)"),
        ("collapse reason", r"no such field; there are kind, nodes, since, replications"),
        ("node 99", r"node 99: no such node sends"),
        ("equation 1", r"say of how many nodes"),
        ("equation 5 @ nodes=4", r"5"),
        ("equation 4 @ nodes=12", r"12 nodes make no square torus"),
    ],
)
def test_selectors_of_fabrics_that_make_no_sense(fabrics, text, message):
    torus, load = (axis.key for axis in fabrics.run.axes)
    source = replace(fabrics, at={} if "@" in text else {torus: "bidirectional", load: "8 GB/s"})
    with pytest.raises(IsthmusError, match=message):
        value(text, source)


def test_equations_need_no_scenario():
    assert value("equation 1 @ nodes=4", Source(None)).value == pytest.approx(64 / 46)
    assert value("equation 2 @ nodes=4", Source(None)).value == pytest.approx(64 / 14)
    assert is_analytic("equation table 2 @ nodes=4 / machine ring_count")


def test_a_figure_has_panels_or_is_a_plot(fabrics):
    accepted = Figure("f", "", "s", (Panel("p", "accepted", bound=True),))
    plot = draw(accepted, fabrics.run)
    (axes,) = plot.axes
    assert axes.get_ylabel() == "accepted load (GB/s)"
    assert axes.get_ylim()[0] == 0
    dashed = [line for line in axes.lines if list(line.get_xdata()) == [0, 1]]
    assert len(dashed) == 3
    assert draw(Figure("f", "", "s", plot="nodes"), fabrics.run).axes
    with pytest.raises(TypeError, match="either panels or the name of a plot"):
        Figure("f", "", "s")


def test_a_papers_folder_is_refused_where_the_user_keeps_files(isthmus, folder):
    out = folder.parents[1] / "mine"
    (out / "figures").mkdir(parents=True)
    (out / "index.html").write_text("my page")
    for more in ((), ("--fresh",)):
        done = isthmus("papers", "run", "tiny", "--quick", "--out", "mine", *more)
        assert done.returncode == 2
        assert "mine: holds files that isthmus did not write (figures, index.html)" in done.stderr
    assert [p.name for p in sorted(out.iterdir())] == ["figures", "index.html"]
    assert (out / "index.html").read_text() == "my page"


def test_fresh_runs_a_paper_again_and_removes_nothing_of_the_users(isthmus, folder):
    words = ("papers", "run", "tiny", "--quick", "--only", "faster", "--figures")
    assert isthmus(*words).returncode == 0
    out = folder.parents[1] / "out" / "papers" / "tiny"
    (scenario,) = (p for p in out.iterdir() if p.is_dir())
    (scenario / "notes").write_text("n")
    (out / "notes").write_text("n")
    before = (scenario / "result.json").read_bytes()
    began = (scenario / "result.json").stat().st_mtime_ns
    assert isthmus(*words).returncode == 0
    assert (scenario / "result.json").stat().st_mtime_ns == began
    assert isthmus(*words, "--fresh").returncode == 0
    assert (scenario / "result.json").stat().st_mtime_ns > began
    assert (scenario / "result.json").read_bytes() == before
    assert (scenario / "notes").read_text() == (out / "notes").read_text() == "n"


FIGURES = """\
[[figure]]
name = "figure-1"
caption = "Reads."
scenario = "small"
panel = [{ title = "I/O reads", measure = "read.network" }]
"""


def test_figures_that_were_asked_for_stay_and_nothing_is_drawn_twice(isthmus, folder):
    (folder / "figures.toml").write_text(FIGURES)
    words = ("papers", "run", "tiny", "--quick", "--only", "faster", "--figures")
    out = folder.parents[1] / "out" / "papers" / "tiny"

    def times():
        names = ("index.html", "figures/figure-1.png", "figures/figure-1.svg")
        return [p.stat().st_mtime_ns for name in names if (p := out / name).exists()]

    assert isthmus(*words, "--plots", "png,svg").returncode == 0
    drawn = times()
    assert len(drawn) == 3
    assert "Reads." in (out / "index.html").read_text()
    assert isthmus(*words).returncode == 0
    assert isthmus(*words, "--plots", "png,svg").returncode == 0
    assert times() == drawn
    # Other forms take the place of these.
    assert isthmus(*words, "--plots", "svg").returncode == 0
    assert len(times()) == 2
    # Another caption is another page.
    (folder / "figures.toml").write_text(FIGURES.replace("Reads.", "I/O reads."))
    assert isthmus(*words).returncode == 0
    assert "I/O reads." in (out / "index.html").read_text()


def test_a_page_that_is_there_is_not_made_again(tmp_path, folder, load_sweep, monkeypatch):
    from isthmus.papers import page
    from isthmus.papers.run import paper_folder

    (folder / "figures.toml").write_text(FIGURES)
    made = []

    def counted(name):
        real = getattr(page, name)

        def call(*words):
            made.append(name)
            return real(*words)

        monkeypatch.setattr(page, name, call)

    counted("draw")
    counted("chart_of")
    paper = find(str(folder))
    for _ in range(2):
        with paper_folder(tmp_path / "out", paper) as own:
            page.write_page(own, paper, [], {"small": load_sweep}, plots=("svg",))
    assert made == ["chart_of", "draw"]
