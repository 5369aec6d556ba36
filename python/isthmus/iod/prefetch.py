"""Has an I/O daemon read files into its cache, before they are needed."""

from __future__ import annotations

import asyncio
import errno
import os
import posixpath
import stat
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from isthmus.iod.client import Client

AT_ONCE = 60
"""Number of files that the daemon reads at a time: it takes 64 such requests of a client."""


@dataclass
class Prefetched:
    """What became of the files that a daemon was asked to read."""

    files: int = 0
    """Number of files that are in the cache."""
    failed: dict[str, str] = field(default_factory=dict)
    """The other paths, and why each could not be read."""


async def prefetch(
    daemon: dict[str, Any], paths: Iterable[str], watch: Callable[[int, int], None]
) -> Prefetched:
    """Have a daemon read files into its cache, and all files in directories.

    Args:
        daemon: the options of the daemon, as `isthmus._core.IodFiles.open` takes them.
        paths: paths from the root of the export, of files and directories.
        watch: gets the number of files that are done, and of all files found so far.

    Raises:
        OSError: there is no daemon, or it has no cache.

    """
    client = await Client.connect(daemon)
    waiting, done = deque(paths), Prefetched()
    running = set[asyncio.Task[list[str]]]()
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                running.add(asyncio.create_task(_read(client, waiting.popleft(), done)))
            ended, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                waiting.extend(task.result())
            count = done.files + len(done.failed)
            watch(count, count + len(waiting) + len(running))
    finally:
        client.end()
    return done


async def _read(client: Client, path: str, done: Prefetched) -> list[str]:
    """Have a file read. For a directory, return the paths of files and directories in it."""
    try:
        try:
            return await _read_one(client, path, done)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
        return await _read_one(client, await client.resolved(path), done)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            text = "the daemon has no cache: start it with --cache DIR"
            raise OSError(error.errno, text) from None
        done.failed[path] = error.strerror or os.strerror(error.errno or errno.EIO)
        return []


async def _read_one(client: Client, path: str, done: Prefetched) -> list[str]:
    """Have a file read; for a directory, return the paths in it."""
    is_directory = False
    try:
        await client.prefetch(path)
        done.files += 1
    except IsADirectoryError:
        is_directory = True
    if not is_directory:
        return []
    entries = await client.list(path)
    kinds = (stat.S_IFREG, stat.S_IFDIR)
    wanted = (name for name, found in entries.items() if stat.S_IFMT(found.mode) in kinds)
    return [posixpath.join(path, name) for name in wanted]
