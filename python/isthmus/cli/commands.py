"""The table of commands, the help of the bare command, and the options of all commands."""

from __future__ import annotations

import click

from isthmus.cli.group import Group

COMMANDS = {
    "run": "Run a scenario: analysis, simulation, tables, report.",
    "check": "Read a scenario and say what it would run.",
    "init": "Write a scenario with comments, to start from.",
    "schema": "Print the JSON Schema of scenarios, for editors.",
    "status": "Say how far a run is that is done in parts or elsewhere.",
    "collect": "Write results and report of a run that was done in parts.",
    "report": "Build the tables and the report of a finished run again.",
    "compare": "Say what differs between two results.",
    "topology": "Describe and draw a machine's networks.",
    "faults": "Study what failures leave of fabrics of SCI rings.",
    "place": "Place I/O nodes on a hypercube or on any graph.",
    "balance": "Size the I/O side for an application.",
    "redistribute": "Move a distributed array from one layout to another.",
    "nic": "Run streams for real, and what is built on them.",
    "iod": "Serve files to the processes of a job.",
    "examples": "List, print or copy the examples that come with the package.",
    "papers": "Run a paper's experiments and compare them with what it says.",
    "completion": "Print what makes a shell complete the words of isthmus.",
}
"""Names and summaries of all commands; the module of a command is imported when it is called."""

_HELP = """Simulate, analyse and size the I/O side of parallel machines.

\b
A first look:
  isthmus check examples/hypercube-128.toml        what would be run
  isthmus run examples/hypercube-128.toml --quick  sooner, wider intervals
  isthmus run examples/hypercube-128.toml          see out/*/report.html

\b
Change a field of the scenario on the command line (units are mandatory):
  isthmus run examples/hypercube-128.toml workload.message="2 KiB"
  isthmus check --fields lanes                     the fields there are

\b
A scenario of your own:
  isthmus init fat-tree mine.toml            one with comments
  isthmus init sci | isthmus run - --quick   "-" is standard input
  isthmus init graph net.toml --graph my.graphml  switches of a file

\b
Without a scenario:
  isthmus topology --dimension 7             nodes, placement, deadlock check
  isthmus topology --fabric ring --size 8    rings, distances, deadlock check
  isthmus place --dimension 5                fewest I/O nodes within one hop
  isthmus balance sorting --pes 128          how much I/O a machine needs
  isthmus redistribute plan panels.toml      who sends which part of an array
  isthmus papers                             the papers that can be run again

Exit status: 0 done (a paper's claims are judged in the table, not here), 1 a run failed or its
answer could not be printed, 2 bad input; 130, 129, 143 ended by Ctrl-C, a closed terminal or
SIGTERM (finished points are kept), 141 nobody read on (as in `isthmus ... | head`).
"""


class _Commands(Group):
    """The group of all commands, which lists summaries without importing them."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands and their summaries to the help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Print the version and exit, if the option ``--version`` is given."""
    if wanted and not ctx.resilient_parsing:
        import isthmus

        click.echo(f"isthmus {isthmus.__version__}")
        ctx.exit()


@click.group(
    cls=_Commands,
    later={name: name for name in COMMANDS},
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
def cli() -> None:
    """Group of all commands."""
