import subprocess
import sys

from conftest import REPOSITORY


def test_stubs_agree_with_the_core():
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "isthmus._core"],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
