"""The QsNET paper: its rows, its scenarios, and what a quick run says of them."""

import csv
import importlib.util
import math
import re

import pytest

from conftest import REPOSITORY
from isthmus.core import read_text
from isthmus.papers import find, readme
from isthmus.papers.figures import figures
from isthmus.scenario import Scenario

HOME = REPOSITORY / "papers" / "qsnet-io"

SET = {"link_bw", "switch_latency", "packet_payload", "packet_overhead"}
FITTED = {"ping_peak", "ping_wire", "ping_main", "ping_lat0", "biping_elan", "biping_main"} | {
    "hot_drop64",
    "hot_near",
    "hot_far",
}
BY_READING = {"multi_det_clustered", "multi_det_distributed", "claim_interference_ii"}
NOT_REPRODUCED = {"hot_mid", "claim_shared_distributed"} | {
    "multi_random_clustered",
    "multi_random_distributed",
    "compute_alone",
    "claim_shared_clustered",
}
"""Verdicts of the rows of reference.csv that are not reproduced as they stand."""
NOT_COMPARABLE = {"ping_lat_mpi", "flit", "vc_fifo"}
"""Those of which the machine has no counterpart."""
TIGHT = {"ping_peak", "ping_wire", "ping_main", "biping_elan", "biping_main"} | {
    "hot_aggregate",
}
"""Rows that must be within 2%."""


@pytest.fixture(scope="module")
def paper():
    return find(str(HOME))


@pytest.fixture(scope="module")
def reference():
    with (HOME / "reference.csv").open(newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def quick(quick_run):
    """A quick run of most rows: what it printed, and its folder."""
    found, out = quick_run(HOME.name)
    return found, out


def test_the_rows_of_the_reference_come_out_as_they_should(reference):
    """As far as intervals tell: `undecided` may take the place of any verdict."""
    wanted = dict.fromkeys(SET, "as set") | dict.fromkeys(FITTED, "fitted")
    wanted |= dict.fromkeys(BY_READING, "differs by reading")
    wanted |= dict.fromkeys(NOT_REPRODUCED, "not reproduced")
    wanted |= dict.fromkeys(NOT_COMPARABLE, "not comparable")
    kept = readme.kept(find(str(HOME)))
    told = {name: kept[name]["verdict"] for name in reference}
    for name, verdict in told.items():
        assert verdict in (wanted.get(name, "reproduced"), "undecided"), name
    assert list(told.values()).count("undecided") <= 4


def test_pings_are_asked_for_tightly(paper):
    rows = {row.id: row for row in paper.rows()}
    for name in TIGHT:
        assert (rows[name].rule, rows[name].tolerance) == ("within", "2%"), name


def test_the_scenarios_are_run_with_five_seeds(paper):
    named = {path.stem for path in (HOME / "scenarios").glob("*.toml")}
    assert {row.scenario for row in paper.rows()} <= named
    assert named == {figure.scenario for figure in figures(paper)} | {
        "table-1-random",
        "section-4-4",
        "one-at-a-time",
    }
    for name in named:
        text = read_text(paper.scenario(name))
        assert f'name = "{name}"' in text
        Scenario.load(paper.scenario(name)).check()
        replications = re.search(r"^replications = (\d+)$", text, re.MULTILINE)
        assert replications and int(replications[1]) >= 5, name


def test_the_ping_is_what_the_engine_gives(quick):
    """320 B every 955.2 ns less 1.88 us and a way there and back for each MiB."""
    found, _ = quick
    packets = -(-(1 << 20) // 320)
    message_us = 1.88 + packets * 0.9552
    assert found["ping_peak"]["measured"] == pytest.approx((1 << 20) / message_us, rel=1e-3)
    wire = found["ping_wire"]["measured"] / found["ping_peak"]["measured"]
    assert wire == pytest.approx(378 / 320, rel=2e-3)
    assert found["ping_lat0"]["measured"] == pytest.approx(1.88 + 58 / 400 + 5 * 0.035, abs=1e-6)


def test_one_request_at_a_time_is_a_message_after_another(paper):
    """Of exponential length, in packets of 320 B that the engine makes one after another.

    The software begins each, and its last packet is acknowledged over five switches. Half of them
    are reads, which a request precedes, at most a packet's time and the same way; what links that
    several servers share take from them is below a percent.
    """
    packets = 1 / (1 - math.exp(-320 / 1e6))
    way_us = 5 * 0.035
    write_us = 1.88 + (packets - 1) * 0.9552 + 378 / 400 + way_us + way_us + 0.050
    read_us = write_us + 1.88 + 378 / 400 + way_us
    told = readme.kept(paper)["one_det_distributed"]
    assert 0.99e6 / read_us < told["low"] < told["high"] < 1e6 / write_us
    text = (HOME / "README.md").read_text()
    assert f"| {1e6 / write_us:.1f} ± 0.0 / {told['measured']:.1f} ± 0.4 |" in text
    for name in ("readings", "paced-compute"):
        Scenario.load(HOME / "mechanisms" / f"{name}.toml").check()


def test_servers_that_serve_one_request_at_a_time():
    """What mean value analysis must give, and that the README has what it gives."""
    path = HOME / "mechanisms" / "serial_servers.py"
    spec = importlib.util.spec_from_file_location("serial_servers", path)
    assert spec and spec.loader
    study = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    rate = study.SERVER_MB_PER_S
    # Without pauses all places of n clients at s servers are alike: one is busy in n of n + s - 1.
    for clients, servers in ((56, 8), (64, 8), (1, 3), (7, 1)):
        busy = clients / (clients + servers - 1)
        assert study.accepted(clients, servers, 0.0) == pytest.approx(busy * rate)
    # One client never waits: its messages take a pause and a service.
    assert study.accepted(1, 1, 0.0207) == pytest.approx(1 / (0.0207 + 1 / rate))
    text = (HOME / "README.md").read_text()
    for name, (clients, servers) in study.CASES.items():
        told = [study.accepted(clients, servers, pause) for pause in (0.0, study.PAUSE_S)]
        assert f"| {name} | {told[0]:.0f} | {told[1]:.0f} |" in text
