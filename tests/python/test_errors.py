"""Errors as they are printed: one line, printable, of bounded length."""

from __future__ import annotations

import pytest

from isthmus.errors import LONGEST, one_line


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x85", "\u2028"])
def test_every_end_of_line_is_a_blank(end: str):
    assert one_line(f"a{end}b") == "a b"


def test_what_a_terminal_would_obey_is_written_out():
    assert one_line("a\x1b[2Jb\x00\ufeff") == r"a\x1b[2Jb\x00\ufeff"
    assert one_line("µs – ×") == "µs – ×"


def test_a_long_one_keeps_begin_and_end():
    told = one_line("x.toml:3: title: " + "[" * 100_000 + "; give a text")
    assert len(told) < LONGEST + 10
    assert told.startswith("x.toml:3: title: [[")
    assert told.endswith("[[; give a text")


@pytest.mark.parametrize("word", ["a\rb=1", "title" + "[" * 50_000, "machine.dim\x1b[31mension=5"])
def test_the_command_prints_one_short_line(isthmus, small, word: str):
    done = isthmus("check", small, word)
    assert done.returncode == 2
    line = done.stderr.removesuffix("\n")
    assert line.isprintable()
    assert len(line) <= LONGEST + 20


def test_a_topology_conf_of_slurm_is_refused_by_name(isthmus, tmp_path):
    (tmp_path / "topology.conf").write_text("SwitchName=s0 Nodes=n[0-3]\n")
    for command in ("topology", "place"):
        done = isthmus(command, "--graph", "topology.conf")
        assert done.returncode == 2
        assert done.stderr.startswith(
            "isthmus: topology.conf:1: a topology.conf of Slurm, which lists switches, not edges; "
        )
