"""Files through a daemon: whole under their names when they are closed, or an error."""

import asyncio
import re
import resource
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from isthmus.streams import (
    NotKeptError,
    RefusedError,
    StreamFailedError,
    TimedOutError,
    aconnect,
    connect,
)
from nic_rig import PATIENCE, daemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="links are Linux's")

ADU = 100_000


@pytest.fixture
def served(tmp_path):
    with daemon(tmp_path) as process:
        yield process


def test_a_disk_that_takes_no_more_is_an_error_for_who_closes(served, tmp_path):
    path = Path(tmp_path) / "image"
    path.write_text("before")
    with connect(served.address, name="full", patience=PATIENCE) as nic:
        # A ring would be a file that is too large, too.
        nic.link(0, carrier="socket")
        # The second ADU is more than a file of the daemon may have.
        resource.prlimit(served.pid, resource.RLIMIT_FSIZE, (ADU + 10, ADU + 10))
        out = nic.open(f"file:{path}")
        stream = nic.stream(out, adu=ADU, links=1, adus=2)
        data = np.zeros(ADU, np.uint8)
        stream.send(data)
        stream.send(data)
        with pytest.raises(StreamFailedError, match="too large"):
            stream.wait()
        with pytest.raises(NotKeptError, match=rf"{re.escape(str(path))} at byte 100000"):
            out.close()
        assert path.read_text() == "before"
        with nic.open(f"file:{path}") as out:
            nic.stream(out, adu=ADU, links=1, adus=1).send(data)
        assert path.read_bytes() == data.tobytes()


@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize("killed", [False, True])
def test_a_session_that_ends_without_close_leaves_what_was_there(served, tmp_path, sent, killed):
    path = Path(tmp_path) / "image"
    path.write_text("precious")
    program = (
        "import os, sys\n"
        "import numpy as np\n"
        "from isthmus.streams import connect\n"
        "nic = connect(sys.argv[1])\n"
        "out = nic.open(f'file:{sys.argv[2]}')\n"
        f"if {sent}:\n"
        "    stream = nic.stream(out, adu=1000, links=1, adus=1)\n"
        "    stream.send(np.zeros(1000, np.uint8))\n"
        "    stream.wait()\n"
        f"if {killed}: os.kill(os.getpid(), 9)\n"
        "nic.close()\n"
    )
    words = [sys.executable, "-c", program, served.address, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == (-9 if killed else 0), done.stderr
    # The next writer is let in when the daemon is through with the first.
    with connect(served.address, patience=PATIENCE) as nic:
        for _ in range(100):
            with suppress(RefusedError):
                last = nic.open(f"file:{path}")
                break
            time.sleep(0.1)
        assert path.read_text() == "precious"
        last.close()
    # Nothing was sent.
    assert path.read_text() == "precious"


def test_a_file_has_one_writer(served, tmp_path):
    with (
        connect(served.address, name="first", patience=PATIENCE) as first,
        connect(served.address, name="second", patience=PATIENCE) as second,
    ):
        out = first.open(f"file:{tmp_path}/image")
        with pytest.raises(RefusedError, match=rf"first\) writes it over connection {out.number}"):
            second.open(f"file:{tmp_path}/image")
        out.close()
        second.open(f"file:{tmp_path}/image").close()


def test_a_close_that_waits_says_for_what(served, tmp_path):
    with connect(served.address, name="slow", patience="1 s") as nic:
        out = nic.open(f"file:{tmp_path}/image")
        stream = nic.stream(out, adu=ADU, links=1, adus=1)
        with pytest.raises(TimedOutError, match=r"has 1 streams? that ha"):
            out.close()
        stream.cancel()
        with pytest.raises(NotKeptError, match="did not end well"):
            out.close()


def test_in_an_event_loop_as_well(served, tmp_path):
    async def main():
        async with aconnect(served.address, name="loop", patience=PATIENCE) as nic:
            out = await nic.open(f"file:{tmp_path}/image")
            stream = await nic.stream(out, adu=1000, links=1, adus=1)
            await stream.send(np.zeros(1000, np.uint8))
            await stream.wait()
            (tmp_path / "image").mkdir()
            with pytest.raises(NotKeptError, match="irectory"):
                await out.close()

    asyncio.run(asyncio.wait_for(main(), 60))
