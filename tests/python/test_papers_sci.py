"""The SCI paper: its rows, its scenarios, and what a quick run says of them."""

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

HOME = REPOSITORY / "papers" / "sci-fabrics"

BY_READING = {"ring_peak_sim", "crr8_sim", *(f"urt{n}_lat" for n in (16, 25, 36))}
NOT_REPRODUCED = {"crr10_sim", "ring4_lat", "ring10_lat"}
CLOSE = {"ring6_lat", "ring8_lat", "urt16_lat", "crr16_lat"}
"""Rows of reference.csv that lie so near their tolerance that a quick run may say otherwise."""
PAPER = {"table-1", "table-3", "table-5", "tables-6-8", "table-7", "peaks"} | {
    "figure-5",
    "figure-6",
    "figure-8",
    "figures-9-11",
}
"""Scenarios that must be at the settings of the paper."""


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
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return {each["id"]: each for each in json.loads(done.stdout)}, out


def test_every_row_of_the_reference_is_there(paper, reference):
    rows = {row.id: row for row in paper.rows()}
    assert reference.keys() <= rows.keys()
    for name, told in reference.items():
        assert rows[name].where == told["where"], name
        assert rows[name].quantity == told["quantity"], name
        if told["value"]:
            assert rows[name].expected == told["value"], name
            assert rows[name].unit == told["unit"], name


def test_the_readme_has_a_verdict_for_every_row(paper, reference):
    text = (HOME / "README.md").read_text()
    said = dict(
        re.findall(r"^\| `(\w+)` \|.*\| (?:\*\*)?([a-z ]+?)(?:\*\*)? \|$", text, re.MULTILINE)
    )
    assert list(said) and said.keys() == {row.id for row in paper.rows()}
    assert set(said.values()) == set(VERDICTS)
    told = {name: verdict for name, verdict in said.items() if name in reference}
    wanted = dict.fromkeys(reference, "reproduced")
    wanted |= dict.fromkeys(NOT_REPRODUCED, "not reproduced")
    wanted |= dict.fromkeys(BY_READING, "differs by reading")
    assert told == wanted
    for name in re.findall(r"\]\(((?:figures|dependability)/[\w.-]+)\)", text):
        assert (HOME / name).is_file()


def test_the_scenarios_are_run_at_the_papers_settings(paper):
    named = {path.stem for path in (HOME / "scenarios").glob("*.toml")}
    assert {row.scenario for row in paper.rows()} - {""} == named - {"dependability"}
    assert named >= PAPER
    for name in named:
        text = read_text(paper.scenario(name))
        assert f'name = "{name}"' in text
        Scenario.load(paper.scenario(name)).check()
        if name in PAPER - {"table-1"}:
            stop = text[text.index("[stop]") :]
            assert re.search(r'rule = "fixed"\ntime = "200 us"\nreplications = 8', stop), name
            assert "warmup" not in stop


def test_a_quick_run_says_what_the_full_one_does(quick, reference, paper):
    found, _ = quick
    assert list(found) == [row.id for row in paper.rows()]
    for each in found.values():
        assert each["verdict"] in VERDICTS
        assert each["measured"] is not None, each["id"]
        assert each["detail"]
        if each["low"] is not None:
            assert each["low"] <= each["measured"] <= each["high"]
    for name in reference.keys() - CLOSE:
        wanted = "reproduced"
        if name in NOT_REPRODUCED:
            wanted = "not reproduced"
        elif name in BY_READING:
            wanted = "differs by reading"
        assert found[name]["verdict"] == wanted, found[name]
    for row in paper.rows():
        if found[row.id]["verdict"] != "reproduced" and row.id not in CLOSE:
            assert row.note or row.id in QUICK_MISSES, found[row.id]


QUICK_MISSES = {"fig5_near_bound", "fig5_knee", "manhattan_collapse", "ring_lat_between"}
"""Rows that a quick run is too short for."""


def test_printed_digits_of_the_analysis(quick):
    """Table 2, Table 4 and the equations, to the digits that the paper prints."""
    found, _ = quick
    printed = {
        "ring_peak_analytic": "1.39",
        "crr_peak_bound": "4.57",
        "ut9_analytic": "5.56",
        "ut16_analytic": "6.95",
        "ut25_analytic": "8.34",
        "ut36_analytic": "9.73",
    }
    for name, digits in printed.items():
        assert f"{found[name]['measured']:.2f}" == digits, name
    table_2 = (3.7647, 4.0506, 4.1869, 4.2667)
    for nodes, wanted in zip((4, 6, 8, 10), table_2, strict=True):
        assert found[f"crr{nodes}_analytic"]["measured"] == pytest.approx(wanted, abs=5e-5)


def test_collapses_are_told_as_such(quick):
    found, _ = quick
    assert found["urt_live"]["measured"] is True
    for name in ("urt_random", "urt_fixed"):
        assert found[f"{name}_kind"]["measured"] == "livelock"
    assert found["urt_random_collapse"]["measured"] == "collapsed"


def test_the_figures_are_drawn(quick, paper):
    _, out = quick
    names = {figure.name for figure in figures(paper)}
    assert names >= {"figure-5", "figure-6", "figure-8", "figure-9", "figure-11"}
    for name in names:
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    page = (out / "index.html").read_text()
    assert page.count("<figure ") == len(names)
    assert page.count('class="badge') == len(paper.rows())
