"""Faults as an axis of any scenario, from the file to selections of results."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from jsonschema import Draft202012Validator

from isthmus import IsthmusError, Scenario, _core
from isthmus.faults import plan
from isthmus.results import Results
from test_cli import one_line

TORUS = """\
version = 1
name = "torus"

[machine]
kind = "sci"
fabric = "torus"
size = "3x3"

[sweep]
"machine.faults" = { of = "links", double = 2 }
"workload.load" = ["1 GB/s", "2 GB/s"]

[stop]
rule = "fixed"
time = "5 us"
replications = 2
"""
LINKS = ["link 0-1", "link 3-4", "link 6-7", "link 0-3", "link 1-4", "link 2-5"]


@pytest.fixture(scope="module")
def results():
    return Scenario(TORUS, "torus.toml").run()


def test_points_are_labelled_by_what_failed(results):
    run = results.run
    assert [axis.key for axis in run.axes] == ["fault", "workload.load"]
    labels = [point.values[0].text for point in run.points]
    assert labels[::2] == labels[1::2]
    assert labels[0] == "nothing"
    assert sorted(labels[2:14:2]) == sorted(LINKS)
    assert all(" and " in label for label in labels[14:])
    assert len(labels) == 2 * (1 + 6 + 2)


def test_results_are_read_by_what_failed(results):
    chosen = results.sel(fault="link 0-1")
    assert len(chosen.run.points) == 2
    whole = results.sel(fault=["nothing", "link 0-1"])
    assert set(whole.table["fault"]) == {"nothing", "link 0-1"}
    assert set(chosen.settings["machine.faults.links"]) == {"[[0, 1]]"}


def test_an_executor_runs_it_in_parts(results):
    with ThreadPoolExecutor(2) as pool:
        again = Scenario(TORUS, "torus.toml").run(executor=pool)
    assert again.json == results.json


def test_it_runs_from_the_command_line(isthmus, tmp_path):
    (tmp_path / "torus.toml").write_text(TORUS)
    told = json.loads(isthmus("check", "torus.toml", "--json").stdout)
    assert told["points"] == 18
    done = isthmus("run", "torus.toml", "sweep.machine.faults=nodes", "--jobs", 2)
    assert done.returncode == 0, done.stderr
    kept = Results.load(tmp_path / "out/torus").run
    assert [axis.key for axis in kept.axes] == ["fault", "workload.load"]
    assert {p.values[0].text for p in kept.points} == {"nothing", *(f"node {n}" for n in range(9))}
    error = one_line(isthmus("run", "torus.toml", "sweep.machine.faults=nods"))
    assert 'sweep.machine.faults: "nods" is not known here; did you mean "nodes"?' in error


def test_a_study_brings_failures_of_its_own():
    with pytest.raises(
        IsthmusError, match=r"torus\.toml: sweep\.machine\.faults: .*leave the axis"
    ):
        plan([Scenario(TORUS, "torus.toml")])


AXES = {
    "sci": (
        ["single", "links", "nodes", {"of": "links"}, {"double": 3}, {"nodes": [[], [1]]}],
        ["pes", "nods", 3, {"of": "ring"}, {"doubles": 3}, {"double": -1}],
    ),
    "hypercube": (["pes", "io-nodes", {"of": "io-links", "double": 3}], ["nodes"]),
    "fat-tree": ([], ["single", {"double": 3}]),
}
"""What an axis over failures may be, and what not, by the kind of machine."""


@pytest.mark.parametrize("kind", AXES)
def test_editors_know_it(kind):
    validator = Draft202012Validator(json.loads(_core.json_schema()))
    machine = {"kind": kind}

    def is_valid(axis):
        file = {"version": 1, "name": "x", "machine": machine, "sweep": axis}
        return validator.is_valid(file)

    right, wrong = AXES[kind]
    for value in right:
        assert is_valid({"machine": {"faults": value}}), value
        assert "nodes" in value or is_valid({"machine.faults": value}), value
    for value in wrong:
        assert not is_valid({"machine": {"faults": value}}), value
        assert not is_valid({"machine.faults": value}), value
