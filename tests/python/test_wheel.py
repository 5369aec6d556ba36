"""The package away from the repository: a source distribution that compiles, a wheel of its files,
a fresh environment, an empty folder. Slow, since it compiles the core: ``make test-wheel``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import REPOSITORY

pytestmark = pytest.mark.slow

TARGET = REPOSITORY / "target"
PROFILE = os.environ.get("CORE_PROFILE", "release")
"""The cargo profile of the installed core."""
FOLDER = "debug" if PROFILE == "dev" else PROFILE
"""Where cargo puts what it compiles by this profile."""
SAFELY: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""How an archive is unpacked: the first releases of Python 3.10 and 3.11 know no filters."""
Call = Callable[..., "subprocess.CompletedProcess[str]"]


def run(words: list[object], folder: Path, **environment: str):
    return subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
        env={**os.environ, **environment},
    )


def maturin(*words: object, folder: Path) -> None:
    words = (sys.executable, "-m", "maturin", *words)
    done = run([*words], folder, CARGO_TARGET_DIR=str(TARGET))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """The unpacked source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    maturin("sdist", "--out", folder, folder=REPOSITORY)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "unpacked", **SAFELY)
    (unpacked,) = (folder / "unpacked").iterdir()
    return unpacked


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel of the core that the other tests use."""
    folder = tmp_path_factory.mktemp("wheel")
    words = ["build", "--profile", PROFILE, "--locked", "--interpreter", sys.executable]
    maturin(*words, "--out", folder, folder=REPOSITORY)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory) -> Path:
    """A fresh environment with the wheel; what it depends on is borrowed from this one."""
    home = tmp_path_factory.mktemp("fresh") / "venv"
    assert run([sys.executable, "-m", "venv", "--without-pip", home], REPOSITORY).returncode == 0
    python = home / "bin" / "python"
    words = ["-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel]
    done = run([sys.executable, *words], REPOSITORY)
    assert done.returncode == 0, done.stderr
    (site,) = home.glob("lib/python*/site-packages")
    # A line of a .pth file is a path at the end, whose own .pth files are not read: nothing of the
    # editable package comes along.
    (site / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return home / "bin"


@pytest.fixture
def call(installed: Path, tmp_path: Path) -> Call:
    """A program of the fresh environment in an empty folder."""

    def called(name: str, *words: object):
        done = run([installed / name, *words], tmp_path, MPLBACKEND="Agg")
        assert done.returncode == 0, done.stderr
        return done

    return called


def crates(folder: Path) -> set[str]:
    """Crates of the core by the lock file of a folder, with versions and features."""
    words = ["cargo", "tree", "--package", "isthmus-py", "--edges", "normal,build"]
    words += ["--locked", "--offline", "--quiet", "--prefix", "none", "--format", "{p} {f}"]
    done = run(words, folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.replace(str(folder), "").splitlines()
    return {line.removesuffix(" (*)").strip() for line in lines}


def test_the_sources_are_what_was_compiled_with_their_lock_file(source: Path, wheel: Path):
    """To compile them again would say no more: these are all files that the compiler has read."""
    assert crates(source) == crates(REPOSITORY)
    listed = (TARGET / FOLDER / "lib_core.d").read_text().replace("\\ ", "\0")
    read = {Path(word.replace("\0", " ")) for word in listed.partition(":")[2].split()}
    names = {path.relative_to(REPOSITORY) for path in read if path.is_relative_to(REPOSITORY)}
    names |= {path.relative_to(REPOSITORY) for path in REPOSITORY.glob("crates/*/Cargo.toml")}
    assert len(names) > 300
    assert Path("crates/py/src/lib.rs") in names
    for name in names:
        assert (source / name).read_bytes() == (REPOSITORY / name).read_bytes(), name


def test_the_sources_give_the_wheel(source: Path, wheel: Path):
    """What a wheel made of them would hold beside the core, byte for byte."""
    with zipfile.ZipFile(wheel) as archive:
        held = {
            name: archive.read(name)
            for name in archive.namelist()
            if name.startswith("isthmus/") and not name.endswith(".so")
        }
    assert len(held) > 150
    for name, data in held.items():
        place = source / "python" / name
        assert place.read_bytes() == data, name


def test_the_wheel_holds_what_the_package_needs_and_nothing_beside(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.split("/")[0].split("-")[0] for name in names} == {"isthmus"}
    assert "-cp310-abi3-" in wheel.name
    for text in ("LICENSE", "THIRD-PARTY.md"):
        assert any(name.endswith(f".dist-info/licenses/{text}") for name in names), text
    bundled = "isthmus/bundled"
    for scenario in [*REPOSITORY.glob("papers/*/*/*.toml"), *REPOSITORY.glob("examples/*.*")]:
        assert f"{bundled}/{scenario.relative_to(REPOSITORY)}" in names
    for kind in (
        "expected.csv",
        "checks.py",
        "reference.csv",
        "README.md",
        "figures.toml",
        "paper.toml",
    ):
        assert f"{bundled}/papers/qsnet-io/{kind}" in names
    tracked = run(["git", "ls-files", "python/isthmus"], REPOSITORY).stdout.splitlines()
    kept = [name for name in tracked if not (REPOSITORY / name).is_symlink()]
    assert len(kept) > 80
    assert not {name.removeprefix("python/") for name in kept} - names


def test_the_command_is_that_of_the_wheel(call: Call, installed: Path):
    told = call("python", "-c", "import isthmus; print(isthmus.__file__, isthmus.__version__)")
    file, version = told.stdout.split()
    assert Path(file).is_relative_to(installed.parent)
    assert call("isthmus", "--version").stdout == f"isthmus {version}\n"


def test_papers_are_there_and_run(call: Call, tmp_path: Path):
    listed = call("isthmus", "papers").stdout
    for name in ("hypercube-io", "sci-fabrics", "qsnet-io"):
        assert re.search(rf"^{name} .*", listed, re.MULTILINE)
    folder = {
        p["name"]: p["folder"] for p in json.loads(call("isthmus", "papers", "--json").stdout)
    }
    call("isthmus", "check", Path(folder["qsnet-io"]) / "scenarios" / "figure-6.toml")
    words = ["run", "hypercube-io", "--quick", "--only", "scaling", "--json"]
    (judged,) = json.loads(call("isthmus", "papers", *words).stdout)
    assert judged["verdict"] == "reproduced"
    assert (tmp_path / "out" / "papers" / "hypercube-io" / "verdicts.json").is_file()


def test_examples_are_copied_checked_and_run(call: Call, tmp_path: Path):
    call("isthmus", "examples", "--copy", "examples")
    file = "examples/hypercube-128.toml"
    assert (tmp_path / file).read_bytes() == (REPOSITORY / file).read_bytes()
    assert "well formed" in call("isthmus", "check", file).stdout
    changes = ["machine.dimension=3", "stop.messages_max=20000", "stop.replications=4"]
    done = call("isthmus", "run", file, "--quick", "--out", "here", *changes)
    assert "Report: here/report.html" in done.stdout
    result = json.loads((tmp_path / "here" / "result.json").read_text())
    assert result["points"]
    assert all(point["messages"] for point in result["points"])
    assert (tmp_path / "here" / "report.html").stat().st_size > 10_000


def test_it_simulates_from_python(call: Call):
    program = (
        "import isthmus\n"
        "cube = isthmus.Hypercube(dimension=3, io_link_lanes=1)\n"
        "work = isthmus.Workload(interarrival='0.5 ms')\n"
        "found = isthmus.simulate(cube, work, precision='10%', quick=True)\n"
        "print(found.run.points[0].verdict.verdict)\n"
    )
    assert call("python", "-c", program).stdout == "stable\n"


def test_maturin_of_the_tests_is_that_of_the_build():
    """Both are named in pyproject.toml; one may not move without the other."""
    text = (REPOSITORY / "pyproject.toml").read_text()
    assert len(set(re.findall(r'"(maturin>=[^"]+)"', text))) == 1
    assert shutil.which("cargo")
