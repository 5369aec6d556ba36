"""The short form of `iod_programs.py`: programs that use a mount."""

import subprocess
import sys
from pathlib import Path

import pytest

from iod_programs import PROGRAMS
from iod_rig import no_fuse

pytestmark = pytest.mark.skipif(bool(no_fuse()), reason=no_fuse())


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_finds_no_error(name):
    # In a process of its own, which has no files of the mount open.
    words = [sys.executable, Path(__file__).with_name("iod_programs.py"), "--short", "--only", name]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    if "left out: " in done.stdout or "Operation not permitted" in done.stderr:
        pytest.skip(done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
