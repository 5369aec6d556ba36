"""The folder of a run: its files and the order in which they are written.

Every file except ``provenance.json`` has the same bytes for the same scenario and seed, on any
number of threads. The numbers are written first: they survive if the process ends while tables or
pictures are made. Complete parts are not made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.errors import IsthmusError
from isthmus.files import ready_folder, write_text
from isthmus.owned import Identity, OwnedFolder, home_of
from isthmus.owned.mark import RESULT, SCENARIO, SOURCE, sha256
from isthmus.progress import StepCallback, ignore_steps

if TYPE_CHECKING:
    import polars as pl

    from isthmus.results.collection import Results

REPORT = "report.html"
PROVENANCE = "provenance.json"
PLOTS = "plots"
"""Sub-folder for plots that are written as files."""


def identity(results: Results) -> Identity:
    """Return the identity of results (kind, name, seed, ...) for the mark file of their folder."""
    run = results.run
    kind = "run" if run.simulated else "analysis"
    return Identity(kind, run.name, run.digest, run.seed, run.quick, run.version)


@contextmanager
def opened_for(
    folder: Path, results: Results, *, fresh: bool = False, adopt: bool = False
) -> Iterator[OwnedFolder]:
    """Mark a folder as owned for these results, or open the folder that holds them.

    `adopt` also accepts a folder without a mark file that holds nothing but the results.

    Raises:
        IsthmusError: the folder cannot be used; see `OwnedFolder.opened`.

    """
    known = (RESULT, SCENARIO, "faults.json") if adopt else ()
    of = identity(results)
    with OwnedFolder.opened(
        folder, of, scenario=results.canonical, fresh=fresh, adopt=known
    ) as own:
        yield own


def result_key(canonical: str) -> str:
    """Return the digest that decides whether the numbers in a folder are up to date. Unlike the
    identity of the folder, it depends on titles as well.
    """
    return sha256(canonical.encode())


def output_key(results: Results, *forms: str) -> str:
    """Return the digest that decides whether tables, pictures and pages are up to date: of the
    numbers, the options of the caller, and the generating code.
    """
    from isthmus.sources import digest_of

    return digest_of(results.digest, results.canonical, *forms)


def keep_scenario(folder: OwnedFolder, canonical: str) -> None:
    """Write the effective scenario to the folder, so that a later run can describe differences."""
    if canonical:
        folder.keep(SCENARIO, canonical, SOURCE)


def keep_result(
    folder: OwnedFolder, results: Results, also: Mapping[str, str] | None = None
) -> None:
    """Write the scenario, the files in `also` (text by name) and ``result.json`` unless they are up
    to date.
    """
    key = result_key(results.canonical)
    if folder.made("result", key):
        return
    keep_scenario(folder, results.canonical)
    if folder.has("result", key) and folder.mark.files[RESULT].sha256 == results.digest:
        return
    with folder.part("result", key):
        for name, text in (also or {}).items():
            folder.write(name, text, "result")
        folder.write(RESULT, results.content, "result", digest=results.digest)


def memory_of(path: Path) -> float | None:
    """Return the memory limit of a folder's simulations in bytes; None if unknown."""
    try:
        memory = json.loads((path / PROVENANCE).read_bytes())["memory_bytes"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return memory if isinstance(memory, int | float) else None


def keep_provenance(folder: OwnedFolder, provenance: dict[str, Any]) -> None:
    """Write the provenance of the run: its time, place and command."""
    text = json.dumps(provenance, indent=2, ensure_ascii=False) + "\n"
    folder.write(PROVENANCE, text, "provenance", varies=True)


def write_results(
    folder: OwnedFolder,
    results: Results,
    tell: StepCallback = ignore_steps,
    *,
    plots: tuple[str, ...] = (),
) -> None:
    """Write the numbers, then tables, report and plots unless they are up to date.

    Args:
        folder: a locked folder.
        results: the results to write.
        tell: called with the progress.
        plots: file formats (``png``, ``svg``) in which every plot is written as well.

    """
    tell("writing", 0, 0)
    keep_result(folder, results)
    write_tables(folder, results)
    _write_report_file(folder, results, REPORT, "report", tell)
    key = output_key(results, *plots)
    if plots and not folder.has("plots", key):
        from isthmus.plots import pictures

        with folder.part("plots", key):
            for picture in pictures(results.run, plots, tell):
                for form, data in picture.images.items():
                    folder.write(f"{PLOTS}/{picture.name}.{form}", data, "plots")


def write_report(path: Path, results: Results) -> None:
    """Write the report alone.

    In a folder of isthmus, the report becomes one of the folder's files, and the folder must hold
    these results. Elsewhere it replaces an existing file.

    Raises:
        IsthmusError: the folder holds other results, a foreign or changed file is in the way, or
            the folder cannot be written to.

    """
    from isthmus.report import render

    home = home_of(path)
    if home is None:
        ready_folder(path.parent)
        write_text(path, render(results))
        return
    with opened_for(home, results) as folder:
        place = path.parent.resolve() / path.name
        name = place.relative_to(home.resolve()).as_posix()
        part = "report" if name == REPORT else name
        there = folder.mark.files.get(name)
        if there is not None and there.part != part:
            raise IsthmusError(f"{path}: there isthmus keeps something else; give another name")
        _write_report_file(folder, results, name, part)


def _write_report_file(
    folder: OwnedFolder, results: Results, name: str, part: str, tell: StepCallback = ignore_steps
) -> None:
    """Write the report, an HTML page, as the file `name` in a folder of results, unless the file is
    up to date.
    """
    from isthmus.report import inputs_of, render

    inputs = inputs_of(results)
    if folder.has(part, inputs):
        return
    tell("drawing", 0, 0)
    with folder.part(part, inputs):
        folder.write(name, render(results, inputs), part)


def write_tables(folder: OwnedFolder, results: Results) -> None:
    """Write the tables as Parquet and CSV, unless they are up to date."""
    key = output_key(results)
    if folder.has("tables", key):
        return
    with folder.part("tables", key):
        for name, data in _tables(results):
            folder.write(name, data, "tables")


def _tables(results: Results) -> Iterator[tuple[str, bytes]]:
    """Yield the file name and content of each table."""
    from isthmus.results.tables import results_table

    table = results_table(results.run)
    yield "results.parquet", parquet(table)
    yield "results.csv", _csv(table)
    yield "histograms.parquet", parquet(results.histograms)
    yield "channels.parquet", parquet(results.channels)
    if any(point.nodes for point in results.run.points):
        yield "nodes.parquet", parquet(results.nodes)
    if any(point.jobs for point in results.run.points):
        yield "jobs.csv", _csv(results.jobs)
    if (interference := results.interference) is not None:
        yield "interference.csv", _csv(interference)
    yield "searches.csv", _csv(results.searches)


def _csv(table: pl.DataFrame) -> bytes:
    """Return a table as CSV bytes."""
    # Write to a buffer of bytes: polars would copy a text several times.
    buffer = BytesIO()
    table.write_csv(buffer)
    return buffer.getvalue()


def parquet(table: pl.DataFrame) -> bytes:
    """Return a table as Parquet bytes."""
    buffer = BytesIO()
    table.write_parquet(buffer, compression="zstd", statistics=True)
    return buffer.getvalue()
