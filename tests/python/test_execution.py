"""How a run ends: nothing is left at work when what watches it fails; a long result is no copy."""

import pickle

import pytest

from conftest import SMALL
from isthmus import IsthmusError, _core
from isthmus.execution import Job
from isthmus.owned.lock import hold
from isthmus.results import Results

LONG = SMALL.replace('precision = "10%"', 'precision = "0.01%"').replace("40000", "400000000")


@pytest.mark.parametrize("error", [RuntimeError, IsthmusError, SystemExit, GeneratorExit])
def test_a_watch_that_raises_leaves_no_run_behind(tmp_path, monkeypatch, error):
    begun = []

    def watched(*words):
        begun.append(real(*words))
        return begun[-1]

    def watch(progress):
        if progress.phase == "simulating":
            raise error("the notebook is closed")

    real = _core.Experiment
    monkeypatch.setattr(_core, "Experiment", watched)
    job = Job(LONG, "long.toml", watch=watch)
    with pytest.raises(error, match="the notebook is closed"):
        job.run_into(tmp_path / "out")
    (run,) = begun
    assert run.wait(0)
    # It writes nothing any more, to a folder that another process may hold now.
    with hold(tmp_path / "out"):
        pass


MANY = """\
version = 1
name = "many"
machine = { kind = "hypercube", dimension = 4, lanes = { io_link = 1 } }

[sweep]
"workload.locality" = { from = 0.2, to = 0.9, points = 12 }
"workload.rate" = { from = "2 /ms", to = "8 /ms", points = 60 }

[stop]
rule = "fixed"
warmup = "fixed"
warmup_messages = 200
messages = 400
replications = 2
"""


def test_a_long_result_is_what_a_short_one_is(tmp_path):
    results = Job(MANY, "many.toml", jobs=2).run_into(tmp_path / "out")
    assert isinstance(results.content, memoryview)
    assert results.content.readonly
    assert len(results.content) > 16 << 20
    written = (tmp_path / "out/result.json").read_bytes()
    assert results.content == written
    read = Results.load(tmp_path / "out")
    assert (read.digest, len(read.run.points)) == (results.digest, 720)
    sent = pickle.loads(pickle.dumps(results))
    assert (sent.data, sent.digest) == (written, results.digest)
    assert results.data == written
    assert isinstance(results.data, bytes)
    assert sent.histograms.equals(read.histograms)
    assert sent.channels.equals(results.channels)
