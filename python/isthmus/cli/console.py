"""Printing on standard output: answers of runs as tables, names with values as lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isthmus.wording import EXACT, counted, number, sentence, unit_label

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from isthmus.answer import Answer
    from isthmus.answer.lessons import Lessons
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
    """Return a console for standard output."""
    from isthmus.cli.layout import Output

    return Output()


def new_table(*heads: str, **options: Any) -> Table:
    """Return a table in the style of the command; `heads` are the column headings."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, **options)
    return table


def answer_table(answer: Answer) -> Table:
    """Return a table of variants: saturation, latencies and comparison with the baseline."""
    table = new_table("variant", no_wrap=True)
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


def lessons_table(lessons: Lessons) -> Table:
    """Return a table of the slowdowns of jobs by the jobs that run beside them.

    It has a row for each variant, and a column for each job with the jobs beside it.
    """
    from isthmus.answer.lessons import felt_text, tail_text

    matrix = lessons.matrix
    table = new_table("time against alone")
    pairs = list(dict.fromkeys((c.job, c.beside) for c in matrix.cells))
    for job, beside in pairs:
        table.add_column(f"{job}\nbeside {' + '.join(beside)}", justify="right")
    for variant in matrix.variants:
        row: list[str | Text] = [variant.words or "–"]
        for job, beside in pairs:
            cell = matrix.cell(variant, job, beside)
            felt = cell.felt if cell else None
            text = "\n".join(filter(None, (felt_text(felt), tail_text(felt))))
            row.append(styled(text, "yellow" if felt and (felt.piles_up or felt.mean.more) else ""))
        table.add_row(*row)
    return table


def _modelled(answer: Answer) -> bool:
    """Return whether a model value of the saturation is known for any variant."""
    return any(s.bracket and s.bracket.analytic is not None for s in answer.series)


def _answer_row(
    answer: Answer, shown: list[str], position: int, compared: bool
) -> list[str | Text]:
    """Return the table row of one variant."""
    each = answer.series[position]
    row: list[str | Text] = [each.series.label]
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
        row.append(styled(each.badge, BADGE_STYLES.get(each.badge, "")))
    if answer.has_reasons:
        row.append(each.reason.short if each.reason else "–")
    return row


def print_answer(answer: Answer) -> None:
    """Print the answer of a run: title, conclusion, table of variants and criteria."""
    out = console()
    run = answer.view.run
    out.text("\n", styled(run.title or run.name, "bold"))
    if run.changed:
        out.text(styled(run.changed, "yellow"))
    out.text(sentence(answer.conclusion))
    for warning in answer.warnings:
        out.text(styled("Collapsed:", "bold red"), f" {warning}")
    if answer.lessons:
        out.table(lessons_table(answer.lessons))
    else:
        table = answer_table(answer)
        if len(table.columns) > 1:
            out.table(table)
    # Do not repeat the comparison of variants, which the table already shows.
    texts = answer.sentences if answer.lessons or not answer.has_reasons else answer.sentences[:1]
    for text in texts:
        out.text(f"• {sentence(text)}")
    if texts:
        out.text("")
    undecided = sum(p.verdict.verdict == "undecided" for p in run.points)
    notes = [EXACT if run.exact else f"Intervals have {100 * run.confidence:g}% confidence."]
    if answer.basis:
        notes.insert(0, answer.basis)
    if undecided:
        are = "is" if undecided == 1 else "are"
        points = counted(len(run.points), "point")
        notes.append(f"{undecided:,} of {points} {are} neither stable nor saturated.")
    if answer.unmodelled:
        notes.append(answer.unmodelled)
    if run.quick and not run.exact:
        notes.append("This was a quick run; without --quick the intervals are narrower.")
    out.text(styled(" ".join(notes), "dim"))


def print_study(study: Study, by_kind: list[Summary]) -> None:
    """Print the result of a failure study, a row for each fabric and kind of failure."""
    from isthmus.faults.page import conclusions, rows

    out = console()
    out.text("\n", styled(study.title or study.name, "bold"))
    for text in conclusions(study, by_kind):
        out.text(text)
    table = new_table("fabric")
    table.add_column("failed", no_wrap=True)
    heads = ("cases", "nodes\nkept", "cut\noff", "throughput\nkept", "latency\nadded (ns)")
    for head in heads:
        table.add_column(head, justify="right")
    table.add_column("col-\nlapse", justify="right")
    table.add_column("worst case")
    for row in rows(study, by_kind):
        pairs = ("nodes", "cut_off", "throughput", "latency")
        means = [below(row[name], row[name + "_worst"]) for name in pairs]
        cells = (row["cases"], *means, row["collapsed"])
        table.add_row(row["fabric"], row["failure"], *cells, row["worst"])
    out.table(table)
    notes = (
        "Below each mean the worst case. Throughput is the highest accepted load without a "
        "collapse; the cases that collapse under more are counted."
    )
    out.text(styled(notes, "dim"))


def print_facts(facts: list[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    console().facts(facts)


def styled(text: str, style: str) -> Text:
    """Return a text in a style of rich; square brackets in it are not markup."""
    from rich.text import Text

    return Text(text, style)


def below(text: str | Text, note: str) -> Text:
    """Return a text with an optional note below it."""
    from rich.text import Text

    return Text.assemble(text, "\n", (note, "dim")) if note else Text.assemble(text)
