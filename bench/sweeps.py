"""Sweeps that others carry out: what that costs beside the points themselves.

The points' own time is that of the core, in as many processes at a time as there are workers, each
with one thread and its share of the points, without start, journal and report. Busy processors make
each other dearer, at times by a fifth where they are two threads of one core: any two pay that.
Against it stands the processor time of all that isthmus runs: the command that is given, with what
it calls, and every task, but not Slurm's own daemons. Of both the least is taken of all turns, and
the points have a turn more than what is judged: other work on the machine only adds to either. What
a run in one piece takes, with its start and its report, is told beside it, and what the points
take one by one.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measure import ROOT, Engine, Line, run, spread

CORES = 2
POINT_S = 0.05
"""CPU seconds that a point is made to take."""
AXES = (10, 100)
SPARE = 10
"""Of so many rates one is tried to learn how many messages take that long: a few points that lie
close together would take longer than most."""
RUNS = 5
WANTED = 1.2
TASKS = 2 * CORES
"""Of an array: some, as each has to start, and more than cores, as a user would have it."""
COMMAND = "python bench/run.py sweep"
TIMED = """\
exec() {
    "$@"
    local status=$?
    times >"$COSTS/$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID"
    return $status
}
"""
"""Read by bash before the script of a task (BASH_ENV): what the task took, told by its parent."""
Turn = dict[str, float]
"""Seconds of CPU of all that took part, and by the clock."""
PASSED = ("SLURM_CONF", "PATH", "BASH_ENV", "COSTS", "LC_ALL")
"""What the command is told of where it runs."""
_MINUTES = re.compile(r"(\d+)m([\d.]+)s")


def sweep(_engine: Engine, quick: bool) -> Iterator[Line]:
    """A thousand points of 50 ms."""
    axes = (2, 20) if quick else AXES
    sample = (axes[0], axes[1] // SPARE)
    with tempfile.TemporaryDirectory(prefix="isthmus-sweep-") as name:
        place = Path(name)
        messages = 20_000
        for _ in range(1 if quick else 2):
            tried = Study(place / "tried.toml", sample, messages, SPARE)
            messages = round(messages * POINT_S * tried.points / tried.own_s())
        study = Study(place / "study.toml", axes, messages)
        one_by_one_s = study.one_by_one_s()
        turns = 1 if quick else RUNS
        for row in (_slurm, _dask):
            for line in row(study, turns):
                line.detail["points_one_by_one_s"] = one_by_one_s
                yield line


class Study:
    """A scenario, and one of each worker's share of its points."""

    def __init__(self, file: Path, axes: tuple[int, int], messages: int, spare: int = 1) -> None:
        """Write them; of the rates, which cost about the same, every `spare`-th is taken."""
        localities = [round(0.2 + i / 100, 2) for i in range(axes[0])]
        rates = [f"{4 + i * spare / 100:.2f} /ms" for i in range(axes[1])]
        self.points = len(localities) * len(rates)
        self.file = file
        file.write_text(scenario(localities, rates, messages))
        self._shares = [file.with_name(f"{file.stem}-{at}.toml") for at in range(CORES)]
        for at, share in enumerate(self._shares):
            share.write_text(scenario(localities, rates[at::CORES], messages))

    def own_s(self) -> float:
        """CPU seconds of the points themselves, the shares of all workers at the same time."""
        return _own_s(self._shares)

    def is_done(self, folder: Path) -> None:
        """Raises ``SystemExit`` where a folder lacks results of points."""
        found = len(json.loads((folder / "result.json").read_bytes())["points"])
        if found != self.points:
            raise SystemExit(f"sweep: {found} points of {self.points} were done")

    def one_by_one_s(self) -> float:
        """CPU seconds of the points themselves, one at a time on a machine that is idle else."""
        return _own_s([self.file])


def _own_s(files: list[Path]) -> float:
    """CPU seconds of the points of scenarios, each by a process of its own, all at once."""
    words = [sys.executable, str(Path(__file__))]
    with ThreadPoolExecutor(len(files)) as threads:
        told = list(threads.map(lambda file: run([*words, str(file)]).output, files))
    return sum(float(json.loads(text)["cpu_s"]) for text in told)


def scenario(localities: list[float], rates: list[str], messages: int) -> str:
    """A scenario whose points take about as long as one another."""
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


def _slurm(study: Study, turns: int) -> Iterator[Line]:
    """Through an array job on two nodes with a processor each."""
    sys.path.insert(0, str(ROOT / "tests" / "slurm"))
    import cluster

    if (why := cluster.missing()) is not None:
        sys.stdout.write(f"sweep.slurm is left out: {why}\n")
        return
    timed, costs = study.file.parent / "timed.sh", study.file.parent / "costs"
    timed.write_text(TIMED)
    with cluster.cluster(nodes=CORES, cpus=1) as slurm:

        def once(turn: int) -> Turn:
            here, out = costs / str(turn), study.file.parent / f"out-{turn}"
            here.mkdir(parents=True)
            told = {**slurm.environment, "BASH_ENV": str(timed), "COSTS": str(here)}
            # bash writes numbers as the locale has them.
            told["LC_ALL"] = "C"
            words = [f"{name}={told[name]}" for name in PASSED]
            words += [sys.executable, "-m", "isthmus", "run", str(study.file), "--on", "slurm"]
            words += ["--array-size", str(TASKS), "--out", str(out)]
            command = run(["env", *words])
            tasks = [_seconds(path) for path in here.iterdir()]
            if len(tasks) != TASKS:
                raise SystemExit(f"sweep: {len(tasks)} tasks of {TASKS} were done")
            study.is_done(out)
            spent = {"command_s": command.cpu_s, "tasks_s": sum(tasks)}
            return {"wall_s": command.wall_s, "spent_s": sum(spent.values()), **spent}

        found = _turns(study, turns, once)
    yield _line("slurm", f"{study.points:,} points through an array job of Slurm", found)


def _dask(study: Study, turns: int) -> Iterator[Line]:
    """By a local cluster of two worker processes; client and scheduler are the command's own."""
    if importlib.util.find_spec("distributed") is None:
        sys.stdout.write("sweep.dask is left out: distributed is not installed\n")
        return

    def once(turn: int) -> Turn:
        out = study.file.parent / f"out-dask-{turn}"
        words = [sys.executable, "-m", "isthmus", "run", str(study.file), "--on", "dask"]
        # What it has waited for, all of its workers, is counted as its own.
        command = run([*words, "--jobs", str(CORES), "--out", str(out)])
        study.is_done(out)
        return {"wall_s": command.wall_s, "spent_s": command.cpu_s}

    found = _turns(study, turns, once)
    yield _line("dask", f"{study.points:,} points by the workers of a local Dask cluster", found)


def _turns(study: Study, turns: int, once: Callable[[int], Turn]) -> list[Turn]:
    """What each turn takes, beside a run in one piece and what the points take before and after."""
    out = study.file.parent / "out-one-piece"
    one_piece = [sys.executable, "-m", "isthmus", "run", str(study.file), "--fresh"]
    one_piece += ["--jobs", str(CORES), "--out", str(out)]
    found, before_s = [], study.own_s()
    for turn in range(turns):
        told, after_s = once(turn), study.own_s()
        found.append({"own_before_s": before_s, **told, "own_after_s": after_s})
        found[-1]["one_piece_s"] = run(one_piece).cpu_s
        before_s = after_s
    return found


def _line(row: str, what: str, found: list[Turn]) -> Line:
    """A row from turns: CPU seconds of the points, of what all ran, and seconds by the clock."""
    own = [found[0]["own_before_s"], *(turn["own_after_s"] for turn in found)]
    spent = [turn["spent_s"] for turn in found]
    beside = [2 * turn["spent_s"] / (turn["own_before_s"] + turn["own_after_s"]) for turn in found]
    pieces = [turn["spent_s"] / turn["one_piece_s"] for turn in found]
    clock = [CORES * turn["wall_s"] / min(own) for turn in found]
    return Line(
        id=f"sweep.{row}",
        name=f"{what}, about {POINT_S * 1000:.0f} ms each, start and report included",
        ours=min(spent),
        peer=min(own),
        unit="CPU s",
        ratio=min(spent) / min(own),
        command=COMMAND,
        detail={
            "peer": f"the points alone, by {CORES} processes at a time with a thread each",
            "load_average": os.getloadavg()[0],
            "ratio_of_each_turn": spread(beside),
            "ratio_to_one_piece": spread(pieces),
            "clock_times_cores_ratio": spread(clock),
            "turns": found,
        },
        note=f"of each turn {min(beside):.3g} to {max(beside):.3g}; a run in one piece: "
        f"{statistics.median(pieces):.3g}; clock x {CORES} cores: {statistics.median(clock):.3g}; "
        f"{WANTED} at most wanted",
    )


def _seconds(path: Path) -> float:
    """What bash's `times` told of itself and of its children: user and system of each."""
    found = _MINUTES.findall(path.read_text())
    if len(found) != 4:
        raise SystemExit(f"sweep: {path} has not the four times of bash")
    return sum(60 * int(minutes) + float(seconds) for minutes, seconds in found)


def main() -> None:
    """Tell what the points of a scenario take."""
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
