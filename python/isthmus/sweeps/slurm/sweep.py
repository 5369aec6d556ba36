"""A run as an array job of Slurm: packed, submitted, waited for, lost tasks again, collected."""

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
from isthmus.owned.lock import SUBMITTER, BusyError, held
from isthmus.owned.mark import JOURNAL, SUBMITTED
from isthmus.sweeps.selection import Selection
from isthmus.sweeps.shared import collect, missing
from isthmus.sweeps.slurm.control import (
    Array,
    Ended,
    NoCommandError,
    Slurm,
    SlurmError,
    UnansweredError,
)
from isthmus.sweeps.slurm.costs import predicted
from isthmus.sweeps.slurm.interrupted import Later, later
from isthmus.sweeps.slurm.jobs import (
    Submission,
    jobs_of,
    keep_jobs,
    keep_script,
    name_of,
    under_way,
)
from isthmus.sweeps.slurm.packing import packed, tasks_for
from isthmus.sweeps.slurm.script import Script, Wanted, refuse_odd
from isthmus.sweeps.slurm.verdict import Over, was_cancelled
from isthmus.sweeps.slurm.waiting import (
    LOOK_MAX_S,
    LOOK_S,
    SILENT_S,
    SLOWER,
    Detached,
    answered,
    unheard,
    until_over,
)
from isthmus.sweeps.slurm.watched import COUNT_S, Watched
from isthmus.sweeps.source import joined, refuse_unjoinable
from isthmus.sweeps.state import state_of

if TYPE_CHECKING:
    from isthmus.execution import Job
    from isthmus.results.collection import Results

RESUBMITTED = 5
"""How often lost tasks are submitted again."""
LATE_S = 60.0
"""Seconds for which it is looked whether a folder shows what tasks have done on other nodes."""
BUSY_S = 60.0
"""Seconds for which somebody may be alone in the folder, or tasks that are over still hold it."""


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
        refuse_odd(self.folder)
        self.watched = Watched(self.job, self.folder)
        self.counts = self.watched.counts
        self.name = name_of(self.job.name, self.folder, self.job.identity)
        """Of its jobs: the same for the same run in the same folder."""
        self.clusters = self.wanted.clusters or self.slurm.clusters
        self._largest: int | None = None

    @property
    def place(self) -> Path:
        """Where the script and the logs of tasks are."""
        return self.folder / SUBMITTED

    def script(self, *, fresh: bool = False) -> Script | None:
        """What would be submitted now; None if nothing is missing. Nothing is written.

        Raises:
            IsthmusError: the folder could not be used.

        """
        if fresh and self._begun:
            OwnedFolder.refuse_unclearable(self.folder, self.job.identity)
            lacks = Selection.whole(*self.counts)
        else:
            refuse_unjoinable(self.job, self.folder)
            lacks = self.watched.lacking()
        if lacks:
            return self._packed(lacks, keep=False, known=not fresh)
        self._refuse_damaged()
        return None

    def _refuse_damaged(self) -> None:
        """Refuse a folder whose results cannot be put together, though nothing is missing.

        Raises:
            IsthmusError: an entry is not what was written; those who collect say the same.

        """
        if self.job.stands(self.folder):
            return
        if damaged := state_of(self.folder).damaged:
            file = self.folder / JOURNAL / f"{damaged[0].entry}.json"
            status = f"`isthmus status {shlex.quote(str(self.folder))}`"
            raise IsthmusError(f"{file}: {damaged[0].reason}; {status} says what to do")

    def submitted(self, *, fresh: bool = False) -> Array | None:
        """The array that does what is missing, under way already or new; None if nothing is.

        Raises:
            SlurmError: there is no Slurm, or it refuses the job. Nothing is written unless it has
                said before that it would take it.
            IsthmusError: the folder cannot be used.
            Detached: Ctrl-C while `sbatch` was asked; the array goes on.

        """
        self.slurm.check()
        begun = self._begun
        if begun and fresh:
            self._refuse_under_way()
        elif begun:
            self._join()
            if found := self._found():
                self.note(f"Slurm job {found} is at it already")
                self._adopt(found)
                return found
        else:
            refuse_unjoinable(self.job, self.folder)
        lacks = Selection.whole(*self.counts) if fresh else self.watched.lacking()
        if not lacks:
            return None
        asked = "Slurm: asked whether it takes the job"
        like = self._script([lacks], None)
        self.slurm.test(like.as_text(), like.options, lambda: self.watched.tell(asked))
        if begun and fresh:
            with self._submitting():
                self._refuse_under_way()
                with self._emptied():
                    pass
        self._join()
        return self._submit(lacks)

    def finished(self, array: Array | None, plots: tuple[str, ...] = ()) -> Results:
        """Wait for it, submit again what is lost, and write the results.

        Raises:
            Detached: Ctrl-C; the array goes on.
            RunFailedError: not all could be done; the message says why.

        """
        rounds, unseen = 0, False
        while array is not None:
            until_over(array, self.slurm, self.watched, self.note, self.name)
            over = self._over(array)
            if not over.lacks:
                break
            self._refuse_hopeless(over, rounds, unseen=unseen)
            rounds, unseen = rounds + 1, over.ended_well
            again = self._submit_again(over)
            if again is not None:
                verb = "was" if len(over.lacks) == 1 else "were"
                self.note(
                    f"{over.lacks.words} of Slurm job {array} {verb} lost ({over.why}); submitted "
                    f"again as job {again}"
                )
            array = again
        return self._collected(plots)

    @property
    def _begun(self) -> bool:
        """Whether the folder is one of isthmus's already."""
        return self.folder.is_dir() and read_mark(self.folder) is not None

    def _packed(self, lacks: Selection, *, keep: bool = True, known: bool = True) -> Script | None:
        """The script for what is missing; None if that was little enough to be done here."""
        largest = answered(
            self.slurm.largest_array, self.watched, "Slurm: asked how many tasks it takes"
        )
        self._largest = largest or self._largest
        most = self._largest or len(lacks)
        wanted = self.wanted.tasks and min(self.wanted.tasks, most)
        if wanted and wanted >= len(lacks):
            # Each has a task of its own.
            return self._script([Selection.of([unit]) for unit in lacks.units], None)
        expected = predicted(
            self.job,
            self.folder,
            lacks,
            keep=keep,
            known=known,
            expiry_s=self.wanted.expiry_s,
        )
        costs = dict(zip(lacks.units, expected, strict=True))
        if keep:
            # Some of it was done to know what the rest takes.
            lacks = self.watched.lacking()
            if not lacks:
                return None
        left = lacks.units
        seconds = [costs[unit] for unit in left]
        threads = self.job.jobs
        tasks = wanted or min(tasks_for(seconds, threads, self.wanted.time_s), most)
        chosen, longest = [], 0.0
        for task in packed(seconds, tasks):
            chosen.append(Selection.of([left[at] for at in task]))
            longest = max(longest, sum(seconds[at] for at in task) / threads)
        return self._script(chosen, longest)

    def _script(self, tasks: list[Selection], about_s: float | None) -> Script:
        job = self.job
        return Script(self.name, self.folder, self.wanted, job.jobs, job.memory, tasks, about_s)

    def _joined(self) -> AbstractContextManager[OwnedFolder]:
        """The folder, beside those that do parts of the run."""
        return joined(self.job, self.folder, self.note)

    def _join(self) -> None:
        """Make the folder that of the run, with what tasks need; one of another run is refused."""
        with self._joined():
            pass

    def _emptied(self) -> AbstractContextManager[OwnedFolder]:
        return OwnedFolder.opened(
            self.folder,
            self.job.identity,
            scenario=self.job.canonical,
            journal=self.counts,
            fresh=True,
        )

    def _under_way(self) -> Array | None:
        """The array of this run that is at work or waits to be, if there is one, whoever
        submitted it.
        """
        return answered(
            lambda: under_way(self.folder, self.slurm, self.name, self.clusters),
            self.watched,
            "Slurm: asked for a job of this run",
        )

    def _found(self) -> Array | None:
        """The same. Where one was submitted, a Slurm that does not answer is asked again and again,
        for as long as it is waited for elsewhere.
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
                self.watched.wait(look_s, unheard(str(error)))
                look_s = min(look_s * SLOWER, LOOK_MAX_S)

    def _adopt(self, array: Array) -> None:
        """Write down a job that was submitted by hand, so that those who look at the folder know of
        it; if others are at that, they do it.
        """
        with suppress(BusyError), held(self.folder, name=SUBMITTER):
            jobs = [each for each in jobs_of(self.folder) if each.array]
            if any(each.array == array for each in jobs):
                return
            with self._joined() as own:
                keep_jobs(own, [*jobs, Submission(self.name, None, self.clusters, array=array)])

    def _refuse_under_way(self) -> None:
        """Refuse to clear a folder in which an array is at work."""
        if found := self._under_way():
            raise IsthmusError(
                f"--fresh: Slurm job {found} is at work in {self.folder}; end it first, by "
                f"`{found.cancel}`, or leave --fresh out to wait for it"
            )

    def _submit(self, lacks: Selection) -> Array | None:
        """Submit what is missing; None if nothing is any more."""
        script = self._packed(lacks)
        return self._submit_script(script) if script else None

    def _submit_script(self, script: Script) -> Array | None:
        with self._submitting():
            # Another process may have been faster.
            if found := self._under_way():
                return found
            return self._submit_alone(script) if self.watched.lacking() else None

    @contextmanager
    def _submitting(self) -> Iterator[None]:
        """Be the only one who submits, once whoever is at it has ended."""
        give_up = time.monotonic() + SILENT_S
        with ExitStack() as stack:
            while True:
                try:
                    stack.enter_context(held(self.folder, name=SUBMITTER))
                    break
                except BusyError as busy:
                    if time.monotonic() > give_up:
                        raise
                    self.watched.tick(f"{_waits(busy)}, which submits")
            yield

    def _submit_alone(self, script: Script) -> Array:
        """Submit, beside processes that do parts: nobody is kept out of the folder, least of all
        while `sbatch` is asked.
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
            with later() as interrupted:
                try:
                    array, said = self.slurm.submit(text, script.options, self._asking(interrupted))
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
            self.watched.lacking()
            raise Detached(array, self.watched.done, self.watched.total) from None
        except IsthmusError as error:
            if array is None:
                raise
            # The folder has become that of another run.
            raise IsthmusError(
                f"{error}; Slurm job {array} was submitted all the same: `{array.cancel}` ends it"
            ) from error
        if said:
            self.note(f"sbatch: {said}")
        return array

    def _asking(self, interrupted: Later) -> Callable[[], None]:
        """What is told while `sbatch` is asked."""
        said = False

        def tick() -> None:
            nonlocal said
            if interrupted.heard and not said:
                said = True
                self.note(
                    "interrupted; sbatch is asked to the end, as it may have submitted the job; "
                    "once more leaves it alone, and the same command then finds the job"
                )
            self.watched.tell("Slurm: sbatch is asked")

        return tick

    def _keep_number(self, jobs: list[Submission], interrupted: Later) -> None:
        """Write down the number of a job that was submitted. Where somebody is alone in the folder
        for long it is left out: the job is found by its name.
        """
        give_up = time.monotonic() + BUSY_S
        while True:
            try:
                with self._joined() as own:
                    keep_jobs(own, jobs)
                return
            except BusyError:
                if interrupted.heard or time.monotonic() > give_up:
                    return
                self.watched.tick("Slurm: the job is submitted")

    def _submit_again(self, over: Over) -> Array | None:
        """Submit what an array has left; None if nothing is missing any more. Slurm is asked again
        and again for as long as it is waited for elsewhere, and whoever does all of the run is
        waited for.

        Raises:
            RunFailedError: Slurm has taken nothing meanwhile.
            Stopped: Ctrl-C.

        """
        lost = over.array
        began, look_s, said = time.monotonic(), LOOK_S, False
        try:
            while lacks := self.watched.lacking():
                try:
                    return self._submit(lacks)
                except BusyError as error:
                    # Whoever it is does it, or ends.
                    began, state = time.monotonic(), _waits(error)
                except SlurmError as error:
                    state = unheard(str(error))
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
                self.watched.wait(look_s, state)
                look_s = min(look_s * SLOWER, LOOK_MAX_S)
        except KeyboardInterrupt:
            raise self.watched.stopped() from None
        return None

    def _over(self, array: Array) -> Over:
        """How an array is over. Where its tasks have ended well, it is looked for a while whether
        the folder shows what they did.
        """
        give_up = time.monotonic() + LATE_S
        try:
            lacks = self.watched.lacking()
            ended = (
                answered(
                    lambda: self.slurm.ended(array),
                    self.watched,
                    f"Slurm: asked how job {array} ended",
                )
                if lacks
                else []
            )
            while True:
                over = self._as_far_as_seen(array, ended, lacks)
                if not lacks or not over.may_be_late or time.monotonic() > give_up:
                    return over
                self.watched.wait(
                    COUNT_S, f"Slurm: over, its last points are looked for, job {array}"
                )
                lacks = self.watched.lacking()
        except KeyboardInterrupt:
            raise self.watched.stopped() from None

    def _as_far_as_seen(self, array: Array, ended: list[Ended], lacks: Selection) -> Over:
        """The same as the folder shows it now."""
        jobs = jobs_of(self.folder)
        ours = next((job for job in jobs if job.array == array), None)
        last = ours or (jobs[-1] if jobs else None)
        # What failed in an earlier job is tried once more.
        failed = state_of(self.folder).failed if lacks else []
        since_s = last.submitted_s if last else 0.0
        new = {each.entry for each in failed if each.at_s >= since_s}
        return Over(array, ended, ours.tasks if ours else None, lacks, new)

    def _refuse_hopeless(self, over: Over, rounds: int, *, unseen: bool) -> None:
        """Refuse to submit again what would come to the same.

        Raises:
            RunFailedError: why not all could be done.

        """
        array = over.array
        if was_cancelled(over.ended):
            raise self._failed(over, f"Slurm job {array} was cancelled")
        if over.explained or over.ended_themselves:
            raise self._failed(over, f"Slurm job {array}: {over.why}{over.last_words(self.folder)}")
        if unseen and over.ended_well:
            raise self._failed(
                over,
                f"Slurm job {array}: {over.why}, a minute after their end and for the second "
                "time; do all nodes see this folder?",
            )
        if rounds == RESUBMITTED:
            raise self._failed(
                over, f"lost {rounds + 1} times, at last in Slurm job {array}: {over.why}"
            )

    def _failed(self, over: Over, why: str) -> RunFailedError:
        return RunFailedError(f"{why}; {missing(self.folder, over.lacks)}")

    def _collected(self, plots: tuple[str, ...]) -> Results:
        give_up = time.monotonic() + BUSY_S
        while True:
            try:
                return collect(self.folder, self.job, plots)
            except BusyError as error:
                # The last tasks are about to end; whoever does all of the run may take long.
                whole = error.holder is not None and error.holder.work
                if not whole and time.monotonic() > give_up:
                    raise
                self.watched.tick(_waits(error))


def _waits(busy: BusyError) -> str:
    """Who is waited for."""
    return f"waits for {busy.holder or 'another process'}"
