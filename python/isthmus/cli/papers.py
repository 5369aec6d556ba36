"""``isthmus papers``: papers whose experiments can be repeated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from isthmus.cli.console import below, console, new_table, print_facts, styled
from isthmus.cli.group import Group
from isthmus.cli.plots_option import plots_option
from isthmus.cli.running import jobs_option, memory_option, seed_option
from isthmus.cli.streams import document
from isthmus.cli.voice import Voiced, voice

if TYPE_CHECKING:
    from isthmus.papers import Outcome, Paper
    from isthmus.results.collection import Results


@click.group(
    name="papers",
    cls=Group,
    invoke_without_command=True,
    help="""Run a paper's experiments and compare them with what it says.

\b
  isthmus papers                                     list them
  isthmus papers run hypercube-io --quick            a first look
  isthmus papers run hypercube-io                    at its own settings
  isthmus papers run hypercube-io --only sat_b1_sim  some claims only
  isthmus papers readme --check                      are their pages fresh?
""",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the papers if no subcommand is given."""
    if context.invoked_subcommand is not None:
        return
    from isthmus.papers import some_papers

    found = some_papers()
    if as_json:
        listed = [
            {
                "name": p.name,
                "title": p.title,
                "year": p.year,
                "folder": str(p.folder),
                "claims": len(p.rows()),
                "counts": _kept_counts(p),
            }
            for p in found
        ]
        document(json.dumps(listed, ensure_ascii=False))
        return
    print_facts([(p.name, _described(p)) for p in found])


def _described(paper: Paper) -> str:
    """Return the description of a paper in the list: authors, title, year, claims, verdicts."""
    from isthmus.wording import counted

    claims = counted(len(paper.rows()), "claim")
    text = f"{paper.authors}: {paper.title} ({paper.year}); {claims}"
    return "\n".join([text, *_kept_counts(paper)])


def _kept_counts(paper: Paper) -> list[str]:
    """Return the counts of verdicts in the last saved run, a line for each role of claims."""
    from isthmus.papers.readme import kept, kept_counts

    return kept_counts(paper.rows(), kept(paper))


@command.command(
    name="run",
    cls=Voiced,
    help="""Run a paper's scenarios and judge its claims, one row each.

NAME is a paper of `isthmus papers`, or a folder.
""",
)
@click.argument("name")
@click.option("--quick", is_flag=True, help="Wider intervals, in a fraction of the time.")
@jobs_option
@seed_option("Master seed [the scenarios'].")
@memory_option
@click.option("--only", multiple=True, metavar="ID", help="This claim only (may be repeated).")
@click.option("--out", type=click.Path(path_type=Path), help="Folder [out/papers/NAME].")
@click.option(
    "--figures/--no-figures", default=None, help="Draw the paper's figures [unless --quick]."
)
@plots_option
@click.option("--reports", is_flag=True, help="Also write tables and a report for each scenario.")
@click.option("--fresh", is_flag=True, help="Run again what the folder holds.")
@click.option(
    "--keep", is_flag=True, help="Keep the verdicts in the paper's folder and update its README."
)
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects as JSON.")
def run(
    name: str,
    quick: bool,
    jobs: int | None,
    seed: int | None,
    memory: str | None,
    only: tuple[str, ...],
    out: Path | None,
    figures: bool | None,
    plots: tuple[str, ...],
    reports: bool,
    fresh: bool,
    keep: bool,
    as_json: bool,
) -> int:
    """Run and judge; the exit status says only whether it could be done."""
    from isthmus.cli.running import folder_given, interrupted, threads
    from isthmus.errors import IsthmusError, meant
    from isthmus.execution import Stopped
    from isthmus.owned import Identity, OwnedFolder
    from isthmus.papers import How, find, run_paper
    from isthmus.papers.page import write_page
    from isthmus.papers.run import write_outcomes
    from isthmus.progress import step_callback

    if keep and (quick or only or seed is not None):
        raise IsthmusError("--keep: keeps a whole run; leave out --quick, --only and --seed")
    paper = find(name)
    rows = paper.rows()
    unknown = set(only) - {r.id for r in rows}
    if unknown:
        ids = (r.id for r in rows)
        hint = meant(min(unknown), ids, f"they are listed in {paper.table}")
        raise IsthmusError(f"{paper.name}: no claim {', '.join(sorted(unknown))}; {hint}")
    folder = folder_given(out) or Path("out") / "papers" / paper.name
    runs: dict[str, Results] = {}
    stopped = False
    with voice().progress() as watch:
        how = How(quick, threads(jobs), seed, reports, fresh, watch, plots, memory)
        try:
            with OwnedFolder.opened(folder, Identity("paper", paper.name)) as own:
                found = {
                    each.row.id: each
                    for each in run_paper(paper, folder, how, only=only, finished=runs.__setitem__)
                }
                outcomes = [found[row.id] for row in rows if row.id in found]
                write_outcomes(own, outcomes)
                if figures if figures is not None else not quick:
                    write_page(own, paper, outcomes, runs, step_callback(watch, paper.title), plots)
        except (Stopped, KeyboardInterrupt):
            stopped = True
    if stopped:
        return interrupted(folder)
    voice().step(f"results are in {folder}")
    if keep:
        from isthmus.papers import readme

        readme.keep(paper, outcomes)
        readme.keep_figures(paper, folder)
        readme.write(paper)
        voice().step(f"kept in {paper.folder}")
    if as_json:
        document(json.dumps([o.as_json() for o in outcomes], indent=2, ensure_ascii=False))
    else:
        _print(paper.title, outcomes)
        if (folder / "index.html").is_file():
            click.echo(f"Figures and verdicts: {folder / 'index.html'}")
    return 0


@command.command(
    name="readme",
    cls=Voiced,
    help="""Update the counts and tables of papers' READMEs from the verdicts that were kept.

NAMES are papers of `isthmus papers` [all of them], or folders.
""",
)
@click.argument("names", nargs=-1)
@click.option("--check", is_flag=True, help="Write nothing; fail if one is out of date.")
def readme(names: tuple[str, ...], check: bool) -> int:
    """Update the READMEs, or check that they are up to date."""
    from isthmus.papers import find, some_papers
    from isthmus.papers import readme as pages

    for paper in [find(name) for name in names] or some_papers():
        if check:
            pages.check(paper)
        elif pages.write(paper):
            voice().step(f"{paper.readme} is written")
    return 0


def _print(title: str, outcomes: list[Outcome]) -> None:
    """Print a table of claims with their verdicts."""
    from isthmus.papers.counts import counted
    from isthmus.papers.verdict import VERDICTS, with_unit

    table = new_table("claim", "role", "expected", "measured", "verdict", overflow="fold")
    for each in outcomes:
        row, style = each.row, VERDICTS[each.verdict][0]
        unit = f" {row.unit}" if row.unit not in ("", "ratio") else ""
        measured = with_unit(
            each.detail, each.measured, unit.strip() if row.rule != "holds" else ""
        )
        table.add_row(
            below(f"{row.where}: {row.quantity}", row.conditions),
            row.role,
            row.expected + (unit if row.rule != "holds" else ""),
            measured,
            below(styled(each.verdict, style), row.note),
        )
    out = console()
    out.text("\n", styled(title, "bold"))
    out.table(table)
    for line in counted((o.row, o.verdict) for o in outcomes):
        out.text(line)
