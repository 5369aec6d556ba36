"""A sweep over a numpy range: where does the latency of reads double?"""

import numpy as np

import isthmus

cube = isthmus.Hypercube(dimension=4, io_link_lanes=1)
work = isthmus.Workload(io_probability="5%")
loads = np.linspace(1, 9, 5)
results = isthmus.simulate(
    cube, work, sweep={"rate": [f"{load} /ms" for load in loads]}, precision="20%", quick=True
)
reads = results.sel(measure="read.network", statistic="mean").table
times = reads["value"].to_numpy()
assert np.all(np.diff(reads["workload.rate [/ms]"].to_numpy()) > 0)
print(f"at {loads[0]} /ms {times[0]:.2f} us, at {loads[-1]} /ms {times[-1]:.2f} us")
print("slower by", round(float(times[-1] / times[0]), 2))
