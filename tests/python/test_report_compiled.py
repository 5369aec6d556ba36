"""Templates of pages are compiled once."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jinja2 import DictLoader, Environment

from isthmus.report import page
from isthmus.report.compiled import Compiled

Fill = Callable[..., str]


@pytest.fixture
def compiled() -> list[str]:
    """Names of the templates that were compiled."""
    return []


@pytest.fixture
def fill(tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> Fill:
    """Fills a template as a process that has just begun would."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)

    class Counting(Environment):
        def compile(self, source: Any, name: Any = None, *more: Any, **words: Any) -> Any:
            compiled.append(name)
            return super().compile(source, name, *more, **words)

    def call(source: str = "{{ x }} and 2", maker: str = "made", folder: Path | None = None) -> str:
        file = tmp_path / "maker.py"
        file.write_text(maker)
        kept = Compiled(file, folder or tmp_path / "kept")
        environment = Counting(loader=DictLoader({"page": source}), bytecode_cache=kept)
        return environment.get_template("page").render(x=1)

    return call


def test_a_template_is_compiled_once(fill, compiled):
    assert [fill(), fill(), fill()] == ["1 and 2"] * 3
    assert compiled == ["page"]


@pytest.mark.parametrize("changed", [{"source": "{{ x }} and 3"}, {"maker": "made otherwise"}])
def test_it_is_compiled_anew_where_it_or_what_sets_it_up_has_changed(fill, compiled, changed):
    fill()
    assert fill(**changed) == ("1 and 3" if "source" in changed else "1 and 2")
    assert fill(**changed) == ("1 and 3" if "source" in changed else "1 and 2")
    assert len(compiled) == 2


@pytest.mark.parametrize("left", [0, 3, 30, -1])
def test_what_was_cut_short_is_compiled_anew(fill, compiled, tmp_path, left):
    fill()
    (kept,) = (tmp_path / "kept").iterdir()
    kept.write_bytes(kept.read_bytes()[:left])
    assert fill() == fill() == "1 and 2"
    assert len(compiled) == 2


@pytest.mark.parametrize("place", ["file", "missing/folder", "/proc/self/none"])
def test_where_nothing_can_be_kept_it_is_compiled_each_time(fill, compiled, tmp_path, place):
    (tmp_path / "file").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    assert fill(folder=tmp_path / place) == fill(folder=tmp_path / place) == "1 and 2"
    assert len(compiled) == 2
    assert set(tmp_path.rglob("*")) - set(before) == {tmp_path / "maker.py"}


def test_nothing_is_kept_where_python_keeps_nothing(fill, compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert fill() == fill() == "1 and 2"
    assert len(compiled) == 2
    assert not (tmp_path / "kept").exists()


def test_pages_are_kept_that_way():
    assert isinstance(page.template("answer.html").environment.bytecode_cache, Compiled)
