import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import command_line
import isthmus as isthmus_package
from conftest import REPOSITORY, SMALL

DEMO = REPOSITORY / "examples" / "hypercube-128.toml"


def one_line(done, *parts):
    """Bad input: nothing on standard output, one line on standard error, exit status 2."""
    assert done.returncode == 2, done
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("isthmus: ")
    for part in parts:
        assert part in line
    return line


def test_help_answers_within_300_ms():
    """Of a processor: others may be busy with something else."""

    def spent():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def once():
        began = spent()
        assert command_line.process("--help").returncode == 0
        return spent() - began

    assert min(once() for _ in range(5)) < 0.3


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom isthmus.cli import main\nsys.argv = ['isthmus', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'polars', 'matplotlib', 'rich', 'jinja2', 'isthmus._core'}\n"
        "print(heavy & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("set()\n")


@pytest.mark.parametrize(
    "words",
    [
        ["serve", "--listen", "tcp:127.0.0.1:0", "--rings", "5"],
        ["sink", "--window", "5"],
        ["top", "--every", "5"],
    ],
)
def test_who_serves_streams_imports_nothing_heavy(words):
    code = (
        f"import sys\nfrom isthmus.cli import main\nsys.argv = ['isthmus', 'nic', *{words}]\n"
        "try: print(main())\nexcept SystemExit as end: print(end.code)\n"
        "heavy = {'numpy', 'polars', 'matplotlib', 'rich', 'jinja2'}\n"
        "print(heavy & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "the unit of 5 is missing" in done.stderr
    assert done.stdout.endswith("2\nset()\n")


def test_a_module_that_is_not_loaded_yet_loads_no_other():
    # Python asks the package for it first, which has its objects in a large module.
    code = "import sys\nfrom isthmus import arguments\nprint('isthmus.objects' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    "command", ["run", "check", "report", "topology", "place", "balance", "papers", "redistribute"]
)
def test_every_command_teaches_by_example(isthmus, command):
    done = isthmus(command, "--help")
    assert done.returncode == 0
    assert f"isthmus {command} " in done.stdout
    assert command in isthmus("--help").stdout


def examples(text):
    """The commands that a help text shows, without their comments."""
    lines = (line.strip() for line in text.splitlines())
    shown = (re.split(r" {2,}| \| ", line)[0] for line in lines if line.startswith("isthmus "))
    return [shlex.split(line) for line in shown]


def helps(isthmus):
    commands = ("run", "check", "report", "topology", "place", "balance")
    return isthmus("--help").stdout + "".join(isthmus(c, "--help").stdout for c in commands)


def test_files_that_the_help_names_exist(isthmus):
    named = set(re.findall(r"\bexamples/[\w.-]+", helps(isthmus)))
    assert named == {"examples/fat-tree-jobs.toml", "examples/hypercube-128.toml"}
    assert all((REPOSITORY / name).is_file() for name in named)


def test_scenarios_that_the_help_shows_are_taken(isthmus):
    runs = [words for words in examples(helps(isthmus)) if words[1] in ("run", "check")]
    swept = 0
    for words in runs:
        # The word behind an option is its own.
        given = [w for w, before in zip(words[2:], words[1:-1], strict=True) if before != "--on"]
        given = [w for w in given if not w.startswith("-")]
        changes = [w for w in given if "=" in w or w.endswith(".toml")]
        if not changes:
            continue
        done = isthmus("check", *changes, "--json", cwd=REPOSITORY)
        assert done.returncode == 0, (words, done.stderr)
        axes = [a for a in json.loads(done.stdout)["axes"] if a["key"] == "machine.dimension"]
        swept += [a["values"] for a in axes] == [["5", "6"]]
    assert len(runs) >= 8
    assert swept == 1


@pytest.mark.parametrize("command", ["topology", "place", "balance"])
def test_other_examples_of_the_help_run(isthmus, command, tmp_path):
    (tmp_path / "net.txt").write_text("a b\nb c\n")
    shown = [w for w in examples(isthmus(command, "--help").stdout) if "net.graphml" not in w]
    assert len(shown) >= 3
    for words in shown:
        done = isthmus(*words[1:])
        assert done.returncode == 0, (words, done.stderr)


def test_a_failed_run_exits_with_1(small):
    code = (
        "import json, sys\nfrom isthmus import _core\n"
        "class Failing:\n"
        "    def __init__(self, *_): pass\n"
        "    def start(self, _): pass\n"
        "    def warnings(self): return '[]'\n"
        "    def wait(self, _): return True\n"
        "    def cancel(self): pass\n"
        "    def progress(self):\n"
        "        told = {'points_done': 0, 'points_total': 4, 'messages': 0}\n"
        "        return json.dumps({**told, 'begun': True, 'elsewhere': 0})\n"
        "    def result(self): raise RuntimeError('point 2: a worm is stuck')\n"
        "_core.Experiment = Failing\n"
        "from isthmus.cli import main\nsys.argv = ['isthmus', 'run', 'small.toml']\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=small.parent, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == (
        "isthmus: small.toml: the run failed: point 2: a worm is stuck"
    )


def test_version(isthmus):
    from isthmus import __version__

    assert isthmus("--version").stdout == f"isthmus {__version__}\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run of the small scenario."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "small.toml").write_text(SMALL)
    words = ["run", "small.toml", "--jobs", "1", "--seed", "3"]
    done = command_line.call(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done


def files(folder: Path) -> dict[str, bytes]:
    paths = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "provenance.json")
    return {str(p.relative_to(folder)): p.read_bytes() for p in paths}


def test_run_leaves_everything(finished):
    folder, done = finished
    out = folder / "out" / "small"
    have = set(files(out)) | {"provenance.json"}
    wanted = {
        "results.parquet",
        "results.csv",
        "histograms.parquet",
        "channels.parquet",
        "searches.csv",
        "result.json",
        "scenario.toml",
        "report.html",
    }
    assert wanted <= have
    assert not [name for name in have if name.startswith("plots/")]
    assert not [name for name in have if name.endswith(".part")]
    table = pl.read_parquet(out / "results.parquet")
    assert table.height == pl.read_csv(out / "results.csv").height > 0
    assert table["point"].n_unique() == 4
    assert "A small machine" in done.stdout
    assert "no I/O network" in done.stdout
    assert done.stderr == ""


def test_plots_are_drawn_where_asked_for(finished, isthmus, tmp_path):
    folder, _ = finished
    out = tmp_path / "copy"
    shutil.copytree(folder / "out" / "small", out)
    done = isthmus("report", out, "--plots", "svg")
    assert done.returncode == 0, done.stderr
    drawn = sorted(p.name for p in (out / "plots").iterdir())
    assert {"latency.svg", "machine.svg"} <= set(drawn)
    assert all(name.endswith(".svg") for name in drawn)
    done = isthmus("report", out, "--plots", "png,svg")
    assert (out / "plots" / "latency.png").read_bytes().startswith(b"\x89PNG")
    one_line(isthmus("report", out, "--plots", "pdf"), "'pdf' is no form of plots; give png, svg")


def test_a_report_that_is_there_is_not_made_again(finished, isthmus, tmp_path):
    folder, _ = finished
    out = tmp_path / "copy"
    shutil.copytree(folder / "out" / "small", out)
    page = out / "report.html"
    before = page.stat()
    assert isthmus("report", out).returncode == 0
    assert page.stat().st_mtime_ns == before.st_mtime_ns
    whole = page.read_bytes()
    page.write_bytes(whole[:-100])
    one_line(isthmus("report", out), "report.html: changed since isthmus wrote it")
    page.unlink()
    assert isthmus("report", out).returncode == 0
    assert page.read_bytes() == whole


def test_provenance_says_what_was_run(finished):
    folder, _ = finished
    told = json.loads((folder / "out/small/provenance.json").read_text())
    assert told["seed"] == 3
    assert told["jobs"] == 1
    assert told["scenario"]["file"] == "small.toml"
    assert told["scenario"]["effective"] == (folder / "out/small/scenario.toml").read_text()
    assert told["duration_s"] > 0


def test_the_same_files_on_any_number_of_threads(finished, isthmus):
    folder, _ = finished
    isthmus("run", "small.toml", "--jobs", 2, "--seed", 3, "--out", "two", cwd=folder)
    assert files(folder / "two") == files(folder / "out/small")


def test_another_seed_gives_other_numbers(finished, isthmus):
    folder, _ = finished
    isthmus("run", "small.toml", "--seed", 4, "--out", "four", cwd=folder)
    assert files(folder / "four")["results.csv"] != files(folder / "out/small")["results.csv"]


def test_json_is_the_result_and_nothing_else(finished, isthmus):
    folder, _ = finished
    done = isthmus("run", "small.toml", "--seed", 3, "--json", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.strip() == (folder / "out/small/result.json").read_text().strip()
    assert json.loads(done.stdout)["schema"] == 6


def test_a_finished_run_is_taken_from_its_folder(finished, isthmus):
    folder, _ = finished
    before = files(folder / "out/small")
    done = isthmus("run", "small.toml", "--seed", 3, cwd=folder)
    assert done.returncode == 0
    assert files(folder / "out/small") == before


def test_report_is_rebuilt(finished, isthmus):
    folder, _ = finished
    before = files(folder / "out/small")
    (folder / "out/small/report.html").unlink()
    done = isthmus("report", "out/small", cwd=folder)
    assert done.returncode == 0
    assert files(folder / "out/small") == before


def test_results_of_another_scenario_are_not_overwritten(finished, isthmus):
    folder, _ = finished
    before = files(folder / "out/small")
    changed = ("run", "small.toml", "workload.locality=0.5", "--seed", 3)
    one_line(
        isthmus(*changed, cwd=folder), "out/small: holds results of another scenario", "--fresh"
    )
    one_line(isthmus("run", "small.toml", "--seed", 5, cwd=folder), "holds results with seed 3")
    assert files(folder / "out/small") == before


def test_fresh_replaces_what_runs_left_and_nothing_else(isthmus, small):
    out = small.parent / "out" / "small"
    isthmus("run", small)
    (out / "mine.txt").write_text("notes")
    done = isthmus("run", small, "workload.locality=0.9", "--fresh")
    assert done.returncode == 0
    assert "0.9" in (out / "scenario.toml").read_text()
    assert (out / "mine.txt").read_text() == "notes"


def test_quick_runs_have_a_folder_of_their_own(isthmus, small):
    assert isthmus("run", small, "--quick").returncode == 0
    assert (small.parent / "out/small-quick/report.html").is_file()


def test_interrupted_runs_keep_their_points_and_go_on(tmp_path):
    # A dozen points of some tenths of a second each.
    slow = SMALL.replace("messages_first = 4000", "messages_first = 100000")
    slow = slow.replace("messages_max = 40000", "messages_max = 200000")
    slow = slow.replace('["2 /ms", "4 /ms"]', '{ from = "1 /ms", to = "6 /ms", points = 6 }')
    (tmp_path / "slow.toml").write_text(slow)
    words = [sys.executable, "-m", "isthmus", "run", "slow.toml", "--jobs", "1", "--out", "kept"]
    process = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    journal = tmp_path / "kept" / "points"
    deadline = time.monotonic() + 60
    while not list(journal.glob("point-?????.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert "interrupted" in err
    assert "kept in kept; run the same command again" in err
    first = {p.name: p.stat().st_mtime_ns for p in journal.glob("point-?????.json")}
    assert first
    assert not (tmp_path / "kept/result.json").exists()

    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "A small machine" in done.stdout
    for name, written in first.items():
        assert (journal / name).stat().st_mtime_ns == written
    subprocess.run([*words[:-1], "whole"], cwd=tmp_path, capture_output=True, check=True)
    assert files(tmp_path / "kept") == files(tmp_path / "whole")


# Bad input: each told in one line, with what would be right.


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("locality = 0.2", "localty = 0.2", ["small.toml:10", "localty", "locality"]),
        ("locality = 0.2", 'interarrival = "0.2"', ["small.toml:10", "interarrival", "ms"]),
        ("locality = 0.2", "locality = 1.5", ["small.toml:10", "workload.locality", "0 to 1"]),
        ("dimension = 3", "dimension = 21", ["small.toml:7", "machine.dimension", "1 to 20"]),
        ("dimension = 3", "dimension = 3\nlanes.pe = 0", ["small.toml:8", "machine.lanes.pe"]),
        (
            "dimension = 3",
            'dimension = 3\nplacement = { kind = "list", pes = [0, 9] }',
            ["small.toml:8", "machine.placement.pes", "9"],
        ),
        ('["2 /ms", "4 /ms"]', "[]", ["small.toml:14", "sweep", "workload.rate"]),
        ("version = 1", "version = 1\nversion = 2", ["small.toml:2"]),
    ],
)
def test_a_scenario_that_makes_no_sense(isthmus, small, old, new, parts):
    small.write_text(SMALL.replace(old, new))
    line = one_line(isthmus("run", small), *parts)
    assert one_line(isthmus("check", small)) == line
    assert not (small.parent / "out").exists()


def test_a_change_that_makes_no_sense(isthmus, small):
    one_line(isthmus("run", small, "workload.locality"), "not of the form key=value")
    one_line(isthmus("run", small, "workload.localty=0.3"), "localty")
    one_line(isthmus("run", small, "--jobs", 0), "--jobs", "see `isthmus run --help`")


def test_a_missing_file(isthmus, tmp_path):
    one_line(isthmus("run", "none.toml"), "none.toml: cannot be read (No such file or directory)")
    (tmp_path / "bin.toml").write_bytes(b"\xff\xfe\x00")
    one_line(isthmus("check", "bin.toml"), "bin.toml: not a text file in UTF-8")


def test_an_unwritable_folder_is_told_before_any_work(isthmus, small):
    (small.parent / "file").write_text("")
    began = time.monotonic()
    one_line(isthmus("run", small, "--out", "file/out"), "file/out: cannot write here")
    assert time.monotonic() - began < 5


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(isthmus, small):
    locked = small.parent / "locked"
    locked.mkdir(mode=0o500)
    one_line(isthmus("run", small, "--out", locked), "cannot write here")


def test_a_truncated_journal_is_told_and_left_alone(finished, isthmus, tmp_path):
    folder, _ = finished
    import shutil

    shutil.copytree(folder / "out/small", tmp_path / "cut")
    point = sorted((tmp_path / "cut/points").glob("point-*"))[1]
    point.write_bytes(point.read_bytes()[:100])
    (tmp_path / "cut/result.json").unlink()
    before = files(tmp_path / "cut")
    words = ("run", folder / "small.toml", "--seed", 3, "--out", tmp_path / "cut")
    one_line(isthmus(*words), point.name)
    assert files(tmp_path / "cut") == before
    assert isthmus(*words, "--fresh").returncode == 0


def test_a_truncated_result_is_told_and_left_alone(finished, isthmus, tmp_path):
    folder, _ = finished
    import shutil

    cut = tmp_path / "cut"
    shutil.copytree(folder / "out/small", cut)
    (cut / "result.json").write_bytes((folder / "out/small/result.json").read_bytes()[:200])
    before = files(cut)
    one_line(isthmus("report", "cut"), "cut/result.json:1: not a whole result file")
    words = ("run", folder / "small.toml", "--seed", 3, "--out", "cut")
    one_line(isthmus(*words), "damaged result", "--fresh")
    assert files(cut) == before
    # Alone in a folder, it is nothing that isthmus knows for its own.
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "result.json").write_bytes((cut / "result.json").read_bytes())
    one_line(isthmus("report", "alone"), "alone/result.json:1: not a whole result file")
    one_line(isthmus(*words[:-1], "alone"), "alone: holds files without a mark of isthmus")
    assert files(alone) == {"result.json": (cut / "result.json").read_bytes()}


def test_check_says_what_would_run(isthmus, small):
    done = isthmus("check", small, "machine.dimension=4")
    assert done.returncode == 0
    assert "4 points, 0 searches" in done.stdout
    assert "16 PEs" in done.stdout
    told = json.loads(isthmus("check", small, "--json").stdout)
    assert told["points"] == 4
    effective = isthmus("check", small, "--effective").stdout
    (small.parent / "again.toml").write_text(effective)
    again = json.loads(isthmus("check", "again.toml", "--json").stdout)
    assert again["digest"] == told["digest"]
    # What its help says: changes are in, defaults are not.
    changed = isthmus("check", small, "machine.dimension=4", "--effective").stdout
    assert "dimension = 4" in changed
    assert "read_ratio" in isthmus("check", "--fields").stdout
    assert "read_ratio" not in effective


def test_check_lists_the_fields(isthmus):
    fields = json.loads(isthmus("check", "--fields", "--json").stdout)
    assert "machine.lanes.io_link" in [f["key"] for f in fields]
    assert "machine.dimension" in isthmus("check", "--fields").stdout
    one_line(isthmus("check"), "Missing FILE")


def test_the_demo_is_well_formed(isthmus):
    assert isthmus("check", DEMO).returncode == 0


def test_numbers_that_make_no_sense_in_python():
    cube = isthmus_package.Hypercube(dimension=3, io_link_lanes=1)
    work = isthmus_package.Workload(rate="1 /ms")
    for wrong in ({"seed": -1}, {"seed": 2**64}, {"seed": "x"}, {"jobs": -1}):
        with pytest.raises(isthmus_package.IsthmusError, match="give a whole number"):
            isthmus_package.simulate(cube, work, quick=True, **wrong)


def test_results_are_not_spread_over_the_present_folder(isthmus, small):
    one_line(isthmus("run", small, "--out", ""), "--out", "folder of their own")


def test_a_full_device_is_one_line(isthmus, small):
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    words = [sys.executable, "-m", "isthmus", "check", str(small)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
