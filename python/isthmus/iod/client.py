"""A connection to an I/O daemon, for the coroutines of one event loop."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import logging
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isthmus import _core

LINKS = 40
"""Maximum number of symbolic links on the way to a file."""

UnstoredRow = tuple[int, int, float, int | None, bytes]
"""A file with bytes that are not stored: its number, the number of these bytes, their age in s, the
error number of the last attempt to store it or None, and its path in the store.
"""

LOG = logging.getLogger("isthmus.iod")


@dataclass(frozen=True)
class Attributes:
    """Attributes of a file."""

    number: int
    size: int
    """In bytes."""
    modified_ns: int
    """Time of the last write, in ns since 1970."""
    mode: int
    """Type and permissions, as ``st_mode``."""
    links: int
    uid: int
    gid: int

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self.mode)

    @property
    def state(self) -> tuple[int, int, int]:
        """What another version of the file differs in: number, size and time."""
        return self.number, self.size, self.modified_ns


class Client:
    """A connection to a daemon, for the coroutines of one event loop.

    Paths are those from the root of the export. All errors are `OSError`.
    """

    def __init__(self, core: _core.IodFiles, loop: asyncio.AbstractEventLoop) -> None:
        """Take the results of operations in an event loop."""
        self._core = core
        self._loop = loop
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[asyncio.Future[Any], str]] = {}
        self._umask = _umask()
        loop.add_reader(core.descriptor(), self._take)

    @classmethod
    async def connect(cls, options: dict[str, Any]) -> Client:
        """Connect to a daemon.

        Raises:
            ConnectionError: the daemon cannot be reached, or refuses the client.

        """
        loop = asyncio.get_running_loop()
        try:
            core = await loop.run_in_executor(None, _core.IodFiles.open, json.dumps(options))
        except ValueError as error:
            raise ConnectionError(str(error)) from None
        return cls(core, loop)

    def _take(self) -> None:
        """Pass on the results of operations that have ended."""
        for number, code, value in self._core.take():
            if number == 0:
                LOG.warning("%s", value)
                continue
            future, path = self._waiting.pop(number)
            if future.done():
                continue
            if code:
                future.set_exception(OSError(code, os.strerror(code), path))
            else:
                future.set_result(value)

    def _begin(self, operation: Callable[..., None], path: str, *rest: Any) -> Any:
        """Begin an operation, and return its future. Errors name the path."""
        number = next(self._numbers)
        future = self._loop.create_future()
        self._waiting[number] = future, path
        operation(number, *rest)
        return future

    async def fetch(self, path: str, count: int) -> tuple[tuple[int, int, int], bytes]:
        """Read a file from its start. Return its state and at most ``count`` bytes."""
        fetched: tuple[tuple[int, int, int], bytes]
        fetched = await self._begin(self._core.fetch, path, os.fsencode(path), count)
        return fetched

    async def prefetch(self, path: str) -> None:
        """Have the daemon read a file into its cache."""
        await self._begin(self._core.prefetch, path, os.fsencode(path))

    async def attributes(self, path: str) -> Attributes:
        """Return the attributes of a file, or of the symbolic link that the path leads to."""
        return Attributes(*await self._begin(self._core.attributes, path, os.fsencode(path)))

    async def list(self, path: str) -> dict[str, Attributes]:
        """Return the entries of a directory by name, and their attributes."""
        entries = await self._begin(self._core.list, path, os.fsencode(path))
        return {os.fsdecode(name): Attributes(*numbers) for name, numbers in sorted(entries)}

    async def read_link(self, path: str) -> str:
        """Return the target of a symbolic link."""
        return os.fsdecode(await self._begin(self._core.read_link, path, os.fsencode(path)))

    async def resolved(self, path: str) -> str:
        """Return the path to which symbolic links lead. The last name need not exist.

        Raises:
            OSError: a link leads out of the export, or there are too many.

        """
        names, rest, links = list[str](), path.split("/"), 0
        while rest:
            name = rest.pop(0)
            if name == ".." and not names:
                raise OSError(errno.EXDEV, "a symbolic link leads out of the export", path)
            if name == "..":
                names.pop()
                continue
            here = "/".join([*names, name])
            try:
                target = await self.read_link(here)
            except OSError as error:
                is_new = isinstance(error, FileNotFoundError) and not rest
                if error.errno != errno.EINVAL and not is_new:
                    raise
                names.append(name)
                continue
            links += 1
            if links > LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if target.startswith("/"):
                text = f"the target of the symbolic link {here} is not relative"
                raise OSError(errno.EXDEV, text, path)
            rest = [name for name in target.split("/") if name not in ("", ".")] + rest
        return "/".join(names)

    async def status(self) -> dict[str, int]:
        """Return the state of the daemon: sizes in bytes, times in ms."""
        status: dict[str, int] = await self._begin(self._core.status, "status")
        return status

    async def list_unstored(self, start: int) -> Sequence[UnstoredRow]:
        """Return some files with bytes that are not stored, from the one with this number on,
        ordered by number; none at the end.
        """
        files: Sequence[UnstoredRow]
        files = await self._begin(self._core.list_unstored, "status", start)
        return files

    async def drain(self) -> None:
        """Have the daemon store all files, and wait until everything written before is stored."""
        await self._begin(self._core.drain, "drain")

    async def abandon(self, number: int, path: str) -> int:
        """Drop the bytes of a file that are not stored, given by its number and path as in the
        list. Return how many.
        """
        dropped: int
        dropped = await self._begin(self._core.abandon, path, number, os.fsencode(path))
        return dropped

    async def make_directory(self, path: str) -> None:
        """Create a directory."""
        mode = 0o777 & ~self._umask
        await self._begin(self._core.make_directory, path, os.fsencode(path), mode)

    async def remove(self, path: str, *, is_directory: bool) -> None:
        """Remove a file, or an empty directory."""
        await self._begin(self._core.remove, path, os.fsencode(path), is_directory)

    async def rename(self, old: str, new: str) -> None:
        """Rename a file or directory."""
        await self._begin(self._core.rename, old, os.fsencode(old), os.fsencode(new))

    def open(self, path: str, flags: int) -> Handle:
        """Open a file with flags of `os.open`, and do not wait for the daemon.

        What is done with the file fails if it cannot be opened.
        """
        fid = self._core.open_file(os.fsencode(path), flags, 0o666 & ~self._umask)
        return Handle(self, fid, path)

    def end(self) -> None:
        """End the connection. Operations in flight fail."""
        if not self._loop.is_closed():
            self._loop.remove_reader(self._core.descriptor())
        self._core.end()
        if not self._loop.is_closed():
            self._take()


class Handle:
    """An open file. Close it."""

    def __init__(self, client: Client, fid: int, path: str) -> None:
        """Represent an open file."""
        self._client = client
        self._fid = fid
        self.path = path

    def _begin(self, operation: Callable[..., None], *rest: Any) -> Any:
        return self._client._begin(operation, self.path, self._fid, *rest)

    async def attributes(self) -> Attributes:
        """Return the attributes."""
        return Attributes(*await self._begin(self._client._core.attributes_of))

    async def read(self, offset: int, count: int) -> bytes:
        """Return ``count`` bytes; fewer at the end of the file."""
        data: bytes = await self._begin(self._client._core.read, offset, count)
        return data

    def write(self, offset: int, data: bytes) -> asyncio.Future[None]:
        """Begin to write. The result says whether it has succeeded."""
        future: asyncio.Future[None] = self._begin(self._client._core.write, offset, data)
        return future

    def commit(self, level: int) -> asyncio.Future[None]:
        """Wait until the data is safe: 0 as a close, 1 in the cache, 2 in the store."""
        future: asyncio.Future[None] = self._begin(self._client._core.commit, level)
        return future

    def close(self) -> None:
        """Close the file, and do not wait for the daemon."""
        self._client._core.close(self._fid)


def _umask() -> int:
    """Return the permissions that this process takes from new files."""
    with Path("/proc/self/status").open(encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022
