"""What is printed: the answer as a table, key facts as a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isthmus.wording import counted, sentence, unit_label

if TYPE_CHECKING:
    from rich.table import Table

    from isthmus.answer import Answer, Lessons
    from isthmus.cli.layout import Output
    from isthmus.faults import Study, Summary

BADGE_STYLES = {
    "baseline": "dim",
    "better": "green",
    "far better": "bold green",
    "worse": "yellow",
    "far worse": "bold red",
    "mixed": "yellow",
    "collapses": "bold red",
}


def console() -> Output:
    """A console for standard output."""
    from isthmus.cli.layout import Output

    return Output()


def answer_table(answer: Answer) -> Table:
    """Each variant in a row: where it saturates, its latencies, how it compares."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("variant", no_wrap=True)
    modelled = _modelled(answer)
    unit = answer.view.run.load.words
    if answer.has_saturation:
        table.add_column(f"saturates at\n({unit})", justify="right", no_wrap=True)
        if modelled:
            table.add_column(f"model says\n({unit})", justify="right")
    if answer.has_peaks:
        table.add_column(f"carries at most\n({unit})", justify="right")
    shown = answer.shown
    for name in shown:
        unit = unit_label(answer.view.unit(name))
        place = "" if answer.view.of_jobs else answer.place
        table.add_column(f"{answer.head(name)}\n({unit}) {place}".rstrip(), justify="right")
    compared = len(answer.series) > 1
    if compared:
        table.add_column("verdict", no_wrap=True)
    if answer.has_reasons:
        table.add_column("fullest part")
    for each in answer.series:
        table.add_row(*_answer_row(answer, shown, each.series.position, compared))
    return table


def lessons_table(told: Lessons) -> Table:
    """How much longer each job takes beside others: a row per variant, a column per job and those
    beside.
    """
    from rich import box
    from rich.table import Table

    from isthmus.answer.lessons import felt_text, tail_text

    matrix = told.matrix
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("time against alone")
    pairs = list(dict.fromkeys((c.job, c.beside) for c in matrix.cells))
    for job, beside in pairs:
        table.add_column(f"{job}\nbeside {' + '.join(beside)}", justify="right")
    for variant in matrix.variants:
        row = [variant.words or "–"]
        for job, beside in pairs:
            cell = matrix.cell(variant, job, beside)
            felt = cell.felt if cell else None
            text = "\n".join(filter(None, (felt_text(felt), tail_text(felt))))
            style = "yellow" if felt and (felt.piles_up or felt.mean.more) else ""
            row.append(f"[{style}]{text}[/]" if style else text)
        table.add_row(*row)
    return table


def _modelled(answer: Answer) -> bool:
    return any(s.bracket and s.bracket.analytic is not None for s in answer.series)


def _answer_row(answer: Answer, shown: list[str], position: int, compared: bool) -> list[str]:
    from isthmus.wording import number

    each = answer.series[position]
    row = [each.series.label]
    if answer.has_saturation:
        row.append(each.bracket.text if each.bracket else "–")
        if _modelled(answer):
            row.append(number(each.bracket.analytic) if each.bracket else "–")
    if answer.has_peaks:
        ratio = each.peak_ratio
        row.append((each.peak.text if each.peak else "–") + (f"\n{ratio.text}" if ratio else ""))
    for name in shown:
        ratio = each.ratios.get(name)
        row.append(each.cell(name) + (f"\n{ratio.text}" if ratio else ""))
    if compared:
        style = BADGE_STYLES.get(each.badge, "")
        row.append(f"[{style}]{each.badge}[/]" if style else each.badge)
    if answer.has_reasons:
        row.append(each.reason.short if each.reason else "–")
    return row


def print_answer(answer: Answer) -> None:
    """Print the title, the conclusion, the table and what the verdicts rest on."""
    out = console()
    run = answer.view.run
    out.text(f"\n[bold]{plain(run.title or run.name)}[/]")
    if run.changed:
        out.text(f"[yellow]{plain(run.changed)}[/]")
    out.text(plain(sentence(answer.conclusion)))
    for warning in answer.warnings:
        out.text(f"[bold red]Collapsed:[/] {plain(warning)}")
    if answer.lessons:
        out.table(lessons_table(answer.lessons))
    else:
        out.table(answer_table(answer))
    # The table has what each variant comes to.
    told = answer.sentences if answer.lessons or not answer.has_reasons else answer.sentences[:1]
    for text in told:
        out.text(f"• {plain(sentence(text))}")
    if told:
        out.text("")
    undecided = sum(p.verdict.verdict == "undecided" for p in run.points)
    notes = [f"Intervals have {100 * run.confidence:g}% confidence."]
    if answer.basis:
        notes.insert(0, answer.basis)
    if undecided:
        are = "is" if undecided == 1 else "are"
        points = counted(len(run.points), "point")
        notes.append(f"{undecided} of {points} {are} neither stable nor saturated.")
    if run.quick:
        notes.append("This was a quick run; without --quick the intervals are narrower.")
    out.text("[dim]" + plain(" ".join(notes)) + "[/]")


def print_study(study: Study, told: list[Summary]) -> None:
    """Print what failures leave, a row for each fabric and kind of failure."""
    from rich import box
    from rich.table import Table

    from isthmus.faults.page import conclusions, rows

    out = console()
    out.text(f"\n[bold]{plain(study.title or study.name)}[/]")
    for text in conclusions(study, told):
        out.text(plain(text))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("fabric")
    table.add_column("failed", no_wrap=True)
    heads = ("cases", "nodes\nkept", "cut\noff", "throughput\nkept", "latency\nadded (ns)")
    for head in heads:
        table.add_column(head, justify="right")
    table.add_column("col-\nlapse", justify="right")
    table.add_column("worst case")
    for row in rows(study, told):
        pairs = ("nodes", "cut_off", "throughput", "latency")
        cells = [f"{row[name]}\n[dim]{row[name + '_worst']}[/]" for name in pairs]
        cells = [row["cases"], *cells, row["collapsed"]]
        table.add_row(row["fabric"], row["failure"], *cells, plain(row["worst"]))
    out.table(table)
    notes = (
        "Below each mean the worst case. Throughput is the highest accepted load without a "
        "collapse; the cases that collapse under more are counted."
    )
    out.text(f"[dim]{notes}[/]")


def print_facts(facts: list[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    from rich.text import Text

    console().facts([(name, Text(value)) for name, value in facts])


def plain(text: str) -> str:
    """A text as it is for what reads markup."""
    from rich.markup import escape

    return escape(text)
