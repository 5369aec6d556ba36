"""`isthmus compare A B`."""

import json

import pytest

from conftest import SMALL


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Three runs: two of the same machine, one with flits twice as long."""
    from isthmus import Scenario

    place = tmp_path_factory.mktemp("runs")
    for name, changes in (("a", ()), ("again", ()), ("b", ("machine.flit=2 B",))):
        Scenario(SMALL, changes=changes).run(quick=True, out=place / name)
    return place


def test_what_differs_is_told_with_what_was_changed(isthmus, folders):
    done = isthmus("compare", folders / "a", folders / "b", COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, "")
    assert "flit 1 B → 2 B" in done.stdout
    assert "differ (95% confidence for all together)." in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "read.network" in done.stdout


def test_nothing_differs_from_itself(isthmus, folders):
    done = isthmus("compare", folders / "a", folders / "again")
    assert done.returncode == 0
    assert "changed   nothing" in done.stdout
    assert "0 of " in done.stdout


def test_json_has_all_rows(isthmus, folders):
    words = ("--json", "--measure", "read.network", "--statistic", "mean")
    done = isthmus("compare", folders / "a", folders / "b", *words)
    told = json.loads(done.stdout)
    assert told["changes"] == [{"key": "machine.flit", "a": "1 B", "b": "2 B"}]
    assert told["compared"] == len(told["rows"]) == told["points"] == 4
    assert told["differing"] == sum(row["differs"] for row in told["rows"])
    row = told["rows"][0]
    assert row["ratio_low"] <= row["ratio"] <= row["ratio_high"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("a", "nowhere"), "nowhere: no result here"),
        (("a", "b", "--measure", "read.netwrk"), "no measure 'read.netwrk'; did you mean"),
        (("a", "b", "--statistic", "p42"), "no statistic 'p42'"),
        (("a",), "Missing argument 'B'"),
    ],
)
def test_mistakes_are_one_line_and_status_2(isthmus, folders, words, told):
    done = isthmus("compare", *words, cwd=folders)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_other_machines_are_refused(isthmus, folders, tmp_path):
    from isthmus import Fabric, PacketWorkload, analyze

    ring = analyze(Fabric(fabric="ring", size=4), PacketWorkload(load="0.4 GB/s"))
    ring.save(tmp_path / "ring")
    done = isthmus("compare", folders / "a", tmp_path / "ring")
    assert done.returncode == 2
    assert "one kind of machine" in done.stderr


def test_a_ratio_without_an_upper_end_has_its_lower_one():
    from isthmus.cli.compare import _factor

    assert _factor(1.12, 1.1, 1.14) == "1.12 (1.10–1.14)"
    assert _factor(1.12, 1.1, None) == "1.12 (≥ 1.10)"
    assert _factor(1.12, None, None) == "1.12"
    assert _factor(None, None, None) == "–"
