"""What comes with the package: examples, papers, the number of processors."""

from __future__ import annotations

import json
import os

import pytest

import isthmus as package
from conftest import REPOSITORY
from isthmus import bundled
from isthmus.core import processors
from isthmus.errors import IsthmusError
from isthmus.papers import papers


def test_the_package_holds_the_examples_and_papers_of_the_repository():
    assert bundled.EXAMPLES.samefile(REPOSITORY / "examples")
    assert bundled.PAPERS.samefile(REPOSITORY / "papers")
    assert {e.path.name for e in bundled.examples()} == {
        path.name for path in (REPOSITORY / "examples").iterdir() if path.is_file()
    }


def test_papers_are_found_from_any_folder(isthmus, tmp_path):
    (tmp_path / "papers").mkdir()
    told = json.loads(isthmus("papers", "--json").stdout)
    assert [each["name"] for each in told] == [
        "hypercube-io",
        "nic-streams",
        "qsnet-io",
        "sci-fabrics",
    ]
    assert all(each["folder"].startswith(str(bundled.PAPERS)) for each in told)


def test_papers_of_the_folder_at_hand_come_first(tmp_path, monkeypatch):
    own = tmp_path / "papers" / "mine"
    own.mkdir(parents=True)
    (own / "paper.toml").write_text('title = "Mine"\n')
    monkeypatch.chdir(own)
    assert [paper.name for paper in papers()] == ["mine"]


def test_examples_are_listed_with_their_titles(isthmus):
    listed = isthmus("examples").stdout
    for each in bundled.examples():
        assert each.path.name in listed
        assert " ".join(each.title.split()[:4]) in " ".join(listed.split())


def test_an_example_is_printed_to_the_byte(isthmus):
    file = REPOSITORY / "examples" / "hypercube-128.toml"
    for name in ("hypercube-128", "hypercube-128.toml"):
        assert isthmus("examples", name).stdout == file.read_text()


def test_examples_are_copied_checked_and_never_overwritten(isthmus, tmp_path):
    done = isthmus("examples", "--copy", "here")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(bundled.examples())
    assert isthmus("check", "here/sci-fabrics.toml").returncode == 0
    assert isthmus("examples", "--copy", "here").returncode == 0, "the same content is no harm"

    (tmp_path / "here" / "sci-fabrics.toml").write_text("mine\n")
    (tmp_path / "here" / "fat-tree-jobs.toml").unlink()
    done = isthmus("examples", "--copy", "here")
    assert done.returncode == 2
    assert done.stderr == (
        "isthmus: here/sci-fabrics.toml: is there with other content; copy to another folder\n"
    )
    assert (tmp_path / "here" / "sci-fabrics.toml").read_text() == "mine\n"
    assert not (tmp_path / "here" / "fat-tree-jobs.toml").exists(), "all or none"


def test_an_unknown_example_is_told(isthmus):
    done = isthmus("examples", "hypercube")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "no example 'hypercube'; there is fat-tree-jobs, first-look" in done.stderr


def test_a_package_without_examples_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(bundled, "EXAMPLES", tmp_path)
    with pytest.raises(IsthmusError, match="no examples; install the package whole"):
        bundled.examples()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs an affinity mask")
def test_runs_use_the_processors_that_they_may_use(small):
    """One processor of however many there are: the run has one thread and says so."""
    allowed = os.sched_getaffinity(0)
    assert 1 <= processors() <= len(allowed)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert processors() == 1
        scenario = package.load(small).changed(**{"workload.rate": "2 /ms"})
        scenario.run(quick=True, out=small.parent / "out")
    finally:
        os.sched_setaffinity(0, allowed)
    provenance = json.loads((small.parent / "out" / "provenance.json").read_text())
    assert provenance["jobs"] == 1
