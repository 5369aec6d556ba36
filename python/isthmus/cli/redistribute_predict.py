"""``isthmus redistribute predict``: a plan as a job on a simulated machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isthmus.cli.console import console, new_table, print_facts
from isthmus.cli.machine_options import Numbers
from isthmus.cli.running import jobs_option, seed_option, threads
from isthmus.cli.voice import Voiced, voice
from isthmus.wording import quantity, sentence

if TYPE_CHECKING:
    from isthmus.arrays.descriptions import Description
    from isthmus.arrays.machine_job import Machine, Time
    from isthmus.arrays.prediction import Prediction

NO_ANSWER = (
    "Whether it pays to reshuffle before data go to I/O servers "
    "is told where {} has a table [io]."  # codespell:ignore told
)
OF_MACHINE = ("machine", "workload")
"""Prefixes of keys. Changes of such keys apply to the scenario of the machine, other changes to the
redistribution.
"""


@click.command(
    name="predict",
    cls=Voiced,
    help="""Predict a redistribution on a machine: the plan as a job on it.

The machine is that of a scenario; its own jobs, sweep and search are left
out. If FILE has a table [io], both ways to the machine's I/O servers are
compared: small requests at once, or redistribute, then large ones.

\b
  isthmus redistribute predict panels.toml --machine tree.toml
  isthmus redistribute predict panels.toml --machine tree.toml \\
      machine.levels=3 from.blocks='[8, 8]'
  isthmus redistribute predict panels.toml --machine tree.toml \\
      --blocks 2,8,32,128 --plot blocks.png
""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@click.option(
    "--machine",
    "scenario",
    required=True,
    type=click.Path(path_type=Path),
    help="Scenario whose machine it is.",
)
@click.option("--blocks", type=Numbers(), help="Compare these sizes of from.blocks.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw --blocks to .png or .svg.")
@click.option(
    "--most", metavar="SIZE", default="64 MiB", show_default=True, help="Data simulated at most."
)
@jobs_option
@seed_option("Seed [the scenario's].")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    file: Path,
    changes: tuple[str, ...],
    scenario: Path,
    blocks: list[int] | None,
    plot: Path | None,
    most: str,
    jobs: int | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Run the plan as a job and print its time."""
    from isthmus.arrays import prediction
    from isthmus.arrays.descriptions import read
    from isthmus.arrays.machine_job import Machine
    from isthmus.cli.source import read_scenario
    from isthmus.core import overrides
    from isthmus.errors import IsthmusError
    from isthmus.given import Given

    size = Given("--most", "", "text", most).data()
    if plot is not None and not blocks:
        raise IsthmusError(
            "--plot: it draws what --blocks compares; give, for example, --blocks 2,8"
        )
    text, name = read_scenario(file)
    words = overrides(changes)
    machines = [word for word in words if word.strip().split(".")[0] in OF_MACHINE]
    rest = [word for word in words if word not in machines]

    def described(more: Any) -> Description:
        """Read the redistribution file again, with further changes such as another block size."""
        return read(text, name, [*rest, *more])

    task = described(())
    machine_text, machine_name = read_scenario(scenario)
    machine = Machine.read(machine_text, machine_name, machines, task.nodes, seed)
    machine.threads = threads(jobs)
    with voice().progress() as watch:
        machine.watch = watch
        if blocks:
            found = prediction.with_blocks(described, machine, blocks, bytes_max=size)
        else:
            one = prediction.predict(task, machine, bytes_max=size)
    if blocks:
        _blocks(task, machine, found, plot, as_json)
    elif as_json:
        _document({**_head(task, machine), **_json(one)})
    else:
        _print(task, machine, one)


def _blocks(
    task: Description,
    machine: Machine,
    found: list[tuple[int, Description, Prediction]],
    plot: Path | None,
    as_json: bool,
) -> None:
    """Print the predicted times for several block sizes, and draw them to the file `plot` if it
    is given.
    """
    from isthmus.arrays.prediction import crossover

    if plot is not None:
        from isthmus.arrays.drawing import draw_blocks
        from isthmus.plots.graph import save

        save(draw_blocks(task, found), plot)
    if as_json:
        rows = [{"block": size, **_json(one)} for size, _, one in found]
        answer = crossover(found) if task.io is not None else None
        _document({**_head(task, machine), "blocks": rows, "answer": answer})
        return
    table = new_table("blocks of", "redistribution", justify="right")
    if task.io is not None:
        for head in ("small requests", "reshuffled first", "answer"):
            table.add_column(head, justify="right" if head != "answer" else "left")
    for size, _, one in found:
        row = [str(size), _time(one.move)]
        if one.direct is not None and one.whole is not None:
            row += [_time(one.direct), _time(one.whole), one.sentence]
        table.add_row(*row)
    out = console()
    out.table(table)
    if task.io is not None:
        out.text(sentence(crossover(found)))
    else:
        out.text(NO_ANSWER.format(task.file))
    out.text(_accuracy_note([each for _, _, one in found for each in _times(one)]))
    if plot is not None:
        click.echo(f"Drawn: {plot}")


def _print(task: Description, machine: Machine, one: Prediction) -> None:
    """Print the predicted times of a redistribution, and which method is faster."""
    rows = [
        ("machine", f"{machine.file}: {one.ranks} ranks on {len(machine.nodes)} nodes"),
        ("redistribution", _time(one.move)),
        ("messages", f"{one.move.messages:,} of {quantity(one.move.bytes, 'B')} in all"),
    ]
    if one.copy_s:
        rows.append(("packing", quantity(one.copy_s, "s")))
    for name, of in (("small requests", one.direct), ("large requests", one.after)):
        if of is not None:
            each = quantity(of.bytes / of.messages, "B")
            words = f"{of.messages:,} of {each} to {len(machine.servers)} I/O servers"
            rows.append((name, f"{_time(of)}, {words}"))
    if one.whole is not None:
        rows.append(("reshuffled first", _time(one.whole)))
    print_facts(rows)
    out = console()
    if one.sentence:
        out.text(sentence(one.sentence))
    else:
        out.text(NO_ANSWER.format(task.file))
    out.text(_accuracy_note(_times(one)))


def _times(one: Prediction) -> list[Time]:
    """Return the times of a prediction that are known, in the order of the report."""
    return [each for each in (one.move, one.direct, one.after) if each is not None]


def _time(of: Time) -> str:
    """Return a predicted time as text; a star marks an extrapolated time."""
    text = quantity(of.seconds, "s")
    if not of.exact:
        text += f" ± {100 * (of.high - of.low) / 2 / of.seconds:.2g}%"
    return text + ("*" if of.share < 1 else "")


def _accuracy_note(times: list[Time]) -> str:
    """Return a note on how the accuracy of these times was determined, and whether they were
    extrapolated.
    """
    part = min(of.share for of in times)
    words = "All replications came to the same."
    if not all(of.exact for of in times):
        words = "± is half of the interval that holds the mean with 95% confidence."
    elif part == 1:
        words = f"Exact: {words[0].lower()}{words[1:]}"
    if part < 1:
        words += f" *: extrapolated from {100 * part:.2g}% of the data and half of that."
    return words


def _head(task: Description, machine: Machine) -> dict[str, Any]:
    """Return the entries that all JSON documents on predictions have: version, seed, title,
    machine and size.
    """
    import isthmus

    return {
        "version": isthmus.__version__,
        "seed": machine.seed,
        "title": task.title,
        "machine": machine.file,
        "bytes": task.bytes,
        "nodes": len(machine.nodes),
        "io_servers": len(machine.servers),
    }


def _json(one: Prediction) -> dict[str, Any]:
    """Return a prediction as JSON values, for the option `--json`."""

    def time(of: Time | None) -> dict[str, Any] | None:
        """Return a predicted time as JSON values; None if there is no such time."""
        if of is None:
            return None
        return {
            "seconds": of.seconds,
            "low": of.low,
            "high": of.high,
            "exact": of.exact and of.share == 1,
            "messages": of.messages,
            "bytes": of.bytes,
            "simulated_share": of.share,
        }

    return {
        "ranks": one.ranks,
        "redistribution": time(one.move),
        "copy_seconds": one.copy_s,
        "direct": time(one.direct),
        "after": time(one.after),
        "reshuffled": time(one.whole),
        "verdict": one.verdict if one.direct is not None else None,
        "answer": one.sentence or None,
    }


def _document(answer: dict[str, Any]) -> None:
    """Print `answer` as a JSON document to standard output."""
    from isthmus.cli.streams import document

    document(json.dumps(answer, ensure_ascii=False))
