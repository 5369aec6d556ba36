"""The scenario and the options of the run in a folder, written there as its *source*, so that all
processes that do parts of the run use the same input.
"""

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
from isthmus.owned.folder import MismatchError
from isthmus.owned.mark import SCENARIO, Mark, sha256
from isthmus.owned.mark import SOURCE as KEY

if TYPE_CHECKING:
    from isthmus.execution import Job

SOURCE = "run.json"
"""Name of the file that stores the source of a run (its scenario and options) in its folder."""
VALUE_MAX = 60
"""The maximum width of a line or of overrides in an error, in columns."""


@dataclass(frozen=True)
class Source:
    """The source of a run, kept in its folder: the scenario's text and the options of the run."""

    file: str = field(compare=False)
    text: str
    overrides: tuple[str, ...]
    seed: int | None
    quick: bool

    @classmethod
    def of(cls, job: Job) -> Source:
        """Return the source of a run from its job object."""
        return cls(job.file, job.text, tuple(job.overrides), job.seed, job.quick)

    @classmethod
    def read(cls, folder: Path) -> Source:
        """Read the source of a folder's run.

        Raises:
            IsthmusError: the folder is not that of a run in parts, or its source file has changed.

        """
        mark = read_mark(folder) if folder.is_dir() else None
        if mark is None or not mark.points + mark.searches:
            raise IsthmusError(f"{folder}: no folder of a run; give that of `isthmus run --out`")
        written = mark.files.get(SOURCE)
        if written is None or not (folder / SOURCE).is_file():
            gone = "is not there any more" if written else "was never written"
            raise IsthmusError(
                f"{folder}: what is run here is not known ({SOURCE} {gone}); go on as it was "
                f"started, {_command(mark, folder)}"
            )
        with telling_of(folder / SOURCE, "cannot be read"):
            data = (folder / SOURCE).read_bytes()
        if sha256(data) != written.sha256:
            raise IsthmusError(
                f"{folder / SOURCE}: changed since isthmus wrote it; put it back as it was, or "
                f"move it away and go on as it was started, {_command(mark, folder)}"
            )
        content: dict[str, Any] = json.loads(data)
        overrides = tuple(content.pop("overrides"))
        return cls(file=str(folder), overrides=overrides, **content)

    def as_text(self) -> str:
        """Return the content of the source file."""
        content = {
            "text": self.text,
            "overrides": list(self.overrides),
            "seed": self.seed,
            "quick": self.quick,
        }
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

    def difference(self, kept: Source) -> str:
        """Describe how scenario and options of this run differ from those stored in the folder."""
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
    """Return a value of a source as text of at most `VALUE_MAX` columns, or ``none``."""
    return f"`{cut(text, VALUE_MAX)}`" if text else "none"


def _command(mark: Mark, folder: Path) -> str:
    """Return the isthmus command that continues the run of a folder whose scenario is unknown."""
    quick = " --quick" if mark.identity.quick else ""
    out = shlex.quote(str(folder))
    return (
        f"with the scenario of {mark.identity.name!r}: "
        f"`isthmus run FILE [KEY=VALUE]... --out {out} --seed {mark.identity.seed}{quick}`"
    )


def keep_source(own: OwnedFolder, job: Job) -> None:
    """Write the source of a run to its folder, so that users may name the folder in place of the
    scenario.
    """
    own.keep(SOURCE, Source.of(job).as_text(), KEY)


@contextmanager
def joined(
    job: Job, folder: Path, say: Callable[[str], None] = lambda _: None
) -> Iterator[OwnedFolder]:
    """Open a folder in which several processes do parts of the same run, and yield it.

    Args:
        job: the whole run.
        folder: the folder that all parts share.
        say: called with the name of the process that this one waits for.

    Raises:
        IsthmusError: the folder cannot be used, or holds another run; the message describes the
            difference.

    """
    with (
        _explaining_mismatch(job, folder),
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
    """Refuse a folder that `joined` would refuse, without writing there.

    Raises:
        IsthmusError: as `joined`.

    """
    with _explaining_mismatch(job, folder):
        OwnedFolder.refuse_unjoinable(
            folder, job.identity, scenario=job.canonical, files=_files(job)
        )


def _files(job: Job) -> dict[str, str]:
    """Return the files, by name, that every process that joins the run's folder must find there."""
    return {SOURCE: Source.of(job).as_text(), SCENARIO: job.canonical}


@contextmanager
def _explaining_mismatch(job: Job, folder: Path) -> Iterator[None]:
    """In a ``with`` block, replace a `MismatchError` by an error that says how the scenario and the
    options of `job` differ from those of the run in `folder`.
    """
    try:
        yield
    except MismatchError:
        differs = Source.of(job).difference(Source.read(folder))
        raise IsthmusError(
            f"{folder}: this run was started with another title, text or changes ({differs}); give "
            f"the same, or `isthmus run {shlex.quote(str(folder))}` with what part, or another "
            "--out"
        ) from None
