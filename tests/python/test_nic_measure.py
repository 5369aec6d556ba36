"""``isthmus nic measure``: a scenario of an interface carried out here."""

from __future__ import annotations

import json
import signal
import sys

import pytest

from terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="streams are carried out on Linux")

SCENARIO = """\
version = 1
name = "small"
[machine]
kind = "interface"
rows = 2
columns = 2
bandwidth = "40 MB/s"
links = 2
[workload]
sink = "interface"
tu = "8 KiB"
adus = 4
[sweep]
"workload.reshuffle" = ["streaming", "none", "slow", "fast"]
"workload.block" = ["256 B", "1 KiB"]
"""
BRIEF = ["--turns", "2", "--time", "1 ms"]


@pytest.fixture(autouse=True)
def files(tmp_path):
    (tmp_path / "small.toml").write_text(SCENARIO)


def measure(isthmus, *words):
    return isthmus("nic", "measure", "small.toml", *BRIEF, *words)


def refused(done):
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    return line


def test_points_are_measured_and_those_that_cannot_be_are_named(isthmus):
    done = measure(isthmus, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["name"], told["measure"], told["unit"]) == ("small", "accepted", "MB/s")
    assert len(told["points"]) == 6
    for point in told["points"]:
        assert len(point["each"]) == 2
        assert all(rate > 0 for rate in point["each"])
    assert {point["at"]["workload.reshuffle"] for point in told["points"]} == {
        "streaming",
        "none",
        "fast",
    }
    (note,) = done.stderr.splitlines()
    assert "2 of 8 points left out" in note
    assert 'workload.reshuffle = "slow"' in note


def test_links_as_slow_as_described_are_what_limits(isthmus):
    only = ["workload.reshuffle=none", "workload.block=1 KiB"]
    slow = measure(isthmus, *only, "machine.bandwidth=2 MB/s", "--pace", "described", "--json")
    assert slow.returncode == 0, slow.stderr
    (point,) = json.loads(slow.stdout)["points"]
    # Two links of 2 MB/s each; never more, however fast this machine is.
    assert all(0 < rate < 4.3 for rate in point["each"]), point


def test_a_table_fits_into_a_terminal(isthmus):
    shown = measure(isthmus, "-q").stdout
    assert "MB/s" in shown
    assert "streaming" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_file_keeps_what_was_measured_of_several_scenarios(isthmus, tmp_path):
    assert measure(isthmus, "--out", "live.json", "-q").returncode == 0
    other = SCENARIO.replace('"small"', '"other"')
    (tmp_path / "small.toml").write_text(other)
    assert measure(isthmus, "--out", "live.json", "-q").returncode == 0
    kept = json.loads((tmp_path / "live.json").read_text())["scenarios"]
    assert sorted(kept) == ["other", "small"]
    assert kept["small"]["command"].startswith("isthmus nic measure small.toml")


def test_a_file_of_something_else_is_left_as_it_is(isthmus, tmp_path):
    (tmp_path / "mine.json").write_text('{"mine": 1}')
    line = refused(measure(isthmus, "--out", "mine.json"))
    assert "mine.json: not what `isthmus nic measure` writes" in line
    assert (tmp_path / "mine.json").read_text() == '{"mine": 1}'


def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(isthmus, tmp_path):
    (tmp_path / "taken").write_text("mine")
    done = isthmus("nic", "measure", "small.toml", "--time", "60 s", "--out", "taken/live.json")
    assert "taken" in refused(done)
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["workload.tu=64"], "the unit of 64 is missing"),
        (["--time", "5"], "--time: the unit of 5 is missing"),
        (["--turns", "0"], "'--turns'"),
        (["workload.reshuffle=slow"], "no point can be carried out here"),
        (["machine.rows=many"], "machine.rows"),
    ],
)
def test_bad_input_is_one_line(isthmus, words, said):
    assert said in refused(measure(isthmus, *words))


def test_another_kind_of_machine_is_refused(isthmus, tmp_path):
    done = isthmus("init", "sci", "ring.toml")
    assert done.returncode == 0
    line = refused(isthmus("nic", "measure", "ring.toml"))
    assert 'machine.kind = "interface"' in line


def test_a_bar_on_a_terminal_and_a_table_under_it(tmp_path):
    # Long enough for the bar to be drawn again.
    words = ["-m", "isthmus", "nic", "measure", "small.toml", "--turns", "2", "--time", "200 ms"]
    terminal = Terminal(words, tmp_path)
    assert terminal.end() == 0
    assert "streaming" in terminal.text()
    assert b"measuring" in terminal.raw
    assert "measuring" not in terminal.text()


def test_ctrl_c_ends_it(tmp_path):
    words = ["-m", "isthmus", "nic", "measure", "small.toml", "--time", "20 s", "--out", "l.json"]
    terminal = Terminal(words, tmp_path)
    terminal.until(lambda: "measuring" in terminal.text())
    terminal.signal(signal.SIGINT)
    assert terminal.end() == 130
    assert not (tmp_path / "l.json").exists()
