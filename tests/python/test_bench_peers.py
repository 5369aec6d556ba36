"""Benchmarks beside other simulators: what makes a ratio, what is asked of a peer, what is read."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import json
import sys
from types import SimpleNamespace

import pytest

from conftest import REPOSITORY

BENCH = REPOSITORY / "bench"


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(BENCH))
    names = ("measure", "caminos", "booksim", "peers", "crosscheck", "interval", "run")
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    finally:
        sys.path.remove(str(BENCH))


def line(bench, ours: float, theirs: float):
    own = [{"rate_per_s": 900.0, "accepted": ours}]
    peer = [bench.measure.Window(messages=30, cpu_s=0.1, accepted=theirs, latency=50)]
    return bench.peers.beside(
        "peer/x", "x", own, peer, peer="a peer", unit="messages per CPU second"
    )


def test_a_line_is_a_ratio_only_where_accepted_loads_are_within_two_in_a_hundred(bench):
    equal = line(bench, 0.581, 0.587)
    assert (equal.ratio, equal.note) == (3.0, "")
    told = line(bench, 0.443, 0.587)
    assert told.ratio is None
    assert told.detail["accepted_apart"] == pytest.approx(0.2453)
    assert bench.run.result_text(told) == (
        "900 messages per CPU second, peer 300 (accepted 0.443 and 0.587: no ratio)"
    )


def test_a_coarse_peer_says_what_its_mean_latency_is_off_by(bench):
    def window(latency: float):
        return bench.measure.Window(messages=30, cpu_s=0.1, accepted=0.3, latency=latency)

    rough = bench.peers.coarse(line(bench, 0.3, 0.3), [window(200.0)], [window(230.0)])
    assert rough.ratio == 3.0
    assert rough.note == "the peer's mean latency is off by +15.0%"
    assert (rough.detail["grain"], rough.detail["latency_error"]) == (16, 0.15)


def test_the_grain_of_caminos_is_that_of_packets_buffers_and_windows(bench):
    caminos = bench.caminos
    tree = caminos.Setting(caminos.TREE, 1, 0.3, 8_000, 64_000, queue=caminos.OPEN, grain=16)
    text = tree.text(tree.measured // 16)
    for told in (
        "warmup: 500,",
        "measured: 4000,",
        "message_size: 10,",
        "buffer_size: 40,",
        "flit_size: 10,",
        "server_queue_size: 1000000,",
    ):
        assert told in text
    cube = caminos.Setting(caminos.cube(4096), 1, 0.3, 20_000, 60_000, grain=16).text(1)
    for told in (
        "message_size: 256,",
        "buffer_size: 2,",
        "flit_size: 1,",
        "server_queue_size: 20,",
    ):
        assert told in cube
    with pytest.raises(SystemExit, match="grain 7 divides no packet of 160 flits"):
        caminos.Setting(caminos.TREE, 1, 0.3, 7_000, 7_000, grain=7).text(1)


def test_booksim_offers_as_much_to_other_nodes_and_stops_at_no_average(bench):
    booksim = bench.booksim
    text = booksim.Setting(booksim.CUBE, 3, 0.254, 2_000, 8_000, drained=True).text(8)
    for told in (
        "injection_rate = 0.256;",
        "warmup_periods = 2;",
        "max_samples = 10;",
        "sim_type = latency;",
        "stopping_thres = 0.0;",
        "seed = 3;",
    ):
        assert told in text
    assert "sim_type = throughput;" in booksim.Setting(booksim.CUBE, 3, 0.3, 2_000, 8_000).text(8)


def test_what_booksim_prints_is_read_without_messages_to_their_sender(bench):
    booksim = bench.booksim
    output = (
        "Packet latency average = 9 \nPacket latency average = 61.5 (1 samples)\n"
        "Accepted flit rate average = 0.302 (1 samples)\n"
    )
    assert booksim._overall(output, "Packet latency average") == 61.5
    assert booksim._overall(output, "Accepted flit rate average") == 0.302
    # Two nodes; the diagonal is left out, a pair without messages has no mean.
    pairs = (
        "pair_sent(1,:) = [ 5 3 0 2 ];\npair_plat(1,:) = [ 10 60 -nan 11 ];\n"
        "accepted_flits(1,:) = [ 0.2 0.4 ];\n"
    )
    assert booksim._between_nodes(pairs, 2) == (60.0, 0.3)
    assert booksim._mean(pairs, "accepted_flits") == pytest.approx(0.3)
    with pytest.raises(SystemExit, match="BookSim2 reports no Hops average"):
        booksim._overall(output, "Hops average")


def test_booksim_is_left_out_unless_its_source_is_given(bench, monkeypatch, tmp_path):
    booksim = bench.booksim
    monkeypatch.delenv("BOOKSIM", raising=False)
    assert booksim.source(None) is None
    with pytest.raises(SystemExit, match="no source of BookSim2 is there; give the folder"):
        booksim.source(str(tmp_path))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "booksim_config.cpp").touch()
    assert booksim.source(str(tmp_path)) == tmp_path / "src"
    monkeypatch.setenv("BOOKSIM", str(tmp_path / "src"))
    assert booksim.source(None) == tmp_path / "src"


def test_idle_latencies_are_those_of_all_pairs_of_nodes(bench):
    check = bench.crosscheck
    cube = [2 + (a ^ b).bit_count() for a, b in itertools.permutations(range(128), 2)]
    assert check.CUBE.links == pytest.approx(sum(cube) / len(cube))

    def links(a: int, b: int) -> int:
        return 2 * next(level for level in (1, 2, 3) if a // 4**level == b // 4**level)

    tree = [links(a, b) for a, b in itertools.permutations(range(64), 2)]
    assert check.TREE.links == pytest.approx(sum(tree) / len(tree))
    assert check.TREE.idle == pytest.approx(check.TREE.links + 159)
    # Two cycles more for each switch, and one at the end: what a pipeline adds is taken off.
    slow = check.TREE.idle + 2 * (check.TREE.links - 1) + 1
    assert check.TREE.converted(slow, hop=3, offset=-1) == pytest.approx(check.TREE.idle)


def test_a_cross_check_that_was_cut_short_goes_on_where_it_was(bench, monkeypatch, tmp_path):
    check = bench.crosscheck
    monkeypatch.setattr(check, "KEPT", tmp_path / "crosscheck.json")
    monkeypatch.setattr(check, "FIGURE", tmp_path / "crosscheck")
    for peer in (check.caminos, check.booksim):
        monkeypatch.setattr(peer, "is_installed", lambda: True)
    monkeypatch.setattr(
        check.booksim,
        "measure",
        lambda setting, **_: bench.measure.Window(1.0, 1.0, setting.load, 200.0 + setting.seed),
    )
    monkeypatch.setattr(
        check,
        "own_points",
        lambda _engine, network, load, _quick: [
            check.point(network, name, load, load, [100.0, 101.0])
            for name in (check.OWN if network is check.TREE else check.OWN[:1])
        ],
    )
    asked = []

    def measure(setting, *, timed):
        asked.append((setting.network.flits, setting.load, setting.seed))
        if len(asked) == 8:
            raise KeyboardInterrupt
        return bench.measure.Window(1.0, 1.0, setting.load, 100.0 + setting.seed)

    monkeypatch.setattr(check.caminos, "measure", measure)
    with pytest.raises(KeyboardInterrupt):
        list(check.crosscheck(None, quick=False))
    lines = list(check.crosscheck(None, quick=False))
    # The load that was cut short is measured whole, what was done before is not measured again.
    every = [(32, load) for load in check.CUBE.loads] + [(160, load) for load in check.TREE.loads]
    done = [(flits, load, seed) for flits, load in every for seed in range(1, 6)]
    assert asked == done[:8] + done[5:]
    assert [line.ratio for line in lines] == [None] * 4
    compared = [{at["network"] for pair in line.detail["points"] for at in pair} for line in lines]
    assert compared == [{check.CUBE.name}] * 2 + [{check.TREE.name}] * 2
    points = [check.Point(**at) for at in json.loads(check.KEPT.read_text())["points"]]
    assert len(points) == 3 * len(check.CUBE.loads) + 4 * len(check.TREE.loads)
    # With another setting of the peer nothing kept is of use.
    other = dataclasses.replace(check.caminos.CUBE, buffer=8)
    monkeypatch.setattr(check.caminos, "CUBE", other)
    assert check.kept(check.CUBE) == [] and check.kept(check.TREE) != []


def test_the_guides_table_is_what_the_cross_check_keeps(bench):
    check = bench.crosscheck
    points = [check.Point(**at) for at in json.loads(check.KEPT.read_text())["points"]]
    page = (check.ROOT / "docs" / "crosscheck.md").read_text()
    rows = list(check.table(points))
    assert len(rows) >= 8
    for row in rows:
        assert row in page


def test_booksim_counts_no_messages_to_their_sender(bench, monkeypatch):
    booksim = bench.booksim
    told = (
        "Packet latency average = 61.5 (1 samples)\nAccepted flit rate average = 0.3 (1 samples)\n"
    )
    monkeypatch.setattr(booksim, "run", lambda *_, **__: bench.measure.Cost(1.0, 1.0, 1, told))
    window = booksim.measure(booksim.Setting(booksim.TREE, 1, 0.3, 2_000, 8_000), timed=False)
    assert window.accepted == pytest.approx(0.3 * 63 / 64)
    assert window.messages == pytest.approx(0.3 * 63 / 64 * 8_000 * 64 / 160)


def test_a_mean_needs_messages_by_the_square_of_its_precision(bench):
    means = [99.0, 101.0] * 50
    spread = 1.0 * (100 / 99) ** 0.5
    expected = 1_000 * (1.96 * spread / 2) ** 2
    assert bench.interval.needed(1_000, means, 0.02) == pytest.approx(expected)
    assert bench.interval.needed(1_000, means, 0.01) == pytest.approx(4 * expected)
