"""The README runs: every command and example on it, and every file it names."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import REPOSITORY
from terminal import SHORT, Terminal

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


COMMANDS = [line for block in blocks("sh") for line in block.splitlines() if line]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command: str, tmp_path: Path):
    """On a terminal, as for whoever reads the page."""
    words = shlex.split(command)
    assert words[0] == "isthmus"
    if words[1] == "run" and "hypercube" in words[2]:
        words += SHORT
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    (tmp_path / "papers").symlink_to(REPOSITORY / "papers")
    terminal = Terminal(["-m", *words], tmp_path)
    assert terminal.end() == 0, terminal.text()
    assert terminal.text()
    assert terminal.cursor_is_there
    if words[1] == "run":
        # How far a short one was when it was drawn is up to the machine.
        assert terminal.bars()


def test_the_demo_runs_on_a_terminal(tmp_path: Path):
    """The command of `make demo`, on a smaller machine and with wider intervals."""
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    (line,) = re.findall(r"^demo:.*\n\t\$\(BIN\)/(isthmus .*)$", makefile, re.MULTILINE)
    words = shlex.split(line.replace("$(THREADS)", "--jobs 2").replace("$(DEMO)", "--quick"))
    terminal = Terminal(["-m", *words, *SHORT], tmp_path)
    assert terminal.end() == 0, terminal.text()
    assert any("simulating" in bar for bar in terminal.bars())
    assert "Does a 128-node hypercube need a separate I/O network" in terminal.text()
    assert (tmp_path / "out/hypercube-128/report.html").is_file()
    assert terminal.cursor_is_there


def test_there_are_commands_and_examples():
    assert len(COMMANDS) >= 5
    assert len(blocks("python")) >= 1


@pytest.mark.parametrize("example", blocks("python"))
def test_python_examples_run(example: str, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr
    assert "mean" in done.stdout and "us" in done.stdout


def test_links_lead_to_files():
    targets = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", README)
    assert len(targets) > 15
    missing = [target for target in targets if not (REPOSITORY / target).exists()]
    assert not missing


def test_the_two_commands_are_targets():
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make (\w+)`", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_front_pages_are_up_to_date():
    """The kinds, commands and papers on both front pages are those of the package."""
    check = [sys.executable, str(REPOSITORY / "tools" / "front_page.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
