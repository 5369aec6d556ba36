"""Results as an xarray dataset: measures over axes, with units."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from isthmus.errors import IsthmusError
from isthmus.results.schema import RunResult
from isthmus.results.settings import Column, Settings, columns
from isthmus.wording import measure_label

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

STATISTIC = "statistic"
"""Name of the dimension along which mean and percentiles lie."""


def dataset(run: RunResult, settings: Settings, wants: Collection[str] | None) -> xr.Dataset:
    """Return the points of a run as an xarray dataset whose dimensions are the axes of the sweep.

    See `isthmus.Results.to_xarray`.
    """
    import xarray as xr

    grid = _Grid(run, settings)
    statistics = list(dict.fromkeys(s for point in run.points for s in point.statistics))
    statistics = [s for s in statistics if wants is None or s in wants]
    data: dict[str, Any] = {}
    of_jobs = any(point.jobs for point in run.points)
    names = {m.name: m.unit for point in run.points for m in point.measures}
    for name, unit in names.items():
        attrs = {"units": unit, "long_name": measure_label(name, of_jobs=of_jobs)}
        parts = [grid.filled(len(statistics)) for _ in range(3)]
        model = grid.filled()
        for i, point in enumerate(run.points):
            measure = point.measure(name)
            if measure is None:
                continue
            rows = {"mean": (measure.mean, measure.low, measure.high)}
            rows.update({f"p{p.percent:g}": (p.value, p.low, p.high) for p in measure.percentiles})
            for position, statistic in enumerate(statistics):
                for part, number in zip(parts, rows.get(statistic, ()), strict=False):
                    part[(*grid.places[i], position)] = _number(number)
            model[grid.places[i]] = _number(measure.analytic)
        for part, end in zip(parts, ("", ".low", ".high"), strict=True):
            data[name + end] = ((*grid.dims, STATISTIC), part, attrs)
        data[f"{name}.analytic"] = (grid.dims, model, attrs)
    data["verdict"] = (grid.dims, grid.texts([p.verdict.verdict for p in run.points]))
    # Attributes of the variable "load". It is not called "offered", because a measure has that
    # name.
    units = {"units": run.load.plain, "long_name": run.load.label}
    data["load"] = (grid.dims, grid.numbers([p.load for p in run.points]), units)
    coords = {**grid.coords(), STATISTIC: statistics}
    return xr.Dataset(data, coords, {"title": run.title, **grid.constant})


class _Grid:
    """Positions of the points of a run among the values of those axes that vary."""

    def __init__(self, run: RunResult, settings: Settings) -> None:
        """Find the axes that vary, and the position of each point among their values."""
        self.run = run
        varying = [i for i, axis in enumerate(run.axes) if len(_texts(run, i)) > 1]
        self.axes = [run.axes[i] for i in varying]
        values = [_texts(run, i) for i in varying]
        self.shape = tuple(map(len, values))
        self.places = [
            tuple(v.index(point.values[i].text) for i, v in zip(varying, values, strict=True))
            for point in run.points
        ]
        self.dims = tuple(axis.key for axis in self.axes)
        if STATISTIC in self.dims:
            raise IsthmusError(
                f"to_xarray: an axis is called {STATISTIC!r}, as the dimension of mean and "
                "percentiles is; choose one of its values by sel, or call it otherwise"
            )
        axes = {axis.key for axis in run.axes}
        self.constant: dict[str, str] = {}
        self.varying: dict[str, tuple[list[str | None], Column]] = {}
        read = columns([setting.texts for setting in settings.values()])
        for (key, setting), column in zip(settings.items(), read, strict=True):
            if setting.constant:
                self.constant[key] = (setting.texts[0] if setting.texts else None) or "none"
            elif key not in axes:
                self.varying[key] = setting.texts, column

    def coords(self) -> dict[str, Any]:
        """Return the coordinates of the dataset: axis values, and settings that differ, each along
        as few dimensions as possible.
        """
        found: dict[str, Any] = {}
        for axis in self.axes:
            values = {v.text: v for p in self.run.points for v in [self._value(p, axis.key)]}
            numbers = [v.number for v in values.values()]
            data = list(values) if None in numbers else numbers
            attrs = {"long_name": axis.label, **({"units": axis.unit} if axis.unit else {})}
            found[axis.key] = (axis.key, data, attrs)
        for key, (texts, column) in self.varying.items():
            dims = self._deciding_dimensions(texts)
            attrs = {"units": column.unit} if column.unit else {}
            if dims != self.dims:
                data = self._along(dims[0], column.numbers or texts)
                found[key] = (dims, data, attrs)
            elif column.numbers is None:
                found[key] = (dims, self.texts(texts), attrs)
            else:
                found[key] = (dims, self.numbers(column.numbers), attrs)
        return found

    def _value(self, point: Any, key: str) -> Any:
        """Return the value of an axis at a point."""
        at = next(i for i, axis in enumerate(self.run.axes) if axis.key == key)
        return point.values[at]

    def _deciding_dimensions(self, texts: Sequence[str | None]) -> tuple[str, ...]:
        """Return the single dimension whose values determine those of a setting; if there is none,
        all dimensions.
        """
        for position, dim in enumerate(self.dims):
            seen: dict[int, str | None] = {}
            places = [place[position] for place in self.places]
            pairs = zip(places, texts, strict=True)
            if all(seen.setdefault(place, text) == text for place, text in pairs):
                return (dim,)
        return self.dims

    def _along(self, dim: str, values: Sequence[Any]) -> list[Any]:
        """Return the values of a setting along one dimension."""
        position = self.dims.index(dim)
        by_place = {place[position]: v for place, v in zip(self.places, values, strict=True)}
        data = [by_place[i] for i in range(self.shape[position])]
        numeric = any(isinstance(v, float) for v in data)
        return [_number(v) if numeric else v or "none" for v in data]

    def filled(self, *more: int) -> np.ndarray[Any, Any]:
        """Return an array filled with NaN, with an element for each combination of axis values."""
        import numpy as np

        return np.full((*self.shape, *more), np.nan)

    def numbers(self, values: Sequence[float | None]) -> np.ndarray[Any, Any]:
        """Return an array of numbers, one for each combination of axis values; NaN for None."""
        found = self.filled()
        for place, value in zip(self.places, values, strict=True):
            found[place] = _number(value)
        return found

    def texts(self, values: Sequence[str | None]) -> np.ndarray[Any, Any]:
        """Return an array of texts, one for each combination of axis values; empty where it was not
        run.
        """
        import numpy as np

        data = [value or "none" for value in values]
        found = np.full(self.shape, "", dtype=f"U{max(map(len, data), default=1)}")
        for place, value in zip(self.places, data, strict=True):
            found[place] = value
        return found


def _texts(run: RunResult, axis: int) -> list[str]:
    """Return the different values of an axis, as texts in the order of the points."""
    return list(dict.fromkeys(point.values[axis].text for point in run.points))


def _number(value: float | None) -> float:
    """Convert None to NaN; return other numbers unchanged."""
    return float("nan") if value is None else value
