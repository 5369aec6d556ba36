"""The stub of the core against the core."""

import ast
import json
import re
import subprocess
import sys

from conftest import REPOSITORY
from isthmus import _core

STUB = REPOSITORY / "python" / "isthmus" / "_core.pyi"


def test_stubs_agree_with_the_core(tmp_path):
    # `make lint` checks the types in the stub. Without other modules, such as numpy, this takes a
    # quarter of the time.
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nfollow_imports = skip\n")
    words = ["mypy.stubtest", "--mypy-config-file", str(settings), "isthmus._core"]
    done = subprocess.run(
        [sys.executable, "-m", *words],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def keys_in_words(function: str) -> dict:
    """The keys of the JSON object that the stub says a function returns, with those within."""
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    found = (node for node in tree.body if getattr(node, "name", "") == function)
    words = ast.get_docstring(next(found)).split("Returns JSON::")[1].split("Raises:")[0]
    outermost: dict = {}
    inside, last = [outermost], ""
    for token in re.findall(r'"\w+"|[{}]', words):
        if token == "{":
            inside.append(inside[-1].setdefault(last, {}) if last else outermost)
        elif token == "}":
            inside.pop()
        else:
            last = token.strip('"')
            inside[-1].setdefault(last, {})
    return outermost


def keys_of(told: object) -> dict:
    """The keys of a JSON value, of the first of each list, with those within."""
    while isinstance(told, list):
        told = told[0] if told else None
    return {key: keys_of(value) for key, value in told.items()} if isinstance(told, dict) else {}


def test_the_stub_tells_what_check_returns():
    file = REPOSITORY / "examples" / "hypercube-128.toml"
    text = file.read_text(encoding="utf-8")
    told = keys_of(json.loads(_core.check(text, file.name, ["machine.dimension=6"])))
    # A machine is described by the schema of results.
    told["machines"] = {}
    assert keys_in_words("check") == told
