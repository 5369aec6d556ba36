"""``iod://`` of fsspec: the files of an I/O daemon."""

from __future__ import annotations

import asyncio
import atexit
import errno
import os
import posixpath
import stat
import weakref
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

from fsspec.asyn import AsyncFileSystem, _run_coros_in_chunks, sync
from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.spec import AbstractBufferedFile

from isthmus import arguments
from isthmus.iod.client import LOG, Attributes, Client, Handle

T = TypeVar("T")
Pieces = Callable[[], AsyncIterator[bytes]]

SMALL = 64 << 10
"""Largest file in bytes that is read in one request: a daemon with a cache carries out requests for
4 MiB of a client at a time.
"""

PIECE = 4 << 20
"""Size in bytes of the pieces in which large files are copied."""

CREATE = os.O_WRONLY | os.O_CREAT
LEVELS = {"cached": 1, "stored": 2}
MODES = {
    "rb": os.O_RDONLY,
    "wb": CREATE | os.O_TRUNC,
    "xb": CREATE | os.O_EXCL,
    "ab": CREATE,
}


class IodFileSystem(AsyncFileSystem):  # type: ignore[misc] # fsspec has no types
    """The files of an I/O daemon, ``isthmus iod serve``, for fsspec.

    A path is that from the root of the export: ``iod://results/a.csv`` and ``/results/a.csv`` are
    the file ``results/a.csv`` there. Symbolic links are followed if their targets are relative and
    in the export. A daemon that is killed and started again is a pause.

    Args:
        address: the daemon: ``unix:/PATH``, ``tcp:HOST:PORT`` or ``tls:HOST:PORT``.
        export: a folder that the daemon serves, or one beneath it; by default the first.
        token_file: path of a file with the token that the daemon requires.
        tls_ca: path of a PEM file with the certificates to trust.
        timeout: the time for which requests wait for a daemon that is gone; then they fail with
            ``EIO`` until it is back.
        auto_mkdir: whether directories are made for a file that is created in them.
        options: those of `fsspec.asyn.AsyncFileSystem`.

    Raises:
        IsthmusError: an argument is invalid.
        OSError: an operation fails, with the error number of the daemon; `ConnectionError` without
            a daemon.

    """

    protocol = "iod"
    root_marker = ""

    def __init__(
        self,
        address: str,
        *,
        export: str = "",
        token_file: str | os.PathLike[str] | None = None,
        tls_ca: str | os.PathLike[str] | None = None,
        timeout: str = "60 s",
        auto_mkdir: bool = True,
        **options: Any,
    ) -> None:
        """Check the arguments. The first operation connects to the daemon."""
        arguments.text("address", address, "unix:/tmp/iod.sock")
        arguments.text("export", export, "/scratch/job")
        for name, file in (("token_file", token_file), ("tls_ca", tls_ca)):
            if file is not None:
                arguments.path(name, file, "/home/me/token")
        arguments.flag("auto_mkdir", auto_mkdir)
        super().__init__(**options)
        self._options = {
            "address": address,
            "export": export,
            "token": arguments.token("token_file", token_file) if token_file else None,
            "tls_ca": os.fspath(tls_ca) if tls_ca else None,
            "timeout_ns": round(arguments.seconds("timeout", timeout, 0.1, "60 s") * 1e9),
        }
        self.auto_mkdir = auto_mkdir
        self._clients: dict[asyncio.AbstractEventLoop, asyncio.Future[Client]] = {}

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        """Return a path as it is at the daemon, from a path or a URL."""
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        words = os.fspath(path).removeprefix("iod://").split("/")
        return "/".join(word for word in words if word not in ("", "."))

    async def _client(self) -> Client:
        """Return the connection for the event loop that runs; connect first if there is none.

        Raises:
            ConnectionError: there is no daemon, or it refuses the client.

        """
        loop = asyncio.get_running_loop()
        for other in [other for other in self._clients if other.is_closed()]:
            ended = self._clients.pop(other)
            if ended.done() and not ended.cancelled() and ended.exception() is None:
                ended.result().end()
        connecting = self._clients.get(loop)
        if connecting is None:
            connecting = asyncio.ensure_future(Client.connect(self._options))
            self._clients[loop] = connecting
        try:
            return await asyncio.shield(connecting)
        except ConnectionError:
            # The next operation tries again.
            self._clients.pop(loop, None)
            raise

    async def _follow(
        self, path: str, operation: Callable[[str], Awaitable[T]], *, last: bool = True
    ) -> T:
        """Carry out an operation on a path, or on that to which symbolic links lead. `last`: the
        last name may be that of a link as well.
        """
        path = self._strip_protocol(path)
        try:
            return await operation(path)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            client = await self._client()
            directory, name = posixpath.split(path)
            if last:
                resolved = await client.resolved(path)
            else:
                resolved = posixpath.join(await client.resolved(directory), name)
            if resolved == path:
                raise
        return await operation(resolved)

    async def _attributes(self, path: str) -> tuple[Attributes, str | None]:
        """Return the attributes of a file, and the target of the symbolic link if it is one."""
        client = await self._client()
        found = await client.attributes(path)
        if not found.is_link:
            return found, None
        target = await client.read_link(path)
        return await client.attributes(await client.resolved(path)), target

    async def _info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        try:
            found, target = await self._follow(path, self._attributes)
        except NotADirectoryError as error:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error
        return _entry(path, found, target)

    async def _ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        path = self._strip_protocol(path)
        client = await self._client()
        try:
            entries = await self._follow(path, client.list)
        except NotADirectoryError:
            entry = await self._info(path)
            return [entry] if detail else [path]
        names = {name: posixpath.join(path, name) for name in entries}
        if not detail:
            return list(names.values())
        return [await self._listed(names[name], found) for name, found in entries.items()]

    async def _listed(self, path: str, found: Attributes) -> dict[str, Any]:
        """Return an entry of a directory. That of a link to a directory is of type ``other``, so
        that walks through a tree do not follow it.
        """
        if not found.is_link:
            return _entry(path, found)
        try:
            entry = await self._info(path)
        except OSError:
            return {**_entry(path, found), "islink": True}
        return entry if entry["type"] == "file" else {**entry, "type": "other"}

    async def _cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any
    ) -> bytes:
        async def read(path: str) -> bytes:
            client = await self._client()
            if start is None and end is None:
                state, data = await client.fetch(path, SMALL)
                _, size, _ = state
                if len(data) >= size:
                    return data
                async with _opened(client, path, os.O_RDONLY) as file:
                    found = await file.attributes()
                    kept = data if found.state == state else b""
                    return kept + await file.read(len(kept), max(found.size - len(kept), 0))
            async with _opened(client, path, os.O_RDONLY) as file:
                if start is not None and end is not None and 0 <= start <= end <= start + SMALL:
                    return await file.read(start, end - start)
                size = (await file.attributes()).size
                first, last, _ = slice(start, end).indices(size)
                return await file.read(first, max(last - first, 0))

        return await self._follow(path, read)

    async def _create(self, path: str, flags: int, pieces: Pieces) -> None:
        """Create a file from pieces, and the directories for it."""

        async def write(path: str) -> None:
            client = await self._client()
            async with _opened(client, path, CREATE | flags) as file:
                await _write(file, pieces())

        await self._in_directory(path, write)

    async def _in_directory(self, path: str, operation: Callable[[str], Awaitable[T]]) -> T:
        """Carry out an operation that creates a file. Make the directories for it if need be."""
        path = self._strip_protocol(path)
        try:
            return await self._follow(path, operation)
        except FileNotFoundError:
            if not self.auto_mkdir:
                raise
        await self._makedirs(self._parent(path), exist_ok=True)
        return await self._follow(path, operation)

    async def _pipe_file(
        self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any
    ) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            view = memoryview(value).cast("B")
            for start in range(0, len(view), PIECE):
                yield bytes(view[start : start + PIECE])

        await self._create(path, _flags(mode), pieces)

    async def _put_file(
        self,
        lpath: str,
        rpath: str,
        callback: Any = DEFAULT_CALLBACK,
        mode: str = "overwrite",
        **kwargs: Any,
    ) -> None:
        if Path(lpath).is_dir():
            await self._makedirs(rpath, exist_ok=True)
            return

        with Path(lpath).open("rb") as file:

            async def pieces() -> AsyncIterator[bytes]:
                file.seek(0)
                while piece := file.read(PIECE):
                    yield piece
                    callback.absolute_update(file.tell())

            callback.set_size(os.fstat(file.fileno()).st_size)
            await self._create(rpath, _flags(mode), pieces)

    async def _get_file(
        self, rpath: str, lpath: Any, callback: Any = DEFAULT_CALLBACK, **kwargs: Any
    ) -> None:
        if hasattr(lpath, "write"):
            await self._read_pieces(rpath, lpath.write, callback)
        elif await self._isdir(rpath):
            Path(lpath).mkdir(parents=True, exist_ok=True)
        else:
            Path(lpath).parent.mkdir(parents=True, exist_ok=True)
            with Path(lpath).open("wb") as file:
                await self._read_pieces(rpath, file.write, callback)

    async def _read_pieces(self, path: str, take: Callable[[bytes], Any], callback: Any) -> None:
        """Read a file in pieces, and pass each on."""

        async def read(path: str) -> None:
            client = await self._client()
            async with _opened(client, path, os.O_RDONLY) as file:
                callback.set_size((await file.attributes()).size)
                async for piece in _pieces(file):
                    take(piece)
                    callback.relative_update(len(piece))

        await self._follow(path, read)

    async def _cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        if await self._isdir(path1):
            await self._makedirs(path2, exist_ok=True)
            return

        async def read(path: str) -> None:
            client = await self._client()
            async with _opened(client, path, os.O_RDONLY) as file:
                source = await file.attributes()
                if await self._number(path2) == source.number:
                    raise OSError(
                        errno.EINVAL, "source and target are one file", path1, None, path2
                    )
                await self._create(path2, os.O_TRUNC, lambda: _pieces(file))

        await self._follow(path1, read)

    async def _number(self, path: str) -> int | None:
        """Return the number of a file at the daemon; None if there is none."""
        try:
            found, _ = await self._follow(path, self._attributes)
        except FileNotFoundError:
            return None
        return found.number

    async def _mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        async def make(path: str) -> None:
            await (await self._client()).make_directory(path)

        path = self._strip_protocol(path)
        if not path:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        if create_parents and (parent := self._parent(path)):
            await self._makedirs(parent, exist_ok=True)
        await self._follow(path, make, last=False)

    async def _makedirs(self, path: str, exist_ok: bool = False) -> None:
        path = self._strip_protocol(path)
        try:
            await self._mkdir(path, create_parents=False)
        except FileExistsError:
            if not exist_ok or not await self._isdir(path):
                raise
        except FileNotFoundError:
            await self._makedirs(self._parent(path), exist_ok=True)
            await self._makedirs(path, exist_ok=exist_ok)

    async def _rmdir(self, path: str) -> None:
        async def remove(path: str) -> None:
            await (await self._client()).remove(path, is_directory=True)

        await self._follow(path, remove, last=False)

    async def _rm_file(self, path: str, **kwargs: Any) -> None:
        async def remove(path: str) -> None:
            await (await self._client()).remove(path, is_directory=False)

        await self._follow(path, remove, last=False)

    async def _rm(
        self,
        path: str | list[str],
        recursive: bool = False,
        batch_size: int | None = None,
        maxdepth: int | None = None,
        **kwargs: Any,
    ) -> None:
        client = await self._client()
        for each in await self._expand_path(path, maxdepth=maxdepth):
            found = await self._follow(each, client.attributes)
            if not found.is_directory:
                await self._rm_file(each)
            elif recursive:
                await self._remove_tree(each)
            else:
                text = "a directory; remove it with recursive=True"
                raise IsADirectoryError(errno.EISDIR, text, each)

    async def _remove_tree(self, path: str) -> None:
        """Remove a directory with all files in it. Symbolic links are removed, and not followed."""
        client = await self._client()
        files = []
        for name, found in (await self._follow(path, client.list)).items():
            inner = posixpath.join(path, name)
            if found.is_directory:
                await self._remove_tree(inner)
            else:
                files.append(self._rm_file(inner))
        await _run_coros_in_chunks(files, batch_size=self.batch_size, nofiles=True)
        await self._rmdir(path)

    async def _mv(self, path1: str, path2: str) -> None:
        client = await self._client()
        if path2.endswith("/") or await self._isdir(path2):
            path2 = posixpath.join(path2, posixpath.basename(self._strip_protocol(path1)))

        async def rename(old: str) -> None:
            async def to(new: str) -> None:
                await client.rename(old, new)

            await self._follow(path2, to, last=False)

        await self._follow(path1, rename, last=False)

    def mv(self, path1: str, path2: str, **kwargs: Any) -> None:
        """Rename a file or directory. If the new path is a directory, move it there."""
        sync(self.loop, self._mv, path1, path2)

    def rmdir(self, path: str) -> None:
        """Remove an empty directory."""
        sync(self.loop, self._rmdir, path)

    async def _commit(self, path: str, level: str = "stored") -> None:
        arguments.choice("level", level, tuple(LEVELS))

        async def commit(path: str) -> None:
            client = await self._client()
            async with _opened(client, path, os.O_RDONLY) as file:
                if (await file.attributes()).is_directory:
                    raise IsADirectoryError(errno.EISDIR, "a directory; commit its files", path)
                await file.commit(LEVELS[level])

        await self._follow(path, commit)

    def commit(self, path: str, level: str = "stored") -> None:
        """Wait until a file is safe.

        Args:
            path: the file.
            level: ``stored`` waits until it is synced in the store, ``cached`` until it is synced
                in the daemon's cache.

        Raises:
            OSError: it could not be stored; the daemon keeps the data and tries again.

        """
        sync(self.loop, self._commit, path, level)

    def modified(self, path: str) -> datetime:
        """Return the time of the last write."""
        seconds: float = self.info(path)["mtime"]
        return datetime.fromtimestamp(seconds, tz=timezone.utc)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> IodFile:
        if not autocommit:
            raise NotImplementedError("iod:// has no transactions; rename a complete file with mv")
        return IodFile(self, path, mode, block_size or PIECE, cache_options=cache_options, **kwargs)

    async def _open_file(self, path: str, flags: int) -> tuple[Handle, Attributes]:
        """Open a file, and wait until it is open."""

        async def begin(path: str) -> tuple[Handle, Attributes]:
            file = (await self._client()).open(path, flags)
            try:
                return file, await file.attributes()
            except BaseException:
                file.close()
                raise

        if flags & os.O_CREAT:
            return await self._in_directory(path, begin)
        return await self._follow(path, begin)


_open_files = weakref.WeakValueDictionary[int, "IodFile"]()
"""The open files of this process, by their `id`."""


@atexit.register
def _close_all() -> None:
    """Close open files before the interpreter ends: afterwards, no event loop runs any more."""
    for file in list(_open_files.values()):
        try:
            file.close()
        except (OSError, RuntimeError):
            LOG.exception("%s: it is not complete", file.path)


class IodFile(AbstractBufferedFile):  # type: ignore[misc]
    """An open file of an I/O daemon. Modes ``rb``, ``wb``, ``ab`` and ``xb``."""

    def __init__(
        self, fs: IodFileSystem, path: str, mode: str, block_size: int, **kwargs: Any
    ) -> None:
        """Open the file."""
        self._file: Handle | None = None
        arguments.choice("mode", mode, tuple(MODES))
        self._file, found = sync(fs.loop, fs._open_file, path, MODES[mode])
        self._start = found.size if mode == "ab" else 0
        super().__init__(fs, path, mode, block_size, size=found.size, **kwargs)
        if mode == "ab":
            self.loc = found.size
        _open_files[id(self)] = self

    def _fetch_range(self, start: int, end: int) -> bytes:
        """Read the bytes from `start` to `end`."""
        assert self._file is not None
        data: bytes = sync(self.fs.loop, self._file.read, start, end - start)
        return data

    def _initiate_upload(self) -> None:
        """Do nothing: the file is open."""

    def _upload_chunk(self, final: bool = False) -> bool:
        """Write the buffer, and commit the file after the last one."""
        sync(self.fs.loop, self._write, self.buffer.getvalue(), final)
        return True

    async def _write(self, data: bytes, final: bool) -> None:
        assert self._file is not None
        if data:
            await self._file.write(self._start + self.offset, data)
        if final:
            await self._file.commit(0)

    def close(self) -> None:
        """Write what is left, and close the file.

        Raises:
            OSError: not everything could be written; with ``--close stored``, be stored.

        """
        try:
            super().close()
        finally:
            if self._file is not None:
                self.fs.loop.call_soon_threadsafe(self._file.close)
                self._file = None


@asynccontextmanager
async def _opened(client: Client, path: str, flags: int) -> AsyncIterator[Handle]:
    """Open a file, without waiting for the daemon, and close it at the end."""
    file = client.open(path, flags)
    try:
        yield file
    finally:
        file.close()


async def _write(file: Handle, pieces: AsyncIterator[bytes]) -> None:
    """Write pieces to a file, of which two are on the way at a time, and wait as for a close."""
    offset, on_the_way = 0, deque[asyncio.Future[None]]()
    try:
        async for piece in pieces:
            if len(on_the_way) == 2:
                await on_the_way.popleft()
            on_the_way.append(file.write(offset, piece))
            offset += len(piece)
        while on_the_way:
            await on_the_way.popleft()
        # Only what is written by then is committed.
        await file.commit(0)
    finally:
        # After an error, those of the others have the same reason.
        await asyncio.gather(*on_the_way, return_exceptions=True)


async def _pieces(file: Handle) -> AsyncIterator[bytes]:
    """Return the data of a file in pieces. One is read ahead."""
    offset = 0
    ahead = asyncio.ensure_future(file.read(0, PIECE))
    try:
        while piece := await ahead:
            offset += len(piece)
            ahead = asyncio.ensure_future(file.read(offset, PIECE))
            yield piece
    finally:
        ahead.cancel()


def _flags(mode: str) -> int:
    """Return the flags with which a file is created: it is replaced, or must not exist."""
    arguments.choice("mode", mode, ("overwrite", "create"))
    return os.O_EXCL if mode == "create" else os.O_TRUNC


def _entry(path: str, found: Attributes, target: str | None = None) -> dict[str, Any]:
    """Return the description of a file for fsspec, with the names that local files have there."""
    kind = "directory" if found.is_directory else "other"
    entry = {
        "name": path,
        "size": found.size,
        "type": "file" if stat.S_ISREG(found.mode) else kind,
        "mtime": found.modified_ns / 1e9,
        "mode": found.mode,
        "uid": found.uid,
        "gid": found.gid,
        "nlink": found.links,
        "ino": found.number,
        "islink": target is not None,
    }
    return entry if target is None else {**entry, "destination": target}
