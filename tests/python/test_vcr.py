"""`isthmus nic vcr`: the command, and its page in a browser."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

import browser
import command_line
from isthmus.errors import IsthmusError
from isthmus.vcr import Vcr

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the stream manager runs on Linux")
BROWSER = Path(__file__).parents[1] / "browser" / "vcr.py"
PATIENCE_S = 120


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return command_line.call("nic", "vcr", *arguments)


def test_it_says_where_the_page_is_how_fast_and_how_it_ended():
    done = run("--time", "2500 ms", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    first, second = done.stderr.splitlines()[:2]
    assert first == f"isthmus: the page is {told['page']}"
    assert "frames/s, in step, 0 looking" in second
    assert told["apart"] == 0
    assert told["in_step"] == 4 * told["frames"] > 0
    assert told["bytes"] == 4 * told["frames"] * 496 * 486


def test_colour_is_four_bytes():
    done = run("--time", "1 s", "--color", "--json", "-q")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert told["bytes"] == 16 * told["frames"] * 496 * 486 > 0


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_signals_end_it_well(number: signal.Signals, status: int):
    line = [sys.executable, "-m", "isthmus", "nic", "vcr"]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            # The second line comes when it plays.
            while "frames/s" not in process.stderr.readline():
                assert process.poll() is None
            os.kill(process.pid, number)
            out, err = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == status, err
    assert "frames on each of 4 screens" in out
    assert "frames began when all screens had shown the one before" in out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--time", "3"], "--time: the unit of 3 is missing"),
        (["--rate", "30"], "the unit is missing"),
        (["--rate", ""], "no number at the start"),
        (["--rate", "1e9 /s"], "give 0.01 /s to 1000 /s"),
        (["--address", "here"], "no address with a port"),
        (["--address", "0.0.0.0:0"], "this machine only"),
        (
            ["--film", "/none/such.raw"],
            "'--film': File '/none/such.raw' does not exist; see `isthmus nic vcr --help`",
        ),
        (["--film", __file__], "no frames of 241056 bytes"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(arguments: list[str], part: str):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert part in line


def test_it_ends_once():
    vcr = Vcr(rate="100 /s")
    vcr.finish()
    with pytest.raises(IsthmusError, match="it has ended"):
        vcr.finish()


@pytest.mark.skipif(bool(browser.reason()), reason=browser.reason() or "-")
def test_the_page_shows_four_images_that_move_in_step():
    spec = util.spec_from_file_location("browser_vcr", BROWSER)
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vcr = Vcr()
    with browser.browser() as started:
        seen = module.watch(started, vcr.page, 2, frames=10)
    shown = vcr.finish()
    assert set(seen["frames"]) == {f"camera-{number}" for number in range(1, 5)}
    assert min(seen["frames"].values()) >= 10, seen
    # A page that gets no processor for half a second draws what it has, and finds step again.
    assert seen["apart"] * 10 <= seen["together"], seen
    assert seen["together"] + 2 * seen["apart"] >= min(seen["frames"].values()), seen
    assert seen["apart"] > 0 or seen["state"] == "in step", seen
    assert shown.apart == 0
