"""The SCI paper: its rows, its scenarios, and what a quick run says of them."""

import csv
import re

import pytest

from conftest import REPOSITORY
from isthmus.core import read_text
from isthmus.papers import find, readme
from isthmus.scenario import Scenario

HOME = REPOSITORY / "papers" / "sci-fabrics"

FITTED = {
    *(f"crr{n}_lat" for n in (4, 6, 8, 9, 10, 16)),
    *(f"{torus}{n}_lat" for torus in ("ut", "bt", "urt") for n in (9, 16, 25, 36)),
}
"""Latencies that share two fitted numbers."""
BY_READING = {"ring_peak_sim", "crr8_sim", *(f"urt{n}_lat" for n in (16, 25, 36))}
NOT_REPRODUCED = {"crr10_sim", "ring4_lat", "ring10_lat", "ut25_lat"}
"""Verdicts of the rows of reference.csv that are not reproduced as they stand."""
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
def quick(quick_run):
    """A quick run of everything: what it printed, and its folder."""
    found, out = quick_run(HOME.name)
    return found, out


def test_the_rows_of_the_reference_come_out_as_they_should(reference):
    """As far as intervals tell: `undecided` may take the place of any verdict."""
    wanted = dict.fromkeys(FITTED, "fitted") | dict.fromkeys(BY_READING, "differs by reading")
    wanted |= dict.fromkeys(NOT_REPRODUCED, "not reproduced")
    kept = readme.kept(find(str(HOME)))
    told = {name: kept[name]["verdict"] for name in reference}
    for name, verdict in told.items():
        assert verdict in (wanted.get(name, "reproduced"), "undecided"), name
    assert list(told.values()).count("undecided") <= 8


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
