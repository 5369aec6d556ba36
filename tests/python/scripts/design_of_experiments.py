"""A design over variants: machines, placements and workloads as factors, main effects from it."""

import isthmus

placements = [isthmus.Placement(kind="combined"), isthmus.Placement(kind="stride", count=4)]
devices = [isthmus.Device(access="400 us"), isthmus.Device(access="100 us")]
results = isthmus.simulate(
    isthmus.Hypercube(dimension=4, io_link_lanes=1),
    isthmus.Workload(rate="1 /ms"),
    sweep={"placement": placements, "device": devices, "locality": [0.2, 0.8]},
    precision="20%",
    quick=True,
)
chosen = results.sel(measure="read.response", statistic="mean")
for factor, one, other in (
    ("placement", *(placement.words for placement in placements)),
    ("device", *(device.words for device in devices)),
    ("locality", 0.2, 0.8),
):
    found = chosen.compare({factor: one}, {factor: other})
    ratios = found.table["ratio"]
    print(f"{factor}: {ratios.min():.2f} to {ratios.max():.2f} over {ratios.len()} pairs")
    assert ratios.len() == 4
seen = {placement: len(placement.words) for placement in placements}
assert seen[isthmus.Placement(kind="combined")]
