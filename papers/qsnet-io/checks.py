"""What rows of expected.csv call: `r` has the results of the row's scenario."""

DESTINATIONS = ("random", "interleaved", "blocked")
MAPPINGS = ("dedicated", "shared")
PLACEMENTS = ("clustered", "distributed")


def accepted(r, destinations, placement, mapping, read_ratio):
    """Return the load that each I/O server accepts."""
    at = {"destinations": destinations, "placement": placement, "mapping": mapping}
    return r.mean("servers.accepted", read_ratio=read_ratio, **at)


def mappings_alike(r, read_ratio):
    """Claim that distributed servers accept the same load under both mappings."""
    return [
        r.alike(*(accepted(r, d, "distributed", m, read_ratio) for m in reversed(MAPPINGS)))
        for d in DESTINATIONS
    ]


def compute(r, io, load):
    """Return the load that compute nodes accept of one another."""
    return r.mean("compute.accepted", io=io, load=load)


def loss(r, io, load):
    """Return how many percent of that a load of I/O takes."""
    return compute(r, io, load).below(compute(r, io, 0))
