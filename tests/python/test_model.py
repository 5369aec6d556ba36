"""The queueing model beside a simulation: disks, and what fills first."""

import dataclasses
import importlib
import json
import random

import pytest

from conftest import REPOSITORY
from isthmus import (
    Device,
    FatTree,
    Hypercube,
    Job,
    Jobs,
    Placement,
    Precision,
    Search,
    Servers,
    Workload,
    analyze,
    simulate,
)

CYCLE_US = 0.05


def mg1_response(rate, mean, second):
    """Pollaczek and Khinchine: wait and service."""
    return rate * second / (2 * (1 - rate * mean)) + mean


def machine(**device):
    """A 3-cube of 8 PEs with I/O nodes at 0 and 7, all of whose requests miss."""
    device = {"cache_hit_rate": 0.0, "service": "queue", **device}
    return Hypercube(dimension=3, io_link_lanes=2, device=Device(**device))


def measure(run, name):
    return next(m for m in run.points[0].measures if m.name == name)


def test_a_disk_that_is_the_limit_is_named_with_its_load():
    """4 PEs a disk, 5% I/O, 20 ms each: 1 / (4 * 0.05 * 20 ms) = 0.25 per ms."""
    search = Search(over="workload.rate", start="0.1 /ms", stop="1 /ms", resolution="20%")
    run = simulate(machine(), Workload(), search=search, quick=True, seed=1).run
    (found,) = run.searches
    assert found.analytic == pytest.approx(0.25, rel=1e-9)
    assert found.analytic_bottleneck == "disks of the I/O nodes"
    assert found.highest_stable < 0.25 < found.lowest_saturated


def test_the_disk_that_serves_most_fills_first():
    """16 PEs are not to be shared evenly among three I/O nodes."""
    cube = Hypercube(
        dimension=4,
        io_link_lanes=2,
        placement=Placement(kind="list", pes=[0, 5, 15]),
        device=Device(cache_hit_rate=0.5, service="queue"),
    )
    search = Search(over="workload.rate", start="0.1 /ms", stop="2 /ms", resolution="30%")
    work = Workload(locality=1.0, read_ratio=0.5)
    run = simulate(cube, work, search=search, quick=True, seed=1).run
    served = [run.machines[0].servers.count(node) for node in range(3)]
    most = max(served)
    assert served.count(most) == 1
    # Half of the requests miss, 20 ms each.
    (found,) = run.searches
    assert found.analytic == pytest.approx(1 / (most * 0.05 * 0.5 * 20), rel=1e-9)
    assert found.analytic_bottleneck == f"disk of I/O node {served.index(most)}"


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_responses_wait_for_the_disk_as_in_an_mg1_queue(load):
    """At 0.25 /ms the disks fill; a network of 20 MB/s lanes is all but idle there."""
    rate = load * 0.25
    work = Workload(rate=f"{rate!r} /ms")
    told = analyze(machine(), work).run
    # Seek uniform to 24 ms, rotation uniform to 16: E[S^2] = 20^2 + (24^2 + 16^2) / 12.
    at_disk = mg1_response(4 * 0.05 * rate, 20.0, 400 + (24**2 + 16**2) / 12) * 1e3
    # Start-ups of 2.8 messages, an access, tails of 1.8 requests and a block.
    rest = 2.8 * 200 + 400 + (1.8 * 31 + 4095) * CYCLE_US
    network = measure(told, "read.network").analytic
    response = measure(told, "read.response").analytic
    assert response == pytest.approx(network + at_disk + rest, rel=1e-9)
    precision = Precision(precision="2%", of=["read.response"])
    simulated = simulate(machine(), work, precision=precision, seed=3).run
    seen = measure(simulated, "read.response")
    assert seen.analytic == response
    # Interval and bias of a run together; the probability of a false alarm is below 1%.
    assert abs(seen.mean / response - 1) < 0.06


def test_the_rows_of_disks_have_the_model_s_use():
    run = simulate(machine(), Workload(rate="0.1 /ms"), precision="20%", quick=True, seed=1).run
    disks = next(c for c in run.points[0].channels if c.kind == "disk" and c.from_ is None)
    assert disks.analytic == pytest.approx(0.1 / 0.25)
    assert disks.busy == pytest.approx(0.4, rel=0.1)


def test_beyond_the_disk_there_is_no_response():
    told = analyze(machine(), Workload(rate="0.3 /ms")).run
    names = {m.name for m in told.points[0].measures}
    assert "pe_pe.header" in names
    assert "read.response" not in names
    assert told.points[0].verdict.verdict == "saturated"


@pytest.mark.parametrize(
    ("lanes", "named"),
    [
        ({"io_link_lanes": 1}, "I/O link"),
        ({"io_link_lanes": 3, "io_to_pe_lanes": 1}, "I/O router to router"),
        ({"io_link_lanes": 4}, "link"),
    ],
)
def test_what_fills_first_is_no_injection_lane_that_only_waits(lanes, named):
    """Section 5 of the hypercube paper: b = 1 is too narrow, so is n = 1, and b = 4 is not."""
    search = Search(over="workload.rate", start="5 /ms", stop="60 /ms", resolution="50%")
    cube = Hypercube(dimension=7, **lanes)
    # The model's word beside a search, which itself says nothing here.
    short = Precision(precision="50%", messages_first=2000, messages_max=4000)
    found = simulate(cube, Workload(), search=search, precision=short, quick=True, seed=1).run
    assert found.searches[0].analytic_bottleneck.startswith(named)


@pytest.mark.parametrize("load", [0.2, 0.5, 0.8])
def test_one_injection_lane_is_an_md1_queue(load):
    """Two PEs send each other 40 flits each over one lane: only the source has a queue.

    k, a link and k are three channels; W = rho L / (2 (1 - rho)) before the first.
    """
    rate = load / (40 * CYCLE_US * 1e-3)
    cube = Hypercube(dimension=1, io_link_lanes=0, pe_lanes=1)
    work = Workload(rate=f"{rate!r} /ms", io_probability=0.0, message="40 B")
    told = measure(analyze(cube, work).run, "pe_pe.header").model_anywhere
    exact = (3 + load * 40 / (2 * (1 - load))) * CYCLE_US
    assert told == pytest.approx(exact, rel=1e-6)


@pytest.fixture
def bench_model(monkeypatch):
    """`bench/model.py`."""
    monkeypatch.syspath_prepend(REPOSITORY / "bench")
    return importlib.import_module("model")


def test_the_model_is_as_near_to_kept_simulations_as_kept(bench_model):
    """The short form of bench/model.py: one in forty of the machines that it keeps."""
    cases = json.loads(bench_model.KEPT.read_text())["cases"]
    drawn = bench_model.drawn(bench_model.PER_SEED * len(bench_model.SEEDS))
    for case in cases[::60]:
        residual, inside = bench_model.compared(case)
        expected = case["residual"].items()
        near = {n: kept and pytest.approx(kept, rel=1e-6, abs=1e-9) for n, kept in expected}
        assert residual == near
        assert inside == case["inside"]
        assert drawn[case["number"]].items() <= case.items()


def test_the_guides_table_is_what_the_kept_residuals_say(bench_model):
    kept = json.loads(bench_model.KEPT.read_text())
    assert bench_model.parts(kept["cases"]) == kept["summary"]
    page = (REPOSITORY / "docs" / "analysis.md").read_text()
    for row in bench_model.table(kept["summary"]):
        assert row in page


def test_the_domain_contains_most_machines_held_out_and_the_model_is_near_there(bench_model):
    """70% of the machines inside, 95% of these within 10%, for each measure."""
    held_out = json.loads(bench_model.KEPT.read_text())["summary"]["held_out"]
    assert set(held_out) == set(bench_model.TITLES)
    for row in held_out.values():
        assert row["inside"] >= 0.7 * row["machines"]
        assert row["within_10"] >= 0.95


def test_two_lanes_for_each_link_are_inside_at_low_loads_and_outside_near_the_knee():
    """A 3-cube at 5 and at 60 messages per ms and PE."""
    cube = Hypercube(dimension=3, io_link_lanes=2, link_lanes=2)
    work = Workload(io_probability=0.1, read_ratio=0.7, block="4 KiB")
    for rate, inside in ((5, True), (60, False)):
        asked = dataclasses.replace(work, rate=f"{rate} /ms")
        found = measure(analyze(cube, asked).run, "pe_pe.header")
        assert (found.analytic is not None, found.outside is None) == (inside, inside)
    assert found.outside.reason == "10% more load lengthens it by more than 26%"


def test_trees_with_circuits_are_as_near_as_the_guide_says(monkeypatch):
    """The short form of bench/estimates.py: the first trees with circuits of the guide's table."""
    monkeypatch.syspath_prepend(REPOSITORY / "bench")
    bench = importlib.import_module("estimates")
    drawn = (bench.tree(random.Random(f"6/{number}")) for number in range(8))
    circuits = [text for text in drawn if 'switching = "circuit"' in text][:2]
    assert len(circuits) == 2
    for text in circuits:
        at = bench.measures(text)["all.accepted"]
        assert abs(at.model_anywhere / at.mean - 1) <= 0.2


def test_jobs_on_fat_trees_have_a_table_without_simulation() -> None:
    work = Jobs(
        servers=Servers(placement="distributed", count=2),
        jobs={"io": Job(traffic="io", read_ratio=1, think="1 ms")},
    )
    found = analyze(FatTree(arity=4, levels=2), work)
    told = {row["measure"]: row for row in found.table.iter_rows(named=True)}
    assert {"io.accepted", "servers.accepted", "io.response"} <= set(told)
    # 14 clients of 2 servers carry the same data.
    ratio = told["servers.accepted"]["analytic"] / told["io.accepted"]["analytic"]
    assert ratio == pytest.approx(7, rel=1e-9)
    # By Little's law, with 1 ms of thought between two megabytes.
    response = 1e6 / told["io.accepted"]["analytic"] - 1e3
    assert told["io.response"]["analytic"] == pytest.approx(response, rel=1e-6)
