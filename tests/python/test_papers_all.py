"""All papers: their rows, their READMEs, and what a quick run says of them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from conftest import DRAWN, REPOSITORY, quick_rows
from isthmus.core import read_text
from isthmus.errors import IsthmusError
from isthmus.papers import VERDICTS, find, readme
from isthmus.papers.counts import counted
from isthmus.papers.figures import figures
from isthmus.papers.folder import ROLES, Paper
from isthmus.papers.tolerance import read
from isthmus.scenario import Scenario

NAMES = sorted(path.parent.name for path in REPOSITORY.glob("papers/*/paper.toml"))
FOR_LONG_RUNS = {
    # What collapses only after longer than a quick run.
    "sci-fabrics": {"manhattan_collapse", "urt_fixed_collapse"},
}
"""Rows whose effect takes longer to build up than a quick run is long."""


class Run(NamedTuple):
    """A quick run of a paper, and what it printed."""

    paper: Paper
    found: dict[str, dict[str, Any]]


@pytest.fixture(scope="module", params=NAMES)
def paper(request):
    return find(str(REPOSITORY / "papers" / request.param))


@pytest.fixture(scope="module")
def quick(paper, quick_run):
    """A quick run of most rows."""
    return Run(paper, quick_run(paper.name)[0])


def cells(paper):
    """The rows of the table as they are written."""
    with paper.table.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_row_of_the_reference_is_there(paper):
    rows = {row.id: row for row in paper.rows()}
    with (paper.folder / "reference.csv").open(newline="") as file:
        reference = list(csv.DictReader(file))
    assert len(reference) > 15
    for told in reference:
        row = rows[told["id"]]
        if told["value"]:
            assert (row.expected, row.unit) == (told["value"], told["unit"]), row.id
        assert row.role != "beyond", row.id


def test_every_row_has_a_role_a_section_and_a_tolerance_with_a_reason(paper):
    classes = read(paper.folder / "tolerances.toml")
    told, kept = cells(paper), readme.kept(paper)
    assert {row["role"] for row in told} == set(ROLES) - (
        set() if paper.name != "hypercube-io" else {"fitted"}
    )
    assert {row["tolerance"] for row in told} - {""} == classes.keys()
    for row in paper.rows():
        assert row.section, row.id
        assert bool(row.tolerance) == bool(row.reason), row.id
        asks = row.rule == "within" or (row.rule == "holds" and " ~ " in kept[row.id]["detail"])
        assert bool(row.tolerance) == asks, row.id
    for each in classes.values():
        assert len(each.reason) > 15
        # A reason tells of a kind of number, not of a row.
        assert not any(re.search(rf"\b{row['id']}\b", each.reason) for row in told)


def test_the_scenarios_are_read_and_used(paper):
    named = {path.stem for path in (paper.folder / "scenarios").glob("*.toml")}
    used = {row.scenario for row in paper.rows()} | {f.scenario for f in figures(paper)}
    assert used - {""} | {"dependability"} >= named
    for name in named:
        assert f'name = "{name}"' in read_text(paper.scenario(name))
        Scenario.load(paper.scenario(name)).check()


def test_the_readme_is_what_the_kept_verdicts_say(paper):
    readme.check(paper)
    text = read_text(paper.readme)
    said = re.findall(
        r"^\| `(\w+)` \| (\w+) \|.*\| (?:\*\*)?([a-z ]+?)(?:\*\*)? \|$", text, re.MULTILINE
    )
    kept = readme.kept(paper)
    rows = {row.id: row for row in paper.rows()}
    assert sorted(name for name, _, _ in said) == sorted(rows)
    for name, role, verdict in said:
        assert (role, verdict) == (rows[name].role, kept[name]["verdict"])
    for path in re.findall(r"\]\(([\w-]+/[\w./-]+)\)", text):
        assert (paper.folder / path).is_file(), path


def test_the_counts_follow_from_the_verdicts(paper):
    """Predictions first; what is fitted, or set, is never counted as reproduced."""
    kept, rows = readme.kept(paper), paper.rows()
    lines = readme.kept_counts(rows, kept)
    assert re.match(r"\d+ predictions: \d+ reproduced", lines[0])
    text = read_text(paper.readme)
    assert "\n".join(f"- {line}" for line in lines) in text
    assert sum(int(line.split()[0]) for line in lines) == len(rows)
    for line in lines:
        total, _, parts = line.partition(": ")
        assert sum(int(part.split()[0]) for part in parts.split(", ")) == int(total.split()[0])
    predictions = Counter(
        kept[row.id]["verdict"] for row in rows if row.role == "prediction" and not row.same_as
    )
    assert f"{predictions['reproduced']} reproduced" in lines[0]
    for row in rows:
        if row.role in ("fitted", "setting"):
            assert kept[row.id]["verdict"] != "reproduced", row.id
            assert kept[row.id]["role"] == row.role


def test_rows_that_do_not_come_out_say_why(paper):
    kept = readme.kept(paper)
    for row in paper.rows():
        if kept[row.id]["verdict"] in ("not reproduced", "differs by reading", "not comparable"):
            assert row.note or row.same_as, row.id


def test_a_quick_run_never_contradicts_the_one_that_was_kept(quick):
    """It may leave more undecided, and less; but it has no other answer."""
    kept = readme.kept(quick.paper)
    assert list(quick.found) == quick_rows(quick.paper.name)
    decided = 0
    for name, each in quick.found.items():
        assert each["verdict"] in VERDICTS
        assert each["role"] in ROLES
        assert each["detail"]
        if each["low"] is not None:
            assert each["low"] <= each["measured"] <= each["high"]
        if each["verdict"] == "undecided" or kept[name]["verdict"] == "undecided":
            continue
        decided += 1
        if name not in FOR_LONG_RUNS.get(quick.paper.name, ()):
            assert each["verdict"] == kept[name]["verdict"], (each, kept[name])
    assert decided > len(quick.found) / 2


def test_the_page_and_the_figures_are_made(quick_run):
    paper, (_, out) = find(str(REPOSITORY / "papers" / DRAWN)), quick_run(DRAWN)
    names = {figure.name for figure in figures(paper)}
    for name in names:
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    page = (out / "index.html").read_text()
    assert page.count("<figure ") == len(names)
    assert page.count('class="badge') == len(paper.rows())
    assert "predictions: " in page and "quick run" in page


def test_a_row_that_changes_makes_the_readme_out_of_date(tmp_path, isthmus):
    """Text that people wrote stays; what is generated follows the kept verdicts."""
    import shutil

    home = tmp_path / "papers" / "copy"
    shutil.copytree(REPOSITORY / "papers" / "hypercube-io", home)
    assert isthmus("papers", "readme", "--check", "copy").returncode == 0
    page = home / "README.md"
    text = page.read_text()

    page.write_text(text.replace("| `pe_pe_3cube` | prediction |", "| `pe_pe_3cube` | equation |"))
    done = isthmus("papers", "readme", "--check", "copy")
    assert done.returncode == 2
    assert "README.md: its tables are out of date; run `isthmus papers readme copy`" in done.stderr
    assert isthmus("papers", "readme", "copy").returncode == 0
    assert page.read_text() == text

    table = home / "expected.csv"
    table.write_text(table.read_text().replace(",3.3,latency,", ",3.4,latency,"))
    done = isthmus("papers", "readme", "--check", "copy")
    assert done.returncode == 2
    assert "verdicts.json: row 'pe_pe_3cube' or its scenario has changed since" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("<!-- end -->", ""), r"README\.md:\d+: no <!-- end --> before this line"),
        (("## Table 2 and section 6", "## Table 2"), "no row has the section 'Table 2'"),
        (("<!-- claims -->", "<!-- none -->"), "no table below a heading"),
    ],
)
def test_marks_that_make_no_sense(tmp_path, change, message):
    import shutil

    home = tmp_path / "copy"
    shutil.copytree(REPOSITORY / "papers" / "hypercube-io", home)
    page = home / "README.md"
    old, new = change
    head, tail = page.read_text().split("## Table 2 and section 6")
    tail = "## Table 2 and section 6" + tail
    page.write_text(head + tail.replace(old, new, 1))
    with pytest.raises(IsthmusError, match=message):
        readme.check(find(str(home)))


def test_counts_begin_with_predictions_and_repeat_nothing():
    rows = [
        ("beyond", "reproduced", ""),
        ("fitted", "fitted", ""),
        ("prediction", "undecided", ""),
        ("prediction", "differs by reading", ""),
        ("prediction", "reproduced", ""),
        ("prediction", "reproduced", "x"),
        ("prediction", "not comparable", ""),
        ("prediction", "differs by reading", ""),
        ("setting", "not comparable", "x"),
    ]
    told = [(SimpleNamespace(role=role, same_as=same), verdict) for role, verdict, same in rows]
    assert counted(told) == [
        "4 predictions: 1 reproduced, 2 differ by reading, 1 undecided",
        "1 fitted row: 1 fitted",
        "1 row beyond the paper: 1 reproduced",
        "1 row that repeats another, not counted above: 1 reproduced",
        "2 rows that cannot be compared, not counted above: 2 not comparable",
    ]


def test_a_whole_run_is_kept_or_none(isthmus):
    for words in (["--quick"], ["--only", "scaling"], ["--seed", "3"]):
        done = isthmus("papers", "run", "hypercube-io", "--keep", *words)
        assert done.returncode == 2
        assert "--keep: keeps a whole run; leave out --quick, --only and --seed" in done.stderr
