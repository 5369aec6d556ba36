"""The folder of a run: what it holds, whose it is, how it is written.

Everything in it but ``provenance.json`` has the same bytes for the same scenario and seed,
whatever the number of threads.
"""

from __future__ import annotations

import json
import shutil
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.errors import IsthmusError
from isthmus.files import write_bytes, write_text

if TYPE_CHECKING:
    import polars as pl

    from isthmus.plots import Picture
    from isthmus.results.collection import Results

JOURNAL = "points"
"""Sub-folder in which the core keeps finished points."""
OWN_FILES = (
    "result.json",
    "results.parquet",
    "results.csv",
    "histograms.parquet",
    "channels.parquet",
    "nodes.parquet",
    "jobs.csv",
    "interference.csv",
    "searches.csv",
    "scenario.toml",
    "provenance.json",
    "report.html",
    "faults.csv",
    "faults-cases.csv",
    "faults.json",
)
OWN_FOLDERS = (JOURNAL, "plots")


def write_results(folder: Path, results: Results, plots: tuple[str, ...] = ()) -> None:
    """Write ``result.json``, tables and report; pictures as files (``png``, ``svg``) only where
    asked for. A report that was made from the same is left as it is.
    """
    from isthmus.report import inputs_of, render

    write_text(folder / "result.json", results.json)
    write_text(folder / "scenario.toml", results.canonical)
    write_tables(folder, results)
    inputs = inputs_of(results)
    page = folder / "report.html"
    if not is_made_from(page, inputs):
        write_text(page, render(results, inputs))
    if plots:
        from isthmus.plots import pictures

        write_plots(folder / "plots", pictures(results.run, plots))


def is_made_from(page: Path, inputs: str) -> bool:
    """Whether a page is there, whole, and says that it was made from these inputs."""
    from isthmus.report.page import made_from

    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    return bool(inputs) and made_from(text) == inputs and text.rstrip().endswith("</html>")


def write_tables(folder: Path, results: Results) -> None:
    """Write the tables as Parquet and CSV."""
    table = results.table
    write_bytes(folder / "results.parquet", parquet(table))
    write_text(folder / "results.csv", table.write_csv())
    write_bytes(folder / "histograms.parquet", parquet(results.histograms))
    write_bytes(folder / "channels.parquet", parquet(results.channels))
    if any(point.nodes for point in results.run.points):
        write_bytes(folder / "nodes.parquet", parquet(results.nodes))
    if any(point.jobs for point in results.run.points):
        write_text(folder / "jobs.csv", results.jobs.write_csv())
    if (interference := results.interference) is not None:
        write_text(folder / "interference.csv", interference.write_csv())
    write_text(folder / "searches.csv", results.searches.write_csv())


def parquet(table: pl.DataFrame) -> bytes:
    """The table as Parquet bytes."""
    buffer = BytesIO()
    table.write_parquet(buffer, compression="zstd", statistics=True)
    return buffer.getvalue()


def write_plots(folder: Path, pictures: list[Picture]) -> None:
    """Write plots as files; those of an earlier run that are no more are removed."""
    kept = set()
    for picture in pictures:
        for suffix, data in picture.images.items():
            write_bytes(folder / f"{picture.name}.{suffix}", data)
            kept.add(f"{picture.name}.{suffix}")
    for old in folder.glob("*"):
        if old.suffix in (".png", ".svg") and old.name not in kept:
            old.unlink()


def write_provenance(folder: Path, provenance: dict[str, Any]) -> None:
    """Write when, where and how the run was made."""
    write_text(
        folder / "provenance.json", json.dumps(provenance, indent=2, ensure_ascii=False) + "\n"
    )


def claim(folder: Path, digest: str, seed: int | None, quick: bool, name: str) -> None:
    """Refuse a folder that holds the results of something else.

    Raises:
        IsthmusError: another scenario, seed or length of run lives here.

    """
    held = _held(folder)
    if held is None:
        return
    differences = []
    if held.get("digest") != digest:
        differences.append(f"of another scenario ({held.get('name', 'unknown')!s})")
    elif seed is not None and held.get("seed") != seed:
        differences.append(f"with seed {held.get('seed')}")
    elif bool(held.get("quick")) != quick:
        differences.append("of a quick run" if held.get("quick") else "of a full run")
    if differences:
        raise IsthmusError(
            f"{folder}: holds results {differences[0]}; "
            f"use --out DIR for {name!r}, or --fresh to replace them"
        )


def _held(folder: Path) -> dict[str, Any] | None:
    claimed = folder / "result.json"
    if not claimed.is_file():
        return None
    try:
        held = json.loads(claimed.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise IsthmusError(
            f"{claimed}: damaged result; use --out DIR, or --fresh to replace it"
        ) from None
    return held if isinstance(held, dict) else {}


def clear(folder: Path) -> None:
    """Remove what a run has written here, and nothing else."""
    for name in OWN_FILES:
        (folder / name).unlink(missing_ok=True)
    for name in OWN_FOLDERS:
        shutil.rmtree(folder / name, ignore_errors=True)
