"""What rows of expected.csv call: `r` has the results of the row's scenario."""

from isthmus import balance as balance


def widths(r, share):
    """Claim what the width b of the I/O links does to reads, and to saturation."""
    b0, b1, b2 = (r.mean("read.network", io_link=b) for b in (0, 1, 2))
    knees = (r.saturation(io_link=b) for b in (2, 0, 1))
    return [r.greater(b1, b0), r.less(b2 / b0, share), r.greater(*knees)]


def locality(r, times):
    """Claim what the locality of reads does to control cube and test cubes."""
    b0, b2 = (
        r.largest("read.network", "locality", io_link=b)
        / r.smallest("read.network", "locality", io_link=b)
        for b in (0, 2)
    )
    return [
        r.falls("pe_pe.router", "locality", io_link=0),
        r.greater(b0 / b2, times),
        r.alike(*(r.mean("pe_pe.router", io_link=2, locality=p) for p in (0.0, 1.0))),
        r.alike(*(r.mean("read.network", io_link=b, locality=1.0) for b in (0, 1, 2, 3, 4))),
    ]


def rise(r, b):
    """Return by how much PE-PE latency rises when twice as many requests are for I/O."""
    low, high = (r.mean("pe_pe.router", io_link=b, io_probability=p) for p in ("10%", "20%"))
    return high / low


def loads(r):
    """Claim the load up to which one link between the networks is enough, and two are."""
    return [
        r.all_are("stable", interarrival="0.156 ms", io_node=1),
        r.all_are("saturated", interarrival="0.078 ms", io_node=1),
        r.all_are("stable", interarrival="0.078 ms", io_node=2),
    ]


def channel(r, kind):
    """Return what the model says of a kind of channel, in the highest dimension."""
    return next(each for each in r.model("literal")["channels"] if each["kind"] == kind)
