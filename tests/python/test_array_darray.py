"""Files of distributed arrays are those of MPI-IO, to the byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conftest import MORE_CASES
from ranks import mpiexec

PROGRAM = str(Path(__file__).parent / "array_darray.py")


# Open MPI has two ways to files; other MPIs have one and do not look at this.
@pytest.mark.parametrize(("ranks", "cases", "io"), [(4, 24, "ompio"), (3, 24, "romio341")])
def test_a_file_is_the_one_that_mpi_writes_through_a_view(ranks, cases, io, tmp_path):
    cases *= MORE_CASES
    done = mpiexec(ranks, PROGRAM, str(cases), str(tmp_path), environment={"OMPI_MCA_io": io})
    assert done.returncode == 0, done.stdout + done.stderr
    print(io, done.stdout)
    assert f"{cases} files of {ranks} ranks, 0 wrong" in done.stdout
    count = {what: int(found) for what, found in re.findall(r"'([\w ]+)': (\d+)", done.stdout)}
    assert count["darray"] + count["boxes"] == cases
    for what in ("boxes", "order C", "order F", "block", "cyclic", "none", "5 dimensions"):
        assert count[what] >= cases // 12, what
    assert not list(tmp_path.iterdir())
