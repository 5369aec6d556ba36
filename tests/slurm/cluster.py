"""A real Slurm for tests: a controller and some nodes on the loopback, below one folder.

Made of Debian's packages (`PACKAGES`), with a munge key and socket of its own, so that it meets no
other Slurm of the machine; nothing is left when it ends. As a command it runs another one in it:

    python tests/slurm/cluster.py sinfo
    python tests/slurm/cluster.py --nodes 2 --cpus 1 -- bash
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

PACKAGES = ("munge", "slurm-client", "slurmctld", "slurmd")
"""Of Debian 12 and Ubuntu 24.04."""
COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "sinfo", "squeue")
UP_S = 120
"""Until all nodes must be ready."""
END_S = 15
"""Until a daemon that was asked to end is killed."""
TICK_S = 0.1
PARTITION = "debug"

CONFIGURATION = """\
ClusterName=isthmus-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2,sched_min_interval=0
ReturnToService=2
SlurmdTimeout=3
KillWait=5
OverTimeLimit=0
MinJobAge=600
MaxArraySize=20001
MaxJobCount=30000
"""


def missing() -> str | None:
    """Why no cluster can be set up here; None if it can."""
    if sys.platform != "linux":
        return "Slurm is tested on Linux only"
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    absent = [name for name in COMMANDS if shutil.which(name, path=path) is None]
    if absent:
        return f"no {', '.join(absent)}: apt-get install {' '.join(PACKAGES)}"
    if os.getuid() != 0:
        return "slurmd starts tasks as root only"
    return None


class Cluster:
    """A cluster that is up. Made by `cluster`."""

    def __init__(self, folder: Path, nodes: int, cpus: int) -> None:
        self.folder = folder
        self.nodes = [f"node{i}" for i in range(1, nodes + 1)]
        self.cpus = cpus
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        # What `sbatch` passes on to tasks: nothing of an outer Slurm.
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_"))}
        kept["PATH"] = os.pathsep.join((kept.get("PATH", "/usr/bin:/bin"), "/usr/sbin", "/sbin"))
        self.environment = {**kept, "SLURM_CONF": str(folder / "slurm.conf")}

    def ask(self, *words: object) -> str:
        """What a command prints that is run in the cluster.

        Raises:
            subprocess.CalledProcessError: it fails.

        """
        return subprocess.run(
            [str(word) for word in words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout

    def states(self) -> dict[str, str]:
        """The state of each node, as `sinfo` has it."""
        lines = self.ask("sinfo", "--noheader", "--Node", "--format=%N %T").splitlines()
        return dict(line.split() for line in lines)

    def configure(self, **settings: object) -> None:
        """Add settings to the configuration."""
        with (self.folder / "slurm.conf").open("a") as conf:
            conf.writelines(f"{name}={value}\n" for name, value in settings.items())
        self.ask("scontrol", "reconfigure")

    def kill_node(self, name: str) -> None:
        """A node is gone: its daemon and all that runs on it, at the same moment."""
        # Whoever watches over a task tells the controller of its end: that none of them may, each
        # is stopped before the first is killed.
        stopped: set[int] = set()
        deadline = time.monotonic() + END_S
        while new := set(self._processes(name)) - stopped:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{name} goes on")
            _signal(new, signal.SIGSTOP)
            stopped |= new
        _signal(stopped, signal.SIGKILL)
        self.daemons.pop(f"slurmd-{name}").wait()
        self._end(name)

    def start_node(self, name: str) -> None:
        """Start the daemon of a node."""
        self._start(f"slurmd-{name}", "slurmd", "-D", "-N", name)

    def _start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.out").open("ab") as out:
            self.daemons[name] = subprocess.Popen(
                # The system ends it when this process is killed.
                ["setpriv", "--pdeathsig", "TERM", *command],
                env=self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def _up(self) -> None:
        """Start all and wait until every node is ready."""
        for name in ("state", *(f"spool-{node}" for node in self.nodes)):
            (self.folder / name).mkdir()
        ports = _free_ports(1 + len(self.nodes))
        text = CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0], port=ports[0], folder=self.folder
        )
        for node, port in zip(self.nodes, ports[1:], strict=True):
            text += f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} "
            text += f"CPUs={self.cpus} State=UNKNOWN\n"
        # Nodes are described as larger or smaller than the machine is.
        text += "SlurmdParameters=config_overrides\n"
        text += f"PartitionName={PARTITION} Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
        (self.folder / "slurm.conf").write_text(text)
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        self._start("munged", *self._munged())
        self._until((self.folder / "munge.socket").exists, "munged")
        self._start("slurmctld", "slurmctld", "-D", "-c")
        for node in self.nodes:
            self.start_node(node)
        self._until(self._ready, "slurmctld")

    def _munged(self) -> list[str]:
        places = {"key-file": "key", "socket": "socket", "pid-file": "pid", "seed-file": "seed"}
        words = [f"--{option}={self.folder}/munge.{end}" for option, end in places.items()]
        return ["munged", "--foreground", "--num-threads=2", *words]

    def _ready(self) -> bool:
        try:
            return set(self.states().values()) == {"idle"}
        except subprocess.CalledProcessError:
            return False

    def _until(self, said: Callable[[], bool], name: str) -> None:
        deadline = time.monotonic() + UP_S
        while not said():
            ended = [n for n, each in self.daemons.items() if each.poll() is not None]
            if ended or time.monotonic() > deadline:
                name = ended[0] if ended else name
                raise RuntimeError(f"{name} is not up:\n{self.told(name)}")
            time.sleep(TICK_S)

    def told(self, name: str) -> str:
        """The end of what a daemon said."""
        texts = [self.folder / f"{name}.{end}" for end in ("out", "log")]
        return "\n".join(p.read_text(errors="replace")[-2000:] for p in texts if p.exists())

    def _processes(self, node: str = "") -> list[int]:
        """Processes of this cluster but the caller, or those of one of its nodes: its daemon, what
        it runs, and what watches over that.
        """
        found = []
        for place in Path("/proc").iterdir():
            if not place.name.isdigit() or int(place.name) == os.getpid():
                continue
            with suppress(OSError):
                told = (place / "environ").read_bytes().split(b"\0")
                if f"SLURM_CONF={self.folder}/slurm.conf".encode() not in told:
                    continue
                if not node or f"SLURMD_NODENAME={node}".encode() in told:
                    found.append(int(place.name))
                elif f"{self.folder}/slurmd-{node}.log" in map(os.readlink, place.glob("fd/*")):
                    # The daemon and what watches over a task have the log of their node open.
                    found.append(int(place.name))
        return found

    def _down(self) -> None:
        """End all of it."""
        for daemon in reversed(list(self.daemons.values())):
            daemon.terminate()
        deadline = time.monotonic() + END_S
        for daemon in reversed(list(self.daemons.values())):
            try:
                daemon.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        # Tasks outlive their daemons.
        self._end()

    def _end(self, node: str = "") -> None:
        """Kill what is left of the cluster or of a node, and what it starts meanwhile."""
        deadline = time.monotonic() + END_S
        while (left := self._processes(node)) and time.monotonic() < deadline:
            _signal(left, signal.SIGKILL)
            time.sleep(TICK_S)


@contextmanager
def cluster(nodes: int = 4, cpus: int = 2) -> Iterator[Cluster]:
    """Set a cluster up, and take it down whatever happens."""
    with ExitStack() as stack:
        # Short, as a socket's path is 107 bytes at most.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="isthmus-slurm-")))
        folder.chmod(0o755)
        made = Cluster(folder, nodes, cpus)
        stack.callback(made._down)
        made._up()
        yield made


def _signal(processes: Iterable[int], number: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def main() -> int:
    """Run a command in a cluster."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--cpus", type=int, default=2, help="of each node")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    if (reason := missing()) is not None:
        print(reason, file=sys.stderr)
        return 2
    # Told to end, it takes the cluster down first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with cluster(given.nodes, given.cpus) as made:
        return subprocess.run(given.command, env=made.environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
