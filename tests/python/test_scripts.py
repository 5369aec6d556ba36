"""Scripts as scientists write them run, and use names that are documented."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import isthmus
from conftest import REPOSITORY
from isthmus import objects

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))
GUIDE = "".join(
    (REPOSITORY / "docs" / name).read_text(encoding="utf-8")
    for name in ("python.md", "python-reference.md", "results.md")
)
STUDY = REPOSITORY / "papers/qsnet-io/scaling/study.py"


def test_there_are_seven():
    assert len(SCRIPTS) == 7


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs(script, tmp_path):
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr


@pytest.mark.parametrize("script", [*SCRIPTS, STUDY], ids=lambda path: path.stem)
def test_only_documented_names_are_used(script):
    tree = ast.parse(script.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert not (node.module or "").startswith("isthmus")
        if isinstance(node, ast.Import):
            assert all(not name.name.startswith("isthmus.") for name in node.names)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "isthmus":
                assert node.attr in isthmus.__all__
                of_objects = node.attr in objects.__all__ and "::: isthmus.objects" in GUIDE
                assert of_objects or re.search(rf"isthmus\.{node.attr}\b", GUIDE)
            elif node.value.id in ("results", "found", "swept", "together", "before", "after"):
                assert re.search(rf"\b{node.attr}\b", GUIDE), node.attr


def test_the_scaling_study_is_short():
    assert len(STUDY.read_text(encoding="utf-8").splitlines()) <= 60
