"""Plots of cost against the size of the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

INK = "#222222"
MESSAGE = "#1b6ca8"
CHANNEL = "#c8553d"


def growth(points: list[dict[str, Any]], path: Path) -> None:
    """Draw ``points`` (of ``isthmus-bench growth``) to ``path`` with .png and .svg."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter

    dimensions = [point["dimension"] for point in points]
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for key, color, label in (
        ("ns_per_message", MESSAGE, "per message"),
        ("ns_per_channel", CHANNEL, "per channel crossed"),
    ):
        values = [point[key] for point in points]
        axes.plot(dimensions, values, color=color, marker="o", markersize=4)
        axes.annotate(
            f"{label}\n{values[-1]:,.0f} ns",
            (dimensions[-1], values[-1]),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            color=color,
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xticks(range(dimensions[0], dimensions[-1] + 1, 2))
    axes.set_xlim(dimensions[0] - 0.5, dimensions[-1] + 3.6)
    axes.set_ylim(5, 3_000)
    axes.set_xlabel("dimension of the PE hypercube (2$^d$ PEs)")
    axes.set_ylabel("CPU time, one core (ns)")
    axes.set_title(
        "Cost of a message as the cube grows (b = 2, t$_a$ = 0.156 ms)", loc="left", color=INK
    )
    for first, last, text in (
        (3.5, 8.5, "events seldom meet:\na head walks its path at once"),
        (8.5, 14.5, "heads move side by side:\none event per channel"),
        (14.5, 20.5, "state outgrows the caches:\none miss per channel"),
    ):
        axes.axvspan(first, last, color=INK, alpha=0.03 if first != 8.5 else 0.07, linewidth=0)
        axes.text((first + last) / 2, 5.6, text, ha="center", fontsize=8, color=INK)
    axes.grid(visible=True, which="major", axis="y", color="#dddddd", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    for suffix in (".png", ".svg"):
        figure.savefig(path.with_suffix(suffix), dpi=150)
    plt.close(figure)


def sci_growth(points: list[dict[str, Any]], path: Path) -> None:
    """Draw ``points`` (of ``isthmus-bench sci``) to ``path`` with .png and .svg."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter

    nodes = [point["nodes"] for point in points]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    series = (
        (left, [point["run_s"]["median"] * 1e3 for point in points], MESSAGE, "200 µs (ms)"),
        (right, [point["ns_per_packet"] for point in points], CHANNEL, "a packet (ns)"),
    )
    for axes, values, color, label in series:
        axes.plot(nodes, values, color=color, marker="o", markersize=4)
        axes.annotate(
            f"{values[-1]:,.0f}",
            (nodes[-1], values[-1]),
            xytext=(-4, 7),
            textcoords="offset points",
            ha="right",
            color=color,
        )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_xlabel("nodes")
        axes.set_ylabel(f"CPU time of {label}, one core")
        axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle("Cost of a bidirectional torus of SCI rings at half its saturation", color=INK)
    for suffix in (".png", ".svg"):
        figure.savefig(path.with_suffix(suffix), dpi=150)
    plt.close(figure)
