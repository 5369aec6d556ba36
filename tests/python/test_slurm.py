"""A sweep on a real Slurm: the bytes of a run in one piece, whatever is killed on the way."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import SMALL
from test_check import CHECKPOINTS

SLURM = Path(__file__).parents[1] / "slurm"
sys.path.insert(0, str(SLURM))

import cluster  # noqa: E402 - it lies elsewhere

pytestmark = pytest.mark.skipif(bool(cluster.missing()), reason=cluster.missing() or "Slurm")

PATIENCE_S = 180
RATES = [f"{1 + i / 100:.2f} /ms" for i in range(64)]
SWEEP = SMALL.replace('["2 /ms", "4 /ms"]', json.dumps(RATES)).replace(
    'precision = "10%"', 'precision = "1%"'
)
SWEEP = SWEEP.replace("messages_first = 4000", "messages_first = 500")
SWEEP = SWEEP.replace("messages_max = 40000", "messages_max = 30000")
"""128 points, some 40 ms each."""
ENDLESS = SMALL.replace('precision = "10%"', 'precision = "0.01%"').replace("40000", "400000000")
"""4 points that take hours."""

TOO_SHORT = """\
version = 1
name = "short"
machine = { kind = "hypercube", dimension = 3, lanes = { io_link = 0 } }
sweep = { "workload.rate" = ["2 /ms", "4 /ms"] }

[stop]
rule = "fixed"
time = "1 ms"
warmup = "fixed"
warmup_messages = 39999
replications = 2
"""
"""2 points of which nothing would be left."""


@pytest.fixture(scope="module")
def slurm():
    with cluster.cluster(nodes=4, cpus=2) as made:
        yield made


@pytest.fixture
def run(slurm, tmp_path):
    """``isthmus`` in the cluster, begun and not waited for."""
    begun = []

    def start(*words, **environment):
        process = subprocess.Popen(
            [sys.executable, "-m", "isthmus", *map(str, words)],
            cwd=tmp_path,
            env={**slurm.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        begun.append(process)
        return process

    yield start
    for process in begun:
        process.kill()
        process.communicate(timeout=60)
    with suppress(subprocess.SubprocessError):
        slurm.ask("scancel", "--user=root")
    until(lambda: not slurm.ask("squeue", "--noheader"), "empty queue")


@pytest.fixture(scope="module")
def bytes_of_one_piece(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    (folder / "sweep.toml").write_text(SWEEP)
    subprocess.run(
        [sys.executable, "-m", "isthmus", "run", "sweep.toml", "--jobs", "2", "--out", "out"],
        cwd=folder,
        env=os.environ,
        timeout=PATIENCE_S,
        check=True,
        capture_output=True,
    )
    return (folder / "out/result.json").read_bytes()


@pytest.fixture
def sweep(tmp_path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return tmp_path / "out"


def until(said, what):
    deadline = time.monotonic() + PATIENCE_S
    while not (found := said()):
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.1)
    return found


def ended(process):
    out, said = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, said


def processes(slurm):
    """Of tasks at work on this cluster, of which there may be others: process and task."""
    found = []
    for place in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            words = (place / "environ").read_bytes().split(b"\0")
            told = dict(word.split(b"=", 1) for word in words if b"=" in word)
            ours = told.get(b"SLURM_CONF") == slurm.environment["SLURM_CONF"].encode()
            task = ours and b"SLURM_ARRAY_TASK_ID" in told
            if task and b"isthmus" in (place / "cmdline").read_bytes():
                found.append((int(place.name), int(told[b"SLURM_ARRAY_TASK_ID"])))
    return found


def jobs(slurm):
    """Numbers of the array jobs in the queue."""
    return set(slurm.ask("squeue", "--noheader", "--format=%F").split())


def test_an_array_gives_the_bytes_of_a_run_in_one_piece(run, sweep, bytes_of_one_piece):
    status, out, said = ended(
        run("run", "sweep.toml", "--on", "slurm", "--array-size", 8, "--out", sweep)
    )
    assert status == 0, said
    assert "Report:" in out
    assert (sweep / "result.json").read_bytes() == bytes_of_one_piece
    mark = json.loads((sweep / ".isthmus.json").read_text())
    assert "slurm/array.sh" in mark["files"]
    logs = sorted(path.name.partition("_")[2] for path in (sweep / "slurm").glob("*.log"))
    assert logs == [f"{i}.log" for i in range(8)]
    # Nothing is left to do, and nothing is submitted for it.
    status, _, said = ended(run("run", "sweep.toml", "--on", "slurm", "--out", sweep))
    assert (status, said) == (0, "")
    assert len(json.loads((sweep / "slurm/jobs.json").read_text())) == 1
    # All of it is ours, logs as well.
    status, _, said = ended(run("run", "sweep.toml", "--quick", "--fresh", "--out", sweep))
    assert status == 0, said
    assert not (sweep / "slurm").exists()


def test_twenty_tasks_are_killed_and_a_node_is_gone_for_good(slurm, run, sweep, bytes_of_one_piece):
    command = ["run", "sweep.toml", "--on", "slurm", "--array-size", 64, "--expiry", "2 s"]
    # Slurm would put back what ran on the node, two minutes later.
    command += ["--sbatch=--no-requeue"]
    whole = run(*command, "--out", sweep)
    killed = set()
    gone = slurm.nodes[-1]

    def kill_one():
        for process, task in processes(slurm):
            if task in killed or len(killed) == 20:
                continue
            (number,) = jobs(slurm) or ("",)
            if len(killed) % 2:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            else:
                with suppress(subprocess.CalledProcessError):
                    slurm.ask("scancel", "--signal=KILL", "--full", f"{number}_{task}")
            killed.add(task)
            if len(killed) == 10:
                slurm.kill_node(gone)
        return len(killed) == 20

    try:
        until(kill_one, "tasks to kill")
        status, _, said = ended(whole)
    finally:
        slurm.start_node(gone)
        until(lambda: slurm.states()[gone] == "idle", "node that is back")
    assert status == 0, said
    assert re.search("(was|were) lost", said), said
    assert "killed by signal 9" in said
    assert "submitted again as job" in said
    assert (sweep / "result.json").read_bytes() == bytes_of_one_piece


def test_a_task_that_is_told_to_end_does_so_in_order_and_the_rest_is_submitted_again(
    slurm, run, sweep, bytes_of_one_piece
):
    # What Slurm does a minute before the time limit, and when a task is preempted.
    whole = run("run", "sweep.toml", "--on", "slurm", "--array-size", 4, "--out", sweep)

    def told():
        # Those that have begun to do points hear it.
        begun = {int(path.stem.split("-")[-2]) for path in sweep.glob("points/worker-*.jsonl")}
        for _, task in (each for each in processes(slurm) if each[0] in begun):
            with suppress(subprocess.CalledProcessError):
                (number,) = jobs(slurm) or ("",)
                slurm.ask("scancel", "--signal=TERM", "--batch", f"{number}_{task}")
                return True
        return False

    until(told, "task to end")
    status, _, said = ended(whole)
    assert status == 0, said
    assert "it was told to end, at its time limit or before" in said
    assert "submitted again as job" in said
    assert (sweep / "result.json").read_bytes() == bytes_of_one_piece


def test_a_controller_that_is_silent_for_seconds_is_told(slurm, run, sweep, bytes_of_one_piece):
    words = ["run", "sweep.toml", "--on", "slurm", "--array-size", 4, "-v"]
    whole = run(*words, "--out", sweep)
    until(lambda: processes(slurm), "task at work")
    controller = slurm.daemons["slurmctld"]
    controller.send_signal(signal.SIGSTOP)
    try:
        # It looks at the queue every 15 s at least, and says 2 s later that this is slow.
        said = []
        while not said or "Slurm: no answer yet" not in said[-1]:
            said.append(whole.stderr.readline())
            assert said[-1], said
    finally:
        controller.send_signal(signal.SIGCONT)
    status, _, said = ended(whole)
    assert status == 0, said
    assert (sweep / "result.json").read_bytes() == bytes_of_one_piece


def test_a_job_that_slurm_refuses_is_told_in_its_words_and_nothing_is_written(run, sweep):
    status, out, said = ended(
        run("run", "sweep.toml", "--on", "slurm", "--partition", "nowhere", "--out", sweep)
    )
    assert (status, out) == (2, "")
    assert "sbatch refused the job: invalid partition specified: nowhere" in said
    assert not sweep.exists()


def test_without_slurm_nothing_is_written(run, sweep):
    status, _, said = ended(run("run", "sweep.toml", "--on", "slurm", "--out", sweep, PATH="/bin0"))
    assert status == 2
    assert "sbatch: not found" in said
    assert not sweep.exists()


def test_a_dry_run_shows_the_job_and_writes_nothing(slurm, run, sweep):
    words = ["--on", "slurm", "--dry-run", "--array-size", 3, "--time", "2h"]
    status, out, said = ended(run("run", "sweep.toml", *words, "--out", sweep))
    assert (status, said) == (0, "")
    assert "#SBATCH --array=0-2" in out
    assert "#SBATCH --time=02:00:00" in out
    assert not sweep.exists()
    assert not jobs(slurm)


def test_ctrl_c_leaves_the_job_and_the_same_command_waits_for_it_again(slurm, run, tmp_path):
    (tmp_path / "long.toml").write_text(ENDLESS)
    command = ["run", "long.toml", "--on", "slurm", "--array-size", "4", "--out", "out", "-v"]
    first = run(*command)
    (number,) = until(lambda: jobs(slurm), "job")
    until(lambda: processes(slurm), "task at work")
    first.send_signal(signal.SIGINT)
    status, _, said = ended(first)
    assert status == 130
    assert f"Slurm job {number} goes on (0 of 4 done)" in said
    assert f"scancel {number}" in said
    assert jobs(slurm) == {number}

    # Twice at once: both wait for the job that is there.
    both = [run(*command) for _ in range(2)]
    for process in both:
        while f"Slurm job {number} is at it already" not in (line := process.stderr.readline()):
            assert line, "it has ended"
    assert jobs(slurm) == {number}
    again = run(*command[:-1], "--fresh")
    status, _, said = ended(again)
    assert status == 2
    assert f"Slurm job {number} is at work in" in said

    slurm.ask("scancel", number)
    for process in both:
        status, _, said = ended(process)
        assert status == 1, said
        assert f"Slurm job {number} was cancelled" in said
        assert "4 points (0:4) are missing" in said


def test_the_same_command_twice_at_once_submits_one_job(run, sweep, bytes_of_one_piece):
    command = ["run", "sweep.toml", "--on", "slurm", "--array-size", "4", "--out", sweep]
    for process in [run(*command) for _ in range(2)]:
        status, _, said = ended(process)
        assert status == 0, said
    assert len(json.loads((sweep / "slurm/jobs.json").read_text())) == 1
    assert (sweep / "result.json").read_bytes() == bytes_of_one_piece


def test_detached_and_collected_later(slurm, run, sweep, bytes_of_one_piece):
    command = ["run", "sweep.toml", "--on", "slurm", "--array-size", 4, "--detach", "--json"]
    status, out, said = ended(run(*command, "--out", sweep))
    assert status == 0, said
    told = json.loads(out)
    assert told["job"].isdigit()
    until(lambda: not jobs(slurm), "end of the job")
    status, _, said = ended(run("collect", sweep))
    assert status == 0, said
    assert (sweep / "result.json").read_bytes() == bytes_of_one_piece


def test_variables_choose_nothing_that_is_asked_for_and_a_cancelled_job_is_done_anew(
    slurm, run, tmp_path
):
    (tmp_path / "long.toml").write_text(ENDLESS)
    command = ["run", "long.toml", "--on", "slurm", "--array-size", 4, "--detach", "--out", "out"]
    command += ["--time", "1h", "--partition", cluster.PARTITION]
    site = {"PARTITION": "nowhere", "TIMELIMIT": "2", "WAIT": "1", "SIGNAL": "KILL@5"}
    variables = {f"SBATCH_{name}": value for name, value in site.items()}
    status, _, said = ended(run(*command, **variables))
    assert status == 0, said
    (number,) = jobs(slurm)
    asked = slurm.ask("squeue", "--noheader", "--format=%P %l").splitlines()
    assert {tuple(line.split()) for line in asked} == {(cluster.PARTITION, "1:00:00")}
    until(lambda: processes(slurm), "task at work")
    slurm.ask("scancel", number)
    status, out, said = ended(run(*command))
    assert status == 0, said
    assert "is at it already" not in said
    assert jobs(slurm) - {number}
    assert f"Slurm job {int(number)}:" not in out


def test_nodes_with_another_version_are_named(slurm, run, sweep, tmp_path):
    # What tasks import first says that they are another isthmus.
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text(
        "import os\n"
        "if 'SLURM_ARRAY_TASK_ID' in os.environ:\n"
        "    import isthmus\n"
        "    isthmus.__version__ = '9.9.9'\n"
    )
    words = ["--on", "slurm", "--array-size", "2", "--out", sweep]
    status, _, said = ended(run("run", "sweep.toml", *words, PYTHONPATH=str(other)))
    assert status == 1
    import isthmus

    assert f"holds results of isthmus {isthmus.__version__}" in said
    assert "ended with status 2" in said


def test_what_may_mislead_is_told_here_as_well(run, tmp_path):
    (tmp_path / "dump.toml").write_text(CHECKPOINTS)
    words = ("run", "dump.toml", "stop.time=5 ms", "--on", "slurm", "--array-size", "1")
    status, _, said = ended(run(*words, "--out", "out"))
    assert status == 0, said
    (line,) = said.splitlines()
    assert line.startswith("isthmus: dump.toml: stop.time: 5 ms is less than a period")


def test_points_that_cannot_be_done_are_not_tried_again(run, tmp_path):
    (tmp_path / "short.toml").write_text(TOO_SHORT)
    words = ["--on", "slurm", "--array-size", "2", "--out", "out"]
    status, _, said = ended(run("run", "short.toml", *words))
    assert status == 1, said
    # Whichever of the two said so last.
    told = (f"point-0000{at} failed: stop.warmup_messages: the run is over" for at in (0, 1))
    assert any(words in said for words in told), said
    assert "2 points (0:2) are missing" in said
    assert len(json.loads((tmp_path / "out/slurm/jobs.json").read_text())) == 1
