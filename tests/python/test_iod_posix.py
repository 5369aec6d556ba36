"""The suite of `iod_posix.py` on a mount, with and without a cache."""

import subprocess
import sys
from pathlib import Path

import pytest

from iod_posix_cases import CASES
from iod_rig import TIMEOUT_S, Rig, no_fuse

pytestmark = pytest.mark.skipif(bool(no_fuse()), reason=no_fuse())


@pytest.mark.parametrize("cached", [False, True])
def test_files_of_a_mount_behave_as_those_of_a_folder(tmp_path, cached):
    plain = tmp_path / "plain"
    plain.mkdir()
    with Rig(tmp_path) as rig:
        rig.start_daemon(*(["--cache", rig.cache] if cached else []))
        try:
            rig.start_mount()
        except RuntimeError as error:
            pytest.skip(str(error))
        # In a process of its own: this one starts the daemon.
        words = [sys.executable, Path(__file__).with_name("iod_posix.py"), rig.mount, plain]
        words += ["--cached"] if cached else []
        done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.splitlines()[-1].split()[0]) > 4 * len(CASES) / 2
