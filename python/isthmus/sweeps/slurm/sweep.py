"""A run as an array job of Slurm: pack, submit, wait, submit lost tasks again, collect."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.errors import IsthmusError, RunFailedError
from isthmus.owned import OwnedFolder, read_mark
from isthmus.owned.lock import SUBMITTER, BusyError, hold
from isthmus.owned.mark import JOURNAL, SUBMITTED
from isthmus.sweeps.selection import Selection
from isthmus.sweeps.shared import collect, missing_error
from isthmus.sweeps.slurm.control import (
    Array,
    Ended,
    NoCommandError,
    Slurm,
    SlurmError,
    UnansweredError,
)
from isthmus.sweeps.slurm.costs import predicted
from isthmus.sweeps.slurm.jobs import (
    Submission,
    jobs_of,
    keep_jobs,
    keep_script,
    name_of,
    under_way,
)
from isthmus.sweeps.slurm.monitor import COUNT_S, Monitor
from isthmus.sweeps.slurm.packing import packed, tasks_for
from isthmus.sweeps.slurm.script import Script, Wanted, refuse_odd
from isthmus.sweeps.slurm.signals import Deferred, deferred
from isthmus.sweeps.slurm.verdict import EndedArray, was_cancelled
from isthmus.sweeps.slurm.waiting import (
    LOOK_MAX_S,
    LOOK_S,
    SILENT_S,
    SLOWER,
    Detached,
    answer_of,
    no_answer,
    wait_until_ended,
)
from isthmus.sweeps.source import joined, refuse_unjoinable
from isthmus.sweeps.state import state_of

if TYPE_CHECKING:
    from isthmus.execution import Job
    from isthmus.results.collection import Results

RESUBMITTED = 5
"""Maximum number of times that the points and searches of lost tasks are submitted again."""
LATE_S = 60.0
"""Seconds within which points that other nodes have completed must appear in the folder."""
BUSY_S = 60.0
"""Seconds to wait for the folder while another process or an ending task uses it."""


@dataclass
class Sweep:
    """A run whose points and searches Slurm jobs do, in a folder that all nodes share."""

    job: Job
    folder: Path
    wanted: Wanted
    note: Callable[[str], None] = print
    """Function that shows a text to the user; ``print`` by default."""
    slurm: Slurm = field(default_factory=Slurm)

    def __post_init__(self) -> None:
        """Check the folder, and derive the name and the clusters of the jobs."""
        self.folder = self.folder.absolute()
        refuse_odd(self.folder)
        self.monitor = Monitor(self.job, self.folder)
        self.counts = self.monitor.counts
        self.name = name_of(self.job.name, self.folder, self.job.identity)
        """Name of the Slurm jobs. The same run gets the same name again in the same folder."""
        self.clusters = self.wanted.clusters or self.slurm.clusters
        self._largest: int | None = None

    @property
    def place(self) -> Path:
        """Return the folder that holds the job script and the logs of tasks."""
        return self.folder / SUBMITTED

    def script(self, *, fresh: bool = False) -> Script | None:
        """Return the script that would be submitted now; None if no point or search is missing.
        Nothing is written.

        Raises:
            IsthmusError: the folder cannot be used.

        """
        if fresh and self._is_started:
            OwnedFolder.refuse_unclearable(self.folder, self.job.identity)
            todo = Selection.whole(*self.counts)
        else:
            refuse_unjoinable(self.job, self.folder)
            todo = self.monitor.missing()
        if todo:
            return self._packed(todo, keep=False, known=not fresh)
        self._refuse_damaged()
        return None

    def _refuse_damaged(self) -> None:
        """Refuse a folder whose results cannot be collected, although no point or search is
        missing.

        Raises:
            IsthmusError: an entry is damaged; `collect` raises the same error.

        """
        if self.job.is_final(self.folder):
            return
        if damaged := state_of(self.folder).damaged:
            file = self.folder / JOURNAL / f"{damaged[0].entry}.json"
            status = f"`isthmus status {shlex.quote(str(self.folder))}`"
            raise IsthmusError(f"{file}: {damaged[0].reason}; {status} says what to do")

    def submitted(self, *, fresh: bool = False) -> Array | None:
        """Return the array that runs the missing points and searches, submitted if necessary; None
        if none is missing.

        Raises:
            SlurmError: Slurm is not installed, or refuses the job. Nothing is written before Slurm
                has agreed to take it.
            IsthmusError: the folder cannot be used.
            Detached: Ctrl-C while `sbatch` was running; the array continues.

        """
        self.slurm.check()
        started = self._is_started
        if started and fresh:
            self._refuse_under_way()
        elif started:
            self._join()
            if found := self._found():
                self.note(f"Slurm job {found} is at it already")
                self._adopt(found)
                return found
        else:
            refuse_unjoinable(self.job, self.folder)
        todo = Selection.whole(*self.counts) if fresh else self.monitor.missing()
        if not todo:
            return None
        asked = "Slurm: asked whether it takes the job"
        like = self._script([todo], None)
        self.slurm.test(like.as_text(), like.options, lambda: self.monitor.show(asked))
        if started and fresh:
            with self._submitting():
                self._refuse_under_way()
                with self._emptied():
                    pass
        self._join()
        return self._submit(todo)

    def finished(self, array: Array | None, plots: tuple[str, ...] = ()) -> Results:
        """Wait for a Slurm job array, submit lost tasks again, and write the results.

        Raises:
            Detached: Ctrl-C; the array continues.
            RunFailedError: some units could not be done; the message explains why.

        """
        rounds, unseen = 0, False
        while array is not None:
            wait_until_ended(array, self.slurm, self.monitor, self.note, self.name)
            end = self._ended_array(array)
            if not end.missing:
                break
            self._refuse_futile(end, rounds, unseen=unseen)
            rounds, unseen = rounds + 1, end.ended_well
            again = self._submit_again(end)
            if again is not None:
                verb = "was" if len(end.missing) == 1 else "were"
                self.note(
                    f"{end.missing.words} of Slurm job {array} {verb} lost ({end.why}); submitted "
                    f"again as job {again}"
                )
            array = again
        return self._collected(plots)

    @property
    def _is_started(self) -> bool:
        """Whether the folder already belongs to a run of isthmus."""
        return self.folder.is_dir() and read_mark(self.folder) is not None

    def _packed(self, todo: Selection, *, keep: bool = True, known: bool = True) -> Script | None:
        """Return the job script for missing points and searches.

        Return None if the sample run, which measures durations, has done all of them.
        """
        largest = answer_of(
            self.slurm.largest_array, self.monitor, "Slurm: asked how many tasks it takes"
        )
        self._largest = largest or self._largest
        most = self._largest or len(todo)
        wanted = self.wanted.tasks and min(self.wanted.tasks, most)
        if wanted and wanted >= len(todo):
            # Give each point or search a task of its own.
            return self._script([Selection.of([unit]) for unit in todo.units], None)
        expected = predicted(
            self.job,
            self.folder,
            todo,
            keep=keep,
            known=known,
            expiry_s=self.wanted.expiry_s,
        )
        costs = dict(zip(todo.units, expected, strict=True))
        if keep:
            # Read the missing units again, because the sample has run some of them.
            todo = self.monitor.missing()
            if not todo:
                return None
        left = todo.units
        seconds = [costs[unit] for unit in left]
        threads = self.job.jobs
        tasks = wanted or min(tasks_for(seconds, threads, self.wanted.time_s), most)
        chosen, longest = [], 0.0
        for task in packed(seconds, tasks):
            chosen.append(Selection.of([left[at] for at in task]))
            longest = max(longest, sum(seconds[at] for at in task) / threads)
        return self._script(chosen, longest)

    def _script(self, tasks: list[Selection], about_s: float | None) -> Script:
        """Return the job script of a Slurm array with these tasks."""
        job = self.job
        return Script(self.name, self.folder, self.wanted, job.jobs, job.memory, tasks, about_s)

    def _joined(self) -> AbstractContextManager[OwnedFolder]:
        """Join the folder beside other processes that do parts of the run."""
        return joined(self.job, self.folder, self.note)

    def _join(self) -> None:
        """Mark the folder as that of the run; refuse a folder of another run."""
        with self._joined():
            pass

    def _emptied(self) -> AbstractContextManager[OwnedFolder]:
        """Open the folder and remove the files of an earlier run."""
        return OwnedFolder.opened(
            self.folder,
            self.job.identity,
            scenario=self.job.canonical,
            journal=self.counts,
            fresh=True,
        )

    def _under_way(self) -> Array | None:
        """Return the Slurm job array that works on this run or waits in the queue; None if none
        does.

        Any user may have submitted it.
        """
        return answer_of(
            lambda: under_way(self.folder, self.slurm, self.name, self.clusters),
            self.monitor,
            "Slurm: asked for a job of this run",
        )

    def _found(self) -> Array | None:
        """Return the Slurm job array that works on this run or waits in the queue, if any.

        While Slurm does not answer, repeat the query if a job was submitted before.
        """
        began, look_s, said = time.monotonic(), LOOK_S, False
        while True:
            try:
                return self._under_way()
            except SlurmError as error:
                again = bool(jobs_of(self.folder)) and not isinstance(error, NoCommandError)
                if not again or time.monotonic() - began > SILENT_S:
                    raise
                if not said:
                    said = True
                    self.note(
                        f"Slurm does not say whether a job is at it already ({error}); asked "
                        f"again for {SILENT_S / 60:.0f} min"
                    )
                self.monitor.wait(look_s, no_answer(str(error)))
                look_s = min(look_s * SLOWER, LOOK_MAX_S)

    def _adopt(self, array: Array) -> None:
        """Record a job that a user submitted by hand, so that `isthmus status` knows it.

        Another process that holds the lock records it instead.
        """
        with suppress(BusyError), hold(self.folder, name=SUBMITTER):
            jobs = [each for each in jobs_of(self.folder) if each.array]
            if any(each.array == array for each in jobs):
                return
            with self._joined() as own:
                keep_jobs(own, [*jobs, Submission(self.name, None, self.clusters, array=array)])

    def _refuse_under_way(self) -> None:
        """Refuse to clear a folder while a Slurm job array still works in it."""
        if found := self._under_way():
            raise IsthmusError(
                f"--fresh: Slurm job {found} is at work in {self.folder}; end it first, by "
                f"`{found.cancel}`, or leave --fresh out to wait for it"
            )

    def _submit(self, todo: Selection) -> Array | None:
        """Submit missing points and searches; return None if none is missing any more."""
        script = self._packed(todo)
        return self._submit_script(script) if script else None

    def _submit_script(self, script: Script) -> Array | None:
        """Submit a job script, and return its Slurm array.

        If an array is already at work, return that one. Return None if nothing is missing any more.
        """
        with self._submitting():
            # Another process may have submitted an array meanwhile.
            if found := self._under_way():
                return found
            return self._submit_alone(script) if self.monitor.missing() else None

    @contextmanager
    def _submitting(self) -> Iterator[None]:
        """Hold the lock for the submission of jobs; wait for a process that holds it."""
        give_up = time.monotonic() + SILENT_S
        with ExitStack() as stack:
            while True:
                try:
                    stack.enter_context(hold(self.folder, name=SUBMITTER))
                    break
                except BusyError as busy:
                    if time.monotonic() > give_up:
                        raise
                    self.monitor.tick(f"{_waiting_text(busy)}, which submits")
            yield

    def _submit_alone(self, script: Script) -> Array:
        """Submit a script, under the lock of submissions only: processes that do parts can use the
        folder while `sbatch` runs.
        """
        text = script.as_text()
        before = [each for each in jobs_of(self.folder) if each.array]
        new = Submission(self.name, len(script.tasks), self.clusters)
        with self._joined() as own:
            if said := keep_script(own, text):
                self.note(said)
            new = replace(new, submitted_s=keep_jobs(own, [*before, new]))
        array = None
        try:
            with deferred() as interrupted:
                try:
                    array, said = self.slurm.submit(
                        text, script.options, self._tick_function(interrupted)
                    )
                except UnansweredError:
                    said = ""
                    with suppress(SlurmError):
                        array = self._under_way()
                    if array is None:
                        raise
                self._keep_number([*before, replace(new, array=array)], interrupted)
        except KeyboardInterrupt:
            if array is None:
                raise
            self.monitor.missing()
            raise Detached(array, self.monitor.done, self.monitor.total) from None
        except IsthmusError as error:
            if array is None:
                raise
            # Another run has taken the folder since the job was submitted.
            raise IsthmusError(
                f"{error}; Slurm job {array} was submitted all the same: `{array.cancel}` ends it"
            ) from error
        if said:
            self.note(f"sbatch: {said}")
        return array

    def _tick_function(self, interrupted: Deferred) -> Callable[[], None]:
        """Return the function to call while `sbatch` runs; it shows the progress."""
        said = False

        def tick() -> None:
            """Show the progress while `sbatch` runs, and report a first Ctrl-C once."""
            nonlocal said
            if interrupted.received and not said:
                said = True
                self.note(
                    "interrupted; sbatch is asked to the end, as it may have submitted the job; "
                    "once more leaves it alone, and the same command then finds the job"
                )
            self.monitor.show("Slurm: sbatch is asked")

        return tick

    def _keep_number(self, jobs: list[Submission], interrupted: Deferred) -> None:
        """Record the number of a submitted job.

        If another process holds the folder for long the number is left out: the job is found by its
        name.
        """
        give_up = time.monotonic() + BUSY_S
        while True:
            try:
                with self._joined() as own:
                    keep_jobs(own, jobs)
                return
            except BusyError:
                if interrupted.received or time.monotonic() > give_up:
                    return
                self.monitor.tick("Slurm: the job is submitted")

    def _submit_again(self, end: EndedArray) -> Array | None:
        """Submit the points and searches that an array has not done; return None if none is missing
        any more.

        While Slurm does not answer, ask again for up to `SILENT_S`. Wait for a process that does
        the whole run.

        Raises:
            RunFailedError: Slurm has not accepted the job in time.
            Stopped: Ctrl-C.

        """
        lost = end.array
        began, look_s, said = time.monotonic(), LOOK_S, False
        try:
            while todo := self.monitor.missing():
                try:
                    return self._submit(todo)
                except BusyError as error:
                    # Wait for the process that uses the folder: it does the missing points, or
                    # ends.
                    began, state = time.monotonic(), _waiting_text(error)
                except SlurmError as error:
                    state = no_answer(str(error))
                    if time.monotonic() - began > SILENT_S:
                        raise RunFailedError(
                            f"Slurm has not taken the lost points of job {lost} for "
                            f"{SILENT_S / 60:.0f} min ({error}); run the same command again"
                        ) from error
                    if not said:
                        said = True
                        self.note(
                            f"the lost points of Slurm job {lost} cannot be submitted now "
                            f"({error}); tried again for {SILENT_S / 60:.0f} min"
                        )
                self.monitor.wait(look_s, state)
                look_s = min(look_s * SLOWER, LOOK_MAX_S)
        except KeyboardInterrupt:
            raise self.monitor.stopped() from None
        return None

    def _ended_array(self, array: Array) -> EndedArray:
        """Return the outcome of a Slurm job array that has ended.

        If its tasks completed, wait for a while until their points appear in the folder.
        """
        give_up = time.monotonic() + LATE_S
        try:
            todo = self.monitor.missing()
            ended = (
                answer_of(
                    lambda: self.slurm.ended(array),
                    self.monitor,
                    f"Slurm: asked how job {array} ended",
                )
                if todo
                else []
            )
            while True:
                end = self._outcome(array, ended, todo)
                if not todo or not end.may_be_late or time.monotonic() > give_up:
                    return end
                self.monitor.wait(
                    COUNT_S, f"Slurm: over, its last points are looked for, job {array}"
                )
                todo = self.monitor.missing()
        except KeyboardInterrupt:
            raise self.monitor.stopped() from None

    def _outcome(self, array: Array, ended: list[Ended], todo: Selection) -> EndedArray:
        """Return the outcome of an array, from the present content of the folder."""
        jobs = jobs_of(self.folder)
        own = next((job for job in jobs if job.array == array), None)
        last = own or (jobs[-1] if jobs else None)
        # Points and searches that failed in an earlier job are tried once more, so only failures
        # since the last submission count as new.
        failed = state_of(self.folder).failed if todo else []
        since_s = last.submitted_s if last else 0.0
        new = {each.entry for each in failed if each.at_s >= since_s}
        return EndedArray(array, ended, own.tasks if own else None, todo, new)

    def _refuse_futile(self, end: EndedArray, rounds: int, *, unseen: bool) -> None:
        """Refuse to submit an array again if the outcome would be the same.

        Raises:
            RunFailedError: the message explains why some units could not be done.

        """
        array = end.array
        if was_cancelled(end.ended):
            raise self._failed(end, f"Slurm job {array} was cancelled")
        if end.explained or end.ended_themselves:
            raise self._failed(end, f"Slurm job {array}: {end.why}{end.last_words(self.folder)}")
        if unseen and end.ended_well:
            raise self._failed(
                end,
                f"Slurm job {array}: {end.why}, a minute after their end and for the second "
                "time; do all nodes see this folder?",
            )
        if rounds == RESUBMITTED:
            raise self._failed(
                end, f"lost {rounds + 1} times, at last in Slurm job {array}: {end.why}"
            )

    def _failed(self, end: EndedArray, why: str) -> RunFailedError:
        """Return the error for a run whose points and searches could not all be done."""
        return RunFailedError(f"{why}; {missing_error(self.folder, end.missing)}")

    def _collected(self, plots: tuple[str, ...]) -> Results:
        """Collect the results from the folder; wait a while for tasks that are about to end."""
        give_up = time.monotonic() + BUSY_S
        while True:
            try:
                return collect(self.folder, self.job, plots)
            except BusyError as error:
                # Wait for tasks that are about to end only until `give_up`, but wait without limit
                # for a process that does the whole run.
                whole = error.holder is not None and error.holder.work
                if not whole and time.monotonic() > give_up:
                    raise
                self.monitor.tick(_waiting_text(error))


def _waiting_text(busy: BusyError) -> str:
    """Return a text about the process for which this one waits."""
    return f"waits for {busy.holder or 'another process'}"
