"""``isthmus run --on``: a run that others do, on the user's cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from isthmus import arguments
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from isthmus.execution import Job
    from isthmus.sweeps.slurm import Array, Sweep

F = TypeVar("F", bound=Callable[..., Any])
ARRAY_MAX = 4_000_000
"""Most tasks that a Slurm can be set up for."""
TIME_MIN_S = 60.0
"""Slurm counts time limits in minutes."""


def on_options(command: F) -> F:
    """Add --on and what belongs to it."""
    for option in reversed(
        (
            click.option("--on", metavar="slurm", help="Have all of it done by a cluster's Slurm."),
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
class On:
    """Where a run is to be done; here if nothing is given."""

    on: str | None
    time: str | None
    partition: str | None
    account: str | None
    array_size: int | None
    sbatch: tuple[str, ...]
    dry_run: bool
    detach: bool

    def __post_init__(self) -> None:
        if self.on not in (None, "slurm"):
            raise IsthmusError(f"--on: {self.on!r} is not known; give slurm")
        if self.on is None:
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
                if value:
                    raise IsthmusError(
                        f"{name}: is for a run on a cluster; give --on slurm as well"
                    )

    def __bool__(self) -> bool:
        return self.on is not None

    def run(
        self,
        job: Job,
        folder: Path,
        *,
        fresh: bool,
        plots: tuple[str, ...],
        as_json: bool,
        expiry: str | None,
    ) -> int:
        """Have the run done; the exit status."""
        from isthmus.cli.process import DONE
        from isthmus.cli.running import interrupted, told
        from isthmus.cli.voice import voice
        from isthmus.execution import Stopped
        from isthmus.sweeps.slurm import Detached, Sweep, Wanted

        time_s = self.time and arguments.seconds("--time", self.time, TIME_MIN_S, "1 h")
        wanted = Wanted(
            time_s=time_s or None,
            partition=self.partition,
            account=self.account,
            tasks=self.array_size,
            words=self.sbatch,
            expiry=expiry,
        )
        sweep = Sweep(job, folder, wanted, voice().note)
        if self.dry_run:
            script = sweep.script()
            if script is None:
                voice().note(f"nothing is missing in {folder}")
            else:
                click.echo(script.as_text(), nl=False)
            return DONE
        try:
            array = sweep.submitted(fresh=fresh)
        except Stopped:
            return interrupted(folder)
        if self.detach and array:
            return _left(array, sweep, folder, as_json=as_json)
        if array:
            voice().step(
                f"Slurm job {array}; its script and what its tasks say are in {sweep.place}"
            )
        try:
            results = sweep.finished(array, plots)
        except Detached as end:
            return _goes_on(end, folder)
        except Stopped as stop:
            return interrupted(folder, stop.reached)
        return told(results, folder, as_json=as_json)


def _left(array: Array, sweep: Sweep, folder: Path, *, as_json: bool) -> int:
    """Say what goes on; the exit status."""
    import json

    from isthmus.cli.process import DONE
    from isthmus.cli.streams import document

    if as_json:
        document(json.dumps({"job": array.number, "cluster": array.cluster, "folder": str(folder)}))
        return DONE
    click.echo(f"Slurm job {array}: what its tasks say is in {sweep.place}")
    click.echo(f"  isthmus status {folder}   how far it is")
    click.echo(f"  isthmus collect {folder}  the results, when all is there")
    click.echo(f"  {array.cancel}  to end it")
    return DONE


def _goes_on(end: Any, folder: Path) -> int:
    """Say what goes on after Ctrl-C; the exit status."""
    from isthmus.cli.process import INTERRUPTED
    from isthmus.progress.terminal import say

    say(
        f"interrupted; Slurm job {end.array} goes on ({end.done} of {end.total} points are done): "
        f"`isthmus status {folder}` says how far it is, `{end.array.cancel}` ends it, the same "
        "command waits for it again"
    )
    return INTERRUPTED
