"""A dry run says what the real command would say, and writes nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import SMALL
from isthmus import IsthmusError
from isthmus.execution import Job
from isthmus.files import ready_folder
from isthmus.owned.mark import read_mark
from isthmus.sweeps import Selection, do_part
from scripted_slurm import TEST_ONLY, Commands

ON = ("--on", "slurm", "--array-size", "4")


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    return Commands(tmp_path / "bin")


@pytest.fixture
def here(tmp_path: Path, commands: Commands, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "small.toml").write_text(SMALL)
    commands(sbatch=TEST_ONLY + "echo 7", squeue="true", scontrol="exit 1")
    monkeypatch.setenv("PATH", f"{commands.place}:/usr/bin:/bin")
    return tmp_path


def begun(folder: Path, *, all_of_it: bool = False, seed: int | None = None) -> None:
    points = Selection.whole(4, 0) if all_of_it else Selection((0,))
    do_part(Job(SMALL, "small.toml", seed=seed), folder, points)


def another_seed(folder: Path) -> None:
    begun(folder, seed=5, all_of_it=True)


def another_version(folder: Path) -> None:
    begun(folder, all_of_it=True)
    mark = read_mark(folder)
    assert mark is not None
    mark.identity = replace(mark.identity, version="0.0.9")
    mark.save(folder)


def another_text(folder: Path) -> None:
    do_part(Job(SMALL + "# a thought\n", "small.toml"), folder, Selection((0,)))


def damaged_mark(folder: Path) -> None:
    begun(folder)
    (folder / ".isthmus.json").write_text("{")


def foreign_file(folder: Path) -> None:
    folder.mkdir()
    (folder / "mine.txt").write_text("mine\n")


def changed_source(folder: Path) -> None:
    begun(folder)
    (folder / "run.json").write_text("{}\n")


def no_folder(folder: Path) -> None:
    folder.write_text("mine\n")


REFUSED = {
    another_seed: "holds results with seed 5",
    another_version: "holds results of isthmus 0.0.9",
    another_text: "started with another title, text or changes",
    damaged_mark: ".isthmus.json",
    foreign_file: "holds files that isthmus did not write (mine.txt)",
    changed_source: "run.json: changed since isthmus wrote it",
    no_folder: "cannot write here (File exists)",
}


def contents(folder: Path) -> dict[str, bytes]:
    files = [folder] if folder.is_file() else folder.rglob("*")
    return {str(path): path.read_bytes() for path in files if path.is_file()}


@pytest.mark.parametrize("make", REFUSED)
def test_what_the_real_command_refuses_is_refused_in_its_words(here, isthmus, make):
    folder = here / "o"
    make(folder)
    before = contents(folder)
    words = ("run", "small.toml", *ON, "--out", "o")
    dry = isthmus(*words, "--dry-run")
    assert (dry.returncode, dry.stdout) == (2, "")
    (said,) = dry.stderr.splitlines()
    assert REFUSED[make] in said
    assert contents(folder) == before
    assert isthmus(*words, "--dry-run", "--json").returncode == 2
    assert isthmus(*words, "--detach").stderr == dry.stderr


def test_where_nothing_is_missing_a_damaged_entry_is_refused_as_by_the_real_command(here, isthmus):
    words = ("run", "small.toml", *ON, "--out", "o")
    begun(here / "o", all_of_it=True)
    assert isthmus(*words, "--dry-run").returncode == 0
    (here / "o/points/point-00002.json").write_text("x")
    before = contents(here / "o")
    dry, real = isthmus(*words, "--dry-run"), isthmus(*words)
    assert (dry.returncode, dry.stdout, real.returncode) == (2, "", 2)
    for told in (dry.stderr, real.stderr):
        assert "o/points/point-00002.json" in told
        assert "damaged" in told
    assert "`isthmus status" in dry.stderr
    assert contents(here / "o").items() >= before.items()
    # Where results stand nothing is asked of the journal.
    (here / "o/points/point-00002.json").unlink()
    assert isthmus("run", "small.toml", "--out", "o").returncode == 0
    (here / "o/points/point-00002.json").write_text("x")
    assert isthmus(*words, "--dry-run").returncode == 0


def test_a_folder_below_a_file_is_refused(here, isthmus):
    words = ("run", "small.toml", *ON, "--out", "small.toml/o")
    dry = isthmus(*words, "--dry-run")
    assert dry.returncode == 2
    assert "small.toml/o: cannot write here (Not a directory)" in dry.stderr
    assert isthmus(*words, "--detach").stderr == dry.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to_is_refused(here, isthmus):
    (here / "locked").mkdir(mode=0o500)
    for out in ("locked", "locked/o"):
        dry = isthmus("run", "small.toml", *ON, "--out", out, "--dry-run")
        assert dry.returncode == 2 and "cannot write here (Permission denied)" in dry.stderr


def test_a_folder_of_this_run_is_shown_what_is_missing_and_fresh_all_of_it(here, isthmus):
    begun(here / "o")
    words = ("run", "small.toml", *ON, "--dry-run", "--json")
    before = contents(here / "o")
    assert json.loads(isthmus(*words, "--out", "o").stdout)["points"] == 3
    assert json.loads(isthmus(*words, "--out", "o", "--fresh").stdout)["points"] == 4
    another_seed(here / "p")
    assert json.loads(isthmus(*words, "--out", "p", "--fresh").stdout)["points"] == 4
    assert contents(here / "o") == before
    # One that is empty, or has nothing but the journal of this run, may become ours.
    (here / "empty").mkdir()
    assert json.loads(isthmus(*words, "--out", "empty").stdout)["points"] == 4
    (here / "moved").mkdir()
    (here / "o/points").rename(here / "moved/points")
    assert json.loads(isthmus(*words, "--out", "moved").stdout)["points"] == 3
    assert os.listdir(here / "empty") == []  # noqa: PTH208 - names are enough
    assert sorted(path.name for path in (here / "moved").iterdir()) == ["points"]


def test_what_fresh_would_remove_says_nothing_of_what_points_take(here, isthmus):
    begun(here / "o", all_of_it=True)
    (worker,) = (here / "o/points").glob("worker-*.jsonl")
    slow = re.sub('"took_s":[0-9.e-]+', '"took_s":10000.0', worker.read_text())
    worker.write_text(slow)
    (here / "o/points/point-00000.json").unlink()
    words = ("run", "small.toml", "--on", "slurm", "--dry-run", "--json", "--out", "o")
    assert json.loads(isthmus(*words).stdout)["longest_s"] == 10000.0
    told = json.loads(isthmus(*words, "--fresh").stdout)
    assert told["points"] == 4 and told["longest_s"] < 100


def test_what_fresh_could_not_remove_is_refused(here, isthmus):
    begun(here / "o")
    (here / "o/run.json").rename(here / "elsewhere")
    (here / "o/run.json").symlink_to(here / "elsewhere")
    words = ("run", "small.toml", *ON, "--out", "o", "--fresh")
    dry = isthmus(*words, "--dry-run")
    assert (dry.returncode, dry.stdout) == (2, "")
    assert "o/run.json: a symbolic link, which is not followed" in dry.stderr
    assert isthmus(*words, "--detach").stderr == dry.stderr


def test_a_dry_run_that_is_interrupted_says_so(here, isthmus):
    slow = ("stop.rule=fixed", "stop.messages=20000000", "stop.warmup_messages=10")
    command = [sys.executable, "-m", "isthmus", "run", "small.toml", *slow]
    dry = subprocess.Popen(
        [*command, "--on", "slurm", "--dry-run", "--verbose"],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert dry.stderr is not None
    while "a few are tried first" not in (line := dry.stderr.readline()):
        assert line, "it ended"
    dry.send_signal(signal.SIGINT)
    out, said = dry.communicate(timeout=60)
    assert (dry.returncode, out) == (130, ""), said
    assert said.splitlines()[-1] == "isthmus: interrupted"
    assert sorted(path.name for path in here.iterdir()) == ["bin", "small.toml"]


@pytest.mark.parametrize("how", ["--detach", "--dry-run"])
def test_pictures_are_not_asked_of_who_does_not_wait(here, isthmus, how):
    done = isthmus("run", "small.toml", *ON, how, "--plots", "svg")
    assert (done.returncode, done.stdout) == (2, "")
    (said,) = done.stderr.splitlines()
    assert said.startswith(f"isthmus: --plots: nothing is drawn with {how}; give it to isthmus col")
    assert not (here / "out").exists()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("", "units are s, min, h, and smaller ones"),
        ("10m", "units are s, min, h, and smaller ones"),
        ("1:00:00", "units are s, min, h, and smaller ones"),
        ("-1h", "less than nothing"),
        ("1000000h", "too long; give 87,600 h or less"),
        ("1e300h", "too long"),
        ("30 s", "too little; give 60 s or more"),
    ],
)
def test_times_that_are_of_no_use_are_told_why(here, isthmus, word, said):
    done = isthmus("run", "small.toml", *ON, "--dry-run", "--time", word, "--out", "o")
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2 and line.startswith("isthmus: --time: ") and said in line
    assert "no time" not in line
    alone = isthmus("run", "small.toml", "--time", word, "--out", "o")
    assert alone.returncode == 2 and "is for a run on Slurm" in alone.stderr


@pytest.mark.parametrize("word", ["87600h", "8760 h", "400000 min", "31536000000 ms"])
def test_a_time_of_years_is_one(here, isthmus, word):
    done = isthmus("run", "small.toml", *ON, "--dry-run", "--time", word, "--out", "o")
    assert done.returncode == 0, done.stderr


def test_a_part_of_more_than_anybody_counts_is_one(here, isthmus):
    done = isthmus("run", "small.toml", "--part", f"7/{10**20}", "--out", "o")
    assert done.returncode == 0 and "nothing is to be done, there are 4 points" in done.stderr


def test_an_sbatch_that_is_killed_refuses_nothing(commands, here, isthmus):
    commands(sbatch="kill -9 $$")
    done = isthmus("run", "small.toml", *ON, "--detach", "--out", "o")
    assert done.returncode in (1, 2)
    assert "sbatch: it was killed by signal 9" in done.stderr and "refused" not in done.stderr


def test_without_squeue_nothing_is_written(commands, here, isthmus):
    (commands.place / "squeue").unlink()
    words = ("run", "small.toml", *ON, "--detach", "--out", "o")
    done = isthmus(*words, PATH=str(commands.place))
    assert done.returncode == 2 and "squeue: not found" in done.stderr
    assert not (here / "o").exists()


def test_a_read_only_file_system_is_called_that(here, monkeypatch):
    (here / "o").mkdir()
    monkeypatch.setattr(os, "access", lambda *_: False)
    told = SimpleNamespace(f_flag=os.ST_RDONLY)
    monkeypatch.setattr(os, "statvfs", lambda _: told)
    with pytest.raises(IsthmusError, match="Read-only file system") as refused:
        ready_folder(here / "o")
    assert "have it made writable, or choose another folder" in str(refused.value)
