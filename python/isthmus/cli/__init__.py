"""The one command line. Subcommands are imported when they are called, so that help is quick."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import NoReturn

import click

from isthmus.errors import IsthmusError, RunFailedError

_COMMANDS = {
    "run": "Run a scenario: analysis, simulation, tables, report.",
    "check": "Read a scenario and say what it would run.",
    "report": "Build the tables and the report of a finished run again.",
    "topology": "Describe and draw a machine's networks.",
    "faults": "Study what failures leave of fabrics of SCI rings.",
    "place": "Place I/O nodes on a hypercube or on any graph.",
    "balance": "Size the I/O side for an application.",
    "papers": "Run a paper's experiments and compare them with what it says.",
}

_HELP = """Simulate, analyse and size the I/O side of parallel machines.

\b
A first look:
  isthmus check examples/hypercube-128.toml        what would be run
  isthmus run examples/hypercube-128.toml --quick  the answer sooner, with wider intervals
  isthmus run examples/hypercube-128.toml          with narrow intervals; see out/*/report.html
\b
Change a field of the scenario on the command line (units are mandatory):
  isthmus run examples/hypercube-128.toml machine.dimension=5 workload.locality=0.5
\b
Without a scenario:
  isthmus topology --dimension 7               nodes, placement, deadlock check
  isthmus topology --fabric torus --size 6x6   rings, distances, deadlock check
  isthmus place --dimension 5                  fewest I/O nodes within one hop
  isthmus balance sorting --pes 128            how much I/O a machine needs
  isthmus papers                               the papers that can be run again
\b
Exit status: 0 done (a paper's claims are judged in the table, not here), 1 a run failed,
2 bad input, 130 interrupted (finished points are kept).
"""


class _Commands(click.Group):
    """A group that knows its commands' names and summaries without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(f"isthmus.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        import isthmus

        click.echo(f"isthmus {isthmus.__version__}")
        ctx.exit()


@click.group(
    cls=_Commands,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
def cli() -> None:
    """Group of all commands."""


def main() -> NoReturn:
    """Entry point: one line on standard error and exit status 2 for anything the user can mend, 1
    for a run that failed.
    """
    try:
        status = cli.main(prog_name="isthmus", standalone_mode=False)
    except click.ClickException as error:
        _fail(_usage(error))
    except click.exceptions.Abort:
        print("isthmus: interrupted", file=sys.stderr)
        sys.exit(130)
    except RunFailedError as error:
        _fail(str(error), 1)
    except IsthmusError as error:
        _fail(str(error))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        # A full disk, a folder taken away: the message names the file where there is one.
        place = f"{error.filename}: " if error.filename else ""
        _fail(
            f"{place}{error.strerror or error}; finished points are kept, free the way and repeat"
        )
    sys.exit(status if isinstance(status, int) else 0)


def _usage(error: click.ClickException) -> str:
    message = error.format_message()
    if isinstance(error, click.UsageError) and error.ctx is not None:
        message = f"{message.rstrip('.')}; see `{error.ctx.command_path} --help`"
    return message


def _fail(message: str, status: int = 2) -> NoReturn:
    print("isthmus: " + " ".join(message.split("\n")), file=sys.stderr)
    sys.exit(status)
