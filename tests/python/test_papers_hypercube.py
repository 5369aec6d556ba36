"""The hypercube paper: its rows, its scenarios, and what a quick run says of them."""

import csv
import json
import re
import shutil

import pytest

from conftest import REPOSITORY
from isthmus.core import read_text
from isthmus.papers import find, readme
from isthmus.papers.figures import draw, figures
from isthmus.papers.model import Model
from isthmus.papers.row_results import points
from isthmus.results import Results
from isthmus.scenario import Scenario

HOME = REPOSITORY / "papers" / "hypercube-io"

BY_READING = {"sat_b1_analysis", "sat_b2_analysis", "sat_b0_bound"}
NOT_REPRODUCED = {"sat_b0_sim", "claim_m"}
"""Verdicts of the rows of reference.csv."""


@pytest.fixture(scope="module")
def paper():
    return find(str(HOME))


@pytest.fixture(scope="module")
def reference():
    with (HOME / "reference.csv").open(newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def test_the_rows_of_the_reference_come_out_as_they_should(reference):
    """As far as intervals tell: `undecided` may take the place of any verdict."""
    wanted = dict.fromkeys(BY_READING, "differs by reading")
    wanted |= dict.fromkeys(NOT_REPRODUCED, "not reproduced")
    kept = readme.kept(find(str(HOME)))
    told = {name: kept[name]["verdict"] for name in reference}
    for name, verdict in told.items():
        assert verdict in (wanted.get(name, "reproduced"), "undecided"), name
    assert list(told.values()).count("undecided") <= 2


def test_the_figures_are_run_at_the_papers_settings(paper):
    named = {path.stem for path in (HOME / "scenarios").glob("*.toml")}
    assert {row.scenario for row in paper.rows()} - {""} == named
    wanted = {"figure-4", "figure-6-7", *(f"figure-{n}" for n in range(8, 15))}
    assert wanted | {"table-1", "table-2"} <= named
    for name in named:
        text = read_text(paper.scenario(name))
        assert f'name = "{name}"' in text
        Scenario.load(paper.scenario(name)).check()
        if name in wanted:
            stop = text[text.index("[stop]") :]
            assert re.search(r'rule = "fixed"\nwarmup_messages = 50000\nmessages = 150000', stop)
            assert "replications = 10\n" in stop


def test_each_panel_shows_its_own_cube(paper, isthmus, tmp_path):
    short = ["stop.warmup_messages=100", "stop.messages=1000", "stop.replications=3"]
    loads = "sweep.workload.interarrival=['1.25 ms', '0.625 ms']"
    done = isthmus("run", paper.scenario("figure-6-7"), *short, loads, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    run = Results.load(tmp_path / "run").run
    figure = next(f for f in figures(paper) if f.name == "figure-6")
    plot = draw(figure, run)
    assert [ax.get_title(loc="left") for ax in plot.axes] == [
        "3-cube",
        "4-cube",
        "5-cube",
        "6-cube",
    ]
    assert all("µs" in ax.get_ylabel() for ax in plot.axes)
    assert all("messages/ms" in ax.get_xlabel() for ax in plot.axes)
    shown = [{float(y) for line in ax.lines for y in line.get_ydata()} for ax in plot.axes]
    for dimension, values in zip((3, 4, 5, 6), shown, strict=True):
        fixed = {"dimension": str(dimension), "io_link": "0", "interarrival": "1.25 ms"}
        (point,) = points(run, fixed)
        assert point.measure("pe_pe.router").mean in values
        assert sum(point.measure("pe_pe.router").mean in other for other in shown) == 1


def test_a_wrong_number_is_not_reproduced(isthmus, tmp_path):
    """The rows that need no simulation, with other numbers than the paper's."""
    copy = tmp_path / "papers" / "wrong"
    shutil.copytree(HOME, copy)
    wrong = {"lambda_ioch": "0.35", "x_pech": "430", "sat_b1_analysis": "12", "scv_pech": "8.3"}
    rows = list(csv.DictReader((copy / "expected.csv").open(newline="")))
    for row in rows:
        row["expected"] = wrong.get(row["id"], row["expected"])
    with (copy / "expected.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    names = [*wrong, "x_io_base", "sat_b2_analysis"]
    done = isthmus("papers", "run", "wrong", "--json", *(w for n in names for w in ("--only", n)))
    assert done.returncode == 0, done.stderr
    told = {each["id"]: each["verdict"] for each in json.loads(done.stdout)}
    assert {n: told[n] for n in wrong} == dict.fromkeys(wrong, "not reproduced")
    assert told["x_io_base"] == "reproduced"
    assert told["sat_b2_analysis"] == "differs by reading"


def test_the_readings_of_section_6(paper):
    path = paper.scenario("table-2")
    model = Model(Scenario(read_text(path), str(path)))

    def solved(point, reading):
        return model.reading(point, reading)

    control, one, two = range(3)
    near = 0.005
    for point, reading, wanted in (
        (one, "literal", 10.28),
        (one, "table_2_one_lane", 11.28),
        (two, "literal", 29.41),
        (two, "table_2_two_lanes", 23.71),
    ):
        assert solved(point, reading)["saturation_per_ms"] == pytest.approx(wanted, abs=near)
    assert solved(control, "literal")["bound_per_ms"] == pytest.approx(27.9, abs=0.05)
    assert solved(control, "control_bound")["bound_per_ms"] == pytest.approx(26.29, abs=near)
    for reading in ("literal", "counted"):
        io_link = next(c for c in solved(one, reading)["channels"] if c["kind"] == "io_link")
        assert io_link["base_service_cycles"] == pytest.approx(2064)
    pe_pe = solved(one, "counted")["classes"]["pe_pe"]
    assert pe_pe["router_us"] == pytest.approx(pe_pe["generation_us"] - 0.05, abs=1e-4)
