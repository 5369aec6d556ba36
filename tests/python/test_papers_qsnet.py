"""The QsNET paper: its rows, its scenarios, and what a quick run says of them."""

import csv
import json
import os
import re
import subprocess
import sys

import pytest

from conftest import REPOSITORY
from isthmus.core import read_text
from isthmus.papers import VERDICTS, find
from isthmus.papers.figures import figures
from isthmus.scenario import Scenario

HOME = REPOSITORY / "papers" / "qsnet-io"

NOT_MODELLED = {"ping_lat_mpi", "flit", "vc_fifo"}
DECLARED = {"hot_mid", "multi_random_clustered", "multi_random_distributed", "compute_alone"}
NOT_REPRODUCED = NOT_MODELLED | DECLARED
TIGHT = {"ping_peak", "ping_wire", "ping_main", "biping_elan", "biping_main"} | {
    "hot_aggregate",
    "multi_det_distributed",
}
"""Rows that must be within 2%."""
SLOW = {"claim_interference_ii"}
"""Rows of reference.csv whose effect takes longer to build up than a quick run is long."""
FOR_LONG_RUNS = NOT_REPRODUCED | SLOW | {"claim_shared_clustered", "claim_interference_dist"}


@pytest.fixture(scope="module")
def paper():
    return find(str(HOME))


@pytest.fixture(scope="module")
def reference():
    with (HOME / "reference.csv").open(newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A quick run of everything: what it printed, and its folder."""
    out = tmp_path_factory.mktemp("paper")
    words = [
        "papers",
        "run",
        str(HOME),
        "--quick",
        "--json",
        "--figures",
        "--plots",
        "png",
        "--out",
        str(out),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "isthmus", *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return {each["id"]: each for each in json.loads(done.stdout)}, out


def test_every_row_of_the_reference_is_there(paper, reference):
    rows = {row.id: row for row in paper.rows()}
    assert reference.keys() <= rows.keys()
    for name, told in reference.items():
        row = rows[name]
        words = (row.where, row.quantity, row.conditions)
        assert words == (told["where"], told["quantity"], told["conditions"]), name
        if told["value"]:
            assert (row.expected, row.unit) == (told["value"], told["unit"]), name
    for name in TIGHT:
        assert (rows[name].rule, rows[name].tolerance) == ("within", "2%"), name
    for name in NOT_REPRODUCED:
        assert rows[name].note, name


def test_the_readme_has_a_verdict_for_every_row(paper, reference):
    text = (HOME / "README.md").read_text()
    said = dict(
        re.findall(r"^\| `(\w+)` \|.*\| (?:\*\*)?([a-z ]+?)(?:\*\*)? \|$", text, re.MULTILINE)
    )
    assert list(said) and said.keys() == {row.id for row in paper.rows()}
    told = {name: verdict for name, verdict in said.items() if name in reference}
    wanted = dict.fromkeys(reference, "reproduced")
    wanted |= dict.fromkeys(NOT_REPRODUCED, "not reproduced")
    assert told == wanted
    for name in re.findall(r"\]\(((?:figures|scaling)/[\w.-]+)\)", text):
        assert (HOME / name).is_file()


def test_the_scenarios_are_run_with_five_seeds(paper):
    named = {path.stem for path in (HOME / "scenarios").glob("*.toml")}
    assert {row.scenario for row in paper.rows()} <= named
    assert named == {figure.scenario for figure in figures(paper)} | {
        "table-1-mapping",
        "section-4-4",
    }
    for name in named:
        text = read_text(paper.scenario(name))
        assert f'name = "{name}"' in text
        Scenario.load(paper.scenario(name)).check()
        replications = re.search(r"^replications = (\d+)$", text, re.MULTILINE)
        assert replications and int(replications[1]) >= 5, name


def test_a_quick_run_says_what_the_full_one_does(quick, reference, paper):
    found, _ = quick
    assert list(found) == [row.id for row in paper.rows()]
    for each in found.values():
        assert each["verdict"] in VERDICTS
        assert each["detail"]
        if each["low"] is not None:
            assert each["low"] <= each["measured"] <= each["high"]
    for name in reference.keys() - FOR_LONG_RUNS:
        assert found[name]["verdict"] == "reproduced", found[name]
    for name in NOT_REPRODUCED:
        assert found[name]["verdict"] == "not reproduced", found[name]


def test_the_ping_is_what_the_engine_gives(quick):
    """320 B every 955.2 ns less 1.88 us and a way there and back for each MiB."""
    found, _ = quick
    packets = -(-(1 << 20) // 320)
    message_us = 1.88 + packets * 0.9552
    assert found["ping_peak"]["measured"] == pytest.approx((1 << 20) / message_us, rel=1e-3)
    wire = found["ping_wire"]["measured"] / found["ping_peak"]["measured"]
    assert wire == pytest.approx(378 / 320, rel=2e-3)
    assert found["ping_lat0"]["measured"] == pytest.approx(1.88 + 58 / 400 + 5 * 0.035, abs=1e-6)


def test_the_figures_are_drawn(quick, paper):
    _, out = quick
    names = {figure.name for figure in figures(paper)}
    assert names >= {f"figure-{n}" for n in ("4", "5", "6", "7", "8", "9-shared", "9-dedicated")}
    for name in names:
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    page = (out / "index.html").read_text()
    assert page.count("<figure ") == len(names)
