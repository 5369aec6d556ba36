"""What Slurm is asked, and in which words: the user's variables, names, numbers, silence."""

import json
import shutil
import time

import pytest

from conftest import SMALL
from isthmus.errors import RunFailedError
from isthmus.sweeps import Selection, do_part
from isthmus.sweeps.slurm import Array, Slurm, Sweep, Wanted, costs
from isthmus.sweeps.slurm.control import NoCommandError, SlurmError, UnansweredError
from isthmus.sweeps.slurm.jobs import jobs_of
from isthmus.sweeps.slurm.queued import queued
from scripted_slurm import TEST_ONLY, Commands, finish_here, sweep

PATIENCE_S = 60
SILENT = "echo 'squeue: error: Unable to contact slurm controller' >&2; exit 1"
CANCELLED = "; ".join(
    f"echo 'JobId=1{at} ArrayJobId=7 ArrayTaskId={at} JobState=CANCELLED ExitCode=0:15 "
    "NodeList=n EndTime=2026-11-26T12:00:00'"
    for at in range(4)
)


@pytest.fixture
def commands(tmp_path):
    return Commands(tmp_path / "bin")


def test_what_is_wanted_goes_before_the_user_s_variables(tmp_path, commands, monkeypatch):
    for name in ("ACCOUNT", "WAIT", "SIGNAL", "OPEN_MODE"):
        monkeypatch.setenv(f"SBATCH_{name}", "1")
    monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")
    # What is wanted nowhere else is the variable's.
    assert {name for name in Slurm().environment if name.startswith("SBATCH_")} == {
        "SBATCH_ACCOUNT"
    }
    assert "SLURM_TIME_FORMAT" not in Slurm().environment
    asked = tmp_path / "asked"
    slurm = commands(
        sbatch=f'printf "%s\\n" "$@" >>{asked}; {TEST_ONLY} echo 7', squeue="true", scontrol="true"
    )
    wanted = {"time_s": 3600.0, "partition": "long", "account": "physics", "tasks": 4}
    made, _ = sweep(tmp_path, slurm, words=("--qos=low", "--comment=a b"), **wanted)
    made.submitted()
    words = asked.read_text().splitlines()
    # Those of a command line are the only ones that do.
    for option in (
        "--partition=long",
        "--account=physics",
        "--time=01:00:00",
        "--signal=B:TERM@60",
        "--open-mode=append",
        "--qos=low",
        "--comment=a b",
        f"--job-name={made.name}",
        f"--output={made.folder}/slurm/%A_%a.log",
    ):
        assert words.count(option) == 2, option
    assert words.count("--test-only") == words.count("--parsable") == 1


@pytest.mark.parametrize(
    ("name", "said"), [("o\\7", "a backslash"), ("a\ntouch b #", r"'\\n'"), ("a\x1bb", r"'\\x1b'")]
)
def test_a_folder_that_slurm_would_take_for_something_else_is_refused(
    isthmus, tmp_path, commands, name, said
):
    asked = tmp_path / "asked"
    commands(sbatch=f"touch {asked}; echo 7", squeue="true", scontrol="true")
    (tmp_path / "small.toml").write_text(SMALL)
    for more in ((), ("--dry-run",)):
        done = isthmus(
            *("run", "small.toml", "--on", "slurm", "--array-size", 4, "--out", name, *more),
            PATH=f"{commands.place}:/usr/bin:/bin",
        )
        assert done.returncode == 2, done.stderr
        (line,) = done.stderr.splitlines()
        assert "--out" in line and "Slurm cannot take" in line
        assert said.replace("\\\\", "\\") in line
    assert not asked.exists()
    assert not (tmp_path / name).exists()


def late(tmp_path, then):
    """An `sbatch` that answers nobody, and what it has done at last."""
    created, go = tmp_path / "created", tmp_path / "go"
    script = f"{TEST_ONLY}{then}while [ ! -e {go} ]; do sleep 0.05; done; touch {created}; echo 7"
    return script, created, go


def test_an_sbatch_that_does_not_answer_is_left_alone(tmp_path, commands):
    sbatch, created, go = late(tmp_path, f"echo x >>{tmp_path}/asked; ")
    slurm = commands(sbatch=sbatch, squeue="true", scontrol="true")
    slurm.timeout_s = 0.5
    made, _ = sweep(tmp_path, slurm, tasks=4)
    with pytest.raises(UnansweredError, match="left alone, and may submit the job yet"):
        made.submitted()
    # Nor is another one asked as long as it may submit.
    with pytest.raises(UnansweredError, match="has not answered yet"):
        made.submitted()
    go.touch()
    deadline = time.monotonic() + PATIENCE_S
    while not created.exists():
        assert time.monotonic() < deadline, "it was killed"
        time.sleep(0.05)
    assert (tmp_path / "asked").read_text() == "x\n"
    slurm.timeout_s = 60.0
    commands(squeue='case "$*" in *--name*) echo "7|RUNNING" ;; esac')
    assert made.submitted() == Array("7")


def test_a_job_that_sbatch_has_made_without_saying_so_is_found(tmp_path, commands):
    queue = tmp_path / "queue"
    sbatch, _, go = late(tmp_path, f"touch {queue}; ")
    slurm = commands(
        sbatch=sbatch,
        squeue=f'case "$*" in *--name*) [ ! -e {queue} ] || echo "7|PENDING" ;; esac',
        scontrol="true",
    )
    slurm.timeout_s = 1.0
    made, _ = sweep(tmp_path, slurm, tasks=4)
    assert made.submitted() == Array("7")
    assert jobs_of(made.folder)[-1].array == Array("7")
    go.touch()


def test_a_number_is_no_job_of_this_run_without_its_name(tmp_path, commands):
    slurm = commands(sbatch=TEST_ONLY + "echo 7", squeue="true", scontrol="exit 1")
    made, notes = sweep(tmp_path, slurm, tasks=4)
    made.submitted()
    # Numbers have begun anew, and 7 is another job.
    commands(
        sbatch=TEST_ONLY + "echo 9",
        squeue='case "$*" in *--jobs=7*) echo "RUNNING|None|other" ;; esac',
    )
    assert queued(made.folder, slurm) is None
    assert made.submitted() == Array("9")
    assert not notes


def test_the_job_of_a_folder_is_not_that_of_its_copy(tmp_path, commands):
    slurm = commands(sbatch=TEST_ONLY + "echo 7", squeue="true", scontrol="exit 1")
    made, notes = sweep(tmp_path, slurm, tasks=4)
    made.submitted()
    shutil.copytree(made.folder, tmp_path / "copy")
    commands(
        sbatch=TEST_ONLY + "echo 9",
        squeue=f'case "$*" in *--jobs=7*) echo "RUNNING|None|{made.name}" ;; esac',
    )
    assert queued(made.folder, slurm).array == Array("7")
    assert queued(tmp_path / "copy", slurm) is None
    copy = Sweep(made.job, tmp_path / "copy", Wanted(tasks=4), notes.append, slurm)
    assert copy.submitted() == Array("9")
    assert made.submitted() == Array("7")
    assert notes == ["Slurm job 7 is at it already"]


def test_a_job_that_was_cancelled_before_is_followed_by_a_new_one(tmp_path, commands):
    """Its tasks may be about to end still."""
    slurm = commands(sbatch=TEST_ONLY + "echo 7", squeue="true", scontrol="exit 1")
    made, notes = sweep(tmp_path, slurm, tasks=4)
    made.submitted()
    ending = 'case "$*" in *--jobs=7*) echo "COMPLETING|None|" ;; *--name*) echo "7|COMPLETING" ;;'
    commands(
        sbatch=TEST_ONLY + "echo 8",
        squeue=f"{ending} esac",
        scontrol=f'case "$*" in *job*) {CANCELLED} ;; esac',
    )
    again, _ = sweep(tmp_path, slurm, tasks=4)
    assert again.submitted() == Array("8")
    finish_here(again)
    assert len(again.finished(Array("8")).run.points) == 4
    assert not notes


def test_a_job_that_is_cancelled_while_it_is_waited_for_ends_the_run(tmp_path, commands):
    asked = tmp_path / "asked"
    slurm = commands(sbatch=TEST_ONLY + "echo 7", squeue="true", scontrol="exit 1")
    sweep(tmp_path, slurm, tasks=4)[0].submitted()
    commands(
        squeue=f'case "$*" in *--jobs=7*) echo x >>{asked}; case $(wc -l <{asked}) in '
        '1) echo "RUNNING|None|" ;; 2) echo "COMPLETING|None|" ;; esac ;; esac',
        scontrol=f'case "$*" in *job*) {CANCELLED} ;; esac',
    )
    again, _ = sweep(tmp_path, slurm, tasks=4)
    array = again.submitted()
    assert array == Array("7")
    with pytest.raises(RunFailedError, match="Slurm job 7 was cancelled"):
        again.finished(array)


def test_a_silent_controller_is_waited_for_where_a_job_was_submitted(tmp_path, commands):
    asked, go = tmp_path / "asked", tmp_path / "go"
    slurm = commands(sbatch=TEST_ONLY + "echo 7", squeue="true", scontrol="exit 1")
    made, notes = sweep(tmp_path, slurm, tasks=4)
    made.submitted()
    commands(
        squeue=f"echo x >>{asked}\nif [ $(wc -l <{asked}) -lt 2 ]; then "
        f"while [ ! -e {go} ]; do sleep 0.05; done; {SILENT}; fi; echo 'RUNNING|None|'"
    )
    states = []

    def watch(progress):
        states.append(progress.state)
        if progress.state == "Slurm: no answer yet":
            go.touch()

    made.job.watch = watch
    assert made.submitted() == Array("7")
    assert any("Unable to contact" in state for state in states)
    assert len(notes) == 2, notes
    assert "does not say whether a job is at it" in notes[0] and "again for 30 min" in notes[0]


def test_it_is_not_waited_for_where_none_was_submitted_or_there_is_no_squeue(
    tmp_path, commands, monkeypatch
):
    slurm = commands(sbatch=TEST_ONLY + "echo 7", squeue=SILENT, scontrol="exit 1")
    made, notes = sweep(tmp_path, slurm, tasks=4)
    do_part(made.job, made.folder, Selection((0,)))
    with pytest.raises(SlurmError, match="Unable to contact"):
        made.submitted()
    commands(squeue="true")
    made.submitted()
    # Elsewhere than where Slurm's commands are.
    (commands.place / "squeue").unlink()
    slurm.environment["PATH"] = str(commands.place)
    with pytest.raises(NoCommandError, match="squeue: not found"):
        made.submitted()
    assert not notes


@pytest.mark.parametrize("question", ["squeue", "scontrol"])
def test_ctrl_c_waits_for_no_question(tmp_path, commands, question):
    slurm = commands(sbatch=TEST_ONLY + "echo 7", squeue="true", scontrol="exit 1")
    made, _ = sweep(tmp_path, slurm)
    do_part(made.job, made.folder, Selection((0,)))
    commands(**{question: "exec sleep 60"})

    def watch(progress):
        if progress.state == "Slurm: no answer yet":
            raise KeyboardInterrupt

    made.job.watch = watch
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        made.submitted()
    assert time.monotonic() - began < 50


def test_a_line_of_a_worker_that_is_no_duration_is_left_out(tmp_path, commands):
    slurm = commands(sbatch=TEST_ONLY + "echo 7", squeue="true", scontrol="exit 1")
    made, _ = sweep(tmp_path, slurm)
    do_part(made.job, made.folder, Selection((0,)))
    lines = [
        f'{{"done":"{done}","took_s":{took},"at_s":1.0}}'
        for done, took in (("x", 1), ("point-x", 1), ("point-00001", "NaN"), ("point-00002", -1))
    ]
    worker = made.folder / "points/worker-h-1-0123456789abcdef.jsonl"
    worker.write_text("\n".join(lines) + "\n")
    assert list(costs.finished(made.folder)) == [("point", 0)]
    assert made.submitted() in (Array("7"), None)


def test_what_took_a_part_of_many_threads_is_what_one_would_take(tmp_path, commands):
    made, _ = sweep(tmp_path, commands(sbatch="exit 1"))
    do_part(made.job, made.folder, Selection((3,)))
    lines = ['{"worker":"w","at_s":90.0,"expiry_s":60.0,"threads":4}'] + [
        f'{{"done":"point-{at:05}","took_s":{took},"at_s":{ended}}}'
        for at, took, ended in ((0, 5.0, 105.0), (1, 8.0, 108.0), (2, 8.0, 108.0))
    ]
    worker = made.folder / "points/worker-h-1-0123456789abcdef.jsonl"
    worker.write_text("\n".join(lines) + "\n")
    found = costs.finished(made.folder)
    # Three at four threads for five seconds, then two.
    first = 5 * 4 / 3
    assert found["point", 0] == pytest.approx(first)
    assert found["point", 1] == found["point", 2] == pytest.approx(first + 3 * 4 / 2)
    (own,) = (path for path in worker.parent.glob("worker-*.jsonl") if path != worker)
    began, done = map(json.loads, own.read_text().splitlines())
    threads = began["threads"]
    assert threads == made.job.jobs
    assert found["point", 3] == pytest.approx(threads * done["took_s"], abs=1e-5)


def test_what_is_tried_first_has_the_user_s_expiry(tmp_path, commands, monkeypatch):
    slurm = commands(sbatch=TEST_ONLY + "echo 7", squeue="true", scontrol="exit 1")
    seen, real = [], costs.do_part

    def spy(job, folder, part, *expiry):
        seen.append(expiry)
        return real(job, folder, part, *expiry)

    monkeypatch.setattr(costs, "do_part", spy)
    sweep(tmp_path, slurm, expiry_s=600.0)[0].submitted()
    assert seen and set(seen) == {(600.0,)}


@pytest.mark.parametrize("lost", ["[", None])
def test_a_script_is_not_called_changed_where_the_list_of_jobs_is_lost(tmp_path, commands, lost):
    slurm = commands(sbatch=TEST_ONLY + "echo 7", squeue="true", scontrol="exit 1")
    made, notes = sweep(tmp_path, slurm, tasks=4)
    made.submitted()
    jobs, script = made.folder / "slurm/jobs.json", made.folder / "slurm/array.sh"
    jobs.unlink()
    if lost:
        jobs.write_text(lost)
    again, _ = sweep(tmp_path, slurm, tasks=4, partition="p")
    again.note = notes.append
    assert again.submitted() == Array("7")
    assert not notes
    assert "--partition=p" in script.read_text()


def test_clusters_are_seen_however_they_are_named():
    for word in ("--clusters=big", "--cluster=big", "-Mbig", "-M big"):
        assert Wanted(words=(word,)).clusters == "big"
    assert Wanted(words=("--cluster-constraint=big",)).clusters == ""
