"""The benchmarks of the I/O daemon: their rows, what they leave out, and a short run."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import REPOSITORY

BENCH = REPOSITORY / "bench"
MODULES = ("checkpoints", "daemons", "links", "mounts", "run", "small_files", "units")


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(BENCH))
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    finally:
        sys.path.remove(str(BENCH))


def test_rows_belong_to_the_benchmark_that_their_ids_begin_with(bench):
    for row, part in [
        ("iod.read.1MiB.diod/wall", "iod"),
        ("iod.cached.1MiB", "iod"),
        ("iod.fuse", "iod_fuse"),
        ("iod.fuse.open/fresh", "iod_fuse"),
        ("iod.units.4/read", "iod_units"),
        ("iod.checkpoint.rclone", "iod_checkpoint"),
        ("iod.small/32", "iod_small"),
        ("iod.memory", "iod_memory"),
        ("iod.idle", "iod_idle"),
        ("sci/torus-6x6", "sci"),
        ("sci_growth/torus-4x4", "sci_growth"),
        ("stream.striping.4", "striping"),
    ]:
        old = {"id": row, "name": row}
        assert bench.run.merged([], [old], [part]) == []
        assert bench.run.merged([], [old], []) == [old]


def test_a_ratio_is_the_median_of_those_of_the_turns(bench):
    line = bench.daemons.beside("a", "b", "MB/s", [10, 30, 20], [10, 10, 10], peer="c")
    assert (line.isthmus, line.peer, line.ratio) == (20, 10, 2)
    assert line.detail["peer"] == "c"
    assert line.detail["ratio"] == {"min": 1, "median": 2, "max": 3, "runs": 3}


def test_without_what_they_need_they_are_left_out_with_a_reason(bench, monkeypatch, capsys):
    monkeypatch.setattr(bench.links.os, "geteuid", lambda: 1000)
    shaped = (bench.units.iod_units, bench.checkpoints.iod_checkpoint, bench.checkpoints.iod_memory)
    for part in shaped:
        assert list(part(None, quick=True)) == []
        assert capsys.readouterr().out.startswith(f"{part.__name__} is left out: ")
    monkeypatch.setattr(bench.daemons, "MEMORY", REPOSITORY / "none")
    for part in (bench.mounts.iod_fuse, bench.small_files.iod_small, bench.small_files.iod_idle):
        assert list(part(None, quick=True)) == []
        assert capsys.readouterr().out == (
            f"{part.__name__} is left out: {REPOSITORY / 'none'} is missing\n"
        )


def test_all_mounts_and_networks_are_gone_after_a_failure(bench):
    if why := bench.daemons.missing(shaped=True):
        pytest.skip(why)

    def left() -> str:
        mounts = Path("/proc/self/mounts").read_text()
        names = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True)
        return mounts + names.stdout

    folder = bench.daemons.MEMORY / f"isthmus-test-{bench.links.NAMES.near}"
    folder.mkdir()
    shape = bench.checkpoints.SHAPE
    try:
        with (
            pytest.raises(ZeroDivisionError),
            bench.daemons.slow_store(folder, shape) as store,
            bench.checkpoints._cached(folder, store) as (daemon, cached),
        ):
            taken = bench.checkpoints._write(cached, 1 << 20, files=2)
            assert taken > 0
            bench.daemons.wait_until_stored(daemon)
            assert len((store / "checkpoint-1").read_bytes()) == 1 << 20
            assert folder.name in left()
            raise ZeroDivisionError
        assert folder.name not in left()
        assert bench.links.NAMES.near not in left()
    finally:
        shutil.rmtree(folder)
