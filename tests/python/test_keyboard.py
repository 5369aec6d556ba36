"""What a person types: commands, options, shells, scenarios to start from; what is printed."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

import command_line
from conftest import REPOSITORY, SMALL
from isthmus.cli.commands import COMMANDS
from isthmus.cli.init import KINDS
from isthmus.wording import counted, quantity

DEMO = REPOSITORY / "examples" / "hypercube-128.toml"


def test_the_bare_command_prints_its_help(isthmus):
    done = isthmus()
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout == isthmus("--help").stdout
    assert "A first look:" in done.stdout


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS), ["papers", "run"]], ids=str)
def test_help_fits_on_80_columns(isthmus, words):
    done = isthmus(*words, "--help", COLUMNS="80")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line for line in lines if len(line) > 80 or line != line.rstrip() or "\b" in line] == []


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["chek"], "no command 'chek'; did you mean 'check'?"),
        (["Run"], "no command 'Run'; did you mean 'run'?"),
        (["papres", "run"], "no command 'papres'; did you mean 'papers'?"),
        (["frobnicate"], "no command 'frobnicate'; there are run, check, init"),
        (["run", "x.toml", "--quik"], "no option --quik; did you mean --quick or --quiet?"),
        (["papers", "run", "sci-fabrics", "--only", "ring_peak_anlytic"], "'ring_peak_analytic'?"),
        (["check", "--fields", "localty"], "did you mean 'locality'?"),
        (["completion", "tcsh"], "'tcsh' is not one of 'bash', 'zsh', 'fish'"),
    ],
)
def test_what_was_meant(isthmus, words, meant):
    done = isthmus(*words, cwd=REPOSITORY)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert meant in line


def test_version_in_short(isthmus):
    assert isthmus("-V").stdout == isthmus("--version").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(isthmus, shell, tmp_path):
    done = isthmus("completion", shell)
    assert done.returncode == 0
    assert "_ISTHMUS_COMPLETE" in done.stdout
    script = tmp_path / "script"
    script.write_text(done.stdout)
    if shutil.which(shell):
        subprocess.run([shell, "-n", str(script)], check=True)


def test_a_shell_is_told_commands_and_options(isthmus):
    def complete(words: str) -> list[str]:
        done = isthmus(
            _ISTHMUS_COMPLETE="bash_complete",
            COMP_WORDS=f"isthmus {words}",
            COMP_CWORD=str(len(words.split())),
        )
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert complete("ch") == ["check"]
    assert complete("pap") == ["papers"]
    assert "--quick" in complete("run --qui")
    assert complete("init fat") == ["fat-tree"]


def piped(text, *words, cwd):
    return command_line.call(*words, cwd=cwd, stdin=text)


def test_a_scenario_from_standard_input(tmp_path):
    done = piped(SMALL, "check", "-", "machine.dimension=4", cwd=tmp_path)
    assert done.returncode == 0
    assert "16 PEs" in done.stdout
    assert done.stdout.endswith("<stdin>: well formed\n")
    wrong = piped(SMALL.replace("locality", "localty"), "run", "-", cwd=tmp_path)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("isthmus: <stdin>:10: workload.localty")
    twice = piped(SMALL, "faults", "-", "-", cwd=tmp_path)
    assert twice.stderr == "isthmus: -: standard input can be read once only\n"
    other = piped(SMALL, "faults", "-", cwd=tmp_path)
    assert other.returncode == 2
    assert len(other.stderr.splitlines()) == 1
    run = piped(SMALL.replace("[0, 1]", "[1]"), "run", "-", "--json", cwd=tmp_path)
    assert len(json.loads(run.stdout)["points"]) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_init_writes_a_scenario_that_is_taken(isthmus, kind, tmp_path):
    printed = isthmus("init", kind)
    assert printed.returncode == 0
    assert printed.stdout.count("#") > 20
    done = isthmus("init", kind, "mine.toml")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == printed.stdout
    told = json.loads(isthmus("check", "mine.toml", "--json").stdout)
    assert told["machines"][0]["kind"] == kind
    assert told["points"] >= 4
    again = isthmus("init", kind, "mine.toml")
    assert again.returncode == 2
    assert "mine.toml: there is one already" in again.stderr
    assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == printed.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_what_init_says_of_defaults_is_so(isthmus, kind):
    """Fields in comments show the default: with them in, the machine is the same."""
    text = isthmus("init", kind).stdout
    rows = json.loads(isthmus("check", "--fields", "--json").stdout)
    fields = {row["key"]: row["default"] for row in rows if row["machine"] in ("", kind)}
    table, shown = "", 0
    for line in text.splitlines():
        if line.startswith("["):
            table = line.strip("[]").partition("]")[0]
        if line.startswith("# ") and " = " in line and "{" not in line:
            key, _, rest = line[2:].partition(" = ")
            value = rest.partition("#")[0].strip()
            default = str(fields[f"{table}.{key.strip()}"])
            # Some defaults have conditions: "fixed" if ...
            assert default == value or default.startswith(f"{value} if "), line
            shown += 1
    assert shown >= 2


def test_init_runs_through_a_pipe(isthmus, tmp_path):
    text = isthmus("init", "sci").stdout
    short = ["stop.time=20 us", "search.resolution=50%"]
    done = piped(text, "run", "-", "--quick", *short, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Which torus of SCI rings?" in done.stdout


def test_fields_are_filtered(isthmus):
    def keys(*pattern: str) -> list[str]:
        done = isthmus("check", "--fields", *pattern, "--json")
        return [field["key"] for field in json.loads(done.stdout)]

    assert set(keys("lanes")) < set(keys())
    assert all("lanes" in key for key in keys("lanes"))
    assert keys("machine.*.seek") == ["machine.device.disk.seek"]
    assert "machine.lanes.io_link" in isthmus("check", "--fields", "IO_LINK").stdout


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 132])
def test_output_has_the_width_it_is_told(isthmus, columns):
    for words in (["check", "--fields"], ["check", str(DEMO)], ["papers"]):
        done = isthmus(*words, cwd=REPOSITORY, COLUMNS=str(columns))
        assert done.returncode == 0, done.stderr
        for line in done.stdout.splitlines()[:-1]:
            assert len(line) <= columns, line
            assert line == line.rstrip(), repr(line)
        assert "…" not in done.stdout


def test_output_to_a_pipe_is_wide_where_nobody_tells(isthmus):
    done = isthmus("check", "--fields", COLUMNS="")
    longest = max(done.stdout.splitlines(), key=len)
    assert 150 < len(longest) <= 200
    assert "\x1b" not in done.stdout


def test_tables_are_lists_where_they_do_not_fit(load_sweep, capsys, monkeypatch):
    from isthmus.cli.console import print_answer

    def printed(columns: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        print_answer(load_sweep.answer)
        return capsys.readouterr().out.splitlines()

    wide, narrow = printed(200), printed(60)
    cells = [series.bracket.text for series in load_sweep.answer.series]
    for cell in cells:
        assert any(cell in line for line in wide)
        assert any(cell in line for line in narrow)
    assert max(map(len, narrow)) <= 60
    assert not any("…" in line or line != line.rstrip() for line in wide + narrow)
    # In the list each row has a head of its own.
    for series in load_sweep.answer.series:
        assert series.series.label in narrow


def test_units_that_people_write_are_understood_well_enough(isthmus, tmp_path):
    (tmp_path / "a.toml").write_text(
        SMALL.replace("dimension = 3", 'dimension = 3\nbandwidth = "200 Gb/s"')
    )
    done = isthmus("check", "a.toml")
    assert done.returncode == 2
    assert "`Gb/s` is not a unit of a bandwidth; did you mean `Gbit/s`?" in done.stderr


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1_020_000.0, "MB/s", "1.02 TB/s"),
        (999.6, "MB/s", "1.00 GB/s"),
        (999.4, "MB/s", "999 MB/s"),
        (0.00012, "GB/s", "120 kB/s"),
        (1500.0, "ns", "1.50 µs"),
        (3.2, "furlongs", "3.20 furlongs"),
        (0.0, "MB/s", "0 MB/s"),
        (None, "MB/s", "– MB/s"),
        (5e9, "PB/s", "5.00e+09 PB/s"),
    ],
)
def test_quantities_are_written_as_people_write_them(value, unit, text):
    assert quantity(value, unit) == text


def test_a_large_machine_has_large_units(isthmus):
    words = ("balance", "matrix-product", "--pes", 10**6, "--io-bandwidth", "5 MB/s")
    told = isthmus(*words).stdout
    assert "GB/s in all" in told or "TB/s in all" in told
    assert "e+" not in told


def test_plurals(isthmus, tmp_path):
    assert counted(1, "claim") == "1 claim"
    assert counted(1234, "search", "searches") == "1,234 searches"
    text = SMALL.replace("[0, 1]", "[1]").replace('["2 /ms", "4 /ms"]', '["2 /ms"]')
    (tmp_path / "one.toml").write_text(text)
    assert "1 point, 0 searches\n" in isthmus("check", "one.toml").stdout
    one = isthmus("place", "--dimension", 1, "--method", "list", "--pes", "0,1").stdout
    assert "each serves  1 PE\n" in one
    paper = tmp_path / "papers" / "tiny"
    (paper / "scenarios").mkdir(parents=True)
    (paper / "paper.toml").write_text('title = "T"\nauthors = "A"\nyear = 2000\npublished = "P"\n')
    source = (REPOSITORY / "papers/sci-fabrics/expected.csv").read_text(encoding="utf-8")
    (paper / "expected.csv").write_text("\n".join(source.splitlines()[:2]) + "\n")
    assert "; 1 claim\n" in isthmus("papers", COLUMNS="200").stdout
