"""The paper on iWarp's network interface: its rows, and numbers that can be worked out by hand."""

import csv

import pytest

from conftest import REPOSITORY
from isthmus.core import read_text
from isthmus.papers import find, readme
from isthmus.papers.figures import figures
from isthmus.scenario import Scenario

HOME = REPOSITORY / "papers" / "nic-streams"

SET = {"link_rate", "hippi_rate", "hib_links", "staging", "packet_rate", "tu_max"} | {
    "reshuffle_case",
    "memory_bus",
    "bus_crossings",
}
FITTED = {"idle_raw", "idle_udp", "udp_equals_raw", "claim_none_small", "claim_anomaly"}
NOT_REPRODUCED = {"simple_app", "complex_app"}
"""Verdicts of the rows of reference.csv that are not reproduced as they stand."""
NOT_COMPARABLE = {"stack_latency", "chem_rate"}
"""Those of which the machine has no counterpart."""


@pytest.fixture(scope="module")
def paper():
    return find(str(HOME))


@pytest.fixture(scope="module")
def quick(quick_run):
    """A quick run: what it printed."""
    return quick_run(HOME.name)[0]


def test_the_rows_of_the_reference_come_out_as_they_should(paper):
    wanted = dict.fromkeys(SET, "as set") | dict.fromkeys(FITTED, "fitted")
    wanted |= dict.fromkeys(NOT_REPRODUCED, "not reproduced")
    wanted |= dict.fromkeys(NOT_COMPARABLE, "not comparable")
    wanted["claim_overlap"] = "differs by reading"
    kept = readme.kept(paper)
    with (HOME / "reference.csv").open(newline="") as file:
        names = [row["id"] for row in csv.DictReader(file)]
    assert len(names) == 30
    for name in names:
        assert kept[name]["verdict"] == wanted.get(name, "reproduced"), name


def test_quick_runs_are_the_runs(paper, quick):
    """Runs are exact, so that nothing is shortened and nothing is left undecided."""
    kept = readme.kept(paper)
    assert list(quick) == [row.id for row in paper.rows()]
    for name, told in quick.items():
        assert told["verdict"] == kept[name]["verdict"], name
        assert told["verdict"] != "undecided"
        assert told["low"] == told["measured"] == told["high"] or told["low"] is None, name


def test_every_scenario_has_a_row_or_a_figure(paper):
    named = {path.stem for path in (HOME / "scenarios").glob("*.toml")}
    used = {row.scenario for row in paper.rows()} - {""}
    assert named == used | {figure.scenario for figure in figures(paper)}
    for name in named:
        text = read_text(paper.scenario(name))
        assert "[stop]" not in text and "seed" not in text
        Scenario.load(paper.scenario(name)).check()


def test_numbers_by_hand(quick):
    """A processor that each packet takes for so long, at 3,000 packets a second."""
    assert quick["idle_raw"]["measured"] == pytest.approx(100 * (1 - 78e-6 * 3000), rel=2e-3)
    assert quick["idle_udp"]["measured"] == pytest.approx(100 * (1 - 173e-6 * 3000), rel=2e-2)
    # Packets of 64 KiB leave at the rate of the line.
    idle = 100 * (1 - 78e-6 * 1e8 / 65536)
    assert quick["idle_raw_large"]["measured"] == pytest.approx(idle, rel=2e-3)
    # 4 KiB over one link and over four: set-ups one after another, then one start.
    one, four = 102.4 + 2.5 + 2.5, 25.6 + 4 * 2.5 + 2.5
    assert quick["striping_small"]["measured"] == pytest.approx(one / four, rel=0.03)
    # One TU under way: fetched over so many links, set up, begun, handed over and sent.
    for name, links in (("single_simple", 4), ("single_complex", 2)):
        unit_us = 65536 / (40 * links) + 8 * 2.5 + 2.5 + 78 + 655.36
        assert quick[name]["measured"] == pytest.approx(65536 / unit_us, rel=2e-3)
    frame_mb = 4 * 486 * 496 * 4 / 1e6
    frames = quick["single_simple"]["measured"] / frame_mb
    assert quick["single_color"]["measured"] == pytest.approx(frames, rel=1e-6)
    assert max(60 / n for n in range(1, 61) if 60 / n <= frames) == 12
    assert quick["chem_512"]["measured"] == pytest.approx(64 * 99.26 / 6, rel=1e-3)


def test_no_number_of_the_paper_is_in_the_code():
    """The machine's are defaults of its description, and nowhere else."""
    sources = list((REPOSITORY / "crates" / "stream-sim" / "src").glob("*.rs"))
    assert len(sources) >= 8
    for path in sources:
        code = [line.split("//")[0] for line in read_text(path).splitlines()]
        text = "\n".join(code).split("#[cfg(test)]")[0]
        for number in ("40_000_000", "160_000_000", "100_000_000", "3_000", "3000", "78_000"):
            assert number not in text, (path.name, number)
