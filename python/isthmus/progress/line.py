"""Formatting of the progress as one line of text, cut to a width."""

from __future__ import annotations

from isthmus.columns import columns, cut, flat
from isthmus.progress import Progress
from isthmus.wording import counted

BAR_WIDTH = (10, 30)
"""The minimum and maximum width of the bar within its line, in columns."""
SPEED_S = 0.5
"""The speed of a run is shown from this number of seconds of simulation on."""
TITLE_MIN = 8
"""The minimum width of the title in a progress line, in columns."""
STATE_MIN, STATE_MAX = 16, 50
"""Minimum and maximum width, in columns, of the text on other processes that compute a part of
the run.
"""
STATE_FIRST = 30
"""A time is shown beside the text on other processes only if the text has at least this width,
in columns.
"""
GAP = "  "
BLOCKS, HASHES = ("█", "░"), ("#", ".")
"""Characters for the done and the remaining part of the bar, in Unicode and in ASCII."""


class Pace:
    """The speed of a run, and the estimates that follow from it. Points that were finished
    earlier and are only read now do not count.
    """

    def __init__(self, now: float) -> None:
        """Start to measure the speed of a run; `now` is in seconds, of a monotonic clock."""
        self.progress = Progress()
        """The progress that was reported last."""
        self._began = now
        self._changed = now
        self._first: int | None = None
        self._done = 0
        self._speed = 0.0

    def update(self, progress: Progress, now: float) -> None:
        """Record new progress of the run; `now` is the time of a monotonic clock."""
        if progress.phase != self.progress.phase or progress.title != self.progress.title:
            self._began, self._changed, self._first, self._done = now, now, None, 0
        done = progress.points_done if progress.phase == "simulating" else progress.step
        if self._first is None:
            self._first = done
        if done - self._first > self._done:
            self._done, self._changed = done - self._first, now
        if progress.phase == "simulating" and now - self._began >= SPEED_S:
            self._speed = progress.messages / (now - self._began)
        self.progress = progress

    @property
    def speed(self) -> float:
        """Mean number of simulated messages per second since the simulation started."""
        return self._speed

    def spent_s(self, now: float) -> float:
        """Return the seconds since the present phase of the run started."""
        return now - self._began

    def left_s(self, now: float) -> float | None:
        """Return the estimated seconds until the end of the present phase; None while unknown.

        Finished points determine the pace. If the present point takes longer, the estimate assumes
        that it ends now.
        """
        progress = self.progress
        simulating = progress.phase == "simulating"
        done = progress.points_done if simulating else progress.step
        total = progress.points_total if simulating else progress.steps
        missing = total - done
        if self._done == 0 or missing < 0:
            return None
        each = (self._changed - self._began) / self._done
        at_best = (now - self._began) / (self._done + 1) * missing
        return max(each * missing - (now - self._changed), at_best)


def bar_line(pace: Pace, now: float, width: int, *, blocks: tuple[str, str] = BLOCKS) -> str:
    """Return one line of at most `width` columns: title, bar, phase, points, state or speed, and
    time left.

    Parts that do not fit are left out: first the title, then the speed, the time and the bar. If
    other processes do the run, their state has precedence: the phase is left out first, then the
    end of the state, and then the time.
    """
    progress = pace.progress
    parts = [f"{progress.phase:<10}"]
    if progress.steps:
        parts[0] = f"{progress.phase} {progress.step}/{progress.steps}"
    if total := progress.points_total:
        done = f"{progress.points_done:>{len(str(total))}}/{total}"
        parts.append(f"{done} {'point' if total == 1 else 'points'}")
    left = pace.left_s(now)
    clock = _clock(pace.spent_s(now)) if left is None else f"{_clock(left)} left"
    clock = f"{clock:<10}"
    most = width - BAR_WIDTH[0] - len(GAP)
    if state := cut(flat(progress.state), STATE_MAX):
        parts = _with_state(parts, state, clock, most)
    else:
        speed = [f"{_rate(pace.speed):>7} messages/s"] if pace.speed else []
        parts = _first_fitting([[*parts, *speed, clock], [*parts, clock], parts, parts[:1]], most)
    text = GAP.join(parts)
    room = width - columns(text) - len(GAP)
    if room < BAR_WIDTH[0]:
        return cut(text, max(width, 0)) if width > 0 else ""
    title = ""
    if progress.title and (free := room - max(BAR_WIDTH[0], room // 2) - len(GAP)) >= TITLE_MIN:
        title = cut(flat(progress.title), free) + GAP
    length = min(BAR_WIDTH[1], room - columns(title))
    return title + _bar(progress, length, blocks) + GAP + text


def _with_state(parts: list[str], state: str, clock: str, most: int) -> list[str]:
    """Return the parts of a progress line of at most `most` columns. The line contains `state`,
    a text on other processes that compute a part of the run, and `clock`, a time, if it fits.
    """
    short = parts[1:] or parts
    whole = [[*parts, state, clock], [*short, state, clock]]
    beside = most - columns(GAP.join([*short, "", clock]))
    if beside >= STATE_FIRST:
        whole.append([*short, cut(state, beside), clock])
    alone = most - columns(GAP.join([*short, ""]))
    if alone >= STATE_MIN:
        whole.append([*short, cut(state, alone)])
    return _first_fitting([*whole, parts, short], most)


def _first_fitting(choices: list[list[str]], most: int) -> list[str]:
    """Return the first of these lists of words for a progress line that fits into `most`
    columns, or the last list.
    """
    return next((each for each in choices if columns(GAP.join(each)) <= most), choices[-1])


def plain_line(pace: Pace, now: float) -> str:
    """Return the progress of a run as a line of text without a bar, for log files and simple
    terminals.
    """
    progress = pace.progress
    if progress.phase == "building":
        return f"building machines{f' of {cut(flat(progress.title))}' if progress.title else ''}"
    if progress.phase != "simulating":
        steps = f", {progress.step} of {progress.steps} done" if progress.step else ""
        return f"{progress.phase}{steps}"
    parts = [f"simulating, {progress.points_done} of {counted(progress.points_total, 'point')}"]
    if progress.state:
        parts.append(flat(progress.state))
    elif pace.speed:
        parts.append(f"{_rate(pace.speed)} messages/s")
    if (left := pace.left_s(now)) is not None and progress.points_done < progress.points_total:
        parts.append(f"{_clock(left)} left")
    return ", ".join(parts)


def share(progress: Progress) -> float:
    """Return the share of the present phase of a run that is finished, 0 to 1."""
    if progress.phase == "simulating":
        done, total = progress.points_done, progress.points_total
    else:
        done, total = progress.step, progress.steps
    return min(done / total, 1.0) if total else 0.0


def _bar(progress: Progress, length: int, blocks: tuple[str, str]) -> str:
    """Return a progress bar of `length` characters. `blocks` has the character of the done part
    and that of the remaining part.
    """
    full = int(share(progress) * length)
    return blocks[0] * full + blocks[1] * (length - full)


def _rate(per_second: float) -> str:
    """Return a rate as text with a prefix for the unit that follows: ``1.5 M``."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if per_second >= size:
            return f"{per_second / size:.1f}{letter}"
    return f"{per_second:.0f}"


def _clock(seconds: float) -> str:
    """Format a duration, for example as ``1:02:03`` or ``2:03``."""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    if hours:
        return f"{hours}:{minutes:02}:{whole % 60:02}"
    return f"{minutes}:{whole % 60:02}"
