"""What the core, its tests and the benchmarks have in common is compiled once: cargo does it again
for each set of features, and minutes go into that (where one profile is used for all, as in CI).
"""

import shutil
import subprocess

import pytest

from conftest import REPOSITORY

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo")
TREE = ("cargo", "tree", "--locked", "--quiet", "--prefix", "none", "--format", "{p} {f}")
OWN = ("isthmus-bench ", "cpu-time ")
"""What the benchmarks alone have."""


def compiled(*words: str) -> set[str]:
    """Each crate with its version and features."""
    command = [*TREE, *words]
    told = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return {line.removesuffix(" (*)").strip() for line in told.stdout.splitlines()}


@pytest.fixture(scope="module")
def tested() -> set[str]:
    """What `cargo test --workspace` compiles."""
    return compiled("--workspace", "--edges", "normal,build,dev")


def test_the_core_is_made_of_what_its_tests_are_made_of(tested):
    core = compiled("--package", "isthmus-py", "--edges", "normal,build")
    assert len(core) > 100
    assert core - tested == set()


def test_the_benchmarks_are_made_of_it_as_well(tested):
    bench = compiled("--manifest-path", "bench/Cargo.toml", "--edges", "normal,build")
    assert len(bench) > 100
    others = {each for each in bench - tested if not each.startswith(OWN)}
    assert others == set()
