"""The guide runs: its commands, its Python, its scenarios."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import REPOSITORY
from terminal import SHORT, Terminal

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


def shortened(words: list[str]) -> list[str]:
    """The same command on a smaller machine, for a shorter time, or for claims that need no
    simulation; a study of faults is planned only.
    """
    if words[1] == "papers" and len(words) > 3:
        from isthmus.papers import find

        rows = find(str(REPOSITORY / "papers" / words[3])).rows()
        claim = next(r.id for r in rows if "balance(" in r.select or "equation(" in r.select)
        return [*words, "--only", claim]
    if words[1] == "faults":
        return planned(words[2:])
    if words[1] != "run":
        return words
    if "interface" in words[2]:
        return words  # Exact, and over in a moment.
    if "hypercube" in words[2]:
        return [*words, *([] if "--quick" in words else ["--quick"]), *SHORT]
    time = "stop.time=1 ms" if "fat-tree" in words[2] else "stop.time=5 us"
    search = [] if "fat-tree" in words[2] else ["search.resolution=50%"]
    return [*words, *([] if "--quick" in words else ["--quick"]), time, *search]


def test_there_is_something_to_run():
    assert len(COMMANDS) > 10
    assert len(blocks("python")) >= 4
    assert len(SCENARIOS) >= 2


LONG = ("isthmus schema",)
"""Commands that print for programs: the terminal of the tests takes minutes to show it all."""


@pytest.mark.parametrize("line", COMMANDS)
def test_commands(line: str, tmp_path: Path):
    """On a terminal, as for whoever reads the page."""
    words = shortened(shlex.split(line, comments=True))
    for name in ("examples", "papers"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    if words[0] != "-c":
        words = ["-m", *words]
    if line in LONG:
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)
        return
    terminal = Terminal(words, tmp_path)
    assert terminal.end() == 0, terminal.text()
    assert terminal.text()
    assert terminal.cursor_is_there


SHORT_RUN = {
    "stop.precision": "50%",
    "stop.messages_first": 2000,
    "stop.messages_max": 4000,
    "search.resolution": "50%",
}
SHORTER = {
    'precision="10%", of=': 'precision="50%", of=',
    'stop="80 /ms", resolution="20%"': 'stop="80 /ms", resolution="60%"',
    "locality=0.5).run(": f"locality=0.5, **{SHORT_RUN}).run(",
}
"""Parts of examples in Python that take 10 s, and what takes less."""


def test_what_is_shortened_is_in_the_guide():
    text = "".join(blocks("python"))
    assert [part for part in SHORTER if text.count(part) != 1] == []


@pytest.mark.parametrize("example", blocks("python"))
def test_python(example: str, tmp_path: Path):
    for part, shorter in SHORTER.items():
        example = example.replace(part, shorter)
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
    # The kind of machine that the reader is about to add.
    names = {name for name in names if "hubs" not in name}
    missing = [name for name in sorted(names - built) if not (REPOSITORY / name).exists()]
    assert not missing
