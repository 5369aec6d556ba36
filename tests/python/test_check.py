"""`isthmus check`: arithmetic first, every value with its source, quick answers, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import command_line

SERVERS = """
version = 1
name = "x"
[machine]
kind = "fat-tree"
arity = 4
levels = 2
[workload.servers]
placement = "clustered"
count = 4
"""
TREE = f"""{SERVERS}
[workload.jobs.io]
traffic = "io"
load = "100 MB/s"
[stop]
rule = "fixed"
messages = 20000
warmup_messages = 0
replications = 2
"""
CHECKPOINTS = f"""{SERVERS}
[workload.jobs.dump]
traffic = "checkpoint"
period = "10 ms"
volume = "200 kB"
[stop]
rule = "fixed"
time = "60 ms"
replications = 2
"""


def isthmus(*words: str, status: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    done = command_line.call(*words, environment=environment)
    assert done.returncode == status, (done.stdout, done.stderr)
    return done


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Write a scenario of the QsNET."""
    path = tmp_path / "tree.toml"
    path.write_text(TREE)
    return path


def test_the_interface_is_named_where_it_is_the_limit(tree: Path) -> None:
    """Faster links alone change nothing: 320 B in 955.2 ns are 335 MB/s."""
    done = isthmus("check", str(tree), "machine.bandwidth=25 GB/s")
    text = " ".join(done.stdout.split())
    assert "A node can send at most 335 MB/s: its interface" in text
    assert "not its 25 GB/s link, is the limit" in text
    told = json.loads(isthmus("check", str(tree), "--json").stdout)
    parts = {part["name"]: part for part in told["capacity"][0]["parts"]}
    server = parts["I/O server, written to"]
    assert server["demand"] == pytest.approx(12 * 100 / 4)
    assert server["supply"] == pytest.approx(320 / 945 * 1e3)
    assert server["share"] == pytest.approx(300 / (320 / 945 * 1e3))


def test_tables_fit_a_terminal_of_80_columns(tree: Path) -> None:
    """No line of the tables is wider than the terminal, and no cell is cut."""
    lines = []
    for more in ((), ("--resolved",)):
        done = isthmus("check", str(tree), *more, COLUMNS="80")
        assert done.returncode == 0, done.stderr
        # The last line has the file's name, however long.
        lines += [line for line in done.stdout.splitlines() if str(tree) not in line]
    assert len(lines) > 20
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert any("I/O server" in line for line in lines)


def test_resolved_values_say_where_they_are_from(tree: Path) -> None:
    """Given, override, preset with its source, default, derived."""
    words = ("machine.preset=infiniband-hdr", "machine.taper=2")
    told = json.loads(isthmus("check", str(tree), *words, "--json").stdout)
    rows = {row["key"]: row for row in told["resolved"]}
    bandwidth = rows["machine.bandwidth"]
    assert (bandwidth["value"], bandwidth["from"]) == ("25 GB/s", "preset infiniband-hdr")
    assert "ConnectX-6" in bandwidth["source"]
    assert rows["machine.levels"]["from"] == "given"
    assert rows["machine.taper"]["from"] == "override"
    assert rows["machine.nic.dma_slice"]["from"] == "default"
    assert rows["machine.credit"] == {
        "key": "machine.credit",
        "value": "130 ns",
        "from": "derived",
        "source": "",
    }
    assert "preset infiniband-hdr" in isthmus("check", str(tree), *words, "--resolved").stdout


def test_a_quick_run_keeps_five_periods(tmp_path: Path) -> None:
    """Of 6 checkpoints in 60 ms a tenth would keep less than one."""
    path = tmp_path / "dump.toml"
    path.write_text(CHECKPOINTS)
    accepted = {}
    for quick in ((), ("--quick",)):
        out = tmp_path / f"out{len(quick)}"
        text = isthmus("run", str(path), "--json", "--out", str(out), *quick).stdout
        point = json.loads(text)["points"][0]
        accepted[quick] = next(m["mean"] for m in point["measures"] if m["name"] == "dump.accepted")
        # Two replications; a quick run goes on while its verdict is undecided.
        assert 100 - 1e-6 <= point["simulated_ms"] <= 120 + 1e-6
    # 200 kB in 10 ms.
    assert accepted[()] == pytest.approx(20, rel=0.01)
    assert accepted[("--quick",)] == pytest.approx(20, rel=0.01)


def test_runs_shorter_than_a_period_are_told(tmp_path: Path) -> None:
    """On standard error, by check and by run."""
    path = tmp_path / "dump.toml"
    path.write_text(CHECKPOINTS)
    assert isthmus("check", str(path)).stderr == ""
    done = isthmus("check", str(path), "stop.time=5 ms")
    assert "less than a period of the checkpoints" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    out = str(tmp_path / "out")
    done = isthmus("run", str(path), "stop.time=30 ms", "--quick", "--out", out)
    assert "--quick does not shorten it" in done.stderr


def test_rates_of_runs_shorter_than_a_period_stay_unknown(tmp_path: Path) -> None:
    """They would be those of one checkpoint: 316 MB/s where 50 MB/s were asked for."""
    path = tmp_path / "dump.toml"
    path.write_text(CHECKPOINTS)
    names = {}
    for length in ("9 ms", "20 ms"):
        words = ("stop.time=" + length, "--json", "--out", str(tmp_path / length))
        point = json.loads(isthmus("run", str(path), *words).stdout)["points"][0]
        names[length] = {m["name"] for m in point["measures"]}
    assert "dump.packet" in names["9 ms"]
    assert not any(name.endswith(".accepted") for name in names["9 ms"])
    assert "dump.accepted" in names["20 ms"]
    told = isthmus("run", str(path), "stop.time=9 ms", "--out", str(tmp_path / "told"))
    assert "accepted bandwidths stay unknown" in told.stderr
    assert "MB/s" not in told.stdout


@pytest.mark.parametrize("length", ["13 ms", "19 ms", "25 ms", "60 ms"])
def test_rates_are_those_of_whole_periods(tmp_path: Path, length: str) -> None:
    """Two and a half checkpoints were counted as three: 30.0 ± 0.0 MB/s where 25 were asked for."""
    path = tmp_path / "dump.toml"
    path.write_text(CHECKPOINTS)
    words = ("stop.time=" + length, "--json", "--out", str(tmp_path / "out"))
    point = json.loads(isthmus("run", str(path), *words).stdout)["points"][0]
    accepted = next(m["mean"] for m in point["measures"] if m["name"] == "dump.accepted")
    assert accepted == pytest.approx(20, rel=1e-9)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no file without an end here")
def test_a_file_without_an_end_is_one_error() -> None:
    """It was read until the memory was full."""
    assert "/dev/zero: longer than 200 MB" in isthmus("check", "/dev/zero", status=2).stderr


def test_a_run_that_ends_before_anything_is_counted_says_so(tmp_path: Path) -> None:
    """It printed a table with a column of names and nothing beside them."""
    path = tmp_path / "cube.toml"
    path.write_text(
        'version = 1\nname = "x"\n[machine]\nkind = "hypercube"\ndimension = 4\n'
        'lanes.io_link = 1\n[workload]\nrate = "10000 /us"\n[stop]\nrule = "fixed"\n'
        "messages = 20000\nwarmup_messages = 500\nreplications = 2\n"
    )
    told = isthmus("run", str(path), "--out", str(tmp_path / "out")).stdout
    assert "what fills first was not counted yet" in told
    assert "variant" not in told


def test_jobs_of_which_nothing_is_known_are_called_unknown(tmp_path: Path) -> None:
    """It said that nothing was measured, and was judged by nothing."""
    path = tmp_path / "dump.toml"
    path.write_text(
        CHECKPOINTS.replace(
            "[workload.servers]", '[workload]\nmapping = "shared"\n[workload.servers]'
        )
        + '[workload.jobs.other]\ntraffic = "uniform"\nload = "330 MB/s"\n'
        + '[sweep]\n"workload.active" = "pairs"\n'
    )
    told = isthmus("run", str(path), "stop.time=400 us", "--out", str(tmp_path / "out")).stdout
    assert "How much the jobs disturb one another is unknown." in told
    assert "Nothing of a job was measured both alone and beside others." in told


def test_what_overrides_change_stands_beside_the_title() -> None:
    """And variants are named by their axes, not by bare numbers."""
    demo = str(Path(__file__).parents[2] / "examples/hypercube-128.toml")
    told = isthmus("check", demo, "machine.dimension=5").stdout
    assert "changed           dimension 7 → 5\n" in told
    assert "asked for and possible: b = 1\n" in told
    assert "changed" not in isthmus("check", demo).stdout


def test_a_warm_up_longer_than_the_run_is_an_error(tmp_path: Path, tree: Path) -> None:
    """It was called converged, without a measure."""
    words = ("stop.time=100 us", "stop.warmup=fixed", "stop.warmup_messages=1000000")
    out = str(tmp_path / "out")
    done = isthmus("run", str(tree), *words, "--out", out, status=2)
    assert "the run is over before its warm-up of 1000000 messages" in done.stderr


def test_the_load_of_jobs_is_that_of_all(tmp_path: Path) -> None:
    """4 nodes ask for 100 MB/s, 8 for 40 MB/s: 60 MB/s on average."""
    path = tmp_path / "two.toml"
    path.write_text(
        TREE.replace('load = "100 MB/s"', 'load = "100 MB/s"\nnodes = [0, 1, 2, 3]')
        + '[workload.jobs.compute]\ntraffic = "uniform"\nload = "40 MB/s"\nnodes = ["4-11"]\n'
    )
    told = json.loads(isthmus("check", str(path), "--json").stdout)
    assert told["capacity"][0]["load"] == pytest.approx(60)


@pytest.mark.parametrize("fabric", ["torus", "bidirectional-torus", "uniform-ring-torus"])
def test_large_tori_answer_at_once(tmp_path: Path, fabric: str) -> None:
    """All pairs of 64 x 64 nodes took 12 to 26 s of processor time, of 128 x 128 minutes."""
    path = tmp_path / "sci.toml"
    path.write_text(
        f'version = 1\nname = "x"\n[machine]\nkind = "sci"\nfabric = "{fabric}"\n'
        'routing = "dimension-order"\nsize = "128x128"\n[workload]\nload = "1 GB/s"\n'
        '[stop]\nrule = "fixed"\ntime = "1 us"\n'
    )
    before = os.times()
    told = json.loads(isthmus("check", str(path), "--json").stdout)
    after = os.times()
    assert told["machines"][0]["nodes"] == 128 * 128
    assert after.children_user - before.children_user < 5


def test_a_title_of_megabytes_is_one_short_line(tmp_path: Path) -> None:
    """It took 40 s, and would have filled the screen."""
    path = tmp_path / "long.toml"
    path.write_text(TREE.replace('name = "x"', f'name = "x"\ntitle = "{"t" * 10_000_000}"'))
    done = isthmus("check", str(path), status=2)
    assert "has 10000000 characters; give at most 200" in done.stderr
    assert len(done.stderr) < 300


def test_checks_are_interrupted_at_once(tmp_path: Path) -> None:
    """A network of streets has no symmetry to use: all its pairs are walked."""
    path = tmp_path / "sci.toml"
    path.write_text(
        'version = 1\nname = "x"\n[machine]\nkind = "sci"\nfabric = "manhattan"\nsize = "64x64"\n'
        'routing = "random"\n[workload]\nload = "1 GB/s"\n'
        '[stop]\nrule = "fixed"\ntime = "1 us"\n'
    )
    running = subprocess.Popen(
        [sys.executable, "-m", "isthmus", "check", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(2.0)
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    asked = time.monotonic()
    _, error = running.communicate(timeout=60)
    assert time.monotonic() - asked < 5
    assert running.returncode == 130
    assert "Traceback" not in error
