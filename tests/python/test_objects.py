"""The classes of scenarios: what the core describes, told to people and to type checkers."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

import isthmus
from isthmus import objects
from isthmus.scenario_fields import attributes

ROOT = Path(__file__).parent.parent.parent


def test_they_are_what_the_core_describes():
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "objects.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_field_of_a_scenario_has_an_attribute():
    keys = set(attributes().values())
    job = {each.metadata["key"] for each in fields(objects.Job)}
    keys |= {f"workload.jobs.NAME.{name}" for name in job}
    told = {
        field["key"]
        for field in isthmus.fields()
        if field["key"].startswith(("machine.", "workload.")) and field["key"] != "machine.kind"
    }
    assert told <= keys


def test_every_kind_of_machine_has_a_class():
    keys = {"machine.bandwidth", "machine.dimension"}
    kinds = {field["machine"] for field in isthmus.fields() if field["key"] in keys}
    assert {machine.kind for machine in get_args(objects.Machine)} == kinds


def test_attributes_have_docstrings():
    text = Path(objects.__file__).read_text(encoding="utf-8")
    for name in objects.__all__:
        kind = getattr(objects, name)
        assert kind.__doc__
        assert fields(kind)
    assert '"""Bandwidth of a link in one direction, headers included (section 2.2).' in text


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ('isthmus.Graph(graph="torus", size="4x4")', None),
        ('isthmus.FatTree(ascent="adaptive")', None),
        ('isthmus.Graph(graph="tours")', "Literal['ring', 'torus', 'mesh', 'dragonfly'"),
        ("isthmus.Hypercube(dimension='7')", 'expected "int | None"'),
        ("isthmus.Hypercube(dimensions=7)", 'Unexpected keyword argument "dimensions"'),
    ],
)
def test_a_type_checker_knows_the_words(tmp_path, line, refused):
    script = tmp_path / "script.py"
    script.write_text(f"import isthmus\n\n{line}\n", encoding="utf-8")
    cache = ROOT / ".mypy_cache"
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", cache, script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if refused is None:
        assert done.stdout == ""
    else:
        assert refused in done.stdout
