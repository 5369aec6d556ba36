"""What a folder's run is of, kept so that all who do parts of it do the same."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.errors import IsthmusError
from isthmus.files import telling_of
from isthmus.owned import read_mark
from isthmus.owned.mark import sha256

if TYPE_CHECKING:
    from isthmus.execution import Job

SOURCE = "run.json"
"""The file in the folder."""


@dataclass(frozen=True)
class Source:
    """A scenario as it was given, and how it is run."""

    file: str
    text: str
    overrides: tuple[str, ...]
    seed: int | None
    quick: bool

    @classmethod
    def of(cls, job: Job) -> Source:
        """What a job runs."""
        return cls(job.file, job.text, tuple(job.overrides), job.seed, job.quick)

    @classmethod
    def read(cls, folder: Path) -> Source:
        """What the run of a folder is of.

        Raises:
            IsthmusError: it is no folder of a run in parts, or the file is not as it was written.

        """
        mark = read_mark(folder) if folder.is_dir() else None
        written = mark.files.get(SOURCE) if mark else None
        if written is None:
            what = "no folder of isthmus" if mark is None else "no run in parts was begun here"
            raise IsthmusError(
                f"{folder}: {what}; give the folder of `isthmus run FILE --part K/N --out FOLDER`"
            )
        with telling_of(folder / SOURCE, "cannot be read"):
            data = (folder / SOURCE).read_bytes()
        if sha256(data) != written.sha256:
            raise IsthmusError(
                f"{folder / SOURCE}: changed since isthmus wrote it; put it back as it was"
            )
        told: dict[str, Any] = json.loads(data)
        overrides = tuple(told.pop("overrides"))
        return cls(file=str(folder / SOURCE), overrides=overrides, **told)

    def as_text(self) -> str:
        """The file."""
        told = {
            "text": self.text,
            "overrides": list(self.overrides),
            "seed": self.seed,
            "quick": self.quick,
        }
        return json.dumps(told, indent=1, ensure_ascii=False) + "\n"
