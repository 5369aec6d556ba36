"""The kept results of the benchmarks: rows with stable ids, nothing stale."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

import pytest

from conftest import REPOSITORY

BENCH = REPOSITORY / "bench"


@pytest.fixture(scope="module")
def run():
    sys.path.insert(0, str(BENCH))
    try:
        yield importlib.import_module("run")
    finally:
        sys.path.remove(str(BENCH))


def row(name: str, told: str = "") -> dict[str, str]:
    return {"id": name, "name": told or name}


def test_every_kept_row_has_an_id_of_its_own_from_a_benchmark_that_exists(run):
    rows = json.loads((BENCH / "results.json").read_text())
    ids = [each["id"] for each in rows]
    assert len(set(ids)) == len(ids) > 20
    assert all(each["command"] for each in rows)
    assert run.merged(rows, [], list(run.PARTS)) == rows, "in the order of the benchmarks"
    for kept in (BENCH / "results").glob("20*.json"):
        lines = json.loads(kept.read_text())["lines"]
        assert len({each["id"] for each in lines}) == len(lines)


def test_stale_and_renamed_rows_leave(run):
    old = [
        {"name": "a row from before there were ids"},
        row("peer/32-flits-30", "an old name"),
        row("peer/dropped"),
        row("gone/benchmark"),
        row("sci/torus-6x6"),
    ]
    new = [row("peer/32-flits-30", "a new name")]
    assert run.merged(new, old, ["peer"]) == [
        row("peer/32-flits-30", "a new name"),
        row("sci/torus-6x6"),
    ]


def test_a_quick_run_changes_no_kept_result(run, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "RESULTS", tmp_path / "bench" / "results")
    monkeypatch.setattr(run, "QUICK", tmp_path / "out" / "quick.json")
    line = run.Line("sci/torus-6x6", "a torus", 1.23456, "s", detail={"runs": 3})
    run.keep([line], ["sci"], quick=True)
    assert [p.name for p in tmp_path.rglob("*.json")] == ["quick.json"]
    run.keep([line], ["sci"], quick=False)
    kept = json.loads((tmp_path / "bench" / "results.json").read_text())
    assert [(each["id"], each["ours"]) for each in kept] == [("sci/torus-6x6", 1.235)]
    dated = list((tmp_path / "bench" / "results").glob("*.json"))
    assert len(dated) == 1
    assert json.loads(dated[0].read_text())["lines"][0]["detail"] == {"runs": 3}


def test_quick_results_go_where_git_does_not_look(run):
    done = subprocess.run(
        ["git", "check-ignore", "--quiet", run.QUICK], cwd=REPOSITORY, check=False
    )
    assert done.returncode == 0


def test_other_work_on_the_machine_is_said(run, monkeypatch, capsys):
    assert run.doubt(0.5, 2) == "" and run.doubt(15.9, 64) == ""
    said = run.doubt(0.6, 2)
    assert said.startswith("the load average is 0.6 on 2 processors: ") and "\n" not in said
    monkeypatch.setattr(run.os, "getloadavg", lambda: (99.0, 0.0, 0.0))
    monkeypatch.setattr(run.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(run, "PARTS", {"nothing": lambda engine, quick: iter(())})
    monkeypatch.setattr(run, "Engine", lambda: None)
    monkeypatch.setattr(sys, "argv", ["bench/run.py", "--quick", "nothing"])
    monkeypatch.setattr(run, "keep", lambda lines, parts, quick: None)
    monkeypatch.setattr(run.signal, "signal", lambda *_: None)
    run.main()
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith(
        "run.py: the load average is 99.0 on 4 processors"
    )
