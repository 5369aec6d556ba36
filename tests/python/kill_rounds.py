"""Rounds of ``kill -9``: a run that is killed at random moments, again and again, and then
finished leaves the bytes of a run that nobody disturbed.

    python tests/python/kill_rounds.py --rounds 40            numbers, tables and a page each
    python tests/python/kill_rounds.py --rounds 40 --drawn    tables, pictures and report as well

In each round one to three processes are killed, one after the other on the same folder; in every
third round two work on the folder at once. The processes are forked from this one, so that a round
takes no time for starting Python.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from isthmus.errors import IsthmusError
from isthmus.execution import Job
from isthmus.results.folder import write_results, write_tables

HYPERCUBE = """\
version = 1
name = "cube"
[machine]
kind = "hypercube"
dimension = 3
[sweep]
"machine.lanes.io_link" = [0, 1]
"workload.rate" = ["2 /ms", "3 /ms", "4 /ms"]
[stop]
rule = "fixed"
messages = 12000
warmup_messages = 1000
replications = 3
[search]
over = "workload.rate"
from = "5 /ms"
to = "60 /ms"
resolution = "60%"
"""
SCI = """\
version = 1
name = "rings"
[machine]
kind = "sci"
size = "4x4"
[sweep]
"machine.fabric" = ["torus", "bidirectional-torus"]
"workload.load" = ["0.5 GB/s", "1 GB/s", "1.5 GB/s"]
[stop]
rule = "fixed"
time = "400 us"
replications = 3
"""
FAT_TREE = """\
version = 1
name = "tree"
[machine]
kind = "fat-tree"
arity = 4
levels = 2
[workload.jobs.shuffle]
traffic = "uniform"
arrivals = "open"
[sweep]
"workload.load" = ["10 MB/s", "20 MB/s", "30 MB/s", "40 MB/s", "60 MB/s", "80 MB/s"]
[stop]
rule = "fixed"
time = "10 ms"
replications = 3
"""
KINDS = {"hypercube": HYPERCUBE, "sci": SCI, "fat-tree": FAT_TREE}


@dataclass
class Tally:
    """What the rounds of a kind came to."""

    rounds: int = 0
    killed: int = 0
    refused: int = 0
    """Processes that were told that another one works in the folder."""
    early: int = 0
    """Killed before the first point was kept."""
    midway: int = 0
    """Killed with some points kept and no result."""
    late: int = 0
    """Killed while tables, pictures and page were made."""


def rounds(text: str, count: int, seed: int, where: Path, *, drawn: bool = False) -> Tally:
    """Run so many rounds; raises AssertionError when a byte differs."""
    chance = random.Random(seed)
    began = time.monotonic()
    assert _wait(_begin(text, where / "whole", drawn)) == 0
    lasts = time.monotonic() - began
    whole = files(where / "whole")
    tally = Tally()
    for number in range(count):
        folder = where / f"round-{number}"
        at_once = 2 if number % 3 == 2 else 1
        wanted, within = chance.randint(1, 3), lasts
        landed = 0
        while landed < wanted:
            processes = [_begin(text, folder, drawn) for _ in range(at_once)]
            time.sleep(chance.uniform(0, within))
            for process in processes:
                os.kill(process, signal.SIGKILL)
            ended = [_wait(process) for process in processes]
            assert set(ended) <= {0, 2, -signal.SIGKILL}, f"round {number}: {ended}"
            tally.refused += ended.count(2)
            if -signal.SIGKILL in ended:
                tally.killed += ended.count(-signal.SIGKILL)
                landed += 1
                _count(tally, folder)
            else:
                # All was done before the kill: from the beginning, with less time.
                shutil.rmtree(folder)
                within *= 0.7
        last = [_begin(text, folder, drawn) for _ in range(at_once)]
        statuses = [_wait(process) for process in last]
        assert 0 in statuses, f"round {number}: {statuses}"
        tally.refused += statuses.count(2)
        left = files(folder)
        assert set(left) == set(whole), f"round {number}: {set(left) ^ set(whole)}"
        for name, data in whole.items():
            assert left[name] == data, f"round {number}: {name} differs"
        tally.rounds += 1
        shutil.rmtree(folder)
    return tally


def files(folder: Path) -> dict[str, bytes]:
    """All files but the one that says when the run was made."""
    paths = (p for p in folder.rglob("*") if p.is_file() and p.name != "provenance.json")
    return {str(p.relative_to(folder)): p.read_bytes() for p in paths}


def _begin(text: str, folder: Path, drawn: bool) -> int:
    """A process that runs the scenario into the folder: its number."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        Job(text, "killed.toml").run_into(folder, write=write_results if drawn else _undrawn)
        status = 0
    except IsthmusError as error:
        if "is working in this folder" in str(error):
            status = 2
        else:
            print(error, file=sys.stderr)
    finally:
        os._exit(status)


def _undrawn(folder, results, _tell):
    """Tables, and files in place of pictures and page, which take seconds to draw."""
    write_tables(folder, results)
    with folder.part("page", "1"):
        for number in range(8):
            folder.write(f"plots/{number}.svg", results.json[: 1000 * number], "page")
        folder.write("report.html", results.json, "page")


def _wait(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _count(tally: Tally, folder: Path) -> None:
    if (folder / "result.json").exists():
        tally.late += 1
    elif list(folder.glob("points/point-*[0-9].json")):
        tally.midway += 1
    else:
        tally.early += 1


def main() -> None:
    """Run all kinds and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=40, help="of each kind of machine")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--drawn", action="store_true", help="pictures and report as well")
    told = parser.parse_args()
    for name in ("polars", "isthmus.plots", "isthmus.report") if told.drawn else ("polars",):
        import_module(name)  # once, not in every process
    for kind in told.kind or KINDS:
        with tempfile.TemporaryDirectory() as where:
            tally = rounds(KINDS[kind], told.rounds, told.seed, Path(where), drawn=told.drawn)
        print(f"{kind}: {tally}", flush=True)


if __name__ == "__main__":
    main()
