"""Execution of points on a Dask cluster, or on a local cluster for the length of the run."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import re
import signal
import sys
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Any

from isthmus.errors import IsthmusError, RunFailedError
from isthmus.wording import counted

ANSWER_S = 30.0
"""Timeout in seconds of answers from the scheduler."""
WORKERLESS_S = 30.0
"""Seconds without a worker until a notice is printed."""
LOOK_S = 2.0
"""Seconds between queries for the number of workers."""
CLOSE_S = 10.0
"""Seconds until workers of a local cluster that do not end are killed."""
ADDRESS = re.compile(
    r"(?:(?:tcp|tls|ws|wss|ucx)://)?(?P<host>[^\s/:]+|\[[^\s/]+\]):(?P<port>[0-9]{1,5})"
)
PORT_MAX = 65535
EXAMPLE = "tcp://10.0.0.1:8786"
NO_PAGES: dict[str, list[str]] = {
    f"distributed.{server}.http.routes": [] for server in ("scheduler", "nanny", "worker")
}
"""Dask settings that disable the pages of its HTTP servers."""
MEMORY_MIN = 1_000_000
"""Smallest memory bound that the core accepts, in bytes."""


def is_client(executor: object) -> bool:
    """Return whether an executor is a Dask client, without importing Dask."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(executor, distributed.Client)


def refuse_unfit(client: Any) -> None:
    """Refuse an unusable Dask client.

    Raises:
        IsthmusError: it is closed, or asynchronous.

    """
    if client.asynchronous:
        raise IsthmusError(
            "executor: an asynchronous Dask client is of no use here; give one made with "
            "asynchronous=False"
        )
    if client.status in ("closing", "closed"):
        raise IsthmusError(
            f"executor: this Dask client is {client.status}; give one that is connected"
        )


@contextmanager
def connected(address: str | None, workers: int) -> Iterator[Any]:
    """Yield a client of the scheduler at an address, or of a temporary local cluster.

    Args:
        address: address of the scheduler, such as ``tcp://10.0.0.1:8786``; None for a local
            cluster.
        workers: number of processes of a local cluster; each runs one point at a time.

    Raises:
        IsthmusError: Dask is not installed, or no scheduler answers within 30 s.

    """
    try:
        # Suppress Dask's log messages, which would disturb the output; its errors are converted.
        import distributed
    except ImportError as error:
        raise IsthmusError(
            f"--on dask: {error.name or 'distributed'} is not installed; "
            "pip install 'isthmus[dask]'"
        ) from error
    with _suppressed_logs(distributed):
        if address is None:
            with _local(distributed, workers) as client:
                yield client
            return
        client = _client(distributed, address)
        try:
            yield client
        finally:
            client.close(timeout=CLOSE_S)


@contextmanager
def _suppressed_logs(distributed: Any) -> Iterator[None]:
    """In a ``with`` block, suppress log lines of Dask; its errors are raised as exceptions."""
    import dask

    logger = logging.getLogger(distributed.__name__)
    loggers = [logger] + [
        each
        for name, each in logging.root.manager.loggerDict.items()
        if name.startswith("distributed.") and isinstance(each, logging.Logger)
    ]
    before = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL + 1)
    quiet = dict.fromkeys(("distributed", "distributed.client", "distributed.nanny"), "critical")
    # Disable profiles and statistics of the workers, which are not used.
    conf = {
        "logging": quiet,
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "500ms",
        "distributed.admin.system-monitor.interval": "60s",
        "distributed.admin.system-monitor.gil.enabled": False,
    }
    try:
        with warnings.catch_warnings(), dask.config.set(conf):
            warnings.simplefilter("ignore")
            yield
    finally:
        for each, level in zip(loggers, before, strict=True):
            each.setLevel(level)


@contextmanager
def _isolated_helpers() -> Iterator[None]:
    """In a ``with`` block, start Python helper processes such that they import no modules from the
    current folder, such as `dask.py` (from 3.11 on), and print no messages after an interrupt.
    """
    quiet = "ignore:resource_tracker"
    conf = {
        "PYTHONSAFEPATH": "1",
        "PYTHONWARNINGS": ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), quiet])),
    }
    before = {name: os.environ.get(name) for name in conf}
    os.environ.update(conf)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _local(distributed: Any, workers: int) -> Iterator[Any]:
    """Yield a client of a local cluster. Connections are encrypted and mutually authenticated by a
    key that no file contains, so other processes cannot use the cluster.

    Raises:
        IsthmusError: cryptography is not installed.

    """
    import dask

    try:
        security = distributed.Security.temporary()
    except ImportError as error:
        raise IsthmusError(
            "--on dask: cryptography is not installed; pip install 'isthmus[dask]'"
        ) from error
    # Threads and processes of the cluster inherit the blocked signal, so Ctrl-C reaches only this
    # process, which ends the others. The resource tracker would unblock it when it starts.
    with _isolated_helpers(), dask.config.set(NO_PAGES):
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            cluster = distributed.LocalCluster(
                n_workers=0,
                threads_per_worker=1,
                processes=True,
                security=security,
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                worker_dashboard_address=None,
                memory_limit=0,
                silence_logs=logging.CRITICAL,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        with (
            cluster,
            distributed.Client(cluster, set_as_default=False, direct_to_workers=True) as client,
        ):
            cluster.scale(workers)
            yield client


def _client(distributed: Any, address: str) -> Any:
    """Connect to the scheduler at an address; refuse an address without one."""
    right = f"give the address that `dask scheduler` prints, such as {EXAMPLE}"
    found = ADDRESS.fullmatch(address)
    if found is None or not 1 <= int(found["port"]) <= PORT_MAX:
        raise IsthmusError(f"--on dask={address}: is no address; {right}")
    try:
        # First check that a Dask scheduler answers: a client would wait forever for another
        # service.
        asyncio.run(
            asyncio.wait_for(_query_scheduler(distributed, address, found["host"]), ANSWER_S)
        )
        return distributed.Client(address, timeout=ANSWER_S, set_as_default=False)
    except Exception as error:
        reason = str(error).partition("\n")[0] or f"nothing was said for {ANSWER_S:g} s"
        raise IsthmusError(
            f"--on dask={address}: no Dask scheduler answers there ({reason}); {right}"
        ) from error


async def _query_scheduler(distributed: Any, address: str, host: str) -> None:
    """Query an address; raise any error if no Dask scheduler answers there."""
    await asyncio.get_running_loop().getaddrinfo(host.strip("[]"), None)
    secured = distributed.Security().get_connection_args("client")
    async with distributed.core.rpc(address, connection_args=secured) as there:
        kind = (await there.identity())["type"]
    if kind != "Scheduler":
        raise TypeError(f"it is a {kind.lower()}")


def share_of_memory(of: int, limit: int | None = None) -> str:
    """Return the memory for each of `of` simultaneous simulations, as text such as ``"1024 B"``.

    They share half of the machine's memory, or half of `limit` bytes if that is less.
    """
    from isthmus import _core

    most = _core.memory_bound()
    if limit:
        most = min(most, limit // 2)
    return f"{max(most // of, MEMORY_MIN)} B"


def worker_memory() -> str | None:
    """Return the memory for a simulation in a worker thread; None outside of a worker."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        worker = distributed.get_worker()
    except ValueError:
        return None
    return share_of_memory(worker.state.nthreads, worker.memory_manager.memory_limit)


@dataclass(frozen=True)
class _Call:
    """A function and its arguments. Unpickling this object calls the function and returns its
    result.
    """

    function: Callable[..., Any]
    words: tuple[Any, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the call as the pickled form of this object, so that unpickling makes the call."""
        return self.function, self.words


class Workers:
    """The workers of a Dask cluster, as an executor to which the parts of a run are submitted."""

    def __init__(self, client: Any, note: Callable[[str], None] = warnings.warn) -> None:
        """Use the workers of a Dask client; `note` is called with notices for the user."""
        refuse_unfit(client)
        self.client = client
        self.note = note
        """Function that is called with notices for the user."""
        self._address = client.scheduler.address
        self._loop: asyncio.AbstractEventLoop = client.loop.asyncio_loop
        self._fetched: list[tuple[dict[int, Any], Future[Any]]] = []
        self._asked: Future[Any] | None = None
        self._answered = self._worked = time.monotonic()
        self._next_look = 0.0
        self._workers = 0
        self.threads = 0
        """Number of threads of all known workers together."""
        self._said = False

    def submit(self, function: Callable[..., Any], *words: Any) -> Any:
        """Submit a function call to the workers.

        A worker imports isthmus only when it runs the task, not when it unpickles it: Dask ends a
        worker on which unpickling fails.
        """
        call = pickle.dumps(_Call(function, words))
        # A unique key, so that cancelling one run does not affect another run of the same scenario.
        key = f"isthmus-{function.__name__}-{uuid.uuid4().hex}"
        with self._converting_lost_connection():
            return self.client.submit(pickle.loads, call, key=key, pure=False)

    def cancel(self, futures: Iterable[Any]) -> None:
        """Cancel tasks that have not started."""
        with suppress(RunFailedError), self._converting_lost_connection():
            self.client.cancel(list(futures))

    def answers(self, futures: Mapping[int, Any]) -> Mapping[int, Any]:
        """Return the received results of finished futures; an exception for lost ones.

        Futures that finish together are fetched together, without waiting: Dask may search for a
        lost worker for a long time.
        """
        asked = {at for batch, _ in self._fetched for at in batch}
        if new := {at: future for at, future in futures.items() if at not in asked}:
            fetching = self.client.gather(new, errors="skip", asynchronous=True)
            self._fetched.append((new, asyncio.run_coroutine_threadsafe(fetching, self._loop)))
        here = [each for each in self._fetched if each[1].done()]
        self._fetched = [each for each in self._fetched if not each[1].done()]
        done: dict[int, Any] = {}
        for batch, answers in here:
            if (error := answers.exception()) is not None:
                done |= dict.fromkeys(batch, self._connection_lost() if self._is_lost() else error)
                continue
            for at, answer in answers.result().items():
                done[at] = self._lost(batch[at]) if answer is None else answer
        return done

    def _lost(self, future: Any) -> BaseException:
        """Return the error for a future without a result: a lost connection, or a task that Dask
        lost.
        """
        from distributed import KilledWorker

        if self._is_lost():
            return self._connection_lost()
        if future.status != "error":
            return RunFailedError(
                f"the Dask scheduler at {self._address} has given up or forgotten a point; run "
                "again to go on"
            )
        error: BaseException = future.exception()
        if isinstance(error, KilledWorker):
            lost = error.allowed_failures + 1
            return RunFailedError(
                f"{counted(lost, 'worker')} of the Dask cluster at {self._address} "
                f"{'was' if lost == 1 else 'were'} lost while at the same points, at last "
                f"{error.last_worker.address}: killed, or out of memory; see the logs of workers, "
                "and run again to go on"
            )
        return error

    def state(self, left: str) -> str:
        """Return the state of the workers in words; print a notice if there are none.

        Args:
            left: the remaining work, in words.

        Raises:
            RunFailedError: the connection to the scheduler is lost.

        """
        if self.client.status == "closed":
            raise self._connection_lost()
        if self._is_lost():
            return "Dask: the scheduler is gone, looking for it"
        now = time.monotonic()
        if self._asked is not None and self._asked.done():
            if self._asked.exception() is None:
                found, self._answered = self._asked.result()["workers"].values(), now
                self._workers, self.threads = len(found), sum(each["nthreads"] for each in found)
            if self._workers:
                self._worked, self._said = now, False
            self._asked, self._next_look = None, now + LOOK_S
        if self._asked is None and now >= self._next_look:
            question = self.client.scheduler.identity()
            self._asked = asyncio.run_coroutine_threadsafe(question, self._loop)
        waited = f"{left} to do; Ctrl-C ends this, and what is done is kept"
        if now - self._answered > ANSWER_S:
            self._say(
                f"the Dask scheduler at {self._address} has not answered for {ANSWER_S:g} s; "
                f"{waited}"
            )
            return "Dask: no answer"
        if now - self._worked > WORKERLESS_S:
            self._say(
                f"the Dask scheduler at {self._address} has had no worker for {WORKERLESS_S:g} s; "
                f"start one by `dask worker {self._address}`; {waited}"
            )
        # Zero means that the workers have not been counted yet.
        return f"Dask: {counted(self._workers, 'worker')}" if self._workers else ""

    def _say(self, text: str) -> None:
        """Give the user a notice, but only one for each period without workers or answers."""
        if not self._said:
            self.note(text)
        self._said = True

    def _is_lost(self) -> bool:
        """Return whether the client has no connection to the scheduler; it may still try to
        reconnect.
        """
        return bool(self.client.status != "running")

    @contextmanager
    def _converting_lost_connection(self) -> Iterator[None]:
        """Run a block that uses the Dask client. If the client lost its connection meanwhile, raise
        `RunFailedError` in place of the error of Dask.
        """
        try:
            yield
        except Exception as error:
            if not self._is_lost():
                raise
            raise self._connection_lost() from error

    def _connection_lost(self) -> RunFailedError:
        """Return the error that the connection to the scheduler is lost."""
        return RunFailedError(
            f"the Dask scheduler at {self._address} is gone; start a cluster, and run again to go "
            "on"
        )
