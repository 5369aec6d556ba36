"""THIRD-PARTY.md has the licence of each crate that is linked into the core."""

import re
import subprocess

from conftest import REPOSITORY


def test_each_linked_crate_has_its_notice():
    words = ["cargo", "tree", "--locked", "--package", "isthmus-py", "--edges", "normal"]
    words += ["--target", "x86_64-unknown-linux-gnu", "--prefix", "none", "--format", "{p}"]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    linked = {tuple(line.split()[:2]) for line in done.stdout.splitlines()}
    linked = {(name, version[1:]) for name, version in linked if not name.startswith("isthmus")}
    text = (REPOSITORY / "THIRD-PARTY.md").read_text()
    listed = set(re.findall(r"^- (\S+) (\d\S*)$", text, re.MULTILINE))
    assert len(linked) > 50
    assert not linked - listed, "make notices writes them"
