"""Two results compared: what did a longer flit change, and is that certain?"""

import isthmus


def run(flit: str) -> isthmus.Results:
    """The same sweep with another flit, kept in a folder."""
    return isthmus.simulate(
        isthmus.Hypercube(dimension=3, io_link_lanes=1, flit=flit),
        isthmus.Workload(),
        sweep={"rate": ["2 /ms", "4 /ms"]},
        precision="20%",
        quick=True,
        out=f"out/{flit.replace(' ', '')}",
    )


run("1 B")
run("2 B")
before, after = isthmus.Results.load("out/1B"), isthmus.Results.load("out/2B")
found = isthmus.compare(before.sel(measure="read.network"), after.sel(measure="read.network"))
print([change.words for change in found.changes])
print(found.conclusion)
means = found.table.filter(statistic="mean")
print(means.select("workload.rate [/ms]", "a", "b", "ratio_low", "ratio", "ratio_high", "differs"))
assert found.table["differs"].any()
