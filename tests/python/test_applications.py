"""`isthmus nic optimise` and `isthmus nic mri`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import command_line
from isthmus import IsthmusError
from isthmus.imaging import send
from isthmus.optimisation import growth, live

linux = pytest.mark.skipif(sys.platform != "linux", reason="the stream manager runs on Linux")
PATIENCE_S = 120
CELLS = 64
"""Cells of the paper's machine."""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return command_line.call("nic", *arguments)


@linux
def test_samples_are_computed_sent_and_checked():
    done = run("optimise", "--time", "1 s", "--nodes", "3", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    went = told["live"]
    assert went["samples"] % 16384 == 0
    assert went["checked"] >= went["samples"] // 61 > 0
    # 12 nodes are not faster than they are told to be, but for a TU that is begun.
    assert went["samples"] <= 12 * 23_330 * went["seconds"] + 16384 * 4
    assert went["nodes"]["computed"] + went["nodes"]["waited"] == pytest.approx(1)
    assert [point["cells"] for point in told["growth"]["points"]] == [64, 128, 256, 512, 1024]


@linux
def test_what_optimise_prints():
    done = run("optimise", "--time", "500 ms", "--free")
    assert done.returncode == 0, done.stderr
    assert "were computed again and are the same" in done.stdout
    assert "communication is the limit from" in done.stdout


def test_growth_ends_where_the_interface_is_full():
    hippi, cray = growth(), growth(outside="40 MB/s")
    first = hippi.points[0]
    # 60 cells that compute 1,400 Ksamples/s of 4 bytes.
    assert (first.cells, first.offered) == (CELLS, pytest.approx(5.6))
    for grown in (hippi, cray):
        assert grown.most == pytest.approx(grown.cells * first.offered / CELLS)
        for point in grown.points:
            limit = "computing" if point.cells < grown.cells else "communication"
            assert point.limit == limit
            assert point.carried == pytest.approx(min(point.offered, grown.most), rel=0.05)
    # The paper's 512 is the machine that is larger than what 40 MB/s suffice for.
    assert 256 < cray.cells < 512 < hippi.cells


@linux
def test_triangles_come_from_rank_to_rank():
    done = run("mri", "--images", "2", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["images"] == 2
    assert told["bytes"] == 40 * told["triangles"]
    assert 550_000 < told["triangles"] / 2 < 610_000
    assert told["triangles_of_rank"]["least"] == 0
    assert sum(told["ranks"].values()) == pytest.approx(1)
    assert run("mri", "--images", "1").stdout.startswith("1 images in ")


@linux
def test_the_same_from_python():
    assert send(1).triangles > 500_000
    assert live(time="300 ms", nodes=1, rate=None).samples > 0


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["optimise", "--time", "5"], "--time: the unit of 5 is missing"),
        (["optimise", "--rate", "23"], "the unit is missing"),
        (["optimise", "--nodes", "-1"], "-1 is not in the range 1<=x<=256"),
        (["optimise", "--outside", "40"], "--outside: the unit of 40 is missing"),
        (["optimise", "--outside", "0 MB/s"], '--outside: "0 MB/s" is too little; give 1 B/s'),
        (["mri", "--images", "0"], "0 is not in the range 1<=x<=1000"),
        (["mri", "--images", "many"], "not a valid integer"),
    ],
)
@linux
def test_what_cannot_be_is_refused(arguments: list[str], part: str):
    done = run(*arguments, "-q")
    assert (done.returncode, done.stdout) == (2, ""), done
    assert part in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["optimise", "--time", "0 s"], "--time: "),
        (["optimise", "--rate", "1 /ms", "--free"], "give one of the two"),
        (["mri", "--images", "-3"], "1<=x<=1000"),
        (["vcr", *(["--film", __file__] * 5)], "5 films for 4 cameras"),
    ],
)
@linux
def test_what_cannot_be_is_said(words, says):
    done = run(*words)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr


@linux
def test_what_cannot_be_is_refused_in_python():
    with pytest.raises(IsthmusError, match="images: -3 is impossible; give a whole number, 1 to"):
        send(-3)
    with pytest.raises(IsthmusError, match="time: 0ns is too little: give 1ms or more"):
        live(time="0 s")
