"""Results as an xarray dataset: choose by label, reduce over an axis."""

import isthmus

results = isthmus.simulate(
    isthmus.Fabric(size="3x3"),
    isthmus.PacketWorkload(),
    sweep={"fabric": ["torus", "bidirectional-torus"], "load": ["1 GB/s", "4 GB/s"]},
    precision=isthmus.Precision(rule="fixed", time="50 us", replications=3),
)
data = results.to_xarray()
latency = data["latency"].sel(statistic="mean")
ratio = latency.sel({"machine.fabric": "bidirectional-torus"}) / latency.sel(
    {"machine.fabric": "torus"}
)
print(ratio.values, data["latency"].attrs["units"])
assert ratio.dims == ("workload.load",)
assert float(data["accepted"].sel(statistic="mean").max("workload.load").min()) > 0
