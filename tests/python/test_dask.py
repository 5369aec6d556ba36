"""A sweep on a real Dask cluster over TCP: the bytes of a run in one piece, whoever is killed."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

distributed = pytest.importorskip("distributed")

from conftest import SMALL  # noqa: E402 - skipped first
from isthmus import IsthmusError, Scenario, __version__, dask  # noqa: E402
from isthmus.errors import RunFailedError  # noqa: E402
from test_bounds import HOPELESS  # noqa: E402

PATIENCE_S = 60
RATES = [f"{1 + i / 100:.2f} /ms" for i in range(32)]
SWEEP = SMALL.replace('["2 /ms", "4 /ms"]', json.dumps(RATES)).replace(
    'precision = "10%"', 'precision = "1%"'
)
SWEEP = SWEEP.replace("messages_first = 4000", "messages_first = 500")
SWEEP = SWEEP.replace("messages_max = 40000", "messages_max = 50000")
"""64 points, some 50 ms each."""
POINTS = 64
ENDLESS = SMALL.replace('precision = "10%"', 'precision = "0.01%"').replace("40000", "400000000")
"""4 points that take hours."""
COMMAND = [sys.executable, "-m", "isthmus", "run"]


def until(said, what):
    deadline = time.monotonic() + PATIENCE_S
    while not (found := said()):
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.02)
    return found


class Cluster:
    """A scheduler and workers, each a process of its own, without nannies that start them anew."""

    def __init__(self, place: Path) -> None:
        self.place, self.begun, self.log = place, [], (place / "log").open("w")

    def _start(self, module, *words, **environment):
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *words, "--no-dashboard"],
            cwd=self.place,
            # How long one looks for who is gone: 30 s if nothing is said.
            env={**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s", **environment},
            stdout=self.log,
            stderr=self.log,
        )
        self.begun.append(process)
        return process

    def schedule(self, failures=3):
        told = self.place / "scheduler.json"
        failures = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(failures)}
        words = "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(told)
        self.scheduler = self._start("dask_scheduler", *words, **failures)
        self.address = json.loads(until(lambda: told.exists() and told.read_text(), "scheduler"))[
            "address"
        ]
        return self

    def work(self, *words):
        return self._start(
            "dask_worker", self.address, "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1",
            *words,
        )  # fmt: skip

    def end(self):
        for process in reversed(self.begun):
            process.kill()
            process.wait(PATIENCE_S)
        self.log.close()


@pytest.fixture
def cluster(tmp_path):
    (tmp_path / "cluster").mkdir()
    made = Cluster(tmp_path / "cluster")
    yield made
    made.end()


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster.schedule().address, set_as_default=False) as made:
        yield made


@pytest.fixture(scope="module")
def bytes_of_one_piece(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    (folder / "sweep.toml").write_text(SWEEP)
    words = ["sweep.toml", "--jobs", "2", "--out", "out"]
    subprocess.run(
        [*COMMAND, *words], cwd=folder, timeout=PATIENCE_S, check=True, capture_output=True
    )
    return (folder / "out/result.json").read_bytes()


@pytest.fixture
def run(tmp_path):
    """``isthmus run`` in a process of its own, begun and not waited for."""
    begun = []
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "endless.toml").write_text(ENDLESS)

    def start(*words):
        process = subprocess.Popen(
            [*COMMAND, *map(str, words), "--out", "out"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        begun.append(process)
        return process

    yield start
    for process in begun:
        process.kill()
        process.communicate(timeout=PATIENCE_S)


def ended(process):
    out, said = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, said


def kept(folder):
    return sum(1 for _ in (folder / "points").glob("point-?????.json")) if folder.is_dir() else 0


def test_a_cluster_of_this_machine_gives_the_bytes_and_says_nothing(
    run, tmp_path, bytes_of_one_piece
):
    status, out, said = ended(run("sweep.toml", "--on", "dask", "--jobs", 2))
    assert (status, said) == (0, "")
    assert "Report:" in out
    assert (tmp_path / "out/result.json").read_bytes() == bytes_of_one_piece
    told = json.loads((tmp_path / "out/provenance.json").read_text())
    # Nobody gave a memory; what the workers had is known all the same.
    assert told["memory"] is None and told["memory_bytes"] > 0


def test_of_four_workers_two_are_killed(run, cluster, tmp_path, bytes_of_one_piece):
    cluster.schedule()
    workers = [cluster.work() for _ in range(4)]
    begun = run("sweep.toml", "--on", f"dask={cluster.address}")
    for worker, points in zip(workers, (8, 24), strict=False):
        until(lambda n=points: kept(tmp_path / "out") >= n, f"{points} points")
        worker.kill()
    assert kept(tmp_path / "out") < POINTS
    status, _, said = ended(begun)
    assert (status, said) == (0, "")
    assert [worker.poll() is None for worker in workers] == [False, False, True, True]
    assert (tmp_path / "out/result.json").read_bytes() == bytes_of_one_piece


def test_a_point_whose_workers_all_die_is_an_error_and_others_are_kept(
    run, cluster, tmp_path, bytes_of_one_piece
):
    cluster.schedule(failures=0)
    worker = cluster.work()
    begun = run("sweep.toml", "--on", f"dask={cluster.address}")
    until(lambda: kept(tmp_path / "out") >= 10, "points")
    worker.kill()
    status, out, said = ended(begun)
    assert (status, out) == (1, "")
    assert said.startswith(f"isthmus: 1 worker of the Dask cluster at {cluster.address} was lost")
    assert said.count("\n") == 1
    before = kept(tmp_path / "out")
    assert 10 <= before < POINTS
    cluster.work()
    assert ended(run("sweep.toml", "--on", f"dask={cluster.address}"))[::2] == (0, "")
    assert (tmp_path / "out/result.json").read_bytes() == bytes_of_one_piece


def test_a_scheduler_that_is_gone_is_an_error_and_points_are_kept(run, cluster, tmp_path):
    cluster.schedule()
    cluster.work()
    begun = run("sweep.toml", "--on", f"dask={cluster.address}")
    until(lambda: kept(tmp_path / "out") >= 10, "points")
    cluster.scheduler.kill()
    status, _, said = ended(begun)
    assert status == 1
    assert said == (
        f"isthmus: the Dask scheduler at {cluster.address} is gone; start a cluster, and run again "
        "to go on\n"
    )
    assert kept(tmp_path / "out") >= 10


def test_ctrl_c_keeps_points_and_the_same_command_goes_on(run, tmp_path, bytes_of_one_piece):
    begun = run("sweep.toml", "--on", "dask", "--jobs", 2)
    until(lambda: kept(tmp_path / "out") >= 10, "points")
    os.killpg(begun.pid, signal.SIGINT)
    status, _, said = ended(begun)
    assert status == 130
    told = (
        f"{kept(tmp_path / 'out')} of {POINTS} points are kept in out; run the same command again"
    )
    assert told in said
    assert said.count("\n") == 1
    assert 10 <= kept(tmp_path / "out") < POINTS
    assert ended(run("sweep.toml", "--on", "dask", "--jobs", 1))[::2] == (0, "")
    assert (tmp_path / "out/result.json").read_bytes() == bytes_of_one_piece


def test_points_that_never_end_are_interrupted_with_their_workers(run):
    begun = run("endless.toml", "--on", "dask", "--jobs", 1)

    def members():
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                words = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(words[2]) == begun.pid and words[0] not in "ZX":
                # Seconds of processor time at 100 ticks each.
                found.append((int(stat.parent.name), int(words[11]) / 100))
        return found

    until(lambda: any(used > 3 for pid, used in members() if pid != begun.pid), "worker at work")
    os.killpg(begun.pid, signal.SIGINT)
    status, _, said = ended(begun)
    assert status == 130
    assert said.count("\n") == 1
    until(lambda: not members(), "end of all processes")


def test_who_is_waited_for_is_said_where_there_is_no_worker(client, cluster, monkeypatch):
    monkeypatch.setattr(dask, "WORKERLESS_S", 0.5)
    monkeypatch.setattr(dask, "LOOK_S", 0.1)
    said = []

    def note(text):
        said.append(text)
        cluster.work()
        # On a busy machine it starts for longer than one waits until it is said again.
        client.wait_for_workers(1, timeout=PATIENCE_S)

    there = Scenario(SMALL).run(quick=True, executor=dask.Workers(client, note))
    assert there.json == Scenario(SMALL).run(quick=True).json
    assert len(said) == 1
    assert f"the Dask scheduler at {cluster.address} has had no worker for 0.5 s; start" in said[0]
    assert "; 4 points to do; " in said[0]


def test_a_scheduler_that_is_silent_is_said(client, cluster, monkeypatch):
    monkeypatch.setattr(dask, "ANSWER_S", 0.5)
    monkeypatch.setattr(dask, "LOOK_S", 0.1)
    cluster.work()
    client.wait_for_workers(1, timeout=PATIENCE_S)
    said = []

    def note(text):
        said.append(text)
        os.kill(cluster.scheduler.pid, signal.SIGCONT)

    os.kill(cluster.scheduler.pid, signal.SIGSTOP)
    Scenario(SMALL).run(quick=True, executor=dask.Workers(client, note))
    assert "has not answered for 0.5 s; 4 points to do; Ctrl-C ends" in said[0]


def test_a_client_that_is_closed_meanwhile_is_told_as_a_scheduler_that_is_gone(client, cluster):
    workers = dask.Workers(client)
    future = workers.submit(abs, -1)
    client.close()
    workers.cancel([future])
    with pytest.raises(RunFailedError, match=f"the Dask scheduler at {cluster.address} is gone"):
        workers.submit(abs, -2)


def test_a_client_is_an_executor_and_two_runs_on_it_share_nothing(client, cluster):
    cluster.work()
    wanted = Scenario(SMALL).run(quick=True).json
    told = []
    runs = [
        threading.Thread(
            target=lambda: told.append(Scenario(SMALL).run(quick=True, executor=client).json)
        )
        for _ in range(2)
    ]
    for each in runs:
        each.start()
    for each in runs:
        each.join(PATIENCE_S)
    assert told == [wanted, wanted]


@pytest.mark.parametrize(
    ("preload", "named"),
    [
        ("import isthmus\nisthmus.__version__ = '0.0.7'\n", "has isthmus 0.0.7, and this run"),
        ("import sys\nsys.modules['isthmus'] = None\n", "has no isthmus"),
    ],
    ids=["another", "none"],
)
def test_a_worker_with_another_isthmus_is_refused(client, cluster, tmp_path, preload, named):
    (tmp_path / "forged.py").write_text(preload)
    cluster.work("--preload", str(tmp_path / "forged.py"))
    with pytest.raises(IsthmusError) as error:
        Scenario(SMALL).run(quick=True, executor=client)
    assert named in str(error.value)
    assert f"is of isthmus {__version__}; install" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_point_that_cannot_be_done_is_told_as_ever(client, cluster):
    cluster.work()
    short = Scenario(
        SMALL.partition("[stop]")[0]
        + '[stop]\nrule = "fixed"\ntime = "1 ms"\nwarmup = "fixed"\nwarmup_messages = 39999\n'
        "replications = 2\n"
    )
    with pytest.raises(IsthmusError) as here:
        short.run(jobs=1)  # of several threads any may be the first
    with pytest.raises(IsthmusError) as there:
        short.run(executor=client)
    assert str(there.value) == str(here.value).replace(": ", ": the run failed: ", 1)


def test_a_client_that_is_asynchronous_is_refused():
    class Asynchronous:
        asynchronous = True

    with pytest.raises(IsthmusError, match="asynchronous=False"):
        dask.Workers(Asynchronous())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--on", "dusk"], "--on: 'dusk' is not known; give slurm, dask, or dask=tcp://"),
        (["--on", "dask="], "--on: 'dask=' is not known"),
        (["--on", "dask", "--time", "1h"], "--time: is for a run on Slurm; not with --on dask"),
        (["--on", "dask", "--detach"], "--detach: is for a run on Slurm; not with --on dask"),
        (["--on", "dask", "--expiry", "9 s"], "--expiry: is for parts of a run, not with --on das"),
        (["--on", "dask=tcp://h:1", "--jobs", 2], "--jobs: the cluster at tcp://h:1 has the work"),
        (["--on", "dask=here"], "--on dask=here: is no address; give"),
    ],
)
def test_what_makes_no_sense_is_refused(run, tmp_path, words, told):
    status, out, said = ended(run("sweep.toml", *words))
    assert (status, out) == (2, "")
    assert said.startswith(f"isthmus: {told}")
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_where_no_scheduler_listens_one_error_says_so_in_time(monkeypatch):
    monkeypatch.setattr(dask, "ANSWER_S", 1.0)
    began = time.monotonic()
    with (
        pytest.raises(IsthmusError, match="no Dask scheduler answers there") as error,
        dask.connected("tcp://127.0.0.1:1", 1),
    ):
        pass
    assert "\n" not in str(error.value)
    assert time.monotonic() - began < 30


def test_where_results_stand_no_cluster_is_asked(run, tmp_path):
    (tmp_path / "sweep.toml").write_text(HOPELESS)
    assert ended(run("sweep.toml", "--memory", "200 MB"))[0] == 0
    result = (tmp_path / "out/result.json").read_bytes()
    assert [point["ended_by"] for point in json.loads(result)["points"]] == ["memory"]
    began = time.monotonic()
    # Nobody listens there, which would be an error.
    status, _, said = ended(run("sweep.toml", "--on", "dask=tcp://127.0.0.1:1"))
    assert status == 0, said
    assert "used up the memory of the run" in said
    assert time.monotonic() - began < dask.ANSWER_S
    assert (tmp_path / "out/result.json").read_bytes() == result
    status, _, said = ended(run("sweep.toml", "--on", "dask=tcp://127.0.0.1:1", "--fresh"))
    assert status == 2 and "no Dask scheduler answers there" in said


def test_without_dask_it_is_said_what_to_install(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    program = (
        "import sys\nsys.modules['distributed'] = None\nfrom isthmus.cli import main\n"
        "sys.argv = ['isthmus', 'run', 'small.toml', '--on', 'dask']\nsys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "isthmus: --on dask: distributed is not installed; pip install 'isthmus[dask]'\n"
    )


def test_a_pool_that_loses_a_process_keeps_points_and_goes_on(tmp_path, bytes_of_one_piece):
    scenario = Scenario(SWEEP)
    with ProcessPoolExecutor(2) as pool:

        def kill():
            until(lambda: kept(tmp_path / "out") >= 10, "points")
            os.kill(next(iter(pool._processes)), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(RunFailedError, match="a worker of the executor ended without"):
            scenario.run(out=tmp_path / "out", executor=pool)
        killer.join(PATIENCE_S)
    assert 10 <= kept(tmp_path / "out") < POINTS
    with ProcessPoolExecutor(2) as pool:
        scenario.run(out=tmp_path / "out", executor=pool)
    assert (tmp_path / "out/result.json").read_bytes() == bytes_of_one_piece


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python reads what lies in the folder")
def test_workers_read_no_module_of_the_folder_one_is_in(tmp_path, tmp_path_factory):
    (tmp_path / "small.toml").write_text(SMALL)
    for name in ("dask", "distributed", "numpy"):
        (tmp_path / f"{name}.py").write_text("open('was-read', 'w').close()\nraise SystemExit(5)\n")
    # As the command that is installed, whose path does not begin with the folder.
    script = tmp_path_factory.mktemp("bin") / "isthmus"
    script.write_text("from isthmus.cli import main\nif __name__ == '__main__':\n    main()\n")
    words = [sys.executable, script, "run", "small.toml", "--quick", "--on", "dask"]
    done = subprocess.run(
        [*words, "--jobs", "1", "--out", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "was-read").exists()


def test_ctrl_c_again_and_again_is_one_line(run):
    process = run("endless.toml", "--on", "dask", "--jobs", 2)
    time.sleep(4)
    for _ in range(3):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.2)
    status, _, said = ended(process)
    assert status == 130
    assert said.count("\n") == 1
    assert said.startswith("isthmus: interrupted")


def test_a_client_that_is_closed_is_refused(client):
    client.close()
    with pytest.raises(IsthmusError, match="executor: this Dask client is closed; give one"):
        Scenario(SMALL).run(quick=True, executor=client)


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (b"", "nothing was said for 1 s"),
        (b"SSH-2.0-OpenSSH_9.6p1\r\n", ""),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", ""),
        (b"\x05\0\0\0\0\0\0\0hello", ""),
    ],
)
def test_what_is_no_scheduler_is_told_whatever_it_says(monkeypatch, says, reason):
    monkeypatch.setattr(dask, "ANSWER_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        heard = []

        def answer():
            with suppress(OSError):
                while True:
                    heard.append(server.accept()[0])
                    heard[-1].sendall(says)

        threading.Thread(target=answer, daemon=True).start()
        said = f"--on dask={address}: no Dask scheduler answers there ({reason}"
        began = time.monotonic()
        with pytest.raises(IsthmusError, match=re.escape(said)), dask.connected(address, 1):
            pass
        assert time.monotonic() - began < 20
        assert heard
        for each in heard:
            each.close()
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://127.0.0.1:99999", "is no address"),
        ("tcp://127.0.0.1:0", "is no address"),
        ("tcp://no-such-host.invalid:8786", "no Dask scheduler answers there ("),
    ],
)
def test_an_address_that_cannot_be_is_told_at_once(address, said):
    began = time.monotonic()
    with pytest.raises(IsthmusError, match=re.escape(f"--on dask={address}: {said}")):
        dask.connected(address, 1).__enter__()
    assert time.monotonic() - began < 20


# What a process without the key of a cluster tries at its ports, as another user where it may.
STRANGER = """
import asyncio, os, sys
import distributed
from distributed.comm import connect
from distributed.protocol.pickle import dumps

if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)

def leave_mark(path):
    open(path, "w").close()

async def run_code(address, **words):
    comm = await connect(address, timeout=3, **words)
    words = {"function": dumps(leave_mark), "args": dumps([sys.argv[1]])}
    await comm.write({"op": "run", "reply": True, **words})
    return await asyncio.wait_for(comm.read(), 3)

async def get(port, path):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n".encode())
    status = await asyncio.wait_for(reader.readline(), 3)
    return None if b" 404 " in status or not status.startswith(b"HTTP") else status

async def everything():
    own = distributed.Security.temporary().get_connection_args("client")
    tries = []
    for port in sys.argv[2:]:
        tries += [run_code(f"tcp://127.0.0.1:{port}"), run_code(f"tls://127.0.0.1:{port}", **own)]
        pages = "/", "/health", "/info/main/workers.html", "/metrics"
        tries += [get(port, path) for path in pages]
    done, _ = await asyncio.wait([asyncio.ensure_future(each) for each in tries], timeout=8)
    print([each.result() for each in done if not each.exception() and each.result()], flush=True)
    os._exit(0)

asyncio.run(everything())
"""


def listening(group):
    """TCP ports of all processes of a group."""
    inodes = set()
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getpgid(int(each.name)) == group:
                inodes |= {str(file.readlink()) for file in (each / "fd").iterdir()}
    ports = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in inodes:
                ports.add(int(local.rpartition(":")[2], 16))
    return ports


def attacked(ports, mark):
    """What the stranger got from these ports."""
    words = [sys.executable, "-c", STRANGER, str(mark), *map(str, ports)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    return done.stdout.strip()


def test_a_stranger_has_a_worker_without_keys_run_code(cluster, tmp_path):
    """The attack of the next test works where a cluster has no keys."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    cluster.schedule().work("--worker-port", str(port))
    tmp_path.chmod(0o777)
    until(lambda: "'status': 'OK'" in attacked([port], tmp_path / "mark"), "answer")
    assert (tmp_path / "mark").exists()


IDLE = """
from isthmus import dask
with dask.connected(None, 2):
    input()
"""
"""The local cluster of a run that has no points to do."""


@pytest.mark.skipif(sys.platform != "linux", reason="ports are found in /proc")
def test_no_process_without_its_key_has_a_local_cluster_run_code(tmp_path):
    words = [sys.executable, "-c", IDLE]
    with subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True) as process:
        try:
            # The scheduler, two nannies and two workers.
            ports = until(lambda: len(found := listening(process.pid)) >= 5 and found, "cluster")
            tmp_path.chmod(0o777)
            assert attacked(ports, tmp_path / "mark") == "[]"
            assert not (tmp_path / "mark").exists()
            process.communicate(b"\n", timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0
