"""Long commands on a pseudo-terminal: the bar, Ctrl-C, windows that change."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import REPOSITORY, SMALL
from terminal import LIMIT_S, Terminal

BAR = re.compile("[█░]")
SLOW = (
    SMALL.replace("messages_first = 4000", "messages_first = 200000")
    .replace("messages_max = 40000", "messages_max = 200000")
    .replace('["2 /ms", "4 /ms"]', '["1 /ms", "2 /ms", "3 /ms", "4 /ms"]')
)
"""Eight points of some tenths of a second each: bars are drawn ten times a second."""
RINGS = """\
version = 1
name = "ring"
machine.kind = "sci"
machine.fabric = "ring"
machine.size = 3
[sweep]
"workload.load" = ["0.3 GB/s", "2 GB/s"]
[stop]
rule = "fixed"
time = "100 ms"
replications = 3
"""
COLOURS = re.compile(rb"\x1b\[[\d;]*(?:3|4|9|10)[0-7][\d;]*m")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slow.toml").write_text(SLOW)
    (tmp_path / "ring.toml").write_text(RINGS)
    (tmp_path / "papers").symlink_to(REPOSITORY / "papers")
    return tmp_path


RUN = ["-m", "isthmus", "run", "slow.toml", "--jobs", "1", "--out", "out/slow"]
DRAWN = [*RUN, "--plots", "png"]
FAULTS = ["-m", "isthmus", "faults", "ring.toml", "--jobs", "1", "--out", "out/ring"]
PAPERS = [
    *("-m", "isthmus", "papers", "run", "sci-fabrics", "--quick", "--jobs", "1", "--figures"),
    *("--only", "crr4_sim"),
]


def left_clean(terminal: Terminal) -> None:
    """Nothing of the bar is left, and the cursor is where a prompt would go."""
    assert not BAR.search(terminal.text()), terminal.text()
    assert terminal.cursor_is_there


def said(terminal: Terminal) -> str:
    """What is on the screen, lines that the terminal has broken put together."""
    return "".join(
        f"{line:<80}" if len(line) < 80 else line for line in terminal.text().splitlines()
    )


@pytest.mark.parametrize("columns", [80, 120])
def test_a_run_shows_all_its_phases_in_one_bar(folder, columns):
    terminal = Terminal(DRAWN, folder, columns=columns)
    assert terminal.end() == 0, terminal.text()
    bars = terminal.bars()
    for phase in ("building", "simulating", "writing", "drawing"):
        assert any(phase in bar for bar in bars), (phase, bars)
    assert any(
        re.search(r"[1-7]/8 points  +\d[\d.]*( [kMG])? messages/s  +\d:\d\d left", b) for b in bars
    )
    assert any(re.search(r"drawing \d+/\d+  8/8 points", bar) for bar in bars)
    assert terminal.widest < columns
    assert "A small machine" in terminal.text()
    assert "Report: out/slow/report.html" in terminal.text()
    left_clean(terminal)


@pytest.mark.parametrize(("words", "columns"), [(FAULTS, 80), (PAPERS, 120)])
def test_other_long_commands_show_one_as_well(folder, words, columns):
    terminal = Terminal(words, folder, columns=columns)
    assert terminal.end() == 0, terminal.text()
    assert any("simulating" in bar and "points" in bar for bar in terminal.bars()), terminal.seen
    assert terminal.widest < columns
    left_clean(terminal)


def test_without_colour(folder):
    plain = Terminal(RUN, folder, environment={"NO_COLOR": "1"})
    assert plain.end() == 0
    assert any("simulating" in bar for bar in plain.bars())
    assert not COLOURS.search(plain.raw)
    left_clean(plain)


def test_a_terminal_that_only_prints_gets_lines(folder):
    terminal = Terminal(RUN, folder, environment={"TERM": "dumb"})
    assert terminal.end() == 0
    assert b"\x1b" not in terminal.raw
    assert re.search(r"isthmus: simulating, \d of 8 points", terminal.text())
    assert "isthmus: drawing" in terminal.text()
    assert "A small machine" in terminal.text()


def test_an_encoding_without_blocks_gets_a_bar_of_ascii(folder):
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    terminal = Terminal(RUN, folder, environment=ascii_only)
    assert terminal.end() == 0
    assert terminal.raw.isascii()
    assert any(re.search(r"#+\.*  simulating", line) for line in terminal.seen), terminal.seen
    left_clean(terminal)


@pytest.mark.parametrize("words", [RUN, FAULTS, PAPERS], ids=["run", "faults", "papers"])
def test_ctrl_c_in_the_middle(folder, words):
    if words is FAULTS:
        (folder / "ring.toml").write_text(RINGS.replace("100 ms", "5 s"))
    terminal = Terminal(words, folder)
    terminal.until(lambda: "simulating" in terminal.text() and "points" in terminal.text())
    terminal.press(b"\x03")
    assert terminal.end() == 130, terminal.text()
    assert "isthmus: interrupted;" in terminal.text()
    assert "run the same command again" in said(terminal)
    assert "Traceback" not in terminal.text()
    left_clean(terminal)


def test_ctrl_c_while_drawing(folder):
    terminal = Terminal(DRAWN, folder)
    terminal.until(lambda: "drawing" in terminal.text())
    terminal.press(b"\x03")
    assert terminal.end() == 130, terminal.text()
    told = said(terminal)
    assert "interrupted; all 8 points are kept in out/slow, not all is drawn; run the same" in told
    assert "Traceback" not in told
    left_clean(terminal)
    again = Terminal(DRAWN, folder)
    assert again.end() == 0
    assert (folder / "out/slow/report.html").is_file()


def test_a_run_that_is_ended_from_outside_tidies_up(folder):
    terminal = Terminal(RUN, folder)
    terminal.until(lambda: "simulating" in terminal.text())
    terminal.signal(signal.SIGTERM)
    assert terminal.end() == 128 + signal.SIGTERM
    assert "interrupted" in terminal.text()
    left_clean(terminal)


def test_a_terminal_that_is_closed_ends_a_run_and_what_it_was_at_is_given_back(folder):
    longer = ("stop.messages_first=100000000", "stop.messages_max=100000000")
    part = [*RUN, *longer, "--points", "0"]
    terminal = Terminal(part, folder)
    claim = folder / "out/slow/points/point-00000.claim"
    terminal.until(claim.exists)
    assert terminal.close() == 128 + signal.SIGHUP
    assert not claim.exists()


def test_a_part_that_waits_for_others_says_so_and_leaves_no_bar(folder):
    part = [*RUN, "stop.messages_first=3000000", "stop.messages_max=3000000"]
    first = subprocess.Popen(
        [sys.executable, *part, "--points", "0"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        claim = folder / "out/slow/points/point-00000.claim"
        begun = time.monotonic()
        while not claim.exists():
            assert time.monotonic() < begun + LIMIT_S
            time.sleep(0.02)
        terminal = Terminal([*part, "--points", "0"], folder)
        assert terminal.end() == 0, terminal.text()
    finally:
        first.kill()
        first.wait()
    waits = [bar for bar in terminal.bars() if "waits for 1 point of others" in bar]
    assert waits, terminal.seen
    assert all(re.search(r"simulating +0/1 point  waits for", bar) for bar in waits), waits
    assert terminal.widest < 80
    assert terminal.text() == "1 of 1 point of this part is in out/slow"
    left_clean(terminal)


def test_lines_say_another_state_when_it_is_time(capsys, monkeypatch):
    from isthmus.progress import Progress, terminal

    told = [(0.0, 0), (1.0, 3), (2.0, 3), (11.0, 2), (30.0, 2)]
    clock = {"now": 0.0}
    monkeypatch.setattr(terminal.time, "monotonic", lambda: clock["now"])
    with terminal.lines(10.0) as watch:
        for clock["now"], others in told:
            state = f"waits for {others} points of others" if others else ""
            watch(Progress("simulating", 2, 5, 1000, state=state))
    assert capsys.readouterr().err.splitlines() == [
        "isthmus: simulating, 2 of 5 points",
        "isthmus: simulating, 2 of 5 points, waits for 2 points of others",
    ]


def test_a_window_that_is_resized(folder):
    # Long enough for all three.
    longer = ("stop.messages_first=1000000", "stop.messages_max=1000000")
    terminal = Terminal([*RUN, *longer], folder, columns=120)
    for resized, columns in enumerate((60, 30, 100), start=1):
        terminal.until(lambda: "simulating" in terminal.text())
        terminal.resize(columns)
        before = len(terminal.seen)
        terminal.until(lambda n=before: len(terminal.seen) > n + 2)
        assert len(terminal.screen.display[terminal.screen.cursor.y].rstrip()) < columns
        # A bar that was on its way as the window shrank is broken there, and its first part stays.
        held = [line for line in terminal.screen.display if BAR.search(line)]
        assert len(held) <= 1 + resized, held
    assert terminal.end() == 0, terminal.text()
    left = [line.rstrip() for line in terminal.screen.display if BAR.search(line)]
    assert len(left) <= 2, left  # the window shrank twice
    assert not any("points" in line for line in left), left
    assert terminal.cursor_is_there


def test_quiet_says_nothing_and_verbose_tells_what_is_going_on(folder):
    quiet = Terminal([*RUN, "-q"], folder, stdout=folder / "answer.txt")
    assert quiet.end() == 0
    assert quiet.raw == b""
    answer = (folder / "answer.txt").read_text()
    assert "A small machine" in answer
    assert "\x1b" not in answer
    told = Terminal([*RUN, "-v", "--fresh"], folder, stdout=folder / "answer.txt")
    assert told.end() == 0
    lines = told.text().splitlines()
    assert all(line.startswith("isthmus: ") for line in lines)
    assert lines[0] == "isthmus: reading slow.toml"
    assert any(re.match(r"isthmus: simulating, [1-7] of 8 points", line) for line in lines)
    assert lines[-1] == "isthmus: results are in out/slow"


def test_a_notebook_shows_a_bar_and_takes_it_away():
    import nbformat
    from nbclient import NotebookClient

    code = (
        "import isthmus\n"
        "r = isthmus.simulate(isthmus.Hypercube(dimension=3, io_link_lanes=1),\n"
        "    isthmus.Workload(rate='2 /ms'), precision='20%', quick=True{})"
    )
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code.format(x)) for x in ("", ", progress=False")]
    )
    updates: list[str] = []

    class Client(NotebookClient):
        def process_message(self, msg, cell, cell_index):
            if msg["msg_type"] in ("display_data", "update_display_data"):
                updates.append(f"{cell_index}: {msg['content']['data'].get('text/html', '')}")
            return super().process_message(msg, cell, cell_index)

    Client(book, timeout=120, kernel_name="python3").execute()
    assert all(update.startswith("0: ") for update in updates)
    assert any("<progress" in update and "simulating" in update for update in updates), updates
    assert updates[-1] == "0: "
    assert not [o for o in book.cells[0].outputs if o.get("data", {}).get("text/html")]


def test_progress_is_forced_or_forbidden_from_python(folder):
    code = (
        "import isthmus\nisthmus.simulate(isthmus.Hypercube(dimension=3, io_link_lanes=1), "
        "isthmus.Workload(rate='2 /ms'), precision='20%', quick=True, progress={})"
    )
    shown = Terminal(["-c", code.format(None)], folder)
    assert shown.end() == 0
    assert shown.bars()
    left_clean(shown)
    hidden = Terminal(["-c", code.format(False)], folder)
    assert hidden.end() == 0
    assert hidden.raw == b""


def test_lines_are_printed_to_a_pipe_where_asked_for(capsys):
    from isthmus.progress import Progress, bar

    with bar() as watch:
        watch(Progress("simulating", 0, 4))
    assert capsys.readouterr().err == ""
    with bar(True) as watch:
        for done in range(3):
            watch(Progress("simulating", done, 2))
    assert capsys.readouterr().err.splitlines() == [
        "isthmus: simulating, 0 of 2 points",
        "isthmus: simulating, 1 of 2 points, 0:00 left",
        "isthmus: simulating, 2 of 2 points",
    ]


def test_the_line_keeps_what_matters_in_any_width():
    from isthmus.columns import columns
    from isthmus.progress import Progress
    from isthmus.progress.line import Pace, bar_line

    pace = Pace(0.0)
    pace.update(Progress("simulating", 0, 24, title="Größe 図 machine " * 5), 0.0)
    pace.update(Progress("simulating", 12, 24, 36_000_000, title="Größe 図 machine " * 5), 12.0)
    for width in range(1, 200):
        assert columns(bar_line(pace, 12.0, width)) <= width
    assert "simulating  12/24 points    3.0 M messages/s  0:12 left" in bar_line(pace, 12.0, 79)
    assert "12/24 points" in bar_line(pace, 12.0, 40)
    assert bar_line(pace, 12.0, 120).startswith("Größe 図")
    # The present point lasts: six seconds later it is as if it ended now, 18 s for 13 of 24.
    assert pace.left_s(18.0) == pytest.approx(max(12 - 6, 18 / 13 * 12))


@pytest.mark.parametrize("title", ["", "A title of some length " * 3])
def test_a_terminal_of_80_columns_shows_how_others_do(title):
    from isthmus.columns import columns
    from isthmus.progress import Progress
    from isthmus.progress.line import Pace, bar_line

    def line(state, width):
        pace = Pace(0.0)
        pace.update(Progress("simulating", 0, 256, title=title, state=state), 0.0)
        pace.update(Progress("simulating", 16, 256, title=title, state=state), 4.0)
        found = bar_line(pace, 4.0, width)
        assert columns(found) <= width
        return found

    down = "Slurm: 256 waiting (PartitionDown), job 123456"
    assert "16/256 points  Slurm: 256 waiting (PartitionDown)" in line(down, 79)
    assert "1:00 left" in line(down, 79)
    silent = "Slurm: no answer (squeue: Unable to contact slurm controller (connect failure))"
    assert "Slurm: no answer (squeue: Unable" in line(silent, 79)
    # In less there is still what matters most.
    assert "Slurm: 256 waiti…" in line(down, 45)
    assert "16/256 points" in line(down, 30)
    for width in range(1, 150):
        line(down, width)


def test_points_that_were_kept_do_not_count_for_the_time_left():
    from isthmus.progress import Progress
    from isthmus.progress.line import Pace

    pace = Pace(0.0)
    pace.update(Progress("simulating", 10, 20), 0.0)
    assert pace.left_s(1.0) is None
    pace.update(Progress("simulating", 12, 20), 4.0)
    # Two points in four seconds; eight are missing.
    assert pace.left_s(4.0) == 16.0
