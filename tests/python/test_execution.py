"""How a run ends when what watches it fails: no core is left behind at work."""

import pytest

from conftest import SMALL
from isthmus import IsthmusError, _core
from isthmus.execution import Job
from isthmus.owned.lock import held

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
    with held(tmp_path / "out"):
        pass
