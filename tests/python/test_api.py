import doctest
import json
import subprocess
import sys
from itertools import count

import numpy as np
import pytest

import isthmus
from isthmus import (
    Fabric,
    FatTree,
    HotNode,
    Hypercube,
    IsthmusError,
    Job,
    Jobs,
    PacketWorkload,
    Placement,
    Precision,
    Queues,
    Results,
    RingFaults,
    Scenario,
    Search,
    Workload,
)
from isthmus.objects import Collectives, Device, Disk, Faults, Files, HotSpot
from isthmus.scenario_fields import names, plain, toml_value

CUBE = Hypercube(dimension=3, io_link_lanes=1)
TREE = FatTree(arity=2, levels=2)
WORK = Workload(rate="2 /ms")


def test_import_is_quick_and_light():
    code = (
        "import sys, time\nbegan = time.perf_counter()\nimport isthmus\n"
        "print(time.perf_counter() - began)\n"
        "print({'numpy', 'polars', 'matplotlib', 'isthmus._core'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, loaded = done.stdout.split("\n")[:2]
    assert float(seconds) < 0.1
    assert loaded == "set()"


def test_everything_named_is_there():
    for name in isthmus.__all__:
        assert getattr(isthmus, name) is not None
    assert isthmus.__version__ == "0.1.0"
    with pytest.raises(AttributeError, match="no attribute 'Hypercub'"):
        _ = isthmus.Hypercub


@pytest.mark.parametrize(
    ("kind", "machine", "work"),
    [("hypercube", Hypercube, Workload), ("sci", Fabric, PacketWorkload)],
)
def test_every_field_of_machine_and_workload_is_an_attribute(kind, machine, work):
    from isthmus import _core

    fields = json.loads(_core.fields())
    keys = {f["key"] for f in fields if f["machine"] in (kind, "")}
    wanted = {k for k in keys if k.startswith(("machine.", "workload."))} - {"machine.kind"}
    have = set(names(machine, "machine").values()) | set(names(work, "workload").values())
    # Tables are attributes too, though only their fields are in the list.
    assert wanted - have == set()
    assert {k for k in have - wanted if not any(w.startswith(k + ".") for w in wanted)} == set()


def test_objects_render_into_a_scenario_that_the_core_takes():
    machine = Hypercube(
        dimension=4,
        io_link_lanes=2,
        placement=Placement(kind="list", pes=[0, 7, 9, 14]),
        device=Device(access="0.4 ms", cache_hit_rate="70%", disk=Disk(seek="9 ms")),
        faults=Faults(links=[(0, 1)]),
    )
    work = Workload(
        arrival="bursty",
        interarrival="1 ms",
        burst_messages=4,
        burst_gap="10 us",
        file_blocks=Files(min=1, max=4),
        hot_io_node=HotSpot(target=2, probability=0.05),
        collectives=Collectives(broadcast=0.01),
    )
    scenario = Scenario.of(machine, work, sweep={"locality": [0.0, 1.0]}, precision="5%")
    told = scenario.check()
    assert told["points"] == 2
    assert told["axes"][0]["key"] == "workload.locality"
    assert told["machines"][0]["io_nodes"] == [0, 7, 9, 14]
    assert 'seek = "9 ms"' in told["canonical"]


def test_fabrics_render_into_a_scenario_that_the_core_takes():
    fabric = Fabric(
        fabric="bidirectional-torus",
        size="3x3",
        queues=Queues(input=4),
        faults=RingFaults(links=[(0, 1)], cut_off="leave-out"),
    )
    work = PacketWorkload(
        load="2 GB/s", payload="32 B", hot_node=HotNode(node=4, probability="10%")
    )
    told = Scenario.of(fabric, work, sweep={"routing": ["fewest-changes", "random"]}).check()
    assert told["points"] == 2
    machine = told["machines"][0]
    assert (machine["kind"], machine["nodes"]) == ("sci", 9)
    assert machine["dead_rings"] == [0]
    given = Fabric(fabric="rings", rings=[[0, 1, 2], [2, 3]])
    assert Scenario.of(given, work.__class__(load="1 GB/s")).check()["machines"][0]["nodes"] == 4


def test_a_fabric_is_simulated_searched_and_analysed():
    fabric = Fabric(fabric="ring", size=4)
    stop = Precision(rule="fixed", time="100 us", replications=3)
    results = isthmus.simulate(
        fabric, PacketWorkload(), sweep={"load": ["0.4 GB/s", "2.5 GB/s"]}, precision=stop, seed=2
    )
    # One packet of 64 B leaves a ring of N nodes every 46 ns (Eq. 1): 64/46 = 1.39 GB/s.
    peak = results.answer.series[0].peak.measure
    assert peak.mean == pytest.approx(64 / 46, rel=0.02)
    assert results.nodes.height == 2 * 4
    low, high = results.run.points
    assert (low.load, high.load) == (0.4, 2.5)
    assert high.measure("accepted").analytic == pytest.approx(64 / 46, rel=1e-3)
    text = Scenario.of(fabric, PacketWorkload(), search=Search()).text
    assert 'over = "workload.load"' in text
    analysed = isthmus.analyze(fabric, PacketWorkload(load="0.4 GB/s"))
    assert analysed.run.points[0].measure("latency").analytic > 0


def test_sweeps_are_named_by_attribute_or_key_and_hold_arrays():
    import numpy as np

    sweep = {"io_link_lanes": np.arange(3), "workload.locality": (0.0, 0.5)}
    told = Scenario.of(Hypercube(dimension=3), WORK, sweep=sweep).check()
    assert [a["key"] for a in told["axes"]] == ["machine.lanes.io_link", "workload.locality"]
    assert told["points"] == 6
    variants = {"size": [{"label": "small", "dimension": 3}, {"label": "large", "dimension": 4}]}
    assert Scenario.of(CUBE, WORK, sweep=variants).check()["points"] == 2


def test_mistakes_are_told():
    with pytest.raises(IsthmusError, match=r"machine.dimension: 21 is out of range; give 1 to 20"):
        isthmus.check(Hypercube(dimension=21, io_link_lanes=1), WORK)
    with pytest.raises(IsthmusError, match=r"'localty': no such field .* did you mean 'locality'"):
        Scenario.of(CUBE, WORK, sweep={"localty": [1]})
    with pytest.raises(IsthmusError, match="not something a scenario can hold"):
        Scenario.of(Hypercube(dimension=object()), WORK)
    with pytest.raises(IsthmusError, match=r"none\.toml: cannot be read"):
        isthmus.load("none.toml")


def test_simulate(tmp_path):
    results = isthmus.simulate(
        Hypercube(dimension=3),
        WORK,
        sweep={"io_link_lanes": [0, 1]},
        search=Search(start="2 /ms", stop="60 /ms", resolution="30%"),
        precision="10%",
        quick=True,
        seed=5,
        title="Is it worth it?",
    )
    assert results.run.seed == 5
    assert [s.series.label for s in results.answer.series] == ["no I/O network", "b = 1"]
    assert results.searches.height == 2
    assert results.plot("saturation")._repr_png_().startswith(b"\x89PNG")
    assert "Is it worth it?" in results.report(tmp_path / "r.html").read_text()
    again = Results.load(results.save(tmp_path / "kept"))
    assert again.table.equals(results.table)
    assert again.canonical == results.canonical


@pytest.mark.parametrize(
    "title", ["a\u00a0b", "a\u2009b", "\U0001f469\u200d\U0001f52c", "a\u200eb"]
)
def test_a_run_with_any_title_that_is_taken_can_be_loaded(tmp_path, title):
    work = Jobs(jobs={"a": Job(traffic="uniform")})
    short = isthmus.Precision(rule="fixed", time="10 us", replications=2)
    isthmus.simulate(TREE, work, precision=short, title=title, out=tmp_path / "run")
    assert Results.load(tmp_path / "run").run.title == title


def test_analyze_needs_no_simulation():
    results = isthmus.analyze(CUBE, WORK, sweep={"locality": [0.0, 0.5, 1.0]})
    table = results.table.filter(measure="read.network", statistic="mean")
    assert table["value"].to_list() == [None] * 3
    assert table["analytic"].is_sorted(descending=True)


def test_changed(small):
    scenario = isthmus.load(small).changed(locality=0.5, **{"stop.precision": "20%"})
    told = scenario.check()
    assert "locality = 0.5" in told["canonical"]
    assert 'precision = "20%"' in told["canonical"] or "precision = 0.2" in told["canonical"]


def test_toml_values():
    assert toml_value('a "b"\n\\') == '"a \\"b\\"\\n\\\\"'
    assert toml_value([True, 1, 0.5, "x"]) == '[true, 1, 0.5, "x"]'
    assert toml_value({"a": 1, "b.c": [2]}) == '{ a = 1, "b.c" = [2] }'


def test_docstrings_run():
    import isthmus.api
    import isthmus.objects
    import isthmus.results.collection
    import isthmus.results.comparison
    import isthmus.scenario

    modules = (isthmus.api, isthmus.objects, isthmus.scenario)
    results = (isthmus.results.collection, isthmus.results.comparison)
    for module in (*modules, *results):
        failed, tried = doctest.testmod(module)
        assert failed == 0
        assert tried > 0


class _Odd:
    def __repr__(self):
        raise RuntimeError("no words")


CIRCLE: list[object] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("machine", lambda: isthmus.check("cube", WORK)),
        ("machine", lambda: isthmus.check(None, WORK)),
        ("machine", lambda: isthmus.check(Hypercube, WORK)),
        ("machine", lambda: isthmus.simulate(WORK, CUBE)),
        ("workload", lambda: isthmus.check(CUBE, {"rate": "2 /ms"})),
        ("workload", lambda: isthmus.analyze(CUBE, _Odd())),
        ("sweep", lambda: isthmus.check(CUBE, WORK, ["locality"])),
        ("sweep", lambda: isthmus.check(CUBE, WORK, "locality")),
        ("sweep: key", lambda: isthmus.check(CUBE, WORK, {3: [1]})),
        ("sweep['locality']", lambda: isthmus.check(CUBE, WORK, {"locality": {0.1, 0.2}})),
        ("sweep['locality']", lambda: isthmus.check(CUBE, WORK, {"locality": [None]})),
        ("sweep['locality']", lambda: isthmus.check(CUBE, WORK, {"locality": CIRCLE})),
        ("sweep['dimension']", lambda: isthmus.check(CUBE, WORK, {"dimension": count()})),
        ("machine.dimension", lambda: isthmus.check(Hypercube(dimension=10**5000), WORK)),
        ("path", lambda: isthmus.load("a\0b")),
        ("path", lambda: isthmus.load("\ud800")),
        ("out", lambda: isthmus.simulate(CUBE, WORK, out="a\ud800b")),
        ("seed", lambda: isthmus.simulate(CUBE, WORK, seed=np.array([1, 2]))),
        ("jobs", lambda: isthmus.simulate(CUBE, WORK, jobs=np.array([1, 2]))),
        ("sweep['v']", lambda: isthmus.check(CUBE, WORK, {"v": [{"label": "a"}, 3]})),
        ("search", lambda: isthmus.simulate(CUBE, WORK, search="workload.rate")),
        ("search", lambda: isthmus.simulate(CUBE, WORK, search=Search)),
        ("precision", lambda: isthmus.simulate(CUBE, WORK, precision=[0.05])),
        ("precision", lambda: isthmus.simulate(CUBE, WORK, precision=True)),
        ("path", lambda: isthmus.load(5)),
        ("path", lambda: isthmus.load(None)),
        ("path", lambda: isthmus.load("")),
        ("jobs", lambda: isthmus.simulate(CUBE, WORK, jobs="2")),
        ("jobs", lambda: isthmus.simulate(CUBE, WORK, jobs=0)),
        ("jobs", lambda: isthmus.simulate(CUBE, WORK, jobs=2.0)),
        ("jobs", lambda: isthmus.simulate(CUBE, WORK, jobs=True)),
        ("jobs", lambda: isthmus.simulate(CUBE, WORK, jobs=10**20)),
        ("seed", lambda: isthmus.simulate(CUBE, WORK, seed=1.5)),
        ("title", lambda: isthmus.simulate(CUBE, WORK, title=5)),
        ("title", lambda: isthmus.simulate(CUBE, WORK, title="\udcff")),
        ("name", lambda: isthmus.simulate(CUBE, WORK, name=None)),
        ("quick", lambda: isthmus.simulate(CUBE, WORK, quick="yes")),
        ("out", lambda: isthmus.simulate(CUBE, WORK, out=5)),
        ("out", lambda: isthmus.simulate(CUBE, WORK, out="")),
        ("progress", lambda: isthmus.simulate(CUBE, WORK, progress="yes")),
        ("text", lambda: Scenario(5)),
        ("changes", lambda: Scenario("version = 1", changes="seed=2")),
        ("changes", lambda: Scenario("version = 1", changes=(1,))),
        ("directory", lambda: Results.load(5)),
        ("text", lambda: Results.from_json(b"\xff")),
        ("machine.dimension", lambda: isthmus.check(Hypercube(dimension=object()), WORK)),
        ("machine.device", lambda: isthmus.check(Hypercube(dimension=3, device=Device), WORK)),
        ("workload.jobs", lambda: isthmus.check(TREE, Jobs(jobs=[Job(traffic="uniform")]))),
        ("workload.jobs['a']", lambda: isthmus.check(TREE, Jobs(jobs={"a": "uniform"}))),
        ("workload.jobs: key", lambda: isthmus.check(TREE, Jobs(jobs={1: Job(traffic="ping")}))),
        ("locality", lambda: Scenario("version = 1").changed(locality=object())),
    ],
)
def test_arguments_of_the_wrong_type_are_named(name, call):
    with pytest.raises(IsthmusError) as error:
        call()
    told = str(error.value)
    assert told.startswith(f"{name}: "), told
    assert "; give " in told
    assert "\n" not in told
    assert len(told) < 260


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.longdouble])
def test_numbers_of_numpy_are_numbers_too(kind):
    assert toml_value(plain(kind(0.5))) == "0.5"
    assert toml_value(plain(np.linspace(0, 1, 3, dtype=kind))) == "[0.0, 0.5, 1.0]"
    isthmus.check(CUBE, Workload(rate="5 /ms", locality=kind(0.5)), {"dimension": np.arange(3, 5)})
    isthmus.check(CUBE, WORK, {"locality": list(np.linspace(0, 1, 3, dtype=kind))})


def test_numbers_of_numpy_are_whole_numbers_too():
    results = isthmus.simulate(CUBE, WORK, precision="30%", quick=True, seed=np.int64(4))
    assert results.run.seed == 4
