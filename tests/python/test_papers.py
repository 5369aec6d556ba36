import json
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import SMALL
from fixtures import rings, synthetic
from isthmus.errors import IsthmusError
from isthmus.papers import find
from isthmus.papers.cells import conditions
from isthmus.papers.checks import Checks
from isthmus.papers.figures import Figure, Panel, draw
from isthmus.papers.folder import COLUMNS
from isthmus.papers.model import Model
from isthmus.papers.row_results import NotSimulatedError, RowResults
from isthmus.papers.tolerance import Tolerance
from isthmus.papers.verdict import judge
from isthmus.results import Results
from isthmus.scenario import Scenario
from test_cli import one_line

LOAD = "interarrival"


@pytest.fixture(scope="module")
def run():
    data = synthetic.result()
    data["axes"][1]["key"] = "workload.interarrival"
    return Results.from_json(json.dumps(data)).run


@pytest.fixture(scope="module")
def r(run):
    return RowResults(run, {LOAD: "0.156 ms"}, Tolerance(share=0.05))


def mean(run, b, index=3, name="read.network"):
    """The measure at the b-th series and the index-th interarrival time (3: 0.156 ms)."""
    return run.points[6 * b + index].measure(name)


def evaluated(text, results):
    """The value of an expression in which no `checks.py` is called."""
    return Checks(Path("checks.py")).value(text, results)


def test_a_mean_is_taken_with_its_interval(run, r):
    found = r.mean("read.network", io_link=2)
    wanted = mean(run, 2)
    assert (found.value, found.low, found.high) == (wanted.mean, wanted.low, wanted.high)
    other = r.mean("read.network", io_link=2, interarrival=0.313)
    assert other.value == mean(run, 2, 2).mean


def test_other_values(run, r):
    point = run.points[6 + 3]
    at = {"machine.lanes.io_link": 1}
    assert r.point(**at) == point
    ninety = r.point(**at).measure("pe_pe.header").percentiles[1]
    assert r.value(ninety).ends == (ninety.low, ninety.high)
    assert r.analytic("read.network", **at).value == mean(run, 1).analytic
    assert r.growth(**at).ends == (point.verdict.growth_low, point.verdict.growth_high)
    assert r.machine(**at) == run.machines[point.machine]


def test_saturation_is_a_bracket(run):
    found = RowResults(run).saturation(io_link=1)
    search = run.searches[1]
    assert found.ends == (search.highest_stable, search.lowest_saturated)
    assert found.text == "11.5–11.9"


def test_quotients_carry_their_intervals(run, r):
    found = r.mean("read.network", io_link=1) / r.mean("read.network", io_link=0)
    a, b = mean(run, 1), mean(run, 0)
    assert found.value == a.mean / b.mean
    assert found.ends == (a.low / b.high, a.high / b.low)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("r.greater(r.mean('read.network', io_link=1), r.mean('read.network', io_link=0))", True),
        ("r.greater(r.mean('read.network', io_link=0), r.mean('read.network', io_link=1))", False),
        ("r.greater(*(r.mean('read.network', io_link=b) for b in (1, 0)), 4)", True),
        ("r.less(3.5, 3.4)", False),
        ("r.less(1, 3.4, 3.5)", True),
        ("r.alike(1.00, 1.04)", True),
        ("r.alike(1.00, 1.06)", False),
        ("r.all_are('stable', io_link=1)", True),
        ("r.all_are('saturated', io_link=1)", False),
    ],
)
def test_claims(r, text, holds):
    assert evaluated(text, r).holds is holds


def test_claims_along_an_axis(run):
    # Latency rises with load, so it falls with the interarrival time.
    free = RowResults(run)
    told = free.falls("read.network", "interarrival", io_link=2)
    assert told.holds
    assert told.text.count("→") == 5
    assert free.rises("read.network", "interarrival", io_link=2).holds is False
    curve = ("read.network", "interarrival")
    assert free.largest(*curve, io_link=2).value == mean(run, 2, 5).mean
    assert free.smallest(*curve, io_link=2).value == mean(run, 2, 0).mean
    assert min(free.curve(*curve, io_link=2)) == 0.078


def test_overlapping_intervals_decide_nothing_be_the_run_quick_or_not(run):
    data = synthetic.result()
    for point in data["points"]:
        for each in point["measures"]:
            each["low"], each["high"] = each["mean"] * 0.01, each["mean"] * 100
    wide = RowResults(Results.from_json(json.dumps(data)).run, {"mean": "0.156 ms"})
    for one in (wide, replace(wide, run=replace(wide.run, quick=True))):
        means = (one.mean("read.network", io_link=b) for b in (1, 0))
        assert one.greater(*means).holds is None


def test_verdicts_of_several_points_at_once(run):
    told = RowResults(run).all_are("stable", io_link=1)
    assert not told.holds
    assert told.text == "5 of 6 stable"
    assert not RowResults(run).all_are("stable", io_link=9).holds


def test_an_undecided_claim_is_neither_true_nor_false_to_python(r):
    for text in (
        "r.less(1, 2) and r.less(2, 1)",
        "not r.less(1, 2)",
        "3 if r.less(1, 2) else 4",
    ):
        with pytest.raises(IsthmusError, match="TypeError: a claim may be undecided; write a list"):
            evaluated(text, r)


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("r.mean('read.network')", r"4 points of scenario 'io-network-demo' fit, one must"),
        ("r.mean('read.network', io_link=7)", r"0 points"),
        (
            "r.mean('read.network', lanes=1)",
            r"'lanes': not an axis .* it has machine\.lanes\.io_link",
        ),
        ("r.mean('reads', io_link=1)", r"no measure 'reads'; there are pe_pe\.header, "),
        ("r.men('read.network')", r"no r\.men; there are r\.alike, r\.all_are, .* r\.mean"),
        ("r.mean()", r"TypeError: .*missing 1 required positional argument: 'measure'"),
        ("growing(r)", r"no 'growing' in checks\.py; it has nothing"),
        ("r.curve('read.network', 'interarrival')", r"differ in interarrival only, found 4"),
        ("{}['x']", r"KeyError: 'x'"),
        ("r.saturation()", r"4 saturation searches .* fit, one must"),
        ("r.setting('machine.bandwidth', 'MB/s')", r"this check needs a scenario"),
        ("r.greater(1, 'stable')", r"'stable' stands where a number must"),
        ("r.alike(1, [2])", r"\[2\] stands where a number must"),
        ("r.mean('read.network', io_link=1) > 3", r"TypeError: '>' not supported"),
        ("1 / 0", r"ZeroDivisionError: division by zero"),
    ],
)
def test_checks_that_make_no_sense(r, text, message):
    with pytest.raises(IsthmusError, match=message):
        evaluated(text, r)


def test_conditions():
    assert conditions("a=1; b = 0.156 ms;") == {"a": "1", "b": "0.156 ms"}
    with pytest.raises(IsthmusError, match="'a': not of the form key=value"):
        conditions("a")
    with pytest.raises(IsthmusError, match="'a' is given twice"):
        conditions("a=1; a=2")


def test_what_needs_no_simulation():
    """The model alone answers; what is measured asks for a simulation."""
    unsimulated = RowResults(None, {"io_link": "1", "rate": "4 /ms"}, scenario=Model(of_small()))
    assert evaluated("r.analytic('read.network') / 2", unsimulated).value > 0
    assert evaluated("r.machine().pes", unsimulated) == 8
    assert evaluated("r.setting('machine.dimension')", unsimulated).value == 3
    with pytest.raises(NotSimulatedError):
        evaluated("r.analytic('read.network') / r.mean('read.network')", unsimulated)


def of_small():
    return Scenario(SMALL, "small.toml")


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
        "select": "widths(r)",
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
        "select": "r.model('literal')['read_us']",
        "at": "io_link=1; rate=2 /ms",
        "under": "r.model('counted')['read_us'] / r.model('counted')['read_us']",
    },
    {
        "id": "wrong",
        "quantity": "PE-PE header",
        "expected": "100-200",
        "unit": "us",
        "rule": "inside",
        "scenario": "small",
        "set": "machine.dimension=4",
        "select": "r.mean('pe_pe.header', io_link=1, rate='4 /ms')",
    },
]


CHECKS = """\
def widths(r):
    return [r.greater(*(r.mean("read.network", io_link=b) for b in (0, 1)))]
"""


@pytest.fixture
def folder(tmp_path):
    """A paper of one scenario and three claims."""
    home = tmp_path / "papers" / "tiny"
    (home / "scenarios").mkdir(parents=True)
    (home / "paper.toml").write_text(PAPER)
    (home / "scenarios/small.toml").write_text(SMALL)
    (home / "checks.py").write_text(CHECKS)
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
        ({"select": "r.mean('x'"}, r"expected\.csv:2: select: SyntaxError: '\(' was never closed"),
        ({"select": "3"}, r"select: the rule `holds` needs a claim, such as r\.greater"),
        ({"select": "[]"}, r"select: the rule `holds` needs a claim"),
        ({"rule": "within", "expected": "3", "select": "r.less(1, 2)"}, r"where a number must"),
        (
            {"rule": "within", "select": "3", "expected": "many"},
            r"expected: 'many': the rule `within`",
        ),
        ({"rule": "inside", "select": "3", "expected": "many"}, r"needs a range such as 10-12\.8"),
        ({"tolerance": "some"}, r"tolerance 'some': write 3%"),
        (
            {"select": "r.less(2, 1)", "under": "men(r)"},
            r"under: no 'men' in .*checks\.py; it has widths",
        ),
        ({"select": "r.model('literal')", "at": ""}, r"24 points .* fit, one must"),
        ({"select": "r.setting('machine.bandwidth')"}, r"select: this check needs a scenario"),
        ({"at": "rate"}, r"expected\.csv:2: at: 'rate': not of the form key=value"),
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
        ("within", "11.7", "0.3", "r.saturation(io_link=1)", "reproduced"),
        ("within", "11.7", "0.1", "r.saturation(io_link=1)", "undecided"),
        ("within", "12", "2%", "r.saturation(io_link=1)", "undecided"),
        ("within", "12", "0.5%", "r.saturation(io_link=1)", "not reproduced"),
        ("inside", "10-12.8", "", "r.saturation(io_link=1)", "reproduced"),
        ("inside", "11.6-12.8", "", "r.saturation(io_link=1)", "undecided"),
        ("inside", "11.65-11.75", "", "r.saturation(io_link=1)", "undecided"),
        ("inside", "12-12.8", "", "r.saturation(io_link=1)", "not reproduced"),
        ("inside", "-1e1--5", "", "0 - 7", "reproduced"),
        ("is", "0 7 25", "", "'0 7 26'", "not reproduced"),
        ("holds", "", "5%", "r.alike(r.saturation(io_link=1), 11.7)", "reproduced"),
        ("holds", "", "1%", "r.alike(r.saturation(io_link=1), 11.7)", "undecided"),
        ("holds", "", "2%", "r.alike(r.saturation(io_link=1), 12.2)", "not reproduced"),
        ("holds", "", "0.3", "r.alike(r.saturation(io_link=1), 11.7)", "reproduced"),
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
    return Results.from_json(json.dumps(data)).run


def at(run, torus, load):
    """The results of a torus at a load."""
    return RowResults(run, dict(zip((axis.key for axis in run.axes), (torus, load), strict=True)))


def test_values_of_fabrics(fabrics):
    load = fabrics.axes[1].key
    torus = replace(at(fabrics, "bidirectional", ""), fixed={fabrics.axes[0].key: "bidirectional"})
    assert torus.largest("accepted", load).value == max(
        p.measure("accepted").mean for p in fabrics.points if p.values[0].text == "bidirectional"
    )
    assert torus.all_are("live").holds
    heavy = at(fabrics, "bidirectional", "34 GB/s")
    assert heavy.point().verdict.verdict == "saturated"
    assert heavy.machine().ring_count == 16


def test_collapses(fabrics):
    torus, load = (axis.key for axis in fabrics.axes)
    dead = at(fabrics, "uniform-ring", "34 GB/s")
    found = dead.point().collapse
    # 71,500 cycles of 2 ns.
    assert (found.kind, found.nodes, found.replications) == ("livelock", [3, 9, 8], 2)
    assert found.since_us == pytest.approx(143)
    assert dead.all_are("collapsed").holds
    alive = replace(dead, fixed={torus: "uniform-ring"})
    assert alive.all_are("live").text == "4 of 5 live"
    assert alive.point(**{load: "0.6 GB/s"}).collapse is None


def test_a_figure_has_panels_or_is_a_plot(fabrics):
    accepted = Figure("f", "", "s", (Panel("p", "accepted", bound=True),))
    plot = draw(accepted, fabrics)
    (axes,) = plot.axes
    assert axes.get_ylabel() == "accepted load (GB/s)"
    assert axes.get_ylim()[0] == 0
    dashed = [line for line in axes.lines if list(line.get_xdata()) == [0, 1]]
    assert len(dashed) == 3
    assert draw(Figure("f", "", "s", plot="nodes"), fabrics).axes
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
    from isthmus.owned import Identity, OwnedFolder
    from isthmus.papers import page

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
        with OwnedFolder.opened(tmp_path / "out", Identity("paper", paper.name)) as own:
            page.write_page(own, paper, [], {"small": load_sweep}, plots=("svg",))
    assert made == ["chart_of", "draw"]
