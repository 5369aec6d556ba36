"""Feeds mutated files and arguments to the command and says what it does not stand.

    python tests/fuzz/run.py --seed 7 --seconds 60
    python tests/fuzz/run.py --seed 7 --count 2000 --kind journal --kind result
    python tests/fuzz/run.py --seed 7 --kind journal --only 1234      one of them again

Mutant N of a kind depends on seed, kind and N, and on the inputs that it was made of. What must
hold: exit status 0 or 2 (130 after an interruption), one line of error with 2 and no traceback
ever, less than 1 GB and 5 CPU seconds, and no accepted journal that gives another result.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import child
from kinds import KINDS, Kind

PATIENCE_S = 4.0
"""Seconds after which a mutated run, which may be long with good reason, is interrupted."""
SHOWN = 12
"""Findings of one sort that are shown."""


@dataclass
class Tally:
    """What became of the mutants of one kind."""

    statuses: Counter[int] = field(default_factory=Counter)
    interrupted: int = 0
    findings: list[tuple[int, str]] = field(default_factory=list)
    cpu_s: float = 0.0
    slowest_s: float = 0.0
    memory_gb: float = 0.0

    @property
    def count(self) -> int:
        """Mutants in all."""
        return self.statuses.total()


@dataclass(frozen=True)
class Case:
    """One mutant, by name."""

    seed: int
    kind: str
    number: int

    def chance(self) -> Random:
        """The random numbers of this mutant alone."""
        return Random(f"{self.seed}/{self.kind}/{self.number}")


def tried(case: Case, kind: Kind, save: Path | None) -> tuple[child.Outcome, str | None]:
    """Make a mutant, run it and judge it; what fails is saved with what repeats it."""
    with tempfile.TemporaryDirectory(prefix="isthmus-fuzz-") as name:
        folder = Path(name)
        mutant = kind.make(folder, case.chance())
        patience = PATIENCE_S if mutant.call == "simulate" else None
        outcome = child.run(mutant, folder, patience)
        wrong = child.judged(mutant, outcome)
        if wrong and save is not None:
            place = save / f"{case.kind}-{case.seed}-{case.number}"
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(folder, place, symlinks=True)
            (place / "repeat.txt").write_text(told(case, mutant, wrong), encoding="utf-8")
    return outcome, wrong


def told(case: Case, mutant: Any, wrong: str) -> str:
    """How to have a failing case again, with the real command where there is one."""
    again = f"python tests/fuzz/run.py --seed {case.seed} --kind {case.kind} --only {case.number}\n"
    words = [os.fsencode(word).decode("utf-8", errors="backslashreplace") for word in mutant.words]
    here = f"isthmus {shlex.join(words)}\n" if mutant.call == "command" else ""
    return f"{wrong}\nmutations: {', '.join(mutant.done)}\n{again}{here}"


def work(
    share: Iterator[Case], kinds: dict[str, Kind], save: Path | None, until: float, results: Any
) -> None:
    """Try one case after another until there are no more, or no more time."""
    for case in share:
        if time.monotonic() > until:
            break
        outcome, wrong = tried(case, kinds[case.kind], save)
        cost = (outcome.cpu_s, outcome.memory_gb, outcome.interrupted_s is not None)
        results.put((case, outcome.status, cost, wrong))
    results.put(None)


def cases(seed: int, names: list[str], count: int | None) -> Iterator[Case]:
    """Kinds in turn by weight, `count` in all or without end."""
    turns = [name for name in names for _ in range(KINDS[name].weight)]
    Random(f"{seed}/turns").shuffle(turns)
    numbers = dict.fromkeys(names, 0)
    for name in itertools.islice(itertools.cycle(turns), count):
        yield Case(seed, name, numbers[name])
        numbers[name] += 1


def fuzz(options: argparse.Namespace, kinds: dict[str, Kind]) -> dict[str, Tally]:
    """Spread the cases over processes and gather what became of them."""
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    until = time.monotonic() + (options.seconds or float("inf"))
    workers = []
    for first in range(options.jobs):
        every = cases(options.seed, list(kinds), options.count)
        share = itertools.islice(every, first, None, options.jobs)
        worker = context.Process(target=work, args=(share, kinds, options.save, until, results))
        worker.start()
        workers.append(worker)
    tallies = {name: Tally() for name in kinds}
    ended = 0
    while ended < len(workers):
        try:
            message = results.get(timeout=2 * child.WALL_S)
        except Empty:
            raise SystemExit("a process of the fuzzer died") from None
        if message is None:
            ended += 1
            continue
        case, status, (cpu_s, memory_gb, interrupted), wrong = message
        tally = tallies[case.kind]
        tally.statuses[status] += 1
        tally.interrupted += interrupted
        tally.cpu_s += cpu_s
        tally.slowest_s = max(tally.slowest_s, cpu_s)
        tally.memory_gb = max(tally.memory_gb, memory_gb)
        if wrong:
            tally.findings.append((case.number, wrong))
            print(f"{case.kind} {case.number}: {wrong}", flush=True)
    return tallies


def print_summary(tallies: dict[str, Tally], options: argparse.Namespace, took_s: float) -> int:
    """Print a row for each kind; the number of findings."""
    print(
        f"\n{'kind':10}{'mutants':>9}{'refused':>9}{'accepted':>9}{'slowest':>9}{'memory':>9}"
        "  findings"
    )
    for name, tally in tallies.items():
        print(
            f"{name:10}{tally.count:9}{tally.statuses[2]:9}{tally.statuses[0]:9}"
            f"{tally.slowest_s:7.1f} s{tally.memory_gb:6.2f} GB  {len(tally.findings)}"
        )
    found = sum(len(tally.findings) for tally in tallies.values())
    total = sum(tally.count for tally in tallies.values())
    print(f"{total} mutants in {took_s:.0f} s with seed {options.seed}: {found} findings")
    sorts: dict[tuple[str, str], list[int]] = {}
    for name, tally in tallies.items():
        for number, wrong in tally.findings:
            sorts.setdefault((name, wrong.split(":")[0]), []).append(number)
    for (name, sort), numbers in sorts.items():
        print(f"  {name}, {sort}: {len(numbers)} (numbers {', '.join(map(str, numbers[:SHOWN]))})")
    if found and options.save:
        print(f"saved with repeat.txt in {options.save}")
    return found


def main() -> int:
    """Read the options, try the mutants, say what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="end after this time")
    parser.add_argument("--count", type=int, help="end after this many mutants [1000]")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="of these only")
    parser.add_argument("--only", type=int, help="this number only, and print what it does")
    parser.add_argument("--jobs", type=int, help="processes [all usable processors]")
    parser.add_argument("--save", type=Path, help="folder for failing cases")
    options = parser.parse_args()
    if options.seconds is None and options.count is None:
        options.count = 1000
    os.environ["MPLBACKEND"] = "Agg"
    from isthmus.core import processors

    options.jobs = options.jobs or processors()
    import isthmus.cli.check
    import isthmus.cli.place
    import isthmus.cli.report
    import isthmus.cli.topology
    import isthmus.execution
    import isthmus.results.collection  # noqa: F401 - all that the children need, imported once

    names = options.kind or list(KINDS)
    with tempfile.TemporaryDirectory(prefix="isthmus-fuzz-home-") as home:
        kinds = {name: KINDS[name](Path(home)) for name in names}
        if options.only is not None:
            (name,) = names
            case = Case(options.seed, name, options.only)
            outcome, wrong = tried(case, kinds[name], options.save)
            print(outcome.out.decode(errors="replace")[-2000:])
            print(outcome.err.decode(errors="replace")[-4000:], file=sys.stderr)
            print(
                f"status {outcome.status}, {outcome.cpu_s:.2f} s of CPU, {wrong or 'as it must be'}"
            )
            return 1 if wrong else 0
        began = time.monotonic()
        tallies = fuzz(options, kinds)
        return 1 if print_summary(tallies, options, time.monotonic() - began) else 0


if __name__ == "__main__":
    sys.exit(main())
