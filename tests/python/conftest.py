"""What all tests share: made-up results and a small scenario for real runs."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fixtures import synthetic
from isthmus.results import Results

# Widths are those of a pipe, whatever terminal or helper of pytest the tests are started from.
os.environ.pop("COLUMNS", None)
REPOSITORY = Path(__file__).resolve().parents[2]

SMALL = (REPOSITORY / "tests/scenarios/small-cube.toml").read_text(encoding="utf-8")
"""A scenario that runs in about a second."""


@pytest.fixture(scope="session")
def load_sweep() -> Results:
    """Four series over six loads, with searches."""
    return Results.from_json(synthetic.result_json(), canonical="version = 1\n")


@pytest.fixture(scope="session")
def locality_sweep() -> Results:
    """Four series over six localities at one load."""
    return Results.from_json(json.dumps(synthetic.locality_result()))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario file that runs in about a second."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def isthmus(tmp_path: Path) -> Command:
    """The command line in a process of its own, in an empty folder."""

    def call(*words: object, cwd: Path | None = None, **environment: str):
        return subprocess.run(
            [sys.executable, "-m", "isthmus", *map(str, words)],
            capture_output=True,
            text=True,
            cwd=cwd or tmp_path,
            env={**os.environ, **environment},
            timeout=120,
            check=False,
        )

    return call


QuickRun = Callable[[str], tuple[dict[str, dict[str, Any]], Path]]


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> QuickRun:
    """Runs a paper of the repository quickly, once for all processes of the tests: its rows by id,
    and the folder of the run."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent

    @cache
    def run(name: str) -> tuple[dict[str, dict[str, Any]], Path]:
        out, printed = shared / f"quick-{name}", shared / f"quick-{name}.json"
        with (shared / f"quick-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not printed.exists():
                text = run_quickly(name, out)
                printed.write_text(text, encoding="utf-8")
        rows = json.loads(printed.read_text(encoding="utf-8"))
        return {each["id"]: each for each in rows}, out

    return run


def run_quickly(name: str, out: Path) -> str:
    home = REPOSITORY / "papers" / name
    if name == "hypercube-io":
        home = without_models(home, out.with_name(f"copy-of-{name}"))
    words = ["papers", "run", str(home), "--quick", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "isthmus", *words, "--figures", "--plots", "png", "--out", out],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def without_models(home: Path, copy: Path) -> Path:
    """A paper whose scenarios leave out the model where no row asks for it, which takes half of
    the time of a quick run."""
    shutil.copytree(home, copy, ignore=shutil.ignore_patterns("verdicts.json"))
    with (home / "expected.csv").open(newline="") as file:
        asked = {
            row["scenario"]
            for row in csv.DictReader(file)
            if any(word in row["select"] for word in ("analytic", "model", "saturation"))
        }
    for path in (copy / "scenarios").glob("*.toml"):
        text = path.read_text(encoding="utf-8")
        if path.stem not in asked:
            begin = "[measure]\n" if "[measure]\n" in text else ""
            head, _, tail = text.partition(begin) if begin else (text + "\n", "", "")
            path.write_text(f"{head}[measure]\nanalysis = false\n{tail}", encoding="utf-8")
    return copy
