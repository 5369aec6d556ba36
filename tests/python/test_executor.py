"""Points run by an executor: the same bytes, one clear error, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from conftest import REPOSITORY, SMALL
from isthmus import (
    FatTree,
    Hypercube,
    IsthmusError,
    Job,
    Jobs,
    Precision,
    Scenario,
    Servers,
    Workload,
    simulate,
)
from isthmus.errors import RunFailedError
from isthmus.parts import Pool

SEARCHED = SMALL + '\n[search]\nover = "workload.rate"\nfrom = "2 /ms"\nto = "100 /ms"\n'


@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(2) as executor:
        yield executor


@pytest.mark.parametrize("text", [SMALL, SEARCHED], ids=["points", "searches"])
def test_the_bytes_are_those_of_a_run_in_one_piece(pool, text):
    scenario = Scenario(text, changes=("title=Changed", "workload.locality=0.5"))
    here = scenario.run(quick=True, seed=3)
    there = scenario.run(quick=True, seed=3, executor=pool)
    assert there.json == here.json
    assert there.canonical == here.canonical


def test_files_are_the_same_too(pool, tmp_path):
    scenario = Scenario(SMALL)
    scenario.run(quick=True, out=tmp_path / "here")
    scenario.run(quick=True, out=tmp_path / "there", executor=pool)
    for name in ("result.json", "results.csv", "results.parquet", "report.html", "scenario.toml"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


def test_sets_of_jobs_and_periods_are_run_as_in_one_piece():
    """The longest period of all points decides how long a quick run of a fixed time is."""
    jobs = {
        "a": Job(traffic="uniform", nodes=["0-3"]),
        "b": Job(traffic="checkpoint", nodes=["4-6"], period="300 us", volume="20 kB"),
    }
    work = Jobs(jobs=jobs, servers=Servers(placement="list", nodes=[7]))
    stop = Precision(rule="fixed", time="2 ms", replications=2)
    options = {"sweep": {"active": "pairs"}, "precision": stop}
    tree = FatTree(arity=2, levels=3)
    with ThreadPoolExecutor(2) as threads:
        for quick in (True, False):
            here, there = (
                simulate(tree, work, quick=quick, executor=executor, **options)
                for executor in (None, threads)
            )
            assert there.json == here.json


def test_an_axis_without_effect_at_a_value_of_another():
    sweep = {"io_link_lanes": [0, 1], "io_source_lanes": [4, 8]}
    stop = Precision(rule="fixed", messages=3000, warmup_messages=500, replications=2)
    options = {"sweep": sweep, "precision": stop}
    cube, work = Hypercube(dimension=2), Workload(rate="2 /ms")
    with ThreadPoolExecutor(2) as threads:
        there = simulate(cube, work, executor=threads, **options)
    assert there.json == simulate(cube, work, **options).json


class Dead:
    """An executor whose workers are killed."""

    def submit(self, *_):
        future = Future()
        future.set_exception(OSError("the worker was killed"))
        return future


def test_a_dead_worker_is_one_error():
    with pytest.raises(RunFailedError) as error:
        Scenario(SMALL).run(quick=True, executor=Dead())
    told = str(error.value)
    assert "a worker of the executor ended without an answer (OSError: the worker was kil" in told
    assert "\n" not in told


def test_a_killed_process_is_one_error():
    with ProcessPoolExecutor(1) as executor:
        executor.submit(os.getpid).result()
        (process,) = executor._processes
        os.kill(process, signal.SIGKILL)
        with pytest.raises(RunFailedError, match="a worker of the executor ended"):
            Scenario(SMALL).run(quick=True, executor=executor)


def test_what_the_core_refuses_is_told_as_ever(pool):
    short = Scenario(SMALL, changes=("stop.warmup=fixed", "stop.warmup_messages=39999"))
    with pytest.raises(IsthmusError):
        short.run(executor=pool)


@pytest.mark.parametrize("executor", [5, ProcessPoolExecutor, "dask"])
def test_what_is_no_executor_is_refused(executor):
    with pytest.raises(IsthmusError, match="give an executor"):
        Scenario(SMALL).run(executor=executor)


def test_plots_need_a_folder(tmp_path):
    with pytest.raises(IsthmusError, match="plots: files need a folder"):
        Scenario(SMALL).run(plots=True)
    Scenario(SMALL).run(quick=True, out=tmp_path / "run", plots=("svg",))
    assert (tmp_path / "run/plots/latency.svg").is_file()


INTERRUPTED = """
import os, signal, threading, time
from concurrent.futures import ThreadPoolExecutor
import isthmus
scenario = isthmus.load("small.toml")
threading.Timer(2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
class Slow:
    def submit(self, function, *words):
        from concurrent.futures import Future
        return Future()
began = time.monotonic()
try:
    scenario.run(executor=Slow())
except KeyboardInterrupt as stop:
    print(stop, time.monotonic() - began < 30)
"""


def test_ctrl_c_ends_it(small):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        cwd=small.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "python")},
    )
    assert done.stdout == "interrupted after 0 of 4 points True\n"


def test_what_a_watch_raises_is_no_worker_s_mistake(pool):
    from isthmus.execution import Job

    class ClosedError(Exception):
        pass

    def watch(progress):
        if progress.phase == "simulating":
            raise ClosedError

    with pytest.raises(ClosedError):
        Job(SMALL, "small.toml", quick=True, watch=watch, executor=pool).run()


def test_a_pool_can_be_ended_right_after_work_was_given_up():
    for _ in range(30):
        executor = ProcessPoolExecutor(2)
        pool = Pool(executor)
        pool.submit(int).result()
        pool.cancel([pool.submit(int) for _ in range(60)])
        end = threading.Thread(target=executor.shutdown, daemon=True)
        end.start()
        end.join(60)
        assert not end.is_alive()
