"""The overhead of sweeps on Slurm and Dask, relative to the points themselves.

The reference is the core's own time for the points, in as many processes as there are workers. Each
process has one thread and its share of the points, without start, journal and report. Busy
processors slow each other down, by up to a fifth for two threads of one core, so all processes run
together. The measured time is the CPU time of everything that isthmus runs: the command, its
children and every task, but not Slurm's daemons. Both sides have the machine in turns of half a
second, since its speed varies by half from minute to minute; the sums of all runs are compared.
Each line also has the time of a run by one command, and of the points one by one.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from by_turns import Ended, Side, by_turns
from measure import ROOT, Engine, Line, spread

CORES = 2
POINT_S = 0.05
"""CPU seconds that a point of the benchmark should take."""
AXES = (10, 100)
SPARE = 10
"""One in this many rates is tried to find the number of messages for that time; points that are few
and close together would take longer than most.
"""
RUNS = 5
TOUCHED = 4 << 30
"""Bytes of memory that are touched once before measuring. The first use of a page on a virtual
machine costs its kernel up to fifty microseconds, and each run writes 50,000 pages.
"""
WANTED = {"slurm": 1.2, "dask": 1.4}
"""Maximum CPU time of a sweep relative to that of its points."""
TASKS = 2 * CORES
"""Number of tasks of the array: more than cores, as users would choose, although each task costs a
start.
"""
TIMED = """\
exec() {
    "$@"
    local status=$?
    times >"$COSTS/$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID"
    return $status
}
"""
"""Read by bash before the script of a task (BASH_ENV); records the task's time in its parent."""
Run = dict[str, float]
"""CPU seconds of everything that took part in a run."""
PASSED = ("SLURM_CONF", "PATH", "BASH_ENV", "COSTS", "LC_ALL")
"""Environment variables that the command passes to isthmus."""
_OF_ARRAY = re.compile(rb"SLURM_ARRAY_TASK_ID=")
_MINUTES = re.compile(r"(\d+)m([\d.]+)s")


def sweep(_engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure a thousand points of 50 ms."""
    if not quick:
        _touch_memory()
    axes = (1, 20) if quick else AXES
    sample = (axes[0], axes[1] // SPARE)
    with tempfile.TemporaryDirectory(prefix="isthmus-sweep-") as name:
        place = Path(name)
        messages = 20_000
        for _ in range(1 if quick else 2):
            tried = Study(place / "tried.toml", sample, messages, SPARE)
            side = tried.own()
            by_turns(side)
            messages = round(messages * POINT_S * tried.points / _own_s(side))
        study = Study(place / "study.toml", axes, messages)
        one_by_one_s = study.one_by_one_s()
        runs = 1 if quick else RUNS
        for row in (_slurm, _dask):
            for line in row(study, runs):
                line.detail["points_one_by_one_s"] = one_by_one_s
                yield line


def _touch_memory() -> None:
    """Touch memory once, as on a machine in use. Only isthmus writes much, so its first run would
    pay for all pages.
    """
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    len(b"\1" * min(TOUCHED, free // 2))


class Study:
    """A scenario, and a scenario of each worker's share of its points."""

    def __init__(self, file: Path, axes: tuple[int, int], messages: int, spare: int = 1) -> None:
        """Write the scenarios; take every `spare`-th of the rates, which cost about the same."""
        localities = [round(0.2 + i / 100, 2) for i in range(axes[0])]
        rates = [f"{4 + i * spare / 100:.2f} /ms" for i in range(axes[1])]
        self.points = len(localities) * len(rates)
        self.file = file
        file.write_text(scenario(localities, rates, messages))
        self._shares = [file.with_name(f"{file.stem}-{at}.toml") for at in range(CORES)]
        for at, share in enumerate(self._shares):
            share.write_text(scenario(localities, rates[at::CORES], messages))

    def own(self) -> Side:
        """Return the side that does only the points, the shares of all workers at the same time."""
        return Side([_alone(share) for share in self._shares])

    def in_one_piece(self, folder: Path) -> Side:
        """Return the side that does all points by one command, into a folder without earlier runs:
        after removals, a file system may take ten times as long to make files.
        """
        words = [sys.executable, "-m", "isthmus", "run", str(self.file), "--jobs", str(CORES)]
        return Side([[*words, "--out", str(folder)]])

    def is_done(self, folder: Path) -> None:
        """Raise ``SystemExit`` if results of points are missing in a folder."""
        found = len(json.loads((folder / "result.json").read_bytes())["points"])
        if found != self.points:
            raise SystemExit(f"sweep: {found} points of {self.points} were done")

    def one_by_one_s(self) -> float:
        """Return CPU seconds of the points, one at a time on an otherwise idle machine."""
        side = Side([_alone(self.file)])
        by_turns(side)
        return _own_s(side)


def _alone(file: Path) -> list[str]:
    """Return the command that prints the times of a scenario's points."""
    return [sys.executable, str(Path(__file__)), str(file)]


def _own_s(side: Side) -> float:
    """Return CPU seconds of points, as their processes recorded them."""
    return sum(float(json.loads(each.output)["cpu_s"]) for each in side.ended)


def scenario(localities: list[float], rates: list[str], messages: int) -> str:
    """Return a scenario whose points take about the same time."""
    return f"""\
version = 1
name = "study"
machine = {{ kind = "hypercube", dimension = 4, lanes = {{ io_link = 1 }} }}

[sweep]
"workload.locality" = {json.dumps(localities)}
"workload.rate" = {json.dumps(rates)}

[stop]
rule = "fixed"
warmup = "fixed"
warmup_messages = 500
messages = {messages}
replications = 4
"""


def _slurm(study: Study, runs: int) -> Iterator[Line]:
    """Measure an array job on two nodes with a processor each."""
    sys.path.insert(0, str(ROOT / "tests" / "slurm"))
    import cluster

    if (why := cluster.missing()) is not None:
        sys.stdout.write(f"sweep.slurm is left out: {why}\n")
        return
    timed, costs = study.file.parent / "timed.sh", study.file.parent / "costs"
    timed.write_text(TIMED)
    with cluster.cluster(nodes=CORES, cpus=1) as slurm:

        def start(run: int) -> Side:
            """Return the side that runs isthmus with Slurm and records the cost of its tasks."""
            here = costs / str(run)
            here.mkdir(parents=True)
            environment = {**slurm.environment, "BASH_ENV": str(timed), "COSTS": str(here)}
            # bash formats numbers by the locale.
            environment["LC_ALL"] = "C"
            words = [f"{name}={environment[name]}" for name in PASSED]
            words += [sys.executable, "-m", "isthmus", "run", str(study.file), "--on", "slurm"]
            words += ["--array-size", str(TASKS), "--out", str(_out(study, "slurm", run))]
            return Side([["env", *words]], helpers=lambda: _tasks(here))

        def ended(run: int, command: Ended) -> Run:
            """Return the cost of a run: that of the command and of its tasks."""
            tasks = [_seconds(path) for path in (costs / str(run)).iterdir()]
            if len(tasks) != TASKS:
                raise SystemExit(f"sweep: {len(tasks)} tasks of {TASKS} were done")
            spent = {"command_s": command.cpu_s, "tasks_s": sum(tasks)}
            return {"spent_s": sum(spent.values()), **spent}

        found = _runs("slurm", study, runs, start, ended)
    yield _line("slurm", f"{study.points:,} points through an array job of Slurm", found)


def _dask(study: Study, runs: int) -> Iterator[Line]:
    """Measure a local cluster of two worker processes; the command has client and scheduler."""
    if importlib.util.find_spec("distributed") is None:
        sys.stdout.write("sweep.dask is left out: distributed is not installed\n")
        return

    def start(run: int) -> Side:
        """Return the side that runs isthmus with a local Dask cluster."""
        words = [sys.executable, "-m", "isthmus", "run", str(study.file), "--on", "dask"]
        return Side([[*words, "--jobs", str(CORES), "--out", str(_out(study, "dask", run))]])

    def ended(_run: int, command: Ended) -> Run:
        """Return the cost of a run."""
        # The command's own time includes all workers, which it waits for.
        return {"spent_s": command.cpu_s}

    found = _runs("dask", study, runs, start, ended)
    yield _line("dask", f"{study.points:,} points by the workers of a local Dask cluster", found)


def _out(study: Study, row: str, run: int) -> Path:
    """Return the results folder of a run."""
    return study.file.parent / f"out-{row}-{run}"


def _tasks(costs: Path) -> Iterator[int]:
    """Yield the processes of Slurm tasks that record their cost in this file."""
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with suppress(OSError):
                entries = (place / "environ").read_bytes().split(b"\0")
                if f"COSTS={costs}".encode() in entries and any(map(_OF_ARRAY.match, entries)):
                    yield int(place.name)


def _runs(
    row: str,
    study: Study,
    runs: int,
    start: Callable[[int], Side],
    ended: Callable[[int, Ended], Run],
) -> list[Run]:
    """Return the cost of each run and of its points; the last entry is a run by one command."""
    found = []
    for run in range(runs):
        own, isthmus = study.own(), start(run)
        by_turns(own, isthmus)
        study.is_done(_out(study, row, run))
        found.append({"own_s": _own_s(own), **ended(run, isthmus.ended[0])})
    folder = _out(study, f"{row}-one-piece", runs)
    own, piece = study.own(), study.in_one_piece(folder)
    by_turns(own, piece)
    study.is_done(folder)
    return [*found, {"own_s": _own_s(own), "one_piece_s": piece.ended[0].cpu_s}]


def _line(row: str, what: str, found: list[Run]) -> Line:
    """Return a row from runs: CPU seconds of the points and of everything that ran."""
    *runs, piece = found
    own, spent = [run["own_s"] for run in runs], [run["spent_s"] for run in runs]
    each = [isthmus / points for isthmus, points in zip(spent, own, strict=True)]
    in_one_piece = round(piece["one_piece_s"] / piece["own_s"], 3)
    return Line(
        id=f"sweep.{row}",
        name=f"{what}, about {POINT_S * 1000:.0f} ms each, start and report included",
        isthmus=sum(spent) / len(spent),
        peer=sum(own) / len(own),
        unit="CPU s",
        ratio=sum(spent) / sum(own),
        detail={
            "peer": f"the points alone, by {CORES} processes at a time with a thread each",
            "load_average": os.getloadavg()[0],
            "ratio_of_each_run": spread(each),
            "ratio_of_one_piece": in_one_piece,
            "runs": found,
        },
        note=f"of each run {min(each):.3g} to {max(each):.3g}; a run in one piece, once: "
        f"{in_one_piece:.3g}; {WANTED[row]} at most wanted",
    )


def _seconds(path: Path) -> float:
    """Parse the output of bash's `times`: user and system time of itself and of its children."""
    found = _MINUTES.findall(path.read_text())
    if len(found) != 4:
        raise SystemExit(f"sweep: {path} has not the four times of bash")
    return sum(60 * int(minutes) + float(seconds) for minutes, seconds in found)


def main() -> None:
    """Print the times of a scenario's points."""
    from isthmus.execution import Job

    file = Path(sys.argv[1])
    job = Job(text=file.read_text(), file=file.name, jobs=1)
    experiment = job.experiment()
    began = time.process_time()
    experiment.start(None)
    while not experiment.wait(1.0):
        pass
    cpu_s = time.process_time() - began
    experiment.result()
    sys.stdout.write(json.dumps({"cpu_s": cpu_s}) + "\n")


if __name__ == "__main__":
    main()
