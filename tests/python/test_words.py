"""The user's own words are printed as they are: brackets are no markup, colons no pictures."""

import pytest
from rich.table import Table
from rich.text import Text

from isthmus.cli.layout import Output
from isthmus.faults import plan
from isthmus.scenario import Scenario

ODD = ["x [/] y [bold] lost", r"[red]all[/red] :smile: back\[slash]"]

CUBE = """\
version = 1
name = "cube"
title = '{odd}'

[machine]
kind = "hypercube"
dimension = 3

[workload]
locality = 0.2
rate = "2 /ms"

[[sweep.way]]
label = '{odd}'
machine.lanes.io_link = 1

[[sweep.way]]
label = 'other {odd}'
machine.lanes.io_link = 2

[stop]
precision = "20%"
of = ["pe_pe.header"]
messages_first = 1000
messages_max = 2000
replications = 3
"""
TREE = """\
version = 1
name = "tree"
title = '{odd}'

[machine]
kind = "fat-tree"
arity = 2
levels = 3

[workload.servers]
placement = "clustered"
count = 2

[workload.jobs.compute]
traffic = "uniform"
nodes = "part 1 of 2"

[workload.jobs.io]
traffic = "io"
nodes = "part 2 of 2"
message = "50 kB"

[sweep]
"workload.active" = "pairs"

[[sweep.way]]
label = '{odd}'
workload.jobs.io.read_ratio = 0.0

[[sweep.way]]
label = 'other {odd}'
workload.jobs.io.read_ratio = 0.5

[stop]
rule = "fixed"
time = "3 ms"
replications = 3
"""


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("text", [CUBE, TREE], ids=["cube", "tree"])
def test_the_answer_shows_titles_labels_and_files_as_they_are(isthmus, tmp_path, text, odd):
    path = tmp_path / f"{odd.replace('/', ';')}.toml"
    path.write_text(text.replace("{odd}", odd))
    checked = isthmus("check", path, COLUMNS="200")
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.count(odd) >= 3
    assert f"{path}: well formed" in checked.stdout
    assert isthmus("check", path, "--resolved").returncode == 0
    for columns in ("60", "200"):
        done = isthmus("run", path, "--quick", "--out", f"out {odd}", COLUMNS=columns)
        assert done.returncode == 0, done.stderr
        title, *rest = done.stdout.strip().splitlines()
        assert title == odd
        shown = "\n".join(rest)
        assert f"Report: out {odd}/report.html" in rest
        # Narrow cells are broken between words.
        assert all(word in shown.partition("Report:")[0] for word in ("other", *odd.split()))
    assert f"other {odd}" in shown
    assert odd in shown.replace(f"other {odd}", "").partition("Report:")[0]


def test_a_study_shows_titles_and_files_as_they_are(isthmus, tmp_path):
    ring = '[machine]\nkind = "sci"\nfabric = "ring"\nsize = 4\n[workload]\nload = "50 MB/s"\n'
    stop = '[stop]\nrule = "fixed"\ntime = "0.1 ms"\nreplications = 3\n'
    path = tmp_path / "[;] [bold] ring.toml"
    path.write_text(f"version = 1\nname = 'ring'\ntitle = 'x [/] [bold] y'\n{ring}{stop}")
    assert plan([Scenario(path.read_text(), str(path))], 0, None).title == "x [/] [bold] y"
    done = isthmus("faults", path, "--quick", "--out", "[out]")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == "x [/] [bold] y"
    assert "Report: [out]/report.html" in done.stdout


def test_nothing_but_styled_text_is_markup(capsys, monkeypatch):
    for columns in ("40", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        out = Output()
        table = Table()
        table.add_column("job [/]")
        table.add_column("[bold]", justify="right")
        table.add_row("x [/] y", Text("[dim]", "dim"))
        table.add_row("a" * 50, ":x:")
        out.table(table)
        out.text("[bold]", Text("[/]", "bold"))
        out.facts([("axis [/]", "[/] value")])
        shown = capsys.readouterr().out
        # The head of the first column has no place in a list.
        words = ("x [/] y", "[dim]", ":x:", "[bold][/]", "axis [/]", "[/] value")
        for word in (*words, "job [/]") if columns == "200" else words:
            assert word in shown


def test_numbers_are_whole_at_every_width(capsys, monkeypatch):
    """A table whose numbers do not fit is a list. Text gives way before numbers do."""
    number = "8.943 ± 0.061"
    for width in range(40, 130):
        monkeypatch.setenv("COLUMNS", str(width))
        table = Table(pad_edge=False)
        table.add_column("variant", no_wrap=True)
        for head in (
            "saturates at\n(GB/s)",
            "carries at most\n(GB/s)",
            "latency\n(µs) at 0.6 GB/s",
        ):
            table.add_column(head, justify="right")
        table.add_column("fullest part")
        table.add_row("unidirectional torus", number, number, number, "links of the rings 99%")
        Output().table(table)
        shown = capsys.readouterr().out
        assert shown.count(number) == 3
        assert shown.count("unidirectional torus") == 1
        assert all(word in shown for word in ("at most", "latency", "links", "rings", "99%"))
        assert max(len(line) for line in shown.splitlines()) <= width
