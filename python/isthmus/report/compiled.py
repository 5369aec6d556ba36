"""Templates that are compiled once, and kept beside them as Python keeps its modules."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError

from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket

FOLDER = Path(__file__).parent / "templates" / "__pycache__"


class Compiled(FileSystemBytecodeCache):
    """What templates were compiled to: a third of the time of a short run.

    Where nothing can be written, or nothing is to be (``PYTHONDONTWRITEBYTECODE``), they are
    compiled each time.
    """

    def __init__(self, maker: Path, folder: Path = FOLDER) -> None:
        super().__init__(str(folder), f"%s.{sys.implementation.cache_tag}.jinja")
        self._folder = folder
        self._maker = maker.read_text(encoding="utf-8")

    def get_source_checksum(self, source: str) -> str:
        """Of a template and of the code that sets up what it is compiled with."""
        return super().get_source_checksum(source + self._maker)

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what is kept, if it can be read and is whole."""
        try:
            super().load_bytecode(bucket)
        except (OSError, UnpicklingError):
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep it, if that can be."""
        if sys.dont_write_bytecode:
            return
        with suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            super().dump_bytecode(bucket)
