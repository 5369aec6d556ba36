"""A sweep on a pool of processes, and machines one by one put together: the same numbers."""

from concurrent.futures import ProcessPoolExecutor

import isthmus


def one(dimension: int) -> isthmus.Results:
    """One machine of the sweep."""
    cube = isthmus.Hypercube(dimension=dimension, io_link_lanes=1)
    return isthmus.simulate(cube, isthmus.Workload(rate="2 /ms"), precision="20%", quick=True)


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        swept = isthmus.simulate(
            isthmus.Hypercube(io_link_lanes=1),
            isthmus.Workload(rate="2 /ms"),
            sweep={"dimension": [2, 3]},
            precision="20%",
            quick=True,
            executor=pool,
        )
        parts = list(pool.map(one, [2, 3]))
    together = isthmus.Results.concat(parts)
    columns = ["machine.dimension", "measure", "statistic", "value", "low", "high"]
    assert together.table.select(columns).equals(swept.table.select(columns))
    print(together.answer.conclusion)
