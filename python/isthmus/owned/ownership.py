"""Ownership of a folder: reading its mark, and the errors for a folder of somebody else."""

from __future__ import annotations

import re
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from isthmus.errors import IsthmusError
from isthmus.files import telling_of
from isthmus.owned.difference import differences
from isthmus.owned.lock import LOCK, SUBMITTER
from isthmus.owned.mark import (
    ADOPTED,
    HEADER,
    JOURNAL,
    MARK,
    MISSING_MARK_ADVICE,
    RESULT,
    Identity,
    Mark,
    Written,
    read_mark,
)

NAMED = 4
"""Maximum number of the user's files that an error names."""
PART = re.compile(r"\.(?P<name>.+)\.\d+\.[0-9a-f]{16}\.part")
"""Pattern of the temporary name of a file that is being written; `name` is its final name."""
_OLD = (RESULT, "provenance.json", JOURNAL)
"""Files of isthmus 0.1, whose folders have no mark."""


def mark_or_refuse(path: Path, identity: Identity, adopt: Collection[str] = ()) -> Mark | None:
    """Return the mark, the file by which isthmus marks a folder of results as its own. Return None
    if there is none, but isthmus may mark the folder.

    The folder may be marked if it is empty, or holds only the journal of this run.

    Raises:
        IsthmusError: the folder has no mark and holds other files.

    """
    # List the files before reading the mark: another process may be marking the folder.
    with telling_of(path, "cannot be read"):
        names = sorted(entry.name for entry in path.iterdir())
        mark = read_mark(path)
    if mark is not None:
        return mark
    marks = [name for name in names if (base := PART.fullmatch(name)) and base["name"] == MARK]
    foreign = [name for name in names if name not in (LOCK, SUBMITTER, MARK, *marks, *adopt)]
    goes_on = JOURNAL in foreign and _is_journal(path / JOURNAL, identity)
    if not foreign or (goes_on and foreign == [JOURNAL]):
        return None
    shown = ", ".join(foreign[:NAMED])
    more = f" and {len(foreign) - NAMED} more" if len(foreign) > NAMED else ""
    if goes_on:
        raise IsthmusError(
            f"{path}: holds points of this run without a mark of isthmus ({shown}{more}); "
            f"{MISSING_MARK_ADVICE}"
        )
    if not adopt and any(name in names for name in _OLD):
        raise IsthmusError(
            f"{path}: holds files without a mark of isthmus ({shown}{more}); results of early "
            "builds have none; move the folder away, or give another --out"
        )
    raise IsthmusError(
        f"{path}: holds files that isthmus did not write ({shown}{more}); give a folder of its own"
    )


def _is_journal(path: Path, identity: Identity) -> bool:
    """Return whether a folder is the journal of this run."""
    from isthmus import _core

    run = identity.digest, identity.seed, identity.quick, identity.version
    with suppress(OSError):
        head = path.parent / HEADER
        there = stat.S_ISDIR(path.lstat().st_mode) and stat.S_ISREG(head.lstat().st_mode)
        return there and not _core.journal_flaws(str(path), *run, [head.stem])
    return False


def mismatches(there: Identity, here: Identity, scenarios: tuple[str, str]) -> Iterator[str]:
    """Describe how the results in a folder differ from those of another run.

    Args:
        there: identity of the results in the folder.
        here: identity of the other run.
        scenarios: effective scenarios of both, or empty texts.

    """
    if there.kind != here.kind:
        yield f"of another kind ({there.kind})"
        return
    if there.version != here.version:
        yield f"of isthmus {there.version}, not {here.version}"
    if there.digest != here.digest:
        fields = differences(*scenarios)
        yield f"of another scenario ({there.name}{': ' if fields else ''}{fields})"
    if there.seed != here.seed:
        yield f"with seed {there.seed}, not {here.seed}"
    if there.quick != here.quick:
        kinds = ("quick", "full") if there.quick else ("full", "quick")
        yield "of a {} run, not a {} one".format(*kinds)
    if replace(there, name=here.name) == here:
        yield f"of {there.name}"


def changed(place: Path, written: Written, *, replaceable: bool = True) -> IsthmusError:
    """Return an error for a listed file that has changed, with advice on what to do.

    The advice includes --fresh if the folder is `replaceable`.
    """
    if written.part == ADOPTED:
        return IsthmusError(
            f"{place}: changed since `isthmus report` took it over; put it back as it was, or move "
            "it to an empty folder and report there"
        )
    if place.name == RESULT:
        what = "damaged result: not the numbers that isthmus wrote"
    else:
        what = "changed since isthmus wrote it"
    if written.part == "result":
        right = "move it away and give the command again to have it written again"
    else:
        right = "move it away to have it made again"
    if replaceable:
        right += ", or run with --fresh"
    return IsthmusError(f"{place}: {what}; {right}")
