"""The guide runs: its commands, its Python, its scenarios."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import REPOSITORY

PAGES = sorted((REPOSITORY / "docs").glob("*.md"))


def blocks(language: str) -> list[str]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found += re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return found


COMMANDS = sorted(
    {line for block in blocks("sh") for line in block.splitlines() if line.startswith("isthmus ")}
)
SCENARIOS = [block for block in blocks("toml") if block.startswith("version = 1\n")]


def run(words: list[str], folder: Path) -> str:
    for name in ("examples", "papers"):
        (folder / name).symlink_to(REPOSITORY / name)
    done = subprocess.run(
        words,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PLAN = """
import sys
from pathlib import Path
from isthmus.core import overrides, read_text
from isthmus.faults import plan
from isthmus.scenario import Scenario
double, *words = sys.argv[1:]
files = [word for word in words if "=" not in word]
changes = tuple(overrides(tuple(word for word in words if "=" in word)))
study = plan([Scenario(read_text(Path(file)), file, changes) for file in files], int(double))
print(len(study.cases), Scenario(study.text, "study").check()["points"])
"""


def planned(words: list[str]) -> list[str]:
    """A study of faults without its runs: all cases are planned and the scenario is checked."""
    from isthmus.cli.faults import command

    with command.make_context("faults", list(words)) as context:
        return ["-c", PLAN, str(context.params["double"]), *context.params["files"]]


def checked(words: list[str]) -> list[str]:
    """`run` without running: the same file and changes, and options that it knows."""
    if words[1] == "papers":
        return ["isthmus", *words[1:], "--help"]
    if words[1] == "faults":
        return planned(words[2:])
    if words[1] != "run":
        return words
    from isthmus.cli.run import command

    with command.make_context("run", words[2:]) as context:
        changes = context.params["changes"]
        return ["isthmus", "check", str(context.params["file"]), *changes]


def test_there_is_something_to_run():
    assert len(COMMANDS) > 10
    assert len(blocks("python")) >= 4
    assert len(SCENARIOS) >= 2


@pytest.mark.parametrize("line", COMMANDS)
def test_commands(line: str, tmp_path: Path):
    words = checked(shlex.split(line, comments=True))
    if words[0] != "-c":
        words = ["-m", *words]
    assert run([sys.executable, *words], tmp_path)


@pytest.mark.parametrize("example", blocks("python"))
def test_python(example: str, tmp_path: Path):
    assert run([sys.executable, "-c", example], tmp_path)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenarios(scenario: str, tmp_path: Path):
    file = tmp_path / "scenario.toml"
    file.write_text(scenario, encoding="utf-8")
    assert run([sys.executable, "-m", "isthmus", "check", str(file)], tmp_path)


def test_the_files_it_names_exist():
    names = {
        name
        for page in PAGES
        for name in re.findall(
            r"`((?:crates|python|docs|bench|tests|examples)/[\w./-]+\.\w+)`",
            page.read_text(encoding="utf-8"),
        )
    }
    assert len(names) > 5
    built = {"bench/results.json"}
    missing = [name for name in sorted(names - built) if not (REPOSITORY / name).exists()]
    assert not missing
