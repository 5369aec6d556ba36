"""What rows of expected.csv call: `r` has the results of the row's scenario."""

from collections import Counter

from isthmus.arrays import Layout, Plan

BLOCKS = ("128 B", "256 B", "512 B", "1 KiB", "2 KiB", "4 KiB")


def even(r, reshuffle, block):
    """Return the throughput of blocks of one size under even sharing."""
    return r.mean("accepted", sharing="even", reshuffle=reshuffle, block=block)


def near_streaming(r, least):
    """Claim that throughput with reshuffling is above `least`, and as without any."""
    found = []
    for way in ("slow", "fast"):
        for block in BLOCKS:
            mean = even(r, way, block)
            found += [r.greater(mean, least), r.alike(mean, even(r, "streaming", block))]
    return found


def sending(r, **at):
    """Return the share of elapsed time in which a cell of the last row sends its eight rows."""
    return 100 * 8 * r.mean("send", **at) / r.mean("adu", **at)


def striped(r, setup):
    """Return what four links carry of what one does, if a message takes so long to set up."""
    at = {"interface.message": setup, "cell.message": setup}
    return r.mean("accepted", striped="4 links", **at) / r.mean("accepted", striped="1 link", **at)


def blocks(r, layout, size, count):
    """Claim size in elements and number of the blocks that a layout leaves contiguous.

    They lie in one piece in the memory of a cell, and on a network over which the array goes row by
    row.
    """
    plan = Plan(layout, Layout.whole(layout.shape))
    sizes = Counter()
    for message in plan.messages():
        sizes.update(plan.runs(message.from_rank, message.to_rank, element=1))
    ((found_size, found_count),) = sizes.items()
    return [r.alike(found_size, size), r.alike(found_count, count)]
