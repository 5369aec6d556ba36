"""What a folder's run is of, kept so that all who do parts of it do the same."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.columns import cut
from isthmus.errors import IsthmusError
from isthmus.files import telling_of
from isthmus.owned import OwnedFolder, read_mark
from isthmus.owned.folder import OtherwiseError
from isthmus.owned.mark import SCENARIO, Mark, sha256
from isthmus.owned.mark import SOURCE as KEY

if TYPE_CHECKING:
    from isthmus.execution import Job

SOURCE = "run.json"
"""The file in the folder."""
VALUE_MAX = 60
"""Columns of a line or of changes in an error."""


@dataclass(frozen=True)
class Source:
    """A scenario as it was given, and how it is run."""

    file: str = field(compare=False)
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
        if mark is None or not mark.points + mark.searches:
            raise IsthmusError(f"{folder}: no folder of a run; give that of `isthmus run --out`")
        written = mark.files.get(SOURCE)
        if written is None or not (folder / SOURCE).is_file():
            gone = "is not there any more" if written else "was never written"
            raise IsthmusError(
                f"{folder}: what is run here is not known ({SOURCE} {gone}); go on as it was "
                f"begun, {_command(mark, folder)}"
            )
        with telling_of(folder / SOURCE, "cannot be read"):
            data = (folder / SOURCE).read_bytes()
        if sha256(data) != written.sha256:
            raise IsthmusError(
                f"{folder / SOURCE}: changed since isthmus wrote it; put it back as it was, or "
                f"move it away and go on as it was begun, {_command(mark, folder)}"
            )
        told: dict[str, Any] = json.loads(data)
        overrides = tuple(told.pop("overrides"))
        return cls(file=str(folder), overrides=overrides, **told)

    def as_text(self) -> str:
        """The file."""
        told = {
            "text": self.text,
            "overrides": list(self.overrides),
            "seed": self.seed,
            "quick": self.quick,
        }
        return json.dumps(told, indent=1, ensure_ascii=False) + "\n"

    def unlike(self, kept: Source) -> str:
        """What a source that is kept has otherwise, in words."""
        if self.text != kept.text:
            lines = zip_longest(kept.text.splitlines(), self.text.splitlines())
            for number, (there, here) in enumerate(lines, start=1):
                if there != here:
                    return f"line {number} is {_shown(there)} there and {_shown(here)} here"
            return "the ends of its lines are others"
        if self.overrides != kept.overrides:
            there, here = (_shown(" ".join(of.overrides)) for of in (kept, self))
            return f"changes are {there} there and {here} here"
        there, here = ("left out" if of.seed is None else f"{of.seed}" for of in (kept, self))
        return f"--seed is {there} there and {here} here"


def _shown(text: str | None) -> str:
    return f"`{cut(text, VALUE_MAX)}`" if text else "none"


def _command(mark: Mark, folder: Path) -> str:
    """What goes on with a folder whose scenario is not known."""
    quick = " --quick" if mark.of.quick else ""
    out = shlex.quote(str(folder))
    return (
        f"with the scenario of {mark.of.name!r}: "
        f"`isthmus run FILE [KEY=VALUE]... --out {out} --seed {mark.of.seed}{quick}`"
    )


def keep_source(own: OwnedFolder, job: Job) -> None:
    """Write what a folder's run is of, so that the folder may be given in place of the scenario."""
    own.keep(SOURCE, Source.of(job).as_text(), KEY)


@contextmanager
def joined(
    job: Job, folder: Path, say: Callable[[str], None] = lambda _: None
) -> Iterator[OwnedFolder]:
    """Take up a run's folder beside other processes that do parts of it.

    Args:
        job: the whole run.
        folder: the folder that all parts of it have in common.
        say: told for whom it waits.

    Raises:
        IsthmusError: the folder cannot be used, or holds something else; the message says what
            differs.

    """
    with (
        _saying_what_differs(job, folder),
        OwnedFolder.joined(
            folder,
            job.identity,
            scenario=job.canonical,
            journal=(job.summary["points"], job.summary["searches"]),
            files=_files(job),
            say=say,
        ) as own,
    ):
        yield own


def refuse_unjoinable(job: Job, folder: Path) -> None:
    """Refuse a folder that `joined` would refuse; nothing is written.

    Raises:
        IsthmusError: as `joined`.

    """
    with _saying_what_differs(job, folder):
        OwnedFolder.refuse_unjoinable(
            folder, job.identity, scenario=job.canonical, files=_files(job)
        )


def _files(job: Job) -> dict[str, str]:
    """What all who join a run's folder are to find there."""
    return {SOURCE: Source.of(job).as_text(), SCENARIO: job.canonical}


@contextmanager
def _saying_what_differs(job: Job, folder: Path) -> Iterator[None]:
    try:
        yield
    except OtherwiseError:
        differs = Source.of(job).unlike(Source.read(folder))
        raise IsthmusError(
            f"{folder}: this run was begun with another title, text or changes ({differs}); give "
            f"the same, or `isthmus run {shlex.quote(str(folder))}` with what part, or another "
            "--out"
        ) from None
