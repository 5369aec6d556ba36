"""Plots on axes of my own, in my own style, beside data of my own."""

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

import isthmus

results = isthmus.simulate(
    isthmus.Hypercube(dimension=3),
    isthmus.Workload(),
    sweep={"io_link_lanes": [0, 1], "rate": ["2 /ms", "4 /ms", "8 /ms"]},
    precision="20%",
    quick=True,
)
plt.style.use("ggplot")
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
results.plot("latency", measure="read.network", ax=left)
results.plot("accepted", measure="accepted", ax=right)
right.plot([2, 8], [2, 8], "k:", label="what was asked for")
left.set_title("Reads")
figure.savefig("mine.png")
