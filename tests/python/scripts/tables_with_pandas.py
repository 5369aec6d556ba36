"""Results as a pandas data frame: pivot, group, write."""

import isthmus

results = isthmus.simulate(
    isthmus.Hypercube(dimension=3),
    isthmus.Workload(),
    sweep={"io_link_lanes": [0, 1, 2], "rate": ["2 /ms", "6 /ms"]},
    precision="20%",
    quick=True,
)
frame = results.to_pandas()
means = frame[(frame["statistic"] == "mean") & frame["measure"].isin(["read.network", "accepted"])]
print(
    means.pivot_table(
        index=["machine.lanes.io_link", "workload.rate [/ms]"], columns="measure", values="value"
    )
)
assert set(frame["machine.dimension"]) == {3}
results.to_pandas("channels").to_csv("channels.csv", index=False)
