"""What the core, its tests and the benchmarks have in common is compiled once: cargo does it again
for each set of features, and minutes go into that (where one profile is used for all, as in CI).
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import REPOSITORY

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo")
TREE = ("cargo", "tree", "--locked", "--quiet", "--prefix", "none", "--format", "{p} {f}")


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
    bench = compiled("--package", "isthmus-bench", "--edges", "normal,build")
    assert len(bench) > 100
    assert bench - tested == set()


def included_in_tests(crate: Path) -> list[Path]:
    """Return files of a library, and folders of modules, that its test programs include."""
    texts = [path.read_text() for path in crate.glob("tests/**/*.rs")]
    named = [found for text in texts for found in re.findall(r'#\[path = "(.*)"\]', text)]
    files = [(crate / "tests" / path).resolve() for path in named]
    return [path.parent if path.name == "mod.rs" else path for path in files]


@pytest.mark.parametrize(
    ("kind", "tests"),
    [("doctest", r"^\s*//[/!]\s*```|\bdoc = include"), ("test", r"\bcfg\(.*\btest\b|#\[test\]")],
)
def test_what_is_not_compiled_for_tests_has_none(kind, tests):
    words = ["cargo", "metadata", "--no-deps", "--locked", "--quiet", "--format-version", "1"]
    told = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    libraries = [
        (each["name"], Path(target["src_path"]).parent, target[kind])
        for each in json.loads(told.stdout)["packages"]
        for target in each["targets"]
        if {"lib", "proc-macro", "cdylib"}.intersection(target["kind"])
    ]
    has = {
        name: any(
            re.search(tests, path.read_text(), re.MULTILINE)
            for path in place.rglob("*.rs")
            if not any(path.is_relative_to(part) for part in included_in_tests(place.parent))
        )
        for name, place, _ in libraries
    }
    assert any(has.values())
    left_out = {name for name, _, is_tested in libraries if not is_tested}
    assert left_out
    assert {name for name in left_out if has[name]} == set()
