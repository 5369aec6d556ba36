"""Plots of cost against the size of the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

INK = "#222222"
MESSAGE = "#1b6ca8"
CHANNEL = "#c8553d"


def tidy(axes: Axes, axis: str = "both") -> None:
    """Draw a light grid along an axis, and remove the frame at the top and on the right."""
    axes.grid(visible=True, which="major", axis=axis, color="#dddddd", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)


def save(figure: Figure, path: Path, dpi: int = 150, svg: dict[str, Any] | None = None) -> None:
    """Write a plot to ``path`` with .png and .svg; `svg` is the metadata of the latter."""
    figure.savefig(path.with_suffix(".png"), dpi=dpi)
    figure.savefig(path.with_suffix(".svg"), dpi=dpi, metadata=svg)


def growth(points: list[dict[str, Any]], path: Path) -> None:
    """Draw ``points`` (of ``isthmus-bench growth``) to ``path`` with .png and .svg."""
    dimensions = [point["dimension"] for point in points]
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
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
    tidy(axes, axis="y")
    save(figure, path)


def sci_growth(points: list[dict[str, Any]], path: Path) -> None:
    """Draw ``points`` (of ``isthmus-bench sci``) to ``path`` with .png and .svg."""
    nodes = [point["nodes"] for point in points]
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
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
        tidy(axes)
    figure.suptitle("Cost of a bidirectional torus of SCI rings at half its saturation", color=INK)
    save(figure, path)


def crosscheck(content: dict[str, Any], path: Path) -> None:
    """Draw the results of ``crosscheck.py`` to ``path`` with .png and .svg: mean latencies, and
    below them the deviation of each peer from isthmus.
    """
    mpl.rcParams["svg.hashsalt"] = "isthmus"
    networks = content["networks"]
    figure = Figure(figsize=(10, 6.4), layout="constrained")
    columns = figure.subplots(2, len(networks), height_ratios=(3, 2), squeeze=False)
    for network, top, below in zip(networks, columns[0], columns[1], strict=True):
        points = [at for at in content["points"] if at["network"] == network["name"]]
        for shift, (name, color, marker) in enumerate(SIMULATORS):
            each = [at for at in points if at["simulator"] == name]
            if not each:
                continue
            # Side by side, so that the bars can be distinguished.
            loads = [at["load"] + (shift - 1.5) * 0.003 for at in each]
            style = {
                "color": color,
                "marker": marker,
                "markersize": 4,
                "linewidth": 1,
                "capsize": 3,
            }
            widths = [at["half_width"] for at in each]
            top.errorbar(loads, [at["latency"] for at in each], widths, label=name, **style)
            base = [_own(points, at) for at in each]
            if name.startswith("isthmus"):
                continue
            off = [at["latency"] / own["latency"] - 1 for at, own in zip(each, base, strict=True)]
            errors = [
                (
                    (at["half_width"] / at["latency"]) ** 2
                    + (own["half_width"] / own["latency"]) ** 2
                )
                ** 0.5
                for at, own in zip(each, base, strict=True)
            ]
            below.errorbar(loads, off, errors, **style)
        below.axhspan(-0.03, 0.03, color=INK, alpha=0.06, linewidth=0)
        below.axhline(0, color=MESSAGE, linewidth=1)
        below.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        below.set_xlabel("offered load (flits per cycle and node)")
        below.set_ylabel("peer's mean beside ours")  # codespell:ignore ours
        top.set_ylabel("mean latency (cycles)")
        top.set_title(f"{network['name']}, {network['flits']} flits", loc="left", color=INK)
        if points:
            top.legend(frameon=False, fontsize=8)
        for axes in (top, below):
            tidy(axes, axis="y")
    save(figure, path, dpi=120, svg={"Date": None})


SIMULATORS = (
    ("isthmus", MESSAGE, "o"),
    ("isthmus, random ascent", "#7fb2d9", "o"),
    ("caminos 0.6.3", CHANNEL, "s"),
    ("booksim2", "#3a7d44", "^"),
)


def _own(points: list[dict[str, Any]], at: dict[str, Any]) -> dict[str, Any]:
    """Return the point of isthmus at the same load; for BookSim2 with random ascent."""
    own = [
        each
        for each in points
        if each["simulator"].startswith("isthmus") and each["load"] == at["load"]
    ]
    return own[-1] if at["simulator"] == "booksim2" else own[0]
