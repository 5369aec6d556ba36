"""What all tests share: made-up results and a small scenario for real runs."""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import command_line
from fixtures import synthetic
from isthmus.results import Results

# Widths are those of a pipe, whatever terminal or helper of pytest the tests are started from.
os.environ.pop("COLUMNS", None)
# Output waits in a buffer, and what Python has compiled is kept, as with anyone.
os.environ.pop("PYTHONUNBUFFERED", None)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Ctrl-C is heard, though what a shell starts in the background begins without, and a terminal that
# is closed as well, though `nohup` has its programs ignore it.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)
REPOSITORY = Path(__file__).resolve().parents[2]

SMALL = (REPOSITORY / "tests/scenarios/small-cube.toml").read_text(encoding="utf-8")
"""A scenario that runs in about a second."""


@pytest.fixture(scope="session")
def load_sweep() -> Results:
    """Four series over six loads, with searches."""
    return Results.from_json(synthetic.result_json())


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


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """An empty folder on a file system in memory, whose files ranks can have shown."""
    from isthmus.arrays.files.mapped import POPULATE_READ, is_in_memory

    place = Path("/dev/shm")
    if not is_in_memory(place) or not os.access(place, os.W_OK):
        pytest.skip("no file system in memory")
    with tempfile.TemporaryDirectory(dir=place, prefix="isthmus-test-") as name:
        file = Path(name) / "file"
        file.write_bytes(b"some")
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 4, prot=mmap.PROT_READ) as shown:
            try:
                shown.madvise(POPULATE_READ, 0, 4)
            except OSError:
                pytest.skip("before Linux 5.14")
        file.unlink()
        yield Path(name)


Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def isthmus(tmp_path: Path) -> Command:
    """Run the command line in an empty folder, within this process."""

    def call(*words: object, cwd: Path | None = None, **environment: str):
        return command_line.call(*words, cwd=cwd or tmp_path, environment=environment)

    return call


QuickRun = Callable[[str], tuple[dict[str, dict[str, Any]], Path]]

NOT_QUICK = {
    "hypercube-io": {
        *("figure-6-7", "figure-8"),
        *(f"figure-{n}" for n in range(9, 15)),
        "sizes-saturation",
    },
    "qsnet-io": {
        *("table-1", "table-1-random", "one-at-a-time"),
        *("figure-7", "figure-8", "figure-9-dedicated", "figure-9-shared"),
    },
}
"""Scenarios that the tests leave to `make papers-quick`: they take most of its time."""
SHORTENED = {
    "hypercube-io": {
        "figure-4": {
            '["1.25 ms", "0.625 ms", "0.313 ms", ': "[",
            "replications = 10": "replications = 4",
        },
        "section-5-4": {"first = 500000": "first = 125000", "max = 4000000": "max = 1000000"},
        "table-2": {'resolution = "4%"': 'resolution = "12%"', "max = 4000000": "max = 1000000"},
    },
    "qsnet-io": {"section-4-4": {'time = "80 ms"': 'time = "20 ms"'}},
}
"""Parts of the longest other scenarios, and what the tests have in their place: points that no row
is about are left out, and intervals are wider.
"""
MORE_CASES = int(os.environ.get("ISTHMUS_TEST_CASES", "1"))
"""A factor on the number of random cases, above 1 in `make soak`."""
DRAWN = "sci-fabrics"
"""The paper of which all figures are drawn as well."""


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


def quick_rows(name: str) -> list[str]:
    """The rows of a paper that a quick run in the tests judges."""
    from isthmus.papers import find

    rows = find(str(REPOSITORY / "papers" / name)).rows()
    return [row.id for row in rows if row.scenario not in NOT_QUICK.get(name, ())]


def shortened(name: str, copy: Path) -> Path:
    """Copy a paper, with shorter scenarios."""
    shutil.copytree(REPOSITORY / "papers" / name, copy)
    for scenario, changes in SHORTENED.get(name, {}).items():
        file = copy / "scenarios" / f"{scenario}.toml"
        text = file.read_text(encoding="utf-8")
        for part, shorter in changes.items():
            assert text.count(part) == 1, (scenario, part)
            text = text.replace(part, shorter)
        file.write_text(text, encoding="utf-8")
    return copy


def run_quickly(name: str, out: Path) -> str:
    paper = shortened(name, out.with_name(f"papers-{name}") / name)
    words = ["papers", "run", str(paper), "--quick", "--json"]
    if name == DRAWN:
        words += ["--figures", "--plots", "png"]
    else:
        words += [word for row in quick_rows(name) for word in ("--only", row)]
    done = subprocess.run(
        [sys.executable, "-m", "isthmus", *words, "--out", out],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def refused(call: Callable[[], object]) -> str:
    """Return the text of the `IsthmusError` of a call, which must be one line."""
    from isthmus.errors import IsthmusError

    with pytest.raises(IsthmusError) as caught:
        call()
    text = str(caught.value)
    assert text.isprintable(), text
    return text
