"""``isthmus init``: a scenario with comments, as a starting point."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from isthmus.cli.voice import Voiced, voice
from isthmus.core import ask, ask_json, read_text
from isthmus.errors import IsthmusError

STARTS = files("isthmus").joinpath("starts")
"""Folder with a template of a scenario for each kind of machine."""
KINDS = sorted(each.name[:-5] for each in STARTS.iterdir() if each.name.endswith(".toml"))


@click.command(
    name="init",
    cls=Voiced,
    help="""Write a scenario with comments, to start from.

\b
  isthmus init > mine.toml              a hypercube
  isthmus init sci fabric.toml          rings of SCI, to a new file
  isthmus init fat-tree | isthmus run - --quick
  isthmus init graph torus.toml         switches joined in any form
  isthmus init graph mine.toml --graph net.graphml
  isthmus init graph mine.toml --graph net.graphml --ignored Country
  isthmus init graph mine.toml --graph net.txt --routes tables.txt

KIND is the kind of machine; hypercube if left out. `isthmus check --fields` lists what else a
scenario may say.
""",
)
@click.argument("kind", type=click.Choice(KINDS), default="hypercube")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--graph",
    type=click.Path(path_type=Path),
    help="Put a graph into it: GraphML or an edge list, two names a line and perhaps a width.",
)
@click.option(
    "--routes",
    type=click.Path(path_type=Path),
    help="Beside --graph: a table of routes, a switch, a destination and the next switch a line.",
)
@click.option(
    "--ignored",
    default="",
    help="Beside --graph: attributes of it that have no effect, separated by commas.",
)
def command(
    kind: str, file: Path | None, graph: Path | None, routes: Path | None, ignored: str
) -> None:
    """Print a scenario, or write it to a new file."""
    text = STARTS.joinpath(f"{kind}.toml").read_text(encoding="utf-8")
    account: dict[str, Any] = {}
    if graph is not None:
        text, account = _with_graph(kind, text, graph, routes, ignored)
    elif routes is not None:
        raise IsthmusError("--routes: only beside --graph, whose switches it names")
    elif ignored:
        raise IsthmusError("--ignored: only beside --graph, whose attributes it names")
    if file is None or str(file) == "-":
        from isthmus.cli.streams import document

        document(text)
        _print_account(graph, account)
        return
    from isthmus.files import write_new

    try:
        write_new(file, text.encode())
    except FileExistsError:
        raise IsthmusError(f"{file}: there is one already; give another name") from None
    _print_account(graph, account)
    voice().note(f"written to {file}; isthmus check {file} says what it would run")


def _with_graph(
    kind: str, text: str, graph: Path, routes: Path | None, ignored: str
) -> tuple[str, dict[str, Any]]:
    """Return the scenario with graph and routes from files, and a summary of the graph."""
    from isthmus import _core

    if kind != "graph":
        raise IsthmusError("--graph: only with the kind graph; write isthmus init graph")
    listed = read_text(graph)
    question = {"text": listed, "file": str(graph), "ignored": ignored}
    account = ask_json(_core.graph_account, question)
    leaves = f'leaves = "{account["leaves_are"]}"'
    lines = [
        'graph = "edges"                   # the list below',
        f"{leaves:<33} # what vertices with one neighbour are",
        "# nodes_per_switch = 1            # where there are no nodes in the list",
        *([f'ignored = "{"".join(map(_escaped, ignored))}"'] if ignored else []),
        f"edges = {_quoted(listed)}",
    ]
    if routes is not None:
        lines += [
            'routing = "table"                 # or "minimal", "up-down" without the routes',
            f"routes = {_quoted(read_text(routes))}",
        ]
    old = re.compile(r"^graph = .*\nsize = .*\nnodes_per_switch = .*\n", re.MULTILINE)
    text = old.sub(lambda _: "\n".join(lines) + "\n", text)
    text = text.replace("does a torus carry", "does this network carry")
    _check(text, {"edges": graph, "routes": routes})
    return text, account


def _print_account(graph: Path | None, account: dict[str, Any]) -> None:
    """Print the summary of a graph file, if there is one."""
    if graph is None:
        return
    from isthmus.wording import counted

    vertices = counted(account["vertices"], "vertex", "vertices")
    switches = counted(account["switches"], "switch", "switches")
    nodes, cables = (counted(account[f"{each}s"], each) for each in ("node", "cable"))
    voice().note(f"{graph}: {vertices}: {switches}, {nodes}, {cables} between switches")
    leaves = f'leaves = "{account["leaves_are"]}"'
    if account["leaves_are"] == "nodes":
        most = "vertices have one neighbour, most of all"
        voice().note(f"{graph}: {leaves}: {account['leaves']} {most}")
    elif account["obstacle"] is not None:
        voice().note(f"{graph}: {leaves}: as nodes they make no network: {account['obstacle']}")
    elif account["nodes"] == 0:
        voice().note(f"{graph}: no nodes in it; each switch has nodes_per_switch")
    used, not_used = (
        "; ".join(f"{', '.join(names)} of {part}" for part, names in account[which].items())
        for which in ("used", "not_used")
    )
    voice().note(f"{graph}: attributes used: {used or 'none'}; not used: {not_used or 'none'}")


def _check(text: str, given: dict[str, Path | None]) -> None:
    """Refuse a scenario with an error in a file that was embedded in it; the message names the line
    in that file.
    """
    from isthmus import _core
    from isthmus.cli.waiting import waiting

    try:
        with waiting("Building the machine"):
            # Check only one load, so that errors do not name a point of the load axis.
            ask(_core.check, text, "scenario", ["workload.load=2 GB/s"])
    except IsthmusError as error:
        found = re.fullmatch(
            r"scenario:(\d+): machine\.(edges|routes): (.*)", str(error), re.DOTALL
        )
        # The error is not in an embedded file, so the user can fix it in the scenario.
        if found is None:
            return
        line, key, problem = found.groups()
        before = text[: text.index(f"\n{key} = ") + 1].count("\n") + 1
        at = f":{int(line) - before}" if int(line) > before else ""
        raise IsthmusError(f"{given[key]}{at}: {problem}") from error


def _quoted(text: str) -> str:
    """Return a multi-line TOML string, literal if possible."""
    shown = text.replace("\r\n", "\n").replace("\n", "").replace("\t", "")
    if "'''" not in shown and shown.isprintable() and not text.endswith("'"):
        return f"'''\n{text}'''"
    return (
        '"""\n'
        + "".join(letter if letter in "\n\t" else _escaped(letter) for letter in text)
        + '"""'
    )


def _escaped(letter: str) -> str:
    """Return a character escaped for a basic TOML string."""
    plain = letter.isprintable() and letter not in '\\"'
    return letter if plain else f"\\U{ord(letter):08X}"
