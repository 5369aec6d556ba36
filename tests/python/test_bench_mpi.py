"""Benchmarks of MPI programs: what they say of their runs, and which MPI a line is of."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from conftest import REPOSITORY

BENCH = REPOSITORY / "bench"


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(BENCH))
    try:
        names = ("mpis", "redistribution", "array_files")
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    finally:
        sys.path.remove(str(BENCH))


@pytest.fixture(scope="module")
def mpi(bench):
    found = bench.mpis.installed()
    if not found:
        pytest.skip("no MPI with mpi4py and a compiler")
    return found[0]


def mpis(bench):
    return [
        bench.mpis.Mpi(name, "python", "mpiexec", "mpicc", None)
        for name in ("Open MPI 5.0.11", "MPICH 5.0.2")
    ]


def test_what_a_program_prints_is_read(bench):
    told = "print('0.5 1.5'); print('write 2.0 3.0'); print('write 4.0 5.0')"
    rows = bench.mpis.measured([sys.executable, "-c", told])
    assert rows == {"": [(0.5, 1.5)], "write": [(2.0, 3.0), (4.0, 5.0)]}
    with pytest.raises(RuntimeError, match="no such hint"):
        bench.mpis.measured([sys.executable, "-c", "raise SystemExit('no such hint')"])


def test_programs_take_turns_and_a_turn_is_the_median_of_its_runs(bench, monkeypatch):
    asked = []

    def measured(command):
        asked.append(command)
        return {"": [(1.0, 2.0), (9.0, 9.0), (3.0, 4.0)]}

    monkeypatch.setattr(bench.mpis, "measured", measured)
    times = bench.mpis.turns({"a": "a", "b": "b"}, 2)
    assert asked == ["a", "b", "a", "b"]
    assert times["b"][""] == bench.mpis.Times([3.0, 3.0], [4.0, 4.0])
    assert times["b"][""].rate(6_000_000) == 2.0
    quick = bench.mpis.Times([1.0, 1.0], [1.0, 1.0])
    assert bench.mpis.ratios(quick, times["b"][""]) == [3.0, 3.0]


def test_a_line_is_of_the_mpi_on_which_its_peer_is_fastest(bench, monkeypatch):
    open_mpi, mpich = mpis(bench)
    took = {
        ("ours", open_mpi): 1.0,
        ("hand", open_mpi): 4.0,
        ("gemr2d", open_mpi): 8.0,
        ("ours", mpich): 2.0,
        ("hand", mpich): 5.0,
        ("gemr2d", mpich): 6.0,
    }
    monkeypatch.setattr(
        bench.redistribution,
        "turns",
        lambda _, count: {
            at: {"": bench.mpis.Times([s] * count, [s] * count)} for at, s in took.items()
        },
    )
    programs = {key: [key[0]] for key in took}
    lines = {line.id: line for line in bench.redistribution._ranks(programs, "nb2", 8, 2, 5)}
    hand, gemr2d = lines["redistribute.nb2.hand"], lines["redistribute.nb2.gemr2d"]
    assert (hand.ratio, hand.detail["mpi"]) == (4.0, open_mpi.name)
    assert (gemr2d.ratio, gemr2d.detail["mpi"]) == (3.0, mpich.name)
    assert gemr2d.detail["by_mpi"][open_mpi.name]["ratio"]["median"] == 8.0


def test_a_peer_takes_part_in_its_best_form(bench, monkeypatch, tmp_path):
    files = bench.array_files
    found = mpis(bench)
    forms = [form for mpi in found for form in files._forms(mpi, files.STATES, quick=False)]
    assert {form.words for form in forms if form.program == "romio"} == set(files.HINTS)
    assert {form.options for form in forms} == {
        (), ("--mca", "io", "romio341"), ("--mca", "io", "ompio")
    }  # fmt: skip

    def measured(command):
        if "cb_buffer_size=4194304" in command:
            raise RuntimeError("no memory left")
        # All ranks as aggregators is best for writing, no collective buffer for reading.
        fast = 1.0 if "cb_nodes=4" in command else 2.0
        read = 0.5 if "romio_cb_read=disable" in command else 1.0
        return {"write": [(fast, fast)], "read": [(read, read)]}

    monkeypatch.setattr(files, "measured", measured)
    commands = {(form.program, form.mpi): [form.program] for form in forms}
    tried = files._tried(files.Load(8, tmp_path / "matrix", commands), forms, 3)
    for mpi in found:
        best = files._best(tried, "romio", "write", mpi, "new")
        assert (best.words, best.state) == (files.ALL, "new")
        best = files._best(tried, "romio", "read", mpi, "over")
        assert best.words == ("romio_cb_read=disable",)
    assert sum(not took for took in tried.values()) == 2
    with pytest.raises(SystemExit, match=r"romio fails on MPICH 5\.0\.2 in each of its forms"):
        files._best({}, "romio", "read", found[1], "over")


def test_a_tmpfs_is_found_by_its_mount(bench, monkeypatch, tmp_path):
    files = bench.array_files
    table = tmp_path / "mounts"
    monkeypatch.setattr(files, "MOUNTS", table)
    for place in ("disk", "full", "memory"):
        (tmp_path / place).mkdir()
    table.write_text(
        f"/dev/vda {tmp_path}/disk ext4 rw 0 0\n"
        f"tmpfs {tmp_path}/gone tmpfs rw 0 0\n"
        f"tmpfs {tmp_path}/full tmpfs rw 0 0\n"
        f"tmpfs {tmp_path}/memory tmpfs rw 0 0\n"
    )
    monkeypatch.setattr(files, "_free", lambda place: 10 if place.name == "full" else 1000)
    assert files.tmpfs(1000) == tmp_path / "memory"
    assert files.tmpfs(1001) is None


def ran(bench, mpi, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*mpi.launch(), *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **bench.mpis.ENVIRONMENT},
    )


@pytest.mark.parametrize("side", [100, 96])
def test_the_programs_look_at_what_they_have_done(bench, mpi, side, tmp_path):
    # The last blocks are cut short at a side of 100.
    path = str(tmp_path / "matrix")
    for words, told in (
        (mpi.built("hand"), [""]),
        ([*mpi.built("romio"), path, "over"], ["write", "write_call", "read", "read_call"]),
        ([*mpi.built("hand_file"), path, "new", "7"], ["write"]),
        ([*mpi.built("hand_file"), path, "over", "0", "map"], ["write"]),
        ([*mpi.built("hand_file"), path, "cut", "16"], ["write"]),
    ):
        program, *rest = words
        done = bench.mpis.measured([*mpi.launch(), program, str(side), "16", "2", *rest])
        assert list(done) == told
        assert all(len(runs) == 2 and min(runs)[0] > 0 for runs in done.values())
    assert (tmp_path / "matrix").stat().st_size == side * side * 8


def test_the_programs_say_what_is_wrong(bench, mpi, tmp_path):
    nowhere = str(tmp_path / "gone" / "matrix")
    for name, words, told in (
        ("romio", ("64", "16", "1", nowhere, "new"), nowhere),
        ("romio", ("64", "16", "1", nowhere, "new", "cb_nodes"), "a hint is NAME=VALUE"),
        ("hand_file", ("64", "16", "1", nowhere, "new", "0"), f"{nowhere}: cannot be opened"),
        ("hand_file", ("64", "x", "1", nowhere, "new", "0"), "x: a whole number is wanted"),
    ):
        done = ran(bench, mpi, *mpi.built(name), *words)
        assert done.returncode != 0
        assert told in done.stderr
