"""A run as an array job of Slurm: packed, submitted, waited for, lost tasks again, collected."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from isthmus.errors import IsthmusError, RunFailedError
from isthmus.execution import Stopped
from isthmus.files import write_bytes
from isthmus.owned import OwnedFolder, read_mark
from isthmus.owned.lock import SUBMITTER, BusyError, held
from isthmus.owned.mark import SUBMITTED, sha256
from isthmus.progress import Progress
from isthmus.sweeps.selection import Selection
from isthmus.sweeps.shared import collect, missing
from isthmus.sweeps.slurm.control import CANCELLED, Array, Ended, Queue, Slurm, SlurmError
from isthmus.sweeps.slurm.costs import predicted
from isthmus.sweeps.slurm.packing import packed, tasks_for
from isthmus.sweeps.slurm.script import Script, Wanted
from isthmus.sweeps.source import joined
from isthmus.sweeps.state import lacking, state_of
from isthmus.wording import counted

if TYPE_CHECKING:
    from isthmus.execution import Job
    from isthmus.results.collection import Results

T = TypeVar("T")
SCRIPT, JOBS = f"{SUBMITTED}/array.sh", f"{SUBMITTED}/jobs.json"
"""Files below the folder: the script that was submitted last, and the jobs of all submissions."""
RESUBMITTED = 5
"""How often lost tasks are submitted again."""
LOOK_S, LOOK_MAX_S = 1.0, 15.0
"""Seconds between two looks at the queue: at first, and later."""
SLOWER = 1.1
"""How much later each look is than the one before."""
SILENT_S = 1800.0
"""Seconds without an answer of Slurm's controller, or in which it takes no lost tasks again, after
which waiting is given up."""
BUSY_S = 60.0
"""Seconds for which tasks that are over may still hold the folder."""
TICK_S = 0.2
SAID = 400
"""Most characters of what a task said last."""


class Detached(Exception):  # noqa: N818 - an interruption, not an error
    """Ctrl-C while an array is waited for: it goes on."""

    def __init__(self, array: Array, done: int, total: int) -> None:
        super().__init__(f"Slurm job {array} goes on")
        self.array, self.done, self.total = array, done, total


@dataclass
class Sweep:
    """A run that Slurm is to do, in a folder that all nodes see."""

    job: Job
    folder: Path
    wanted: Wanted
    note: Callable[[str], None] = print
    """Told what a user should know."""
    slurm: Slurm = field(default_factory=Slurm)

    def __post_init__(self) -> None:
        self.folder = self.folder.absolute()
        self.counts = self.job.summary["points"], self.job.summary["searches"]
        place = sha256(f"{self.folder.resolve()}\n{self.job.identity}".encode())[:8]
        plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in self.job.name)
        self.name = f"isthmus-{plain}-{place}"
        """Of its jobs: the same for the same run in the same folder."""
        self._largest: int | None = None

    @property
    def place(self) -> Path:
        """Where the script and the logs of tasks are."""
        return self.folder / SUBMITTED

    def script(self) -> Script | None:
        """What would be submitted now; None if nothing is missing. Nothing is written."""
        lacks = self._lacking()
        return self._packed(lacks, keep=False) if lacks else None

    def submitted(self, *, fresh: bool = False) -> Array | None:
        """The array that does what is missing, under way already or new; None if nothing is.

        Raises:
            SlurmError: there is no Slurm, or it refuses the job; then nothing is written.
            IsthmusError: the folder cannot be used.

        """
        self.slurm.check()
        begun = self.folder.is_dir() and read_mark(self.folder) is not None
        if begun and fresh:
            self._refuse_under_way()
        elif begun:
            self._join()
            if found := self._under_way():
                self.note(f"Slurm job {found} is at it already")
                return found
        lacks = Selection.whole(*self.counts) if fresh else self._lacking()
        if not lacks:
            return None
        self.slurm.test(self._script([lacks], None).as_text())
        if begun and fresh:
            with self._submitting():
                self._refuse_under_way()
                with self._held(fresh=True):
                    pass
        self._join()
        return self._submit(lacks)

    def finished(self, array: Array | None, plots: tuple[str, ...] = ()) -> Results:
        """Wait for it, submit again what is lost, and write the results.

        Raises:
            Detached: Ctrl-C; the array goes on.
            RunFailedError: not all could be done; the message says why.

        """
        rounds = 0
        while array is not None:
            self._wait(array)
            lacks = self._lacking()
            if not lacks:
                break
            why = self._worth_another_try(array, lacks, rounds)
            rounds += 1
            again = self._submit(lacks, array)
            if again is not None:
                self.note(
                    f"{counted(len(lacks), 'point')} of Slurm job {array} were lost ({why}); "
                    f"submitted again as job {again}"
                )
            array = again
        return self._collected(plots)

    def _lacking(self) -> Selection:
        return lacking(self.folder, *self.counts)

    def _packed(self, lacks: Selection, *, keep: bool = True) -> Script | None:
        """The script for what is missing; None if that was little enough to be done here."""
        self._largest = self.slurm.largest_array() or self._largest
        most = self._largest or len(lacks)
        wanted = self.wanted.tasks and min(self.wanted.tasks, most)
        if wanted and wanted >= len(lacks):
            # Each has a task of its own.
            return self._script([_selection([unit]) for unit in _units(lacks)], None)
        costs = dict(
            zip(_units(lacks), predicted(self.job, self.folder, lacks, keep=keep), strict=True)
        )
        if keep:
            # Some of it was done to know what the rest takes.
            lacks = self._lacking()
            if not lacks:
                return None
        units = _units(lacks)
        seconds = [costs[unit] for unit in units]
        threads = self.job.jobs
        tasks = wanted or min(tasks_for(seconds, threads, self.wanted.time_s), most)
        chosen, longest = [], 0.0
        for task in packed(seconds, tasks):
            chosen.append(_selection([units[at] for at in task]))
            longest = max(longest, sum(seconds[at] for at in task) / threads)
        return self._script(chosen, longest)

    def _script(self, tasks: list[Selection], about_s: float | None) -> Script:
        job = self.job
        return Script(self.name, self.folder, self.wanted, job.jobs, job.memory, tasks, about_s)

    def _join(self) -> None:
        """Make the folder that of the run, with what tasks need; one of another run is refused."""
        with joined(self.job, self.folder, self.note):
            pass

    def _held(self, *, fresh: bool = False) -> AbstractContextManager[OwnedFolder]:
        return OwnedFolder.opened(
            self.folder,
            self.job.identity,
            scenario=self.job.canonical,
            journal=self.counts,
            fresh=fresh,
        )

    def _under_way(self) -> Array | None:
        """The array of this run that is in Slurm's queue, if there is one, whoever submitted it."""
        jobs = _jobs(self.folder)
        if jobs and self.slurm.queue(jobs[-1]):
            return jobs[-1]
        # One whose number could not be written any more.
        return self.slurm.named(self.name)

    def _refuse_under_way(self) -> None:
        """Refuse to clear a folder in which an array is at work."""
        if found := self._under_way():
            raise IsthmusError(
                f"--fresh: Slurm job {found} is at work in {self.folder}; end it first, by "
                f"`{found.cancel}`, or leave --fresh out to wait for it"
            )

    def _submit(self, lacks: Selection, lost: Array | None = None) -> Array | None:
        """Submit what is missing; `lost` is the array whose tasks are submitted again."""
        script = self._packed(lacks)
        if script is None:
            return None
        text = script.as_text()
        if lost is None:
            return self._submit_text(text)
        return self._patiently(lambda: self._submit_text(text), lost)

    def _submit_text(self, text: str) -> Array | None:
        with self._submitting():
            # Another process may have been faster.
            if found := self._under_way():
                return found
            return self._submit_alone(text) if self._lacking() else None

    def _submitting(self) -> AbstractContextManager[None]:
        """Be the only one who submits."""
        return self._waited_for(lambda: held(self.folder, name=SUBMITTER), SILENT_S)

    def _submit_alone(self, text: str) -> Array:
        jobs = _jobs(self.folder)
        with (
            self._waited_for(self._held, BUSY_S) as own,
            own.part(SUBMITTED, sha256(text.encode())),
        ):
            own.write(SCRIPT, text, SUBMITTED)
            own.write(JOBS, _jobs_text(jobs), SUBMITTED, varies=True)
        # The folder is free again: tasks may begin before Slurm has answered.
        array, said = self.slurm.submit(text)
        write_bytes(self.folder / JOBS, _jobs_text([*jobs, array]).encode())
        if said:
            self.note(f"sbatch: {said}")
        return array

    @contextmanager
    def _waited_for(
        self, lock: Callable[[], AbstractContextManager[T]], patience_s: float
    ) -> Iterator[T]:
        """Hold a lock once whoever has it lets go of it."""
        give_up = time.monotonic() + patience_s
        with ExitStack() as stack:
            while True:
                try:
                    taken = stack.enter_context(lock())
                    break
                except BusyError:
                    if time.monotonic() > give_up:
                        raise
                    time.sleep(TICK_S)
            yield taken

    def _patiently(self, submit: Callable[[], Array | None], lost: Array) -> Array | None:
        """Try again and again for as long as Slurm is waited for elsewhere.

        Raises:
            RunFailedError: it has taken nothing meanwhile.
            Stopped: Ctrl-C.

        """
        total = sum(self.counts)
        began, look_s, said = time.monotonic(), LOOK_S, False
        while True:
            try:
                return submit()
            except SlurmError as error:
                trouble = str(error)
                if time.monotonic() - began > SILENT_S:
                    raise RunFailedError(
                        f"Slurm has not taken the lost points of job {lost} for "
                        f"{SILENT_S / 60:.0f} min ({trouble}); run the same command again"
                    ) from error
            if not said:
                said = True
                self.note(
                    f"the lost points of Slurm job {lost} cannot be submitted now ({trouble}); "
                    f"tried again for {SILENT_S / 60:.0f} min"
                )
            next_try, look_s = time.monotonic() + look_s, min(look_s * SLOWER, LOOK_MAX_S)
            done = total - len(self._lacking())
            try:
                while time.monotonic() < next_try:
                    title = self.job.title or self.job.name
                    self.job.watch(Progress("simulating", done, total, title=title, state=trouble))
                    time.sleep(TICK_S)
            except KeyboardInterrupt:
                raise Stopped((done, total)) from None

    def _wait(self, array: Array) -> None:
        """Wait until nothing of the array is in the queue."""
        total = sum(self.counts)
        done, look_s, answered = 0, LOOK_S, time.monotonic()
        next_look = next_count = 0.0
        queue, trouble = Queue(), ""
        try:
            while True:
                now = time.monotonic()
                if now >= next_count:
                    done = total - len(self._lacking())
                    # Large folders of slow file systems are not asked all the time.
                    next_count = now + max(1.0, 20 * (time.monotonic() - now))
                if now >= next_look:
                    try:
                        queue, trouble, answered = self.slurm.queue(array), "", now
                        if not queue:
                            return
                    except SlurmError as error:
                        trouble = str(error)
                        if now - answered > SILENT_S:
                            raise self._unheard(array, trouble) from error
                    look_s = LOOK_S if done == total else min(look_s * SLOWER, LOOK_MAX_S)
                    next_look = now + look_s
                title, state = self.job.title or self.job.name, _told(array, queue, trouble)
                self.job.watch(Progress("simulating", done, total, title=title, state=state))
                time.sleep(TICK_S)
        except KeyboardInterrupt:
            raise Detached(array, done, total) from None

    def _worth_another_try(self, array: Array, lacks: Selection, rounds: int) -> str:
        """Why points are missing, if they may be done in another try.

        Raises:
            RunFailedError: they are not to be tried again.

        """
        ended = self.slurm.ended(array)
        bad = [task for task in ended if task.state != "COMPLETED"]
        why = _summary(bad) or "Slurm knows no more of it"
        if was_cancelled(ended):
            raise self._failed(lacks, f"Slurm job {array} was cancelled")
        tasks, began_s = self._submitted_last()
        # What failed before is tried once more.
        failed = {f.entry for f in state_of(self.folder).failed if f.at_s >= began_s}
        lost = [f"{kind}-{at:05}" for kind, at in _units(lacks)]
        # A task that Slurm has forgotten may have been lost.
        all_known = tasks is not None and len(ended) >= tasks
        ended_themselves = all_known and not any(task.lost for task in bad)
        if all(name in failed for name in lost) or ended_themselves:
            raise self._failed(lacks, f"Slurm job {array}: {why}{self._last_words(array, bad)}")
        if rounds == RESUBMITTED:
            raise self._failed(
                lacks, f"lost {rounds + 1} times, at last in Slurm job {array}: {why}"
            )
        return why

    def _submitted_last(self) -> tuple[int | None, float]:
        """How many tasks the array has that was submitted last, None if that is not known, and when
        its script was written, in seconds since 1970 by the folder's clock.
        """
        path = self.folder / SCRIPT
        try:
            script, began_s = path.read_text(encoding="utf-8"), path.stat().st_mtime
        except FileNotFoundError:
            return None, 0.0
        last = re.search(r"^#SBATCH --array=0-(\d+)", script, re.MULTILINE)
        return (int(last[1]) + 1 if last else None), began_s

    def _failed(self, lacks: Selection, why: str) -> RunFailedError:
        return RunFailedError(f"{why}; {missing(self.folder, lacks)}")

    def _last_words(self, array: Array, tasks: list[Ended]) -> str:
        """What the first of these tasks that ended by itself has said last."""
        if not tasks:
            return ""
        tasks = sorted(tasks, key=lambda task: (task.lost, task.task))
        log = self.folder / SUBMITTED / f"{array.number}_{tasks[0].task}.log"
        try:
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except FileNotFoundError:
            return f", and left no {log}: do all nodes see this folder?"
        except OSError as error:
            return f", and {log} cannot be read ({error.strerror})"
        return f": {lines[-1][-SAID:]} ({log})" if lines else f" and said nothing ({log})"

    def _unheard(self, array: Array, trouble: str) -> RunFailedError:
        return RunFailedError(
            f"Slurm has not answered for {SILENT_S / 60:.0f} min ({trouble}); job {array} may go "
            "on: run the same command again to wait for it"
        )

    def _collected(self, plots: tuple[str, ...]) -> Results:
        give_up = time.monotonic() + BUSY_S
        while True:
            try:
                return collect(self.folder, self.job, plots)
            except BusyError:
                # The last tasks are about to end.
                if time.monotonic() > give_up:
                    raise
                time.sleep(TICK_S)


def _units(selection: Selection) -> list[tuple[str, int]]:
    points = [("point", at) for at in selection.points]
    return points + [("search", at) for at in selection.searches]


def _selection(units: list[tuple[str, int]]) -> Selection:
    points = sorted(at for kind, at in units if kind == "point")
    return Selection(tuple(points), tuple(sorted(at for kind, at in units if kind == "search")))


def _jobs(folder: Path) -> list[Array]:
    """The jobs that were submitted for a folder; none where nothing whole is written."""
    try:
        told = json.loads((folder / JOBS).read_bytes())
        return [Array(str(each["number"]), str(each["cluster"])) for each in told]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def _jobs_text(jobs: list[Array]) -> str:
    return json.dumps([{"number": job.number, "cluster": job.cluster} for job in jobs]) + "\n"


def _told(array: Array, queue: Queue, trouble: str) -> str:
    """How an array does, in a few words."""
    if trouble:
        return f"Slurm job {array}: {trouble}"
    words = [f"{queue.running} running"] if queue.running else []
    if queue.waiting:
        reasons = ", ".join(queue.reasons[:2])
        words.append(
            f"{queue.waiting} waiting ({reasons})" if reasons else f"{queue.waiting} waiting"
        )
    return f"Slurm job {array}: {', '.join(words)}" if words else f"Slurm job {array}"


def was_cancelled(ended: list[Ended]) -> bool:
    """Whether an array was cancelled as a whole: then no task of it goes on after the others."""
    cancelled = [task.at for task in ended if task.state == CANCELLED]
    return bool(cancelled) and max(cancelled) == max(task.at for task in ended)


def _summary(tasks: list[Ended]) -> str:
    """Why tasks are over that should not be, each reason once."""
    of = Counter(task.reason for task in tasks)
    named = {reason: next(t.task for t in tasks if t.reason == reason) for reason in of}
    words = [
        f"task {named[reason]}: {reason}"
        if count == 1
        else f"{count} tasks, {named[reason]} first: {reason}"
        for reason, count in of.most_common(3)
    ]
    return ", ".join(words)
