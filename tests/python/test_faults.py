import csv
import json
from dataclasses import replace

import pytest

from fixtures import rings as made_up
from isthmus import IsthmusError, Scenario
from isthmus.faults import outcomes, plan, summaries
from isthmus.faults.page import STUDY, conclusions, read_study, remarks, rows, study_json
from isthmus.faults.plan import Case, Site, Study
from isthmus.results import Results
from isthmus.value import Value
from test_cli import one_line

TORI = """\
version = 1
name = "tori"
title = "Which torus survives?"

[machine]
kind = "sci"
size = "3x3"

[sweep]
"machine.fabric" = ["bidirectional-torus", "uniform-ring-torus"]
"workload.load" = ["1 GB/s", "20 GB/s"]

[stop]
rule = "fixed"
time = "20 us"
replications = 2
"""


SEARCH = """
[search]
over = "workload.load"
from = "1 GB/s"
to = "20 GB/s"
resolution = "10%"
"""


@pytest.fixture(scope="module")
def study():
    return plan([Scenario(TORI, "tori.toml")], double=5, seed=4)


def test_every_single_failure_and_so_many_pairs_become_cases(study):
    # 3 x 3: 12 rings and 9 nodes, or 9 rings and 9 nodes; the links of a ring are one failure.
    assert [(s.label, s.nodes, s.single, s.pairs) for s in study.sites] == [
        ("3 x 3 bidirectional torus", 9, 21, 210),
        ("3 x 3 uniform-ring torus", 9, 18, 153),
    ]
    kinds = [(c.site, c.kind) for c in study.cases]
    assert kinds.count((0, "none")) == kinds.count((1, "none")) == 1
    assert kinds.count((0, "one link")) == 12
    assert kinds.count((1, "one link")) == 9
    assert kinds.count((0, "one node")) == kinds.count((1, "one node")) == 9
    assert kinds.count((0, "two parts")) == kinds.count((1, "two parts")) == 5
    links = [c for c in study.cases if c.kind == "one link"]
    # Each ring stands for its links: 12 rings of 3, 9 rings of 4.
    assert [sum(c.weight for c in links if c.site == site) for site in (0, 1)] == [36, 36]
    assert {c.live for c in links} == {9}
    assert {c.live for c in study.cases if c.kind == "one node"} == {8}


def test_the_generated_scenario_has_a_point_for_each_case_and_load(study):
    told = Scenario(study.text).check()
    assert told["points"] == 2 * len(study.cases)
    assert [axis["key"] for axis in told["axes"]] == ["fault", "workload.load"]
    assert told["axes"][0]["values"] == [case.label for case in study.cases]
    assert "seed = 4" in study.text
    assert 'time = "20 us"' in study.text


def test_the_same_seed_gives_the_same_pairs_and_another_one_others(study):
    scenario = Scenario(TORI, "tori.toml")
    assert plan([scenario], double=5, seed=4).text == study.text
    other = plan([scenario], double=5, seed=5)
    pairs = [[c.failure for c in s.cases if c.kind == "two parts"] for s in (study, other)]
    assert pairs[0] != pairs[1]


def test_a_study_is_kept_as_json(study):
    again = Study.from_json(study.as_json())
    assert again.cases == study.cases
    assert again.sites == study.sites


def test_a_failure_that_leaves_nothing_is_not_simulated_and_counts_as_a_loss():
    text = TORI.replace('"3x3"', "4").replace("uniform-ring-torus", "counter-rotating")
    text = text.replace("bidirectional-torus", "ring")
    study = plan([Scenario(text)])
    nodes = [c for c in study.cases if c.kind == "one node"]
    assert {c.live for c in nodes} == {0}
    assert not any(c.label in study.text for c in nodes)
    ring = [c for c in study.cases if c.kind == "one link" and c.site == 0]
    assert [(c.live, c.weight) for c in ring] == [(0, 4)]
    # Of two rings in opposite directions one is enough.
    assert {c.live for c in study.cases if c.kind == "one link" and c.site == 1} == {4}


def test_several_scenarios_make_one_study():
    one, two = (
        Scenario(TORI.replace("Which torus survives?", title).replace('"uniform-ring-torus"', ""))
        for title in ("First", "Second")
    )
    two = two.changed(**{"machine.queues.input": 2})
    study = plan([one, two])
    assert [s.label for s in study.sites] == [
        "3 x 3 bidirectional torus, First, bidirectional-torus",
        "3 x 3 bidirectional torus, Second, bidirectional-torus",
    ]
    with pytest.raises(IsthmusError, match="two of the fabrics have the same name"):
        plan([one, one])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"machine.kind": "hypercube"},
            "machine.size",
        ),
        ({"workload.senders": "[1, 2]"}, "workload.senders: a study lets every node fail in turn"),
    ],
)
def test_scenarios_that_cannot_be_studied_are_refused(change, message):
    with pytest.raises(IsthmusError, match=message):
        plan([Scenario(TORI, "tori.toml").changed(**change)])


def test_a_hypercube_has_no_rings(small):
    with pytest.raises(IsthmusError, match=r"a study of faults needs machine\.kind = \"sci\""):
        plan([Scenario.load(small)])


def study_of_made_up_results():
    """Three failures of one fabric whose accepted loads are known."""
    data = made_up.result()
    points = [data["points"][i] for i in (0, 3, 5, 8, 10, 14)]
    labels = ["torus: nothing", "torus: link 0-1", "torus: node 3"]
    for number, point in enumerate(points):
        label = labels[number // 2]
        point["index"] = number
        point["values"][0] = {"text": label, "number": None}
    # 0.6 and 16 GB/s each; the last one collapses at the second load.
    made_up.collapse({"points": points}, 5)
    data["points"], data["axes"][0]["key"] = points, "fault"
    cases = [
        Case(labels[0], 0, "none", "nothing", [], 1, 16),
        Case(labels[1], 0, "one link", "link 0-1", [], 6, 16),
        Case("torus: link 2-3", 0, "one link", "link 2-3", [], 2, 0),
        Case(labels[2], 0, "one node", "node 3", [3], 1, 13),
    ]
    return Study("x", "X", 1, 0, [Site("torus", 16, 3, 3)], cases), Results.from_json(
        json.dumps(data)
    )


def test_outcomes_are_relative_to_the_fabric_without_a_failure():
    study, results = study_of_made_up_results()
    none, link, nothing_left, node = outcomes(study, results.run)
    # Unidirectional 9.0 GB/s (knee), bidirectional 16 of 16 offered.
    assert (none.throughput.value, link.throughput.value) == (9.0, 16.0)
    assert link.throughput_kept.value == pytest.approx(16 / 9)
    assert link.throughput_kept.low == pytest.approx(16 * 0.99 / (9 * 1.01))
    assert (nothing_left.lost, nothing_left.throughput_kept.value) == (True, 0.0)
    assert (nothing_left.nodes_kept, nothing_left.cut_off) == (0.0, 1.0)
    assert nothing_left.latency_added_us == Value(None)
    # It collapsed at 34 GB/s and had carried 0.6.
    assert node.collapses_from == 34.0
    assert node.throughput.value == 0.6
    assert node.nodes_kept == 13 / 16
    assert node.cut_off == pytest.approx(2 / 16)
    added = node.latency_us.value - none.latency_us.value
    assert node.latency_added_us.value == pytest.approx(added)


def test_means_count_a_case_as_often_as_parts_lead_to_it():
    study, results = study_of_made_up_results()
    told = summaries(study, outcomes(study, results.run))
    link, node = told
    assert (link.kind, link.cases, link.lost, link.collapsed) == ("one link", 2, 1, 0)
    assert link.throughput_kept.value == pytest.approx((6 * 16 / 9 + 2 * 0) / 8)
    assert link.nodes_kept == pytest.approx(6 / 8)
    assert (link.nodes_kept_worst, link.worst) == (0.0, "link 2-3")
    assert (node.collapsed, node.lost) == (1, 0)
    (first, second) = conclusions(study, told)
    assert first.startswith("After one link failed, the torus keeps 75.0% of its nodes")
    assert "1 of 1 cases collapse under more" in second


def test_without_saturation_the_share_kept_is_marked_as_a_bound():
    study, results = study_of_made_up_results()
    data = json.loads(results.json)
    for point, verdict in zip(data["points"], ["stable", "stable", "stable"] * 2, strict=True):
        if point["verdict"]["verdict"] != "collapsed":
            point["verdict"]["verdict"] = verdict
    found = outcomes(study, Results.from_json(json.dumps(data)).run)
    assert [o.bound for o in found] == [None, "at least", None, "at least"]
    told = summaries(study, found)
    assert all(s.unsaturated for s in told)
    assert [row["throughput"][:2] for row in rows(study, told)] == ["≥ ", "≥ "]
    # The worst case is lost: nothing is left, and that is exact.
    assert rows(study, told)[0]["throughput_worst"] == "0.0%"
    (first, _, remark) = conclusions(study, told)
    assert "at least 133.3% of the highest load" in first
    assert "not seen to saturate" in remark
    assert json.loads(study_json(study, found, told))["remarks"] == [remark]
    # The case saturates where the whole fabric does not: it keeps no more than that.
    data["points"][3]["verdict"]["verdict"] = "saturated"
    found = outcomes(study, Results.from_json(json.dumps(data)).run)
    assert [o.bound for o in found][:2] == [None, "at most"]
    # Known on both sides.
    data["points"][1]["verdict"]["verdict"] = "saturated"
    found = outcomes(study, Results.from_json(json.dumps(data)).run)
    assert [o.bound for o in found][:2] == [None, None]


def test_faults_of_the_scenario_count_as_failed_and_are_told():
    text = TORI.replace('size = "3x3"', 'size = "3x3"\nfaults = { nodes = [4] }')
    study = plan([Scenario(text, "tori.toml")])
    none = study.cases[0]
    assert (none.failed, none.live) == ([4], 8)
    assert study.sites[0].harmed == ["node 4", "4 of 12 rings out of service"]
    node = next(c for c in study.cases if c.kind == "one node")
    assert node.failed == [4, 0]
    (remark, _) = remarks(study, [])
    assert "has faults to start with (node 4, 4 of 12 rings out of service)" in remark


def test_more_pairs_than_there_are_are_told(study):
    sites = [Site("torus", 9, 3, 3)]
    _, results = study_of_made_up_results()
    made_up_study, _ = study_of_made_up_results()
    told = summaries(made_up_study, outcomes(made_up_study, results.run))
    pair = replace(told[0], kind="two parts", unsaturated=False)
    many = replace(study, sites=sites, double=4)
    assert remarks(many, [pair]) == [
        "All 3 pairs of failures of the torus were taken; there are no 4."
    ]
    assert remarks(replace(many, double=3), [pair]) == []


def test_what_further_scenarios_say_otherwise_is_told():
    one = Scenario(TORI, "one.toml")
    two = Scenario(
        TORI.replace("Which", "What").replace("20 us", "30 us").replace('"20 GB/s"', '"9 GB/s"'),
        "two.toml",
    ).changed(seed=9, **{"machine.queues.input": 2})
    assert plan([one]).left_out == ""
    told = plan([one, two]).left_out
    assert told == "left out, those of one.toml count for all: two.toml: loads, stop, seed"
    assert plan([one, two], seed=3).left_out.endswith("two.toml: loads, stop")
    assert plan([one, one.changed(title="Other", **{"machine.queues.input": 2})]).left_out == ""


def test_a_search_is_refused():
    text = TORI.replace('"workload.load" = ["1 GB/s", "20 GB/s"]\n', "")
    text += SEARCH
    with pytest.raises(IsthmusError, match=r"tori\.toml: search: .*leave \[search\] out"):
        plan([Scenario(text, "tori.toml")])


def test_a_study_from_the_command_line(isthmus, tmp_path):
    (tmp_path / "tori.toml").write_text(TORI.replace('"3x3"', '"3x3"'))
    done = isthmus("faults", "tori.toml", "--double", 2, "--seed", 4, "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert "After one link failed, the 3 x 3 bidirectional torus keeps 100.0%" in done.stdout
    folder = tmp_path / "out" / "tori-faults"
    with (folder / "faults.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["fabric"], r["failure"]) for r in rows] == [
        (f"3 x 3 {fabric} torus", kind)
        for fabric in ("bidirectional", "uniform-ring")
        for kind in ("one link", "one node", "two parts")
    ]
    assert all(0 < float(r["throughput_kept"]) < 1.2 for r in rows)
    assert [r["cases"] for r in rows] == ["12", "9", "2", "9", "9", "2"]
    with (folder / "faults-cases.csv").open() as file:
        assert len(list(csv.DictReader(file))) == (1 + 12 + 9 + 2) + (1 + 9 + 9 + 2)
    page = (folder / "report.html").read_text()
    assert page.count('class="network"') == 2
    assert 'data-chart="faults"' in page
    assert "The worst single failure" in page
    study = read_study(folder)
    assert len(outcomes(study, Results.load(folder).run)) == len(study.cases)
    # The generated scenario is an ordinary one; the page is made again from what is kept.
    kept = {p.name: p.read_bytes() for p in folder.glob("*") if p.is_file()}
    again = isthmus("report", "out/tori-faults")
    assert again.returncode == 0, again.stderr
    assert "After one link failed" in again.stdout
    for name, data in kept.items():
        assert (folder / name).read_bytes() == data, name
    told = isthmus("faults", "tori.toml", "--double", 2, "--seed", 4, "--json")
    assert len(json.loads(told.stdout)["summaries"]) == 6
    assert STUDY in kept


def test_mistakes_are_told_on_one_line(isthmus, tmp_path, small):
    assert "needs machine.kind" in one_line(isthmus("faults", small))
    assert "cannot be read" in one_line(isthmus("faults", "none.toml"))
    assert "give the FILE" in one_line(isthmus("faults", "machine.size=4x4"))
