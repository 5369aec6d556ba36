"""The folder of a run, in which whole runs, parts and those who only look meet."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import SMALL
from isthmus import __version__
from isthmus.owned.lock import LOCK
from isthmus.owned.mark import read_mark
from isthmus.sweeps import state_of
from test_bounds import HOPELESS
from test_sweeps import FILES, LIMIT_S, isthmus, same, started, wait_for

LONG = ("stop.rule=fixed", "stop.messages=20000000", "stop.warmup_messages=10")
"""A point takes seconds."""
ENDLESS = ("stop.rule=fixed", "stop.messages=4000000000", "stop.warmup_messages=10")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


def one_line(done, status: int = 2) -> str:
    assert done.returncode == status, done
    (line,) = done.stderr.splitlines()
    return line


def interrupted(here: Path, *words: str) -> None:
    """A whole run that ends by Ctrl-C with two points at least left to do."""
    run = started("run", "small.toml", *words, "--jobs", 1, "--out", "o", cwd=here)
    try:
        wait_for((here / "o/points/journal.json").exists)
        run.send_signal(signal.SIGINT)
        _, told = run.communicate(timeout=LIMIT_S)
        assert run.returncode == 130, told
    finally:
        run.kill()
        run.wait()


@pytest.mark.parametrize(
    ("rest", "kept"),
    [
        (("--jobs", 1), "2 of 6 points"),
        (("--part", "1/1"), "2 of 6 points"),
        (("--points", "0:2", "--searches", "0"), "1 of 3 points"),
    ],
)
def test_an_interrupted_run_counts_what_was_there_before_it(here, rest, kept):
    """Though searches come first, and nothing was done of them."""
    search = '\n[search]\nover = "workload.rate"\nfrom = "2 /ms"\nto = "100 /ms"\n'
    (here / "small.toml").write_text(SMALL + search)
    done = isthmus("run", "small.toml", *LONG, "--quick", "--points", "1,3", "--out", "o", cwd=here)
    assert done.returncode == 0, done.stderr
    words = ("run", "small.toml", *LONG, "--quick", *rest, "--out", "o", "-v")
    with started(*words, cwd=here) as run:
        assert run.stderr is not None
        assert any("simulating" in line for line in run.stderr)
        run.send_signal(signal.SIGINT)
        told = run.stderr.read()
    assert run.returncode == 130
    assert f"interrupted; {kept} are kept in o" in told


def test_the_folder_of_an_interrupted_whole_run_stands_for_its_scenario(here):
    interrupted(here, *LONG, "--seed", "4", "--quick")
    done = isthmus("collect", "o", cwd=here)
    assert "`isthmus run o` does what is missing" in one_line(done, 1)
    # It is gone on with: nothing else is at work there, and the scenario is not needed.
    (here / "small.toml").unlink()
    again = started("run", "o", "--jobs", 1, cwd=here)
    wait_for(lambda: state_of(here / "o").alone)
    # Points are simulated by threads of the core; before that nobody knows how many are left.
    wait_for(lambda: len(list(Path(f"/proc/{again.pid}/task").iterdir())) > 1)
    again.send_signal(signal.SIGINT)
    _, told = again.communicate(timeout=LIMIT_S)
    assert again.returncode == 130 and "of 4 points are kept in o" in told
    # Shorter, with the same words, so that the test does not wait for long points.
    (here / "short.toml").write_text(SMALL)
    words = ("run", "short.toml", "workload.locality=0.3", "--seed", 4, "--quick")
    assert isthmus(*words, "--points", "0", "--out", "p", cwd=here).returncode == 0
    assert isthmus(*words, "--out", "whole", cwd=here).returncode == 0
    (here / "short.toml").unlink()
    # What a whole run has begun and what a part has begun are gone on with alike.
    for begun in ("whole", "p"):
        done = isthmus("run", begun, cwd=here)
        assert done.returncode == 0, done.stderr
        done = isthmus("run", begun, "--part", "1/2", cwd=here)
        assert (done.returncode, done.stdout) == (0, f"2 of 2 points of this part are in {begun}\n")
        assert isthmus("collect", begun, cwd=here).returncode == 0
    same(here / "p", here / "whole")
    assert (here / "p/run.json").read_bytes() == (here / "whole/run.json").read_bytes()
    done = isthmus("run", "whole", "--seed", "5", cwd=here)
    assert "leave changes, --seed and --quick out" in one_line(done)


def test_a_folder_that_does_not_know_its_scenario_says_how_to_go_on(here):
    words = ("run", "small.toml", "--quick", "--seed", "4", "--out", "my o")
    assert isthmus(*words, cwd=here).returncode == 0
    source = here / "my o/run.json"
    kept = source.read_bytes()
    right = "`isthmus run FILE [KEY=VALUE]... --out 'my o' --seed 4 --quick`"
    for damage in (source.unlink, lambda: source.write_text("{}")):
        damage()
        for command in ("run", "collect"):
            said = one_line(isthmus(command, "my o", cwd=here))
            assert right in said and "the scenario of 'small'" in said
        told = isthmus("status", "my o", cwd=here).stdout
        assert "run.json" in told and "`isthmus run" not in told
    source.unlink()
    assert isthmus(*words, cwd=here).returncode == 0
    assert source.read_bytes() == kept
    assert isthmus("collect", "my o", cwd=here).returncode == 0


def test_a_table_that_is_lost_is_told_and_written_again(here):
    words = ("run", "small.toml", "--quick", "--out", "o")
    assert isthmus(*words, cwd=here).returncode == 0
    names = ("results.csv", "report.html", "scenario.toml", "result.json")
    for command in (words, ("run", "o"), ("collect", "o")):
        for name in names:
            file = here / "o" / name
            whole = file.read_bytes()
            file.unlink()
            told = isthmus("status", "o", cwd=here).stdout.splitlines()
            assert f"  {name}: not there any more" in told
            assert "`isthmus run o` writes anew what is not there" in told
            assert state_of(here / "o").lost == [name]
            assert isthmus(*command, cwd=here).returncode == 0
            assert file.read_bytes() == whole
            assert "the results are there" in isthmus("status", "o", cwd=here).stdout


def test_a_damaged_result_is_told_and_made_again_once_it_is_moved_away(here):
    words = ("run", "small.toml", "--quick", "--out", "o")
    assert isthmus(*words, cwd=here).returncode == 0
    result = here / "o/result.json"
    whole = result.read_bytes()
    for command in (words, ("run", "o"), ("collect", "o")):
        result.write_bytes(whole[:-5])
        state = state_of(here / "o")
        assert (state.collected, state.changed) == (False, ["result.json"])
        told = isthmus("status", "o", cwd=here).stdout
        assert "result.json: changed since isthmus wrote it; move it away" in told
        said = one_line(isthmus(*command, cwd=here))
        assert "o/result.json: damaged result" in said
        assert ("--fresh" in said) == (command[0] == "run")
        result.unlink()
        assert isthmus(*command, cwd=here).returncode == 0
        assert result.read_bytes() == whole


def test_results_stand_where_the_journal_has_lost_an_entry_and_it_is_done_again(here):
    words = ("run", "small.toml", "--quick", "--out", "o")
    assert isthmus(*words, cwd=here).returncode == 0
    entry = here / "o/points/point-00002.json"
    whole, result = entry.read_bytes(), (here / "o/result.json").read_bytes()
    for damage in (entry.unlink, lambda: entry.write_bytes(whole[:-5])):
        damage()
        told = isthmus("status", "o", cwd=here).stdout
        assert told.startswith("small: 3 of 4 points done\n")
        assert "the results are there, with what the journal lacks" in told
        assert "collect" not in told
        assert ("; delete points/point-00002.json" in told) == entry.exists()
        for command in (words, ("run", "o"), ("collect", "o")):
            assert isthmus(*command, cwd=here).returncode == 0
        assert (here / "o/result.json").read_bytes() == result
        entry.unlink(missing_ok=True)
        assert isthmus("run", "o", "--points", "2", cwd=here).returncode == 0
        assert entry.read_bytes() == whole


def test_a_damaged_head_of_the_journal_is_told(here):
    part = isthmus("run", "small.toml", "--quick", "--part", "1/1", "--out", "o", cwd=here)
    assert part.returncode == 0
    head = here / "o/points/journal.json"
    head.write_bytes(head.read_bytes()[:-2])
    assert [flaw.entry for flaw in state_of(here / "o").damaged] == ["journal"]
    told = isthmus("status", "o", cwd=here).stdout
    assert "  journal: damaged (its bytes are not those that were written); delete " in told
    said = one_line(isthmus("collect", "o", cwd=here))
    assert "journal.json:1: the head of the journal is damaged (" in said
    assert "result" not in said
    head.unlink()
    assert isthmus("collect", "o", cwd=here).returncode == 0


@pytest.mark.parametrize("began", ["part", "whole"])
def test_what_differs_is_named_where_a_part_joins_another_run(here, began):
    words = ("run", "small.toml", "--seed", "1", "--out", "o")
    if began == "part":
        assert isthmus(*words, "--points", "0", cwd=here).returncode == 0
    else:
        interrupted(here, *LONG, "--seed", "1")
    long = LONG if began == "whole" else ()
    for more, differs in (
        (("--seed", "2"), "with seed 1, not 2;"),
        (
            ("machine.dimension=4", "workload.locality=0.1"),
            "machine.dimension is 3 there and 4 here",
        ),
        (("--quick", "--seed", "3"), "with seed 1, not 3 and of a full run, not a quick one;"),
        (
            ("machine.dimension=4", "--seed", "2"),
            "machine.dimension is 3 there and 4 here) and with",
        ),
    ):
        for part in (("--part", "1/2"), ("--points", "0"), ()):
            said = one_line(isthmus(*words, *long, *more, *part, cwd=here))
            assert differs in said
            assert "give another folder" in said
            assert ("--fresh" in said) == (not part)


def test_what_differs_in_words_only_is_named(here):
    words = ("run", "small.toml", "--quick", "--points", "0", "--out", "o")
    assert isthmus(*words, cwd=here).returncode == 0
    for more, differs in (
        (("title=Other",), "changes are none there and `title=Other` here"),
        (("--seed", "1"), "--seed is left out there and 1 here"),
    ):
        said = one_line(isthmus(*words, *more, cwd=here))
        assert differs in said
        assert "`isthmus run o`" in said and "--fresh" not in said


def test_the_line_that_differs_is_named(here):
    words = ("--quick", "--points", "0", "--out", "o")
    assert isthmus("run", "small.toml", *words, cwd=here).returncode == 0
    lines = SMALL.splitlines()
    lines.insert(2, "# another thought")
    (here / "other.toml").write_text("\n".join(lines) + "\n")
    said = one_line(isthmus("run", "other.toml", *words, cwd=here))
    assert f"line 3 is `{SMALL.splitlines()[2]}` there and `# another thought` here" in said


def test_another_version_is_named_and_a_part_is_not_told_of_fresh(here):
    words = ("run", "small.toml", "--quick", "--out", "o")
    assert isthmus(*words, "--points", "0", cwd=here).returncode == 0
    mark = read_mark(here / "o")
    mark.identity = replace(mark.identity, version="0.0.1")
    mark.save(here / "o")
    for more, fresh in (((), True), (("--points", "1"), False)):
        said = one_line(isthmus(*words, *more, cwd=here))
        assert f"of isthmus 0.0.1, not {__version__}" in said
        assert ("--fresh" in said) == fresh
        assert f"not {__version__}; give another folder" in said
    told = isthmus("status", "o", cwd=here).stdout
    assert f"isthmus 0.0.1 began it and does what is missing; this is {__version__}" in told
    assert "`isthmus run" not in told
    said = one_line(isthmus("collect", "o", cwd=here))
    assert "of isthmus 0.0.1" in said and "--fresh" not in said


def test_a_whole_run_at_work_is_told_and_parts_are_refused_at_once(here):
    run = started("run", "small.toml", *ENDLESS, "--jobs", 1, "--out", "o", cwd=here)
    try:
        wait_for((here / "o/points/journal.json").exists)
        state = state_of(here / "o")
        assert (state.alone.pid, state.alone.work) == (run.pid, "does all of this run")
        told = isthmus("status", "o", cwd=here).stdout
        assert told.startswith(f"small: 0 of 4 points done; process {run.pid} on ")
        assert "does all of this run" in told and "0 running" not in told
        told = json.loads(isthmus("status", "o", "--json", cwd=here).stdout)
        assert told["alone"]["process"] == run.pid
        assert (told["running"], told["waiting"]) == ([], 0)
        for part in (("--part", "1/2"), ("--points", "0")):
            done = isthmus("run", "small.toml", *ENDLESS, *part, "--out", "o", cwd=here)
            said = one_line(done)
            assert f"process {run.pid} on " in said and "nothing is left for parts" in said
        os.kill(run.pid, signal.SIGKILL)
        run.communicate(timeout=LIMIT_S)
        # Its name stands in the lock, and nobody is there.
        assert str(run.pid) in (here / "o" / LOCK).read_text()
        assert state_of(here / "o").alone is None
        assert "0 running" in isthmus("status", "o", cwd=here).stdout
    finally:
        run.kill()
        run.wait()


def test_a_name_that_a_dead_process_has_left_is_not_that_of_those_who_share(here):
    done = isthmus("run", "small.toml", "--quick", "--points", "0", "--out", "o", cwd=here)
    assert done.returncode == 0
    dead = {"pid": 2**22 + 1, "host": "far", "since": "then", "work": "does all of this run"}
    (here / "o" / LOCK).write_text(json.dumps(dead))
    done = isthmus("run", "o", "--points", "1", cwd=here)
    assert done.returncode == 0, done.stderr
    assert (here / "o" / LOCK).read_text() == ""


def test_a_part_says_for_whom_it_waits(here):
    from isthmus.owned import Identity, OwnedFolder

    with OwnedFolder.opened(here / "o", Identity("run", "other")):
        part = started("run", "small.toml", "--part", "1/2", "--out", "o", cwd=here)
        assert part.stderr is not None
        said = part.stderr.readline()
        assert f"o: waiting for process {os.getpid()} on " in said
        _, told = part.communicate(timeout=LIMIT_S)
        assert part.returncode == 2 and "is working in this folder" in told


def test_a_run_in_one_piece_is_not_told_to_be_collected(here):
    assert isthmus("run", "small.toml", "--quick", "--out", "o", cwd=here).returncode == 0
    told = isthmus("status", "o", cwd=here).stdout
    assert told == "small: 4 of 4 points done\nthe results are there\n"
    part = isthmus("run", "small.toml", "--quick", "--part", "1/1", "--out", "p", cwd=here)
    assert part.returncode == 0
    told = isthmus("status", "p", cwd=here).stdout
    assert (
        told == "small: 4 of 4 points done\nall is there: `isthmus collect p` writes the results\n"
    )


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (("--part", "0/4"), "here 1/4 to 4/4"),
        (("--part", "5/4"), "here 1/4 to 4/4"),
        (("--part", "1/" + "9" * 5000), "give K/N"),
        (("--part", "\u0661/\u0662"), "give K/N"),
        (("--points", "5:3"), "there are 0:4"),
        (("--points", "3:1"), "3:1 ends before it begins; give 1:3; there are 0:4"),
        (("--points", "3:3"), "give 3:4 for 3 alone; there are 0:4"),
        (("--points", ":"), "there are 0:4"),
        (("--points", "2:"), "there are 0:4"),
        (("--points", "0," + "9" * 5000), "there are 0:4"),
        (("--searches", "0"), "there are none in this run"),
    ],
)
def test_odd_parts_are_refused_with_what_there_is(here, words, right):
    said = one_line(isthmus("run", "small.toml", *words, "--out", "o", cwd=here))
    assert said.startswith(f"isthmus: {words[0]}: ") and right in said
    assert not (here / "o").exists()


def test_parts_without_points_and_points_named_twice_end_well(here):
    words = ("run", "small.toml", "--quick", "--out", "o")
    done = isthmus(*words, "--part", "16/20", cwd=here)
    assert (done.returncode, done.stdout) == (0, "0 of 0 points of this part are in o\n")
    assert "--part 16/20: nothing is to be done, there are 4 points" in done.stderr
    done = isthmus(*words, "--part", "1/1000000000", cwd=here)
    assert (done.returncode, done.stdout) == (0, "1 of 1 point of this part is in o\n")
    done = isthmus(*words, "--points", "2,1:3,2,1", cwd=here)
    assert (done.returncode, done.stdout) == (0, "2 of 2 points of this part are in o\n")


def test_points_that_memory_ends_have_one_rule(tmp_path):
    """The journal has none of them; results have them as far as they got, until there is more."""
    (tmp_path / "h.toml").write_text(HOPELESS)
    more, result = ("--memory", "8 GB"), tmp_path / "o/result.json"

    def ended_by():
        return json.loads(result.read_text())["points"][0]["ended_by"]

    done = isthmus("run", "h.toml", "--memory", "200 MB", "--out", "o", cwd=tmp_path)
    assert done.returncode == 0
    assert "point 0 used up the memory of the run" in done.stderr
    assert "`isthmus run o --memory SIZE`" in done.stderr
    assert ended_by() == "memory"
    assert not list((tmp_path / "o/points").glob("point-*"))
    told = isthmus("status", "o", cwd=tmp_path).stdout
    lacks = (
        "with what the journal lacks: point 0 used up the memory of the run and went only so far"
    )
    assert f"the results are there, {lacks}; `isthmus run o --memory SIZE`" in told
    # With as much, results stand; nothing is computed again to be the same.
    before = result.stat().st_mtime_ns, (tmp_path / "o/provenance.json").read_bytes()
    for command in (("run", "o", "--memory", "200 MB"), ("collect", "o")):
        done = isthmus(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "used up the memory" in done.stderr
    assert before == (result.stat().st_mtime_ns, (tmp_path / "o/provenance.json").read_bytes())
    # A part cannot keep it, and says so.
    part = isthmus("run", "o", "--part", "1/1", "--memory", "200 MB", cwd=tmp_path)
    assert (part.returncode, part.stdout) == (1, "0 of 1 point of this part is in o\n")
    assert "point-00000 failed: its memory was used up; give more by --memory" in part.stderr
    # What a part gets done with more is collected.
    part = isthmus("run", "o", "--part", "1/1", *more, cwd=tmp_path)
    assert part.returncode == 0, part.stderr
    done = isthmus("collect", "o", cwd=tmp_path)
    assert (done.returncode, done.stderr, ended_by()) == (0, "", "backlog")
    # Without results there is nothing to collect until someone takes it as it is, or has more.
    part = isthmus(
        "run", "h.toml", "--part", "1/1", "--memory", "200 MB", "--out", "p", cwd=tmp_path
    )
    assert part.returncode == 1
    done = isthmus("collect", "p", cwd=tmp_path)
    assert "memory was used up" in one_line(done, 1) and "`isthmus run p`" in done.stderr
    done = isthmus("run", "p", *more, cwd=tmp_path)
    assert done.returncode == 0
    for name in FILES:
        assert (tmp_path / "p" / name).read_bytes() == (tmp_path / "o" / name).read_bytes()


def test_an_executor_s_memory_ends_a_point_as_here(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    from isthmus.execution import Job

    with ThreadPoolExecutor(1) as executor:
        job = Job(HOPELESS, "h.toml", memory="200 MB", executor=executor)
        results = job.run_into(tmp_path / "o")
    assert results.run.short_of_memory == "point 0"
    assert not list((tmp_path / "o/points").glob("point-*"))
    Job(HOPELESS, "h.toml", memory="200 MB").run_into(tmp_path / "here")
    same(tmp_path / "o", tmp_path / "here")
