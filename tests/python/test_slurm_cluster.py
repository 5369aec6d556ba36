"""The Slurm that tests set up: it runs arrays, loses nodes, and leaves nothing behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SLURM = Path(__file__).parents[1] / "slurm"
sys.path.insert(0, str(SLURM))

import cluster  # noqa: E402 - it lies elsewhere

pytestmark = pytest.mark.skipif(bool(cluster.missing()), reason=cluster.missing() or "Slurm")

PATIENCE_S = 180


def until(said, what):
    deadline = time.monotonic() + PATIENCE_S
    while not (found := said()):
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.1)
    return found


def left(folder):
    """Processes of a cluster that are alive."""
    wanted = f"SLURM_CONF={folder}/slurm.conf".encode()
    found = []
    for place in Path("/proc").iterdir():
        try:
            if place.name.isdigit() and wanted in (place / "environ").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


def test_an_array_runs_on_its_nodes_a_node_is_lost_and_nothing_is_left(monkeypatch):
    with cluster.cluster(nodes=2, cpus=1) as slurm:
        script = slurm.folder / "job.sh"
        script.write_text("#!/bin/sh\necho $SLURMD_NODENAME > at-$SLURM_ARRAY_TASK_ID\nsleep 300\n")
        slurm.ask("sbatch", "--parsable", f"--chdir={slurm.folder}", "--array=0-1", script)
        places = [slurm.folder / f"at-{i}" for i in range(2)]
        until(lambda: all(p.exists() and p.read_text() for p in places), "task")
        assert sorted(p.read_text().strip() for p in places) == slurm.nodes

        gone = slurm.nodes[0]

        def names():
            found = slurm._processes(gone)
            return b"".join(Path(f"/proc/{each}/cmdline").read_bytes() for each in found)

        started = (b"slurmd\0", b"slurmstepd", b"slurm_script", b"sleep\0")
        until(lambda: all(name in names() for name in started), "process of a node")
        there = set(slurm._processes(gone))
        sent = []
        kill = os.kill
        monkeypatch.setattr(
            cluster.os,
            "kill",
            lambda process, how: (sent.append((how, process)), kill(process, how)),
        )
        slurm.kill_node(gone)
        monkeypatch.undo()
        # Nobody of it sees another one end.
        first = next(at for at, (how, _) in enumerate(sent) if how == signal.SIGKILL)
        assert {process for how, process in sent[:first] if how == signal.SIGSTOP} >= there
        assert {process for _, process in sent} == {process for _, process in sent[:first]}
        assert not slurm._processes(gone)
        assert slurm._processes(slurm.nodes[1])
        until(lambda: slurm.states()[gone].startswith("down"), "lost node")
        # What ran there waits for a node; the other one is busy.
        until(lambda: "PD" in slurm.ask("squeue", "--noheader", "--format=%t"), "task put back")

        folder = slurm.folder
        assert left(folder)
    assert not folder.exists()
    assert not left(folder)


def test_nothing_is_left_when_the_command_in_it_fails():
    command = [sys.executable, SLURM / "cluster.py", "--nodes", "1", "--", "sh", "-c"]
    done = subprocess.run(
        [*command, "sinfo --noheader --format=%T; echo $SLURM_CONF; exit 7"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=os.environ,
        check=False,
    )
    assert done.returncode == 7, done.stderr
    state, place = done.stdout.splitlines()
    assert state == "idle"
    assert not Path(place).parent.exists()
    assert not left(Path(place).parent)


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_its_daemons_end_with_it_however_it_is_ended(by):
    command = [sys.executable, SLURM / "cluster.py", "--nodes", "1", "--", "sh", "-c"]
    whole = subprocess.Popen([*command, "echo $SLURM_CONF; exec sleep 600"], stdout=subprocess.PIPE)
    try:
        folder = Path(whole.stdout.readline().decode().strip()).parent
        assert len(left(folder)) >= 4  # what runs in it among them
        whole.send_signal(by)
        until(lambda: not [p for p in left(folder) if not sleeps(p)], "end of the daemons")
    finally:
        for process in left(folder):
            os.kill(process, signal.SIGKILL)
        whole.wait(PATIENCE_S)
        whole.stdout.close()
        shutil.rmtree(folder, ignore_errors=True)


def sleeps(process):
    """Whether it is the command that was run in the cluster, or is no more."""
    try:
        return b"sleep" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return True


def test_what_is_missing_is_told_with_the_packages_that_bring_it(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster.shutil, "which", lambda name, path: None)
    assert "apt-get install munge slurm-client slurmctld slurmd" in cluster.missing()
