"""The JSON Schema of scenarios: what is right passes, and much of what is wrong does not."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from isthmus import _core

tomllib = pytest.importorskip("tomllib", reason="Python 3.10 cannot read TOML")

ROOT = Path(__file__).parents[2]
SUITES = ROOT / "crates/kinds/tests"

SEEN = (
    "no such key",
    "is not known here",
    "is expected",
    "the unit of",
    "is not a unit",
    "cannot be swept",
    "is not a kind of machine",
)
"""What errors say that any schema of the fields must see."""


@pytest.fixture(scope="module")
def schema():
    return json.loads(_core.json_schema())


@pytest.fixture(scope="module")
def validator(schema):
    return Draft202012Validator(schema)


def scenarios():
    folders = ["examples", "papers", "python/isthmus/starts", "crates/kinds/tests/good"]
    files = [file for folder in folders for file in sorted((ROOT / folder).rglob("*.toml"))]
    found = [file for file in files if "version" in tomllib.loads(file.read_text())]
    # Papers have files of their own beside their scenarios.
    return [file for file in found if "machine" in tomllib.loads(file.read_text())]


def wrong():
    """The cases of the suites that are TOML and wrong without overrides."""
    for suite in sorted(SUITES.glob("bad*.toml")):
        told = tomllib.loads(suite.read_text())
        for case in told["case"]:
            text = told["base"]
            if "find" in case:
                text = text.replace(case["find"], case.get("replace", ""))
            text += case.get("append", "")
            try:
                read = tomllib.loads(text)
            except tomllib.TOMLDecodeError:
                continue
            if not case.get("overrides"):
                yield case, read


def test_it_is_a_schema(schema):
    Draft202012Validator.check_schema(schema)


def test_every_field_has_its_definition(schema):
    """A field is told under its own key, or under that of its kind of machine and its key."""
    definitions = schema["$defs"]
    fields = json.loads(_core.fields())
    kinds = sorted({field["machine"] for field in fields} - {""})
    assert {one["$ref"] for one in schema["oneOf"]} == {f"#/$defs/{kind}" for kind in kinds}
    for field in fields:
        key, of = field["key"], [field["machine"]] if field["machine"] else kinds
        if key.startswith("sweep.") or key == "machine.kind":
            continue
        for kind in of:
            told = definitions.get(key) or definitions[f"{kind}.{key}"]
            assert told["description"].startswith(field["meaning"])
            if "default" in told:
                assert told["default"] == tomllib.loads(f"x = {field['default']}")["x"]
                assert Draft202012Validator(told).is_valid(told["default"]), key


def test_what_is_right_passes(validator):
    files = scenarios()
    assert len(files) > 60
    for file in files:
        errors = list(validator.iter_errors(tomllib.loads(file.read_text())))
        assert not errors, (file, errors[0].json_path, errors[0].message)
    for suite in sorted(SUITES.glob("bad*.toml")):
        base = tomllib.loads(tomllib.loads(suite.read_text())["base"])
        assert validator.is_valid(base), suite


def test_what_a_schema_can_see_is_refused(validator):
    cases = [(case, validator.is_valid(read)) for case, read in wrong()]
    passed = [case for case, valid in cases if valid]
    overlooked = [case for case in passed if any(words in case["error"] for words in SEEN)]
    assert not overlooked, [(case["name"], case["error"]) for case in overlooked]
    # What stands in the text of a graph or of routes, can fail of a machine, comes of how many
    # nodes a job has, or is in vain beside other values, no schema can see; of the rest most.
    of_text = ("machine.edges: ", "machine.routes: ")
    beyond = (*of_text, "sweep.machine.faults: ", "(at fault = ", "faults have taken node")
    beyond += ("would be under way at once", "it has no effect")
    unseen = [case for case in passed if any(key in case["error"] for key in beyond)]
    assert len(cases) > 400
    assert len(passed) - len(unseen) < 0.38 * (len(cases) - len(unseen))


CASES = {
    "sci.machine.hop": (
        ["34 ns", "0.5us", " 1e3 ps ", "1 h"],
        ["34", "0 ns", "1 s/s", "-1 ns", 34],
    ),
    "sci.machine.ring_change": (["0 s", "0.0 ns"], ["0"]),
    "sci.machine.symbol": (["2 B", "4 KiB", "1 TB"], ["1 KB", "0 B", "2 b"]),
    "sci.machine.bandwidth": (["1 GB/s", "8 Gbit/s", "1 GiB/s"], ["1 TiB/s", "1 GB", "0 MB/s"]),
    "hypercube.workload.rate": (["6.4 /ms", "1/ns"], ["6.4 ms", "0 /s"]),
    "hypercube.workload.locality": ([0, 0.5, 1, "20%"], [-0.1, 1.5, "x%", True]),
    "hypercube.workload.outstanding": ([16, "unlimited"], [0, "none"]),
    "sci.machine.size": ([8, "6x6", "4x4x4"], [1, "6 by 6"]),
    "fat-tree.workload.jobs.NAME.nodes": (["all", "part 1 of 2", [0, "8-15"]], ["some", []]),
    "hypercube.machine.faults.links": ([[[0, 1]]], [[[0, 1, 2]], [0, 1]]),
}
"""Values that a field may hold, and that it may not."""


@pytest.mark.parametrize("key", CASES)
def test_values_are_those_that_are_read(schema, key):
    field = Draft202012Validator(schema["$defs"][key])
    right, not_right = CASES[key]
    assert [value for value in right if not field.is_valid(value)] == []
    assert [value for value in not_right if field.is_valid(value)] == []


def test_words_of_fields_that_mean_nothing_are_refused(validator):
    base = tomllib.loads(tomllib.loads((SUITES / "bad_sci.toml").read_text())["base"])
    rings = {**base, "machine": {**base["machine"], "rings": [[0, 1]]}}
    assert not validator.is_valid(rings)
    # An axis may give them a meaning.
    swept = {**rings, "sweep": {"machine": {"fabric": ["torus", "rings"]}}}
    assert validator.is_valid(swept)


def test_the_command_prints_it(isthmus, schema):
    done = isthmus("schema")
    assert done.returncode == 0
    assert json.loads(done.stdout) == schema
