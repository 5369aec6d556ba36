"""The benchmark of flows: a real run of the peer, its best setting, and when there is a ratio."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace

import pytest

from conftest import REPOSITORY

BENCH = REPOSITORY / "bench"


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(BENCH))
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in ("flows", "run")})
    finally:
        sys.path.remove(str(BENCH))


def engine(simulated_s: float = 0.5):
    def measure(what, **values):
        assert (what, values["outstanding"], values["bytes"]) == ("flow", 16, 4096)
        report = {"rate_per_s": 60_000.0, "simulated_s": simulated_s}
        return report, SimpleNamespace(memory_gib=0.01)

    return SimpleNamespace(measure=measure)


def peer(bench, monkeypatch, rates):
    """A peer that is as quick as `rates` says of its settings, and fails in all others."""
    asked = []

    def simgrid(program, load, words):
        asked.append((load.each, words))
        if words not in rates:
            raise SystemExit("no such setting")
        return bench.flows.Ran(rates[words], 0.5, 0.1)

    monkeypatch.setattr(bench.flows, "built", lambda: ["torus"])
    monkeypatch.setattr(bench.flows, "simgrid", simgrid)
    return asked


def test_the_peer_takes_part_in_its_best_setting(bench, monkeypatch):
    settings = bench.flows.SETTINGS
    asked = peer(bench, monkeypatch, {settings[0]: 2_000.0, settings[1]: 3_000.0})
    (line,) = bench.flows.flow(engine(), quick=False)
    assert asked == [(1, words) for words in settings] + [(8, settings[1])] * 5
    assert (line.id, line.isthmus, line.peer, line.ratio) == ("stream.flow", 60_000, 3_000, 20)
    assert line.detail["peer_setting"] == list(settings[1])
    assert len(line.detail["tried"]) == 2
    assert line.detail["ratio"]["runs"] == 5


def test_other_results_make_no_ratio(bench, monkeypatch):
    peer(bench, monkeypatch, {bench.flows.SETTINGS[0]: 2_000.0})
    (line,) = bench.flows.flow(engine(simulated_s=0.6), quick=True)
    assert line.ratio is None
    assert line.note == "the last message arrives at times 20.0% apart: no ratio"


def test_a_peer_that_never_runs_is_an_error(bench, monkeypatch):
    peer(bench, monkeypatch, {})
    with pytest.raises(SystemExit, match="in each of its settings"):
        list(bench.flows.flow(engine(), quick=True))


def test_without_the_peer_it_is_left_out_with_a_word(bench, monkeypatch, capsys):
    monkeypatch.setattr(bench.flows, "built", lambda: None)
    (line,) = bench.flows.flow(engine(), quick=True)
    assert (line.isthmus, line.peer, line.ratio) == (60_000, None, None)
    assert capsys.readouterr().out == f"{bench.flows.LEFT_OUT}\n"


def test_its_row_is_found_by_its_id(bench):
    row = {"id": "stream.flow", "name": "flows"}
    assert bench.run.merged([], [row], ["sci"]) == [row]
    assert bench.run.merged([], [row], ["flow"]) == []


def test_the_program_runs_the_load(bench):
    program = bench.flows.built()
    if program is None:
        pytest.skip("no SimGrid or no compiler")
    ran = bench.flows.simgrid(program, bench.flows.Load(1, 4096, 2), bench.flows.SETTINGS[0])
    # 2 messages of 4 KiB in turn, at 1 GB/s at most.
    assert ran.simulated_s >= 2 * 4096e-9
    assert ran.rate_per_s > 100
