"""``isthmus run --on``: runs on the user's cluster."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from isthmus import arguments
from isthmus.cli.process import DONE, INTERRUPTED
from isthmus.cli.running import Ending, ended, interrupted, threads
from isthmus.cli.streams import document
from isthmus.cli.voice import voice
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from isthmus.execution import Job
    from isthmus.results.collection import Results
    from isthmus.sweeps.slurm import Array, Script, Sweep

F = TypeVar("F", bound=Callable[..., Any])
ARRAY_MAX = 4_000_000
"""Maximum size of a Slurm array in any configuration."""
TIME_MIN_S = 60.0
"""Minimum time limit of a job in seconds, as Slurm counts time limits in minutes."""
TIME_MAX_S = 10 * 365 * 86400.0
"""Maximum time limit of a job in seconds, longer than any time limit of Slurm."""


def on_options(command: F) -> F:
    """Add the option --on and its further options to a command."""
    for option in reversed(
        (
            click.option(
                "--on",
                metavar="WHERE",
                help="Have all of it done by a cluster: slurm, dask=ADDRESS, or dask for one of "
                "this machine.",
            ),
            click.option("--time", metavar="TIME", help="Slurm's time limit of a task, as in 1h."),
            click.option("--partition", metavar="NAME", help="Slurm's partition."),
            click.option("--account", metavar="NAME", help="Who pays for it."),
            click.option(
                "--array-size",
                type=click.IntRange(1, ARRAY_MAX),
                metavar="N",
                help="Tasks of Slurm's array job [by what points take].",
            ),
            click.option(
                "--sbatch",
                multiple=True,
                metavar="OPTION",
                help="Another option for sbatch, as in --sbatch=--mem=4G; may be repeated.",
            ),
            click.option(
                "--dry-run", is_flag=True, help="Print the job; submit and write nothing."
            ),
            click.option("--detach", is_flag=True, help="Submit the job, and do not wait for it."),
        )
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class ClusterOptions:
    """The options of a run on a cluster (--on); all unset for a run on this machine."""

    on: str | None
    time: str | None
    partition: str | None
    account: str | None
    array_size: int | None
    sbatch: tuple[str, ...]
    dry_run: bool
    detach: bool

    def __post_init__(self) -> None:
        """Refuse an unknown cluster, and options that do not apply to it."""
        if self.on is not None and not (self.on in ("slurm", "dask") or self.address):
            from isthmus.dask import EXAMPLE

            raise IsthmusError(
                f"--on: {self.on!r} is not known; give slurm, dask, or dask={EXAMPLE}"
            )
        if self.on == "slurm":
            return
        given = {
            "--time": self.time,
            "--partition": self.partition,
            "--account": self.account,
            "--array-size": self.array_size,
            "--sbatch": self.sbatch,
            "--dry-run": self.dry_run,
            "--detach": self.detach,
        }
        for name, value in given.items():
            # Refuse a given option. One with an empty text is given as well: it is not None.
            if value not in (None, False, ()):
                asked = "give --on slurm as well" if self.on is None else f"not with --on {self.on}"
                raise IsthmusError(f"{name}: is for a run on Slurm; {asked}")

    @property
    def address(self) -> str | None:
        """Address of Dask's scheduler; None for a local cluster."""
        where, _, address = (self.on or "").partition("=")
        return address if where == "dask" and address else None

    def __bool__(self) -> bool:
        """Return whether the option --on is given."""
        return self.on is not None

    def threads(self, jobs: int | None) -> int:
        """Return the number of threads of each worker process."""
        return (jobs or 1) if self.on == "slurm" else 1

    def run(
        self,
        job: Job,
        folder: Path,
        *,
        fresh: bool,
        plots: tuple[str, ...],
        as_json: bool,
        expiry_s: float | None,
        workers: int | None,
    ) -> Ending:
        """Run the job on the cluster; return a function that prints its result."""
        if self.on != "slurm":
            if expiry_s is not None:
                raise IsthmusError(f"--expiry: is for parts of a run, not with --on {self.on}")
            return self._by_dask(job, folder, fresh, plots, as_json=as_json, workers=workers)
        from isthmus.execution import Stopped
        from isthmus.sweeps.shared import EXPIRY_S
        from isthmus.sweeps.slurm import Detached, Sweep, Wanted

        time_s = (
            None
            if self.time is None
            else arguments.seconds("--time", self.time, TIME_MIN_S, "1 h", TIME_MAX_S)
        )
        wanted = Wanted(
            time_s=time_s,
            partition=self.partition,
            account=self.account,
            tasks=self.array_size,
            words=self.sbatch,
            expiry_s=EXPIRY_S if expiry_s is None else expiry_s,
        )
        if plots and (self.dry_run or self.detach):
            here = "--dry-run" if self.dry_run else "--detach"
            raise IsthmusError(
                f"--plots: nothing is drawn with {here}; give it to isthmus collect, or to a "
                "command that waits"
            )
        sweep = Sweep(job, folder, wanted, voice().note)
        if self.dry_run:
            try:
                return partial(_print_job, sweep.script(fresh=fresh), sweep, as_json=as_json)
            except Stopped:
                raise KeyboardInterrupt from None
        try:
            array = sweep.submitted(fresh=fresh)
        except Stopped:
            return partial(interrupted, folder)
        except Detached as end:
            return partial(_report_after_interrupt, end, folder)
        if self.detach and array:
            return partial(_report_pending, array, sweep, folder, as_json=as_json)
        if array:
            voice().step(
                f"Slurm job {array}; its script and what its tasks say are in {sweep.place}"
            )
        try:
            return ended(lambda: sweep.finished(array, plots), job, folder, as_json=as_json)
        except Detached as end:
            return partial(_report_after_interrupt, end, folder)

    def _by_dask(
        self,
        job: Job,
        folder: Path,
        fresh: bool,
        plots: tuple[str, ...],
        *,
        as_json: bool,
        workers: int | None,
    ) -> Ending:
        """Run the points on a Dask cluster."""
        from contextlib import ExitStack

        from isthmus import dask
        from isthmus.files import refuse_unready
        from isthmus.progress import Progress

        if self.address and workers:
            raise IsthmusError(
                f"--jobs: the cluster at {self.address} has the workers that it has; leave it out"
            )
        processes = threads(workers)
        job.elsewhere = True
        if self.address is None:
            job.share = dask.share_of_memory(processes)

        def run() -> Results:
            """Run the job; start or contact the cluster only if points are missing."""
            with ExitStack() as stack:
                refuse_unready(folder)
                # No cluster is needed if nothing is left to compute.
                if fresh or (job.lacks(folder) and not job.is_final(folder)):
                    if self.address:
                        state = "Dask: asked for its scheduler"
                        job.watch(Progress("building", title=job.title or job.name, state=state))
                    client = stack.enter_context(dask.connected(self.address, processes))
                    job.executor = dask.Workers(client, voice().note)
                return job.run_into(folder, fresh=fresh, plots=plots)

        return ended(run, job, folder, as_json=as_json)


def _print_job(script: Script | None, sweep: Sweep, *, as_json: bool) -> int:
    """Print the Slurm script that would be submitted, or that nothing is left to run if it is None.

    Returns:
        the exit status.

    """
    import json

    if as_json:
        folder = str(sweep.folder)
        document(json.dumps(script.as_json() if script else {"folder": folder, "tasks": 0}))
    elif script is None:
        voice().note(f"nothing is missing in {sweep.folder}")
    else:
        click.echo(script.as_text(), nl=False)
    return DONE


def _report_pending(array: Array, sweep: Sweep, folder: Path, *, as_json: bool) -> int:
    """Print the number of a Slurm job that is still pending when the command ends, and the commands
    to watch it, collect its results and cancel it. Return the exit status.
    """
    import json

    if as_json:
        document(json.dumps({"job": array.number, "cluster": array.cluster, "folder": str(folder)}))
        return DONE
    click.echo(f"Slurm job {array}: what its tasks say is in {sweep.place}")
    quoted = shlex.quote(str(folder))
    rows = (
        (f"isthmus status {quoted}", "how far it is"),
        (f"isthmus collect {quoted}", "the results, when all is there"),
        (array.cancel, "to end it"),
    )
    wide = max(len(command) for command, _ in rows)
    for command, what in rows:
        click.echo(f"  {command:<{wide}}  {what}")
    return DONE


def _report_after_interrupt(end: Any, folder: Path) -> int:
    """Report that the Slurm job still runs after Ctrl-C ended the command; return the status."""
    from isthmus.progress.terminal import say

    say(
        f"interrupted; Slurm job {end.array} goes on ({end.done:,} of {end.total:,} done): "
        f"`isthmus status {shlex.quote(str(folder))}` says how far it is, `{end.array.cancel}` "
        "ends it, the same command waits for it again"
    )
    return INTERRUPTED
