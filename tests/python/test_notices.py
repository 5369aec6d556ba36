"""THIRD-PARTY.md has the licence of each crate that is linked into the core."""

import re
import subprocess
import sys

import pytest

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


@pytest.mark.skipif(sys.version_info < (3, 11), reason="this Python reads no TOML")
def test_both_tools_accept_the_same_licences():
    import tomllib

    notices = tomllib.loads((REPOSITORY / "packaging" / "about.toml").read_text())
    audit = tomllib.loads((REPOSITORY / "deny.toml").read_text())
    assert notices["accepted"] == audit["licenses"]["allow"]
