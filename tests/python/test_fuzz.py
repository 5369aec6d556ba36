"""The fuzzer: the same mutants for the same seed, and no fault that it would not see."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from random import Random

import pytest

from conftest import REPOSITORY

FUZZ = REPOSITORY / "tests" / "fuzz"
sys.path.insert(0, str(FUZZ))

import child  # noqa: E402
import kinds  # noqa: E402
import mutate  # noqa: E402


def refuse(*lines: str) -> int:
    sys.stderr.write("".join(lines))
    return 2


def fail() -> int:
    raise ValueError("a fault")


def spin() -> int:
    while True:
        pass


def spin_deaf() -> int:
    while True:
        with suppress(KeyboardInterrupt):
            time.sleep(60)


def fill() -> int:
    return len(bytearray(b"x") * 300_000_000) and 0


def die() -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def panic() -> int:
    sys.stderr.write("thread 'main' panicked at src/lib.rs:1:1:\n")
    return 2


def say(what: str) -> int:
    sys.stdout.write(what)
    return 0


FAULTS = [
    (refuse, ["isthmus: no\n"], None),
    (refuse, [], "lines: 0"),
    (refuse, ["isthmus: no"], "lines: 1"),
    (refuse, ["isthmus: no\n", "and no\n"], "lines: 2"),
    (refuse, ["isthmus: a\x1b[2Jb\n"], "unprintable"),
    (refuse, ["x" * 5000 + "\n"], "long"),
    (fail, [], "traceback: ValueError: a fault"),
    (panic, [], "panic: "),
    (die, [], "crash: SIGKILL"),
    (fill, [], "memory: "),
    (spin, [], "hangs: "),
    (say, ["other"], "another result was accepted"),
    (say, ["right"], None),
]


@pytest.mark.parametrize(
    ("call", "words", "seen"), FAULTS, ids=lambda v: getattr(v, "__name__", "")
)
def test_every_sort_of_fault_is_seen(call, words, seen, tmp_path, monkeypatch):
    # A case begins with the memory of whoever forks it, here that of all tests before.
    monkeypatch.setitem(kinds.CALLS, "this", say)
    usual = child.run(kinds.Mutant("this", ["nothing"], []), tmp_path).memory_gb
    # On a busy machine the others may take their time.
    monkeypatch.setattr(child, "WALL_S", 2.0 if call is spin else 60.0)
    monkeypatch.setattr(child, "MEMORY_GB", usual + 0.15)
    monkeypatch.setitem(kinds.CALLS, "this", call)
    mutant = kinds.Mutant("this", words, [], same=b"right" if call is say else None)
    wrong = child.judged(mutant, child.run(mutant, tmp_path))
    assert wrong is None if seen is None else wrong is not None and wrong.startswith(seen)


def test_long_work_is_seen_and_an_interruption_must_be_heard(tmp_path, monkeypatch):
    monkeypatch.setattr(child, "WALL_S", 2.0)
    monkeypatch.setattr(child, "CPU_S", 0.2)
    monkeypatch.setitem(kinds.CALLS, "deaf", spin_deaf)
    deaf = kinds.Mutant("deaf", [], [])
    assert child.judged(deaf, child.run(deaf, tmp_path, 0.3)).startswith("hangs")

    outcome = child.Outcome(0, b"", b"", 0.3, 0.01, False)
    assert child.judged(deaf, outcome).startswith("slow")
    late = child.Outcome(130, b"", b"", 0.1, 0.01, False, interrupted_s=0.5)
    assert child.judged(deaf, late).startswith("deaf")
    endless = child.Outcome(-signal.SIGXCPU, b"", b"", 15.0, 0.01, False)
    assert child.judged(deaf, endless).startswith("slow: ended")
    heard = child.Outcome(130, b"", b"", 0.1, 0.01, False, interrupted_s=0.1)
    assert child.judged(deaf, heard) is None


def test_the_same_number_makes_the_same_mutant_and_others_differ():
    texts = kinds.scenarios()

    def mutant(number: int) -> bytes:
        chance = Random(f"7/scenario/{number}")
        return mutate.mutated(chance.choice(texts), chance, texts)[0]

    made = [mutant(number) for number in range(300)]
    assert made == [mutant(number) for number in range(300)]
    assert len(set(made)) > 280
    assert len(set(made) & set(texts)) < 15, "few mutants change nothing"


def test_every_mutation_occurs_and_keeps_to_its_size():
    texts, counted = [b'{"a": [1, 2], "b": 3.5}', b"version = 1\nname = 'x'\n"], Counter()
    for number in range(700):
        chance = Random(number)
        text, names = mutate.mutated(chance.choice(texts), chance, texts)
        assert len(text) <= mutate.MOST
        counted.update(names)
    every = {m.__name__ for m in (*mutate.BYTE, *mutate.TOKEN, *mutate.STRUCTURE)}
    assert set(counted) == every
    assert min(counted.values()) > 8


def test_scenarios_graphs_and_changes_are_judged_and_told(tmp_path):
    words = [sys.executable, FUZZ / "run.py", "--seed", "5", "--count", "80", "--jobs", "2"]
    for kind in ("scenario", "override", "graph", "redistribution"):
        words += ["--kind", kind]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "80 mutants in " in done.stdout, done.stderr
    rows = {
        line.split()[0]: [int(cell) for cell in line.split()[1:4]]
        for line in done.stdout.splitlines()
        if line.startswith(("scenario ", "override ", "graph ", "redistribution "))
        and " s " in line
    }
    assert set(rows) == {"scenario", "override", "graph", "redistribution"}
    assert sum(made for made, _, _ in rows.values()) == 80
    assert all(refused for _, refused, _ in rows.values())
    assert sum(accepted for _, _, accepted in rows.values()) > 5
    assert done.returncode == 0, done.stdout
