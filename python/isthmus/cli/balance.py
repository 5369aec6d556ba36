"""``isthmus balance``: the I/O bandwidth that a machine needs for an application."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import click

from isthmus.arguments import APPLICATIONS, PES_MAX
from isthmus.cli.streams import document
from isthmus.cli.voice import Voiced
from isthmus.wording import counted, number, quantity


class _Finite(click.FloatRange):
    """Type of an option whose value must be a positive and finite number."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Convert the argument of the option to a number."""
        found = float(super().convert(value, param, ctx))
        if not isfinite(found):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return found


FINITE = _Finite(min=0, min_open=True)


@click.command(
    name="balance",
    cls=Voiced,
    help="""Size the I/O side for an application (section 3 of the hypercube paper).

\b
  isthmus balance sorting --pes 128
  isthmus balance sorting --pes 128 --memory "8 MB"
  isthmus balance grid --grid-dimensions 3 --pes 1024
  isthmus balance fft --pes 1024 --mips 20 --io-bandwidth "5 MB/s"

By how much the I/O bandwidth must grow with the number of PEs, how many I/O nodes that takes, and
the perfect placement nearest to that. Without --memory by the simple law, as in the paper; with it
also by the law that counts the memory.
""",
)
@click.argument("application", type=click.Choice(APPLICATIONS))
@click.option("--pes", type=click.IntRange(1, PES_MAX), required=True, help="Number of PEs.")
@click.option("--grid-dimensions", type=int, help="Dimensions of the grid (grid only).")
@click.option("--memory", help="Memory of one PE, such as '8 MB'.")
@click.option("--word", help="Size of one value in it [8 B].")
@click.option("--mips", type=FINITE, help="Speed of one PE in million instructions per second.")
@click.option("--io-bandwidth", help="With which one PE is balanced, such as '5 MB/s'.")
@click.option("--io-node-bandwidth", help="Of one I/O node [that of --io-bandwidth].")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    application: str,
    pes: int,
    grid_dimensions: int | None,
    memory: str | None,
    word: str | None,
    mips: float | None,
    io_bandwidth: str | None,
    io_node_bandwidth: str | None,
    as_json: bool,
) -> None:
    """Compute the scaling factor and the number of I/O nodes."""
    from isthmus.networks import balance

    if word is not None and memory is None:
        raise click.UsageError("--word is of no use without --memory", click.get_current_context())
    data = balance(
        application,
        pes,
        grid_dimensions=grid_dimensions,
        memory=memory,
        word=word,
        mips=mips,
        io_bandwidth=io_bandwidth,
        io_node_bandwidth=io_node_bandwidth,
    )
    if as_json:
        document(json.dumps(data))
        return
    _print(data)


def _print(data: dict[str, Any]) -> None:
    """Print the sizing of the I/O side as a list of names and values."""
    from isthmus.cli.console import print_facts

    facts = [
        ("application", f"{data['application']} on {counted(data['pes'], 'PE')}"),
        *_law("simple law", data, "simple_"),
    ]
    if data["memory_words"] is not None:
        memory = f"M = {number(data['memory_words'])} words a PE"
        if data["law"] == data["simple_law"]:
            facts.append(("law with memory", f"the same; {memory} makes no difference"))
        else:
            facts += _law("law with memory", data, "", f" with {memory}")
    if hamming := data["hamming"]:
        facts.append(("nearest placement", _placement(hamming)))
    memory = "" if data["memory_words"] is None else ", memory counted"
    if data["io_bandwidth_mb_per_s"] is not None:
        total = quantity(data["io_bandwidth_mb_per_s"], "MB/s")
        facts.append(("I/O bandwidth", f"{total} in all{memory}"))
    if data["compute_mips"] is not None:
        facts.append(("computation", f"{quantity(data['compute_mips'], 'MIPS')} in all"))
    if data["instructions_per_byte"] is not None:
        machine, one = data["instructions_per_byte"], data["instructions_per_byte_pe"]
        text = f"{number(machine)} a byte of I/O; {number(one)} of one PE alone"
        facts.append(("instructions", text))
    facts.append(("source", data["source"]))
    print_facts(facts)


def _law(name: str, data: dict[str, Any], which: str, memory: str = "") -> list[tuple[str, str]]:
    """Return the lines to print for one law of balance. They state the factor by which the
    machine's I/O bandwidth must exceed that of one PE, and the number of I/O nodes.
    """
    factor, law = number(data[f"{which}factor"]), data[f"{which}law"]
    nodes, share = data[f"{which}io_nodes"], data[f"{which}pes_per_io_node"]
    whole = "PE" if share == 1 else "PEs"
    each = f"each for {number(share)} {whole}" if share >= 1 else f"{number(1 / share)} for each PE"
    return [
        (name, f"I/O must grow to {factor} times that of one PE: {law}{memory}"),
        ("", f"{counted(nodes, 'I/O node')}, {each}"),
    ]


def _placement(hamming: dict[str, Any]) -> str:
    """Return a text on a placement of I/O nodes by a Hamming code: their number and the PEs for
    each.
    """
    nodes, share = hamming["io_nodes"], hamming["pes_per_io_node"]
    size = f"{counted(nodes, 'I/O node')}, each for {counted(share, 'PE')}"
    if hamming["perfect"]:
        return f"Hamming code, perfect: {size}, all within one hop"
    return f"Hamming code, not perfect: {size}"
