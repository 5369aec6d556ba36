"""What a simulation by a worker of Dask may take, where nobody has said how much."""

import pytest

from conftest import SMALL
from isthmus import Scenario, _core, dask
from isthmus.dask import share_of_memory, worker_memory

distributed = pytest.importorskip("distributed")
config = pytest.importorskip("dask.config")

HEEDED = ("target", "spill", "pause", "terminate")
"""At what share of its limit a worker does something about it."""
LIMIT = 400_000_000
HALF = min(LIMIT // 2, _core.memory_bound())
"""Of it, or of what this machine has."""


@pytest.fixture(params=[(LIMIT, HALF // 2), (0, _core.memory_bound() // 2)], ids=["limit", "none"])
def worker(request):
    """A client of a worker of two threads in this process, and the share of each."""
    limit, share = request.param
    # The process of the tests may have more than that already: Dask would give it nothing to do.
    unheeded = {f"distributed.worker.memory.{word}": False for word in HEEDED}
    with (
        config.set(unheeded),
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            memory_limit=limit,
            dashboard_address=":0",
            worker_dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client, f"{share} B"


def test_each_thread_of_a_worker_has_its_share_of_half_the_limit(worker):
    client, share = worker
    assert client.submit(worker_memory).result(60) == share
    # Who is no worker has none.
    assert worker_memory() is None


def test_simulations_of_a_worker_are_given_that(worker, monkeypatch):
    client, share = worker
    given = []
    experiment = _core.Experiment

    def made(*words):
        given.append(words[7])
        return experiment(*words)

    monkeypatch.setattr(_core, "Experiment", made)
    Scenario(SMALL).run(executor=client)
    # The first is of this process, which only puts them together.
    ours, *theirs = given
    assert ours is None
    assert set(theirs) == {share}
    given.clear()
    Scenario(SMALL).run(executor=client, memory="3 GB")
    assert set(given) == {"3 GB"}


def test_a_share_is_never_less_than_the_core_takes():
    assert share_of_memory(1000, 2_000) == f"{dask.MEMORY_MIN} B"
