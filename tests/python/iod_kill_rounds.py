"""Rounds of ``kill -9`` on the daemon, the mount and a client in turn: everything acknowledged is
in the store after restart and drain.

    python tests/python/iod_kill_rounds.py --rounds 200 --seed 1
    python tests/python/iod_kill_rounds.py --first 17 --rounds 1 --seed 1      round 17 again

In each round three clients write, append, map, truncate, sync, rename, link, remove and close files
of a mount at random, as `iod_client.py` has it, while processes are killed. Levels and settings of
the cache change by round. In every tenth round the store is gone for a while: full, read-only or
missing. At the end of a round the daemon stores what it has, and the files of the store are
compared with the model of `iod_model.py`:

- what `write` has acknowledged is there, with what happened to names. An operation that was in
  flight when its client or its mount was killed may have happened or not, a write in part;
- what `fsync` or `close` has acknowledged at the level `stored` is in the store at once;
- a kill of the daemon is no error for clients, except for files that were removed while open.

The failure of a host is not tried here: only processes end. The store is a file system in memory
of its own, which takes root or a name space of the user (``unshare``); without either the rounds
with the store gone are left out. The timing of a round differs from run to run, its operations do
not.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path

from iod_client import WRONG, Client
from iod_model import replay
from iod_rig import Rig, no_fuse

TARGETS = ("daemon", "mount", "client")
GONE = ("full", "read-only", "missing")
"""What happens to a store that is gone."""
ERRORS_OF_STORE = {errno.ENOSPC, errno.EROFS, errno.EIO, errno.ESTALE}
"""Errors that clients may get while the store is gone. In a read-only store, open files cannot be
opened again for writing, and fail with `ESTALE`.
"""
GONE_EVERY = 10
CLIENTS, FOLDERS = 3, 12
"""Clients at a time, and the largest number of them in a round."""
HANG_S = 60
"""A client that does not end within this time hangs."""
STORE_BYTES, PIECE_BYTES = 256 << 20, 64 << 10


@dataclass
class Tally:
    """Counts of what happened."""

    rounds: int = 0
    operations: int = 0
    acknowledged: int = 0
    daemons_killed: int = 0
    mounts_killed: int = 0
    clients_killed: int = 0
    store_gone: int = 0
    errors_of_store: int = 0
    compared_at_once: int = 0
    """Files that were compared after `fsync` or `close` at the level `stored`."""
    violations: int = 0


class Store:
    """The file system of the export, which can go away."""

    def __init__(self, place: Path, is_mounted: bool) -> None:
        self.place, self.is_mounted = place, is_mounted
        self.files = place / "files"
        self.kind = ""

    def leave(self, kind: str) -> None:
        """Let the store fail. The daemon must not run if it becomes read-only or goes missing."""
        self.kind = kind
        if kind == "full":
            with (self.place / "ballast").open("wb") as file, suppress(OSError):
                # The daemon takes space meanwhile.
                for at in range(0, STORE_BYTES, PIECE_BYTES):
                    os.posix_fallocate(file.fileno(), at, PIECE_BYTES)
        elif kind == "read-only":
            self._remount("ro")
        else:
            self.files.rename(self.place / "elsewhere")

    def come_back(self) -> None:
        """Let the store work again."""
        if self.kind == "full":
            (self.place / "ballast").unlink()
        elif self.kind == "read-only":
            self._remount("rw")
        elif self.kind:
            (self.place / "elsewhere").rename(self.files)
        self.kind = ""

    def _remount(self, how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", self.place], check=True)


@contextmanager
def store(folder: Path):
    """Give a store below a folder, of its own file system where that is possible."""
    place = folder / "store"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={STORE_BYTES}", "isthmus-store", place]
    is_mounted = subprocess.run(words, capture_output=True, check=False).returncode == 0
    (place / "files").mkdir()
    try:
        yield Store(place, is_mounted)
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", place], check=False)


@dataclass
class Round:
    """A round: its processes, and what is known of them."""

    number: int
    seed: int
    rig: Rig
    store: Store
    tally: Tally

    def __post_init__(self) -> None:
        self.chance = random.Random(f"{self.seed}/{self.number}")
        self.target = TARGETS[self.number % len(TARGETS)]
        is_gone = self.number % GONE_EVERY == GONE_EVERY - 1 and self.store.is_mounted
        self.gone = self.chance.choice(GONE) if is_gone else ""
        self.fsync = self.chance.choice(["stored", "cache"])
        self.close = self.chance.choice(["written", "stored"])
        self.words = ["--cache", self.rig.cache, "--cache-size", "64 MiB", "--dirty", "16 MiB"]
        self.words += ["--dirty-age", self.chance.choice(["0.1 s", "5 s", "1 h"])]
        self.words += ["--fsync", self.fsync, "--close", self.close, "--grace", f"{HANG_S} s"]
        self.words += ["--log", self.rig.folder / "log.err"]
        self.words += ["--store-timeout", "1 s" if self.gone else "30 s"]
        self.stop = self.rig.folder / "stop"
        self.clients: dict[int, int] = {}
        """Clients by their processes."""
        self.killed: set[int] = set()
        """Clients that were killed."""
        self.started = 0
        self.wrong: list[str] = []

    def name(self, client: int) -> str:
        """Return the name of the folder of a client."""
        return f"r{self.number}-c{client}"

    def journal(self, client: int) -> Path:
        """Return the journal of a client."""
        return self.rig.folder / f"{self.name(client)}.journal"

    def seed_of(self, client: int) -> str:
        """Return the seed of a client."""
        return f"{self.seed}/{self.number}/{client}"

    def pause(self, least: float, most: float) -> None:
        """Wait for a random time."""
        time.sleep(self.chance.uniform(least, most))

    # Processes.

    def start_daemon(self) -> bool:
        """Start the daemon. Return whether it runs: it must if the store is there."""
        try:
            self.rig.start_daemon(*self.words)
        except RuntimeError as error:
            if not self.store.kind:
                self.wrong.append(str(error))
            return False
        return True

    def start_clients(self) -> None:
        """Start as many clients as there should be."""
        while len(self.clients.keys() - self.killed) < CLIENTS and self.started < FOLDERS:
            client, self.started = self.started, self.started + 1
            process = os.fork()
            if not process:
                status = 1
                try:
                    status = self.client(client).run()
                finally:
                    os._exit(status)
            self.clients[process] = client

    def client(self, client: int) -> Client:
        """Return a client, for a process of its own."""
        levels = {"fsync": self.fsync, "close": self.close}
        errors = ERRORS_OF_STORE if self.gone else set()
        return Client(
            self.rig.mount / self.name(client),
            self.store.files / self.name(client),
            self.journal(client),
            self.stop,
            self.seed_of(client),
            frozenset(name for name, level in levels.items() if level == "stored"),
            frozenset(errors),
        )

    def wait_for_clients(self) -> None:
        """Wait until all clients have ended. One that hangs is killed."""
        until = time.monotonic() + HANG_S
        while self.clients:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process:
                self.ended(process, status)
            elif time.monotonic() > until:
                self.wrong += [f"client {client} hangs" for client in self.clients.values()]
                for each in self.clients:
                    os.kill(each, signal.SIGKILL)
                until += HANG_S
            else:
                time.sleep(0.005)

    def ended(self, process: int, status: int) -> None:
        """Check how a client has ended."""
        client = self.clients.pop(process, None)
        code = os.waitstatus_to_exitcode(status)
        may_end = {0, WRONG}
        if self.gone or self.target == "mount":
            # A mapped page could not be read.
            may_end.add(-signal.SIGBUS)
        if process in self.killed:
            may_end.add(-signal.SIGKILL)
        if client is not None and code not in may_end:
            self.wrong.append(f"client {client} ends with status {code}")

    # Kills.

    def kill(self) -> None:
        """Kill a process of the kind whose turn it is, and replace it."""
        if self.target == "daemon" and self.rig.daemon:
            self.rig.kill_daemon()
            self.tally.daemons_killed += 1
            self.pause(0, 0.1)
            self.start_daemon()
        elif self.target == "mount" and self.rig.mounter:
            self.rig.kill_mount()
            self.tally.mounts_killed += 1
            self.wait_for_clients()
            self.start_mount()
        elif self.target == "client" and self.clients:
            left = sorted(self.clients.keys() - self.killed)
            for process in left[: self.chance.randint(1, 2)]:
                # It ends once its request is answered.
                os.kill(process, signal.SIGKILL)
                self.killed.add(process)
                self.tally.clients_killed += 1
            self.start_clients()

    def start_mount(self) -> None:
        """Mount again, with clients, if the daemon runs."""
        if self.rig.daemon and not self.rig.mounter:
            self.rig.start_mount()
            self.start_clients()

    def let_store_leave(self) -> None:
        """Let the store go away."""
        self.tally.store_gone += 1
        if self.gone == "full":
            self.store.leave(self.gone)
            return
        self.rig.kill_daemon()
        self.tally.daemons_killed += 1
        self.store.leave(self.gone)
        if self.start_daemon() and self.gone == "missing":
            self.wrong.append("the daemon serves a folder that does not exist")

    def let_store_come_back(self) -> None:
        """Let the store work again, with a daemon and a mount."""
        self.store.come_back()
        if not self.rig.daemon:
            self.start_daemon()
        self.start_mount()

    # The round.

    def run(self) -> None:
        """Let clients work, kill, restart, drain and compare."""
        for client in range(FOLDERS):
            (self.store.files / self.name(client)).mkdir()
        self.stop.unlink(missing_ok=True)
        self.start_daemon()
        self.start_mount()
        self.start_clients()
        self.pause(0.05, 0.25)
        if self.gone:
            self.let_store_leave()
            self.pause(0, 0.3)
        for _ in range(self.chance.randint(1, 3)):
            self.kill()
            self.pause(0.02, 0.25)
        if self.gone:
            self.pause(0, 0.5)
            self.let_store_come_back()
            self.pause(0.05, 0.2)
        self.stop.touch()
        self.wait_for_clients()
        self.drain()
        self.compare()

    def drain(self) -> None:
        """Have the daemon store everything. At times it is killed meanwhile."""
        if self.chance.random() < 0.25 and self.rig.daemon:
            self.rig.daemon.send_signal(signal.SIGTERM)
            self.pause(0, 0.02)
            self.rig.kill_daemon()
            self.tally.daemons_killed += 1
            self.start_daemon()
        if not self.rig.daemon:
            return
        status = self.rig.end_daemon()
        if status:
            self.wrong.append(f"drain: status {status}: {self.rig.errors('daemon')}")
        left = sorted(path.name for path in (self.rig.cache / "data").iterdir())
        if left:
            self.wrong.append(f"drain: {len(left)} files are left in the cache")

    def compare(self) -> None:
        """Compare the files of all clients with their models."""
        for client in range(self.started):
            path = self.journal(client)
            if not path.exists():
                continue
            for line in path.read_text().splitlines():
                kind, *words = json.loads(line)
                self.tally.operations += kind == "begin"
                self.tally.compared_at_once += words[0] if kind == "checked" else 0
                self.tally.errors_of_store += kind == "end" and words[1] in ERRORS_OF_STORE
                if kind == "wrong":
                    self.wrong.append(f"client {client}: {words[0]}")
            model = replay(path, self.seed_of(client))
            self.tally.acknowledged += model.acknowledged
            wrong = model.wrong(self.store.files / self.name(client))
            self.wrong += [f"client {client}: {text}" for text in wrong]
        if not self.wrong:
            for client in range(FOLDERS):
                shutil.rmtree(self.store.files / self.name(client))
                self.journal(client).unlink(missing_ok=True)

    def title(self) -> str:
        """Return what the round is about."""
        gone = f", store {self.gone}" if self.gone else ""
        return f"round {self.number} of seed {self.seed}: kill of {self.target}{gone}"


def rounds(first: int, count: int, seed: int, where: Path, say: Callable[[str], None]) -> Tally:
    """Run rounds in a folder, and say what is wrong."""
    tally = Tally()
    with store(where) as place, Rig(where, export=place.files) as rig:
        if not place.is_mounted:
            say("no file system can be mounted here: the rounds with the store gone are left out")
        for number in range(first, first + count):
            one = Round(number, seed, rig, place, tally)
            one.run()
            tally.rounds += 1
            tally.violations += len(one.wrong)
            for text in one.wrong:
                say(f"{one.title()}, --fsync {one.fsync} --close {one.close}: {text}")
            if one.wrong:
                kept = where.with_name(f"{where.name}-round-{number}")
                keep(rig, place, kept)
                say(f"what is left of it: {kept}")
    return tally


def keep(rig: Rig, place: Store, where: Path) -> None:
    """Copy journals, logs and files of a round, and remove its files."""
    rig.kill_mount()
    rig.kill_daemon()
    where.mkdir()
    shutil.copytree(place.files, where / "files", symlinks=True)
    for path in (*rig.folder.glob("*.journal"), *rig.folder.glob("*.err")):
        shutil.copy(path, where)
    for path in (*place.files.iterdir(), *rig.folder.glob("*.journal")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    # The next round has a cache without what could not be stored.
    shutil.rmtree(rig.cache)


def in_name_space() -> None:
    """Run this program in a name space in which a file system can be mounted, unless it can be."""
    with tempfile.TemporaryDirectory() as where, store(Path(where)) as place:
        if place.is_mounted or "ISTHMUS_UNSHARED" in os.environ:
            return
    words = ["unshare", "--user", "--map-root-user", "--mount"]
    can = shutil.which("unshare") and subprocess.run([*words, "true"], check=False).returncode == 0
    if can:
        os.environ["ISTHMUS_UNSHARED"] = "yes"
        os.execvp(words[0], [*words, sys.executable, *sys.argv])


def main() -> None:
    """Run the rounds and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the number of the first round")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32))
    given = parser.parse_args()
    if why := no_fuse():
        sys.exit(f"left out: {why}")
    in_name_space()
    # What is mounted is unmounted at the end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as where:
        say = lambda text: print(text, flush=True)  # noqa: E731
        tally = rounds(given.first, given.rounds, given.seed, Path(where), say)
    print(", ".join(f"{each.name}={getattr(tally, each.name)}" for each in fields(tally)))
    sys.exit(tally.violations > 0)


if __name__ == "__main__":
    main()
