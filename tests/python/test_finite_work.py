"""What is presented of jobs that complete, that are cut off, and that gain what others lose."""

import json

import pytest

from fixtures import trees
from isthmus.answer import answer
from isthmus.results import Results


def results(edit):
    """Both jobs together under the shared mapping, with clustered and with distributed servers."""
    data = trees.alone(trees.result(), "compute + io")
    trees.keep_points(data, lambda point: point["values"][0]["text"] == "shared")
    edit(*data["points"])
    return Results.from_json(json.dumps(trees.replicated(data)))


def scaled(point, job, factor):
    """Let all times of a job take that many times as long."""
    for each in point["measures"]:
        if each["name"].startswith(f"{job}.") and each["unit"] == "us":
            for key in ("mean", "low", "high"):
                each[key] *= factor


def alike(clustered, distributed):
    """Make the measures of both points the same."""
    distributed["measures"] = json.loads(json.dumps(clustered["measures"]))


@pytest.mark.parametrize(
    ("io", "words"),
    [
        (2.0, "distributed is better for compute, worse for io"),
        (None, "distributed is better for compute, unknown for io"),
        (1.0, "distributed is better for compute, about the same for io"),
        (0.5, "distributed is better"),
    ],
)
def test_mixed_evidence_is_told_job_by_job(io, words):
    """A badge for all holds only where no job says otherwise."""

    def edit(clustered, distributed):
        alike(clustered, distributed)
        scaled(distributed, "compute", 0.5)
        if io is not None:
            scaled(distributed, "io", io)
            return
        # Phases of which most did not end: at least as long as in the baseline.
        for each in distributed["measures"]:
            if each["name"] == "io.response":
                each |= {"high": None, "low": 0.5 * each["mean"]}

    assert answer(results(edit).run).conclusion == f"Against clustered: {words}."


def test_a_job_that_only_one_variant_carries_is_better_there():
    def edit(clustered, distributed):
        alike(clustered, distributed)
        scaled(distributed, "compute", 2.0)
        clustered["verdict"] |= {"verdict": "saturated", "flow": "io"}

    words = "distributed is better for io, worse for compute"
    assert answer(results(edit).run).conclusion == f"Against clustered: {words}."


def phase(mean, unended):
    """The phases of io, of which so many were cut off; none ended if there is no mean."""
    more = {"samples": 8 if mean else 0, "unended": unended}
    if mean is None:
        return trees.measure("io.phase", "us", 1.4e6, **more) | {"mean": None, "high": None}
    return trees.measure("io.phase", "us", mean, **more)


def test_a_single_phase_has_a_time_and_no_verdict():
    """Along an axis of numbers the first screen has the time at each of them."""

    def edit(*points):
        for point, count, mean in zip(points, (2, 8), (881e6, 225e6), strict=True):
            point["values"][-1] = {"text": str(count), "number": float(count)}
            point["verdict"] |= {"verdict": "completed", "flow": "io"}
            point["measures"].insert(0, phase(mean, 0))

    found = results(edit)
    said = answer(found.run).conclusion
    assert said.startswith("io completes in 881 ± "), said
    assert " s at servers = 2, 225 ± " in said
    assert "saturated" not in said
    assert set(found.table["verdict"]) == {"completed"}


def test_what_did_not_complete_is_longer_than_the_run():
    def edit(*points):
        for point, count in zip(points, (2, 8), strict=True):
            point["values"][-1] = {"text": str(count), "number": float(count)}
        points[0]["verdict"] |= {"verdict": "incomplete", "flow": "io"}
        points[0]["measures"].insert(0, phase(None, 8))
        points[0]["simulated_ms"] = 8 * 1_400.0
        points[1]["verdict"] |= {"verdict": "completed", "flow": "io"}
        points[1]["measures"].insert(0, phase(225e3, 0))

    found = results(edit)
    said = answer(found.run).conclusion
    start = "io did not complete within 1.40 s at servers 2; io completes in 225 ± "
    assert said.startswith(start), said
    assert " ms at servers = 8" in said
    rows = found.table.filter(measure="io.phase", statistic="mean").to_dicts()
    assert [(row["value"], row["samples"], row["unended"]) for row in rows] == [
        (None, 0, 8),
        (225e3, 8, 0),
    ]
