"""Selection of the points and searches that a process does, as command options describe it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isthmus.arguments import shown
from isthmus.errors import IsthmusError
from isthmus.wording import counted

RANGES_MAX, OPTIONS_MAX = 8, 80
"""Maximum number of ranges of positions in a message, and of characters of command options."""
_NUMBER = "([0-9]{1,18})"
_RANGE = re.compile(f"{_NUMBER}(?::{_NUMBER})?")
_SHARE = re.compile("([0-9]{1,99})/([0-9]{1,99})")
"""Pattern of K/N, part K of N; if N exceeds the number of points, some parts are empty."""


Unit = tuple[str, int]
"""A unit of work of a sweep: ``point`` (one simulation) or ``search`` (for the saturation load), by
position.
"""


@dataclass(frozen=True)
class Selection:
    """The points and searches of a sweep that are selected, by position, each in order and once."""

    points: tuple[int, ...] = ()
    searches: tuple[int, ...] = ()

    def __len__(self) -> int:
        """Return the number of selected points and searches together."""
        return len(self.points) + len(self.searches)

    @property
    def words(self) -> str:
        """Return the count of units in words: ``3 points``, ``2 points and 1 search``."""
        points = counted(len(self.points), "point")
        if not self.searches:
            return points
        searches = counted(len(self.searches), "search", "searches")
        return f"{points} and {searches}" if self.points else searches

    def with_done(self, done: int) -> str:
        """Return the progress in words: ``3 of 4 points``, ``5 of 6 points and searches``."""
        if not (self.points and self.searches):
            return f"{done:,} of {self.words}"
        return f"{done:,} of {len(self):,} points and searches"

    @property
    def options(self) -> str:
        """Return the command options that select these points and searches; ``--part 1/1`` if they
        would be too long.
        """
        options = [f"--points {ranges(self.points)}"] if self.points else []
        options += [f"--searches {ranges(self.searches)}"] if self.searches else []
        words = " ".join(options)
        return words if len(words) <= OPTIONS_MAX else "--part 1/1"

    @property
    def units(self) -> list[Unit]:
        """Return all selected points and searches, each by kind and position, points first."""
        points = [("point", at) for at in self.points]
        return points + [("search", at) for at in self.searches]

    @classmethod
    def of(cls, units: Iterable[Unit]) -> Selection:
        """Return the selection of these points and searches."""
        all_ = sorted(units)
        points = tuple(at for kind, at in all_ if kind == "point")
        return cls(points, tuple(at for kind, at in all_ if kind == "search"))

    @classmethod
    def whole(cls, points: int, searches: int) -> Selection:
        """Return the selection of all points and searches of a run."""
        return cls(tuple(range(points)), tuple(range(searches)))

    @classmethod
    def share(cls, word: str, points: int, searches: int) -> Selection:
        """Return part K of the N parts of a run: every N-th point or search, from the K-th on.

        `word` is ``K/N``. Neighbouring points take similar times, so they go to different parts.

        Raises:
            IsthmusError: `word` is not such a part.

        """
        found = _SHARE.fullmatch(word)
        if found is None:
            raise IsthmusError(
                f"--part: {shown(word)} is no part; give K/N with 1 <= K <= N, as in 3/40"
            )
        part, parts = int(found[1]), int(found[2])
        if not 1 <= part <= parts:
            first = f"1/{parts} to {parts}/{parts}" if parts else "1/1"
            raise IsthmusError(
                f"--part: {word} is no part; give K/N with 1 <= K <= N, here {first}"
            )
        mine = range(part - 1, points + searches, parts)
        return cls(
            tuple(i for i in mine if i < points), tuple(i - points for i in mine if i >= points)
        )


def listed(option: str, words: str, count: int) -> tuple[int, ...]:
    """Parse a list of positions such as ``0:100,205``, which count from 0; a range excludes its
    end.

    Raises:
        IsthmusError: `words` is not such a list, or a position does not exist.

    """
    there = f"there are 0:{count}" if count else "there are none in this run"
    found: set[int] = set()
    for word in words.split(","):
        match = _RANGE.fullmatch(word.strip())
        if match is None:
            raise IsthmusError(
                f"{option}: {shown(word)} is no range; give numbers from 0 as in 0:100,205 (100 is "
                f"not included); {there}"
            )
        first = int(match[1])
        end = first + 1 if match[2] is None else int(match[2])
        if first >= count or end > count:
            raise IsthmusError(f"{option}: {word.strip()} is not there; {there}")
        if first == end:
            raise IsthmusError(
                f"{option}: {word.strip()} is empty, as the second number is not included; give "
                f"{first}:{end + 1} for {first} alone; {there}"
            )
        if first > end:
            raise IsthmusError(
                f"{option}: {word.strip()} ends before it begins; give {end}:{first}; {there}"
            )
        found.update(range(first, end))
    return tuple(sorted(found))


def shortened(positions: Sequence[int]) -> str:
    """Return positions as text: the first ranges, and how many more positions follow."""
    words = ranges(positions).split(",")
    if len(words) <= RANGES_MAX:
        return ",".join(words)
    head = ",".join(words[:RANGES_MAX])
    shown = len(listed("", head, max(positions) + 1))
    return f"{head} and {len(positions) - shown:,} more"


def ranges(positions: Iterable[int]) -> str:
    """Return positions as text that `listed` can parse, such as ``2,4:7`` for 2, 4, 5 and 6."""
    words: list[str] = []
    first = last = -2
    for at in [*sorted(positions), -1]:
        if at == last + 1:
            last = at
            continue
        if first >= 0:
            words.append(str(first) if first == last else f"{first}:{last + 1}")
        first = last = at
    return ",".join(words)
