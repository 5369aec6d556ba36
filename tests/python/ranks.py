"""Starts the ranks of an MPI program.

With the MPI beside this Python, or on the path; with another where ``ISTHMUS_TEST_MPI`` names the
folder that has its ``mpiexec`` and a ``python`` with mpi4py and what isthmus needs: the ``bin`` of
an environment of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import isthmus

pytest.importorskip("mpi4py", exc_type=ImportError)

OTHER = os.environ.get("ISTHMUS_TEST_MPI")
FOLDER = Path(OTHER) if OTHER else Path(sys.executable).parent
PYTHON = str(FOLDER / "python") if OTHER else sys.executable
MPIEXEC = shutil.which("mpiexec", path=str(FOLDER)) or (None if OTHER else shutil.which("mpiexec"))
ENVIRONMENT = {
    # Open MPI asks for this where one is root, and where there are more ranks than cores.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    # A second goes into each start where it looks for fabrics, and all ranks are on this machine.
    "OMPI_MCA_btl": "^ofi",
    # The isthmus that is tested, whichever Python runs it.
    "PYTHONPATH": os.pathsep.join(
        [str(Path(isthmus.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    ).rstrip(os.pathsep),
    # Unbuffered, the words of a line would mix with those of other ranks.
    "PYTHONUNBUFFERED": "",
}


def alone() -> tuple[str, ...]:
    """Options of mpiexec that leave the other ranks alone where one has died.

    The test is left out where there are none: Hydra, that of MPICH, names no rank that dies, and
    loses what others say afterwards, with ``-disable-auto-cleanup`` as well.
    """
    if MPIEXEC is not None:
        told = subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True, check=False)
        if "Open MPI" not in told.stdout:
            pytest.skip("the launcher loses what ranks say after one has died")
    return ("--runtime-options", "continuous")


def mpiexec(
    ranks: int,
    *words: str,
    launcher: Sequence[str] = (),
    prefix: Sequence[str] = (),
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run Python with `words` on so many ranks; the test is left out where there is no MPI.

    `launcher` are options of mpiexec itself, `prefix` is a command that starts it.
    """
    if MPIEXEC is None:
        if OTHER:
            pytest.fail(f"ISTHMUS_TEST_MPI={OTHER}: no mpiexec in it")
        pytest.skip("no mpiexec")
    return subprocess.run(
        [*prefix, MPIEXEC, *launcher, "-n", str(ranks), PYTHON, *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **ENVIRONMENT, **(environment or {})},
    )


def of_the_guide(page: str, title: str, folder: Path, ranks: int = 4) -> str:
    """What a program of a page of the guide prints, run in a folder."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    found = re.search(rf'```python title="{title}"\n(.*?)```', text, re.DOTALL)
    assert found is not None, title
    (folder / title).write_text(f"import os\nos.chdir({str(folder)!r})\n{found[1]}")
    done = mpiexec(ranks, str(folder / title))
    assert done.returncode == 0, done.stderr
    return done.stdout
