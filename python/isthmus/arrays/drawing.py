"""Plots of layouts and plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from isthmus.arrays.descriptions import Description
    from isthmus.arrays.layouts import Layout
    from isthmus.arrays.plans import Plan
    from isthmus.arrays.prediction import Prediction

INDICES_MAX = 1 << 24
"""Largest extent of an array dimension that can be drawn; drawing time grows with it."""
CELLS_MAX = 1024
"""Maximum number of elements drawn along a dimension. If it has more, only every n-th element
is drawn.
"""


def draw_layout(layout: Layout, *, ax: Any = None) -> Any:
    """Draw the rank of each element in the first two dimensions, at index 0 of the others.

    Args:
        layout: a layout of an array with at least one dimension.
        ax: axes of matplotlib to draw on; the default is a new figure.

    Returns:
        The axes.

    """
    import matplotlib.pyplot as plt

    if max(layout.shape) > INDICES_MAX:
        raise IsthmusError(
            f"a dimension of {max(layout.shape):,} indices is not drawn; the most are "
            f"{INDICES_MAX:,}"
        )
    shape = (*layout.shape, 1)[:2]
    steps = [-(-extent // CELLS_MAX) for extent in shape]
    owner = np.full([-(-extent // step) for extent, step in zip(shape, steps, strict=True)], -1)
    for number, rank in enumerate(layout.ranks):
        for part in layout.indices(rank):
            if any(0 not in indices for indices in part[2:]):
                continue
            rows, columns = [*part, np.zeros(1, np.int64)][:2]
            kept = [
                indices[indices % step == 0] // step
                for indices, step in zip((rows, columns), steps, strict=True)
            ]
            owner[np.ix_(*kept)] = number
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    ranks = layout.ranks
    colours = plt.get_cmap("tab20" if len(ranks) <= 20 else "viridis", max(len(ranks), 2))
    extent = (-0.5, shape[1] - 0.5, shape[0] - 0.5, -0.5)
    ax.imshow(
        owner,
        cmap=colours,
        vmin=-0.5,
        vmax=len(ranks) - 0.5,
        extent=extent,
        interpolation="nearest",
        aspect="auto",
    )
    ax.set_xlabel("index of dimension 1" if len(layout.shape) > 1 else "")
    ax.set_ylabel("index of dimension 0")
    if len(ranks) <= 20:
        from matplotlib import patches

        handles = [
            patches.Patch(color=colours(number), label=f"rank {rank}")
            for number, rank in enumerate(ranks)
        ]
        ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return ax


def draw_plan(plan: Plan, *, ax: Any = None) -> Any:
    """Draw the number of elements between each pair of ranks.

    Args:
        plan: a plan between at most 1,024 ranks on each side.
        ax: axes of matplotlib to draw on; the default is a new figure.

    Returns:
        The axes.

    """
    import matplotlib.pyplot as plt

    senders, receivers = plan.from_.ranks, plan.to.ranks
    if max(len(senders), len(receivers)) > CELLS_MAX:
        raise IsthmusError(f"plans between more than {CELLS_MAX} ranks are not drawn")
    places = [{rank: place for place, rank in enumerate(ranks)} for ranks in (senders, receivers)]
    moved = np.full((len(senders), len(receivers)), np.nan)
    for message in plan.messages():
        moved[places[0][message.from_rank], places[1][message.to_rank]] = message.elements
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    image = ax.imshow(moved, cmap="viridis", vmin=0, interpolation="nearest", aspect="auto")
    ax.figure.colorbar(image, ax=ax, label="elements")
    for axis, ranks, which in ((ax.xaxis, receivers, "to"), (ax.yaxis, senders, "from")):
        if len(ranks) <= 32:
            axis.set_ticks(range(len(ranks)), [str(rank) for rank in ranks])
        axis.set_label_text(f"{which} rank")
    return ax


def draw_redistribution(task: Description) -> Any:
    """Draw a redistribution as three diagrams: the source layout, the plan and the target layout.

    Args:
        task: a redistribution between at most 1,024 ranks on each side.

    Returns:
        The figure.

    """
    from matplotlib.figure import Figure

    from isthmus.plots.style import styled

    with styled():
        figure = Figure(figsize=(14, 4.4), layout="constrained")
        before, between, after = figure.subplots(1, 3)
        draw_layout(task.from_, ax=before).set_title("before")
        draw_plan(task.plan, ax=between).set_title("moved")
        draw_layout(task.to, ax=after).set_title("after")
        for ax in (before, between, after):
            ax.grid(visible=False)
        figure.suptitle(task.title)
    return figure


def draw_blocks(task: Description, found: Sequence[tuple[int, Description, Prediction]]) -> Any:
    """Plot the predicted time of a redistribution against the block size of the source layout.

    Args:
        task: the redistribution.
        found: predictions by block size, as `prediction.with_blocks` returns them.

    Returns:
        The figure.

    """
    from matplotlib.figure import Figure

    from isthmus.plots.style import styled

    blocks = [size for size, _, _ in found]
    lines = [("redistribution alone", [one.move for _, _, one in found])]
    if task.io is not None:
        lines += [
            ("small requests at once", [one.direct for _, _, one in found if one.direct]),
            ("reshuffled first", [one.whole for _, _, one in found if one.whole]),
        ]
    with styled():
        figure = Figure(figsize=(6.4, 4.4), layout="constrained")
        ax = figure.subplots()
        for label, times in lines:
            (line,) = ax.plot(blocks, [of.seconds for of in times], marker="o", label=label)
            ends = [of.low for of in times], [of.high for of in times]
            ax.fill_between(blocks, *ends, color=line.get_color(), alpha=0.2, linewidth=0)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_xticks(blocks, [str(size) for size in blocks])
        ax.set_xlabel("indices of a block")
        ax.set_ylabel("time (s)")
        ax.set_title(task.title)
        ax.legend()
    return figure
