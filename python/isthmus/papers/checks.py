"""Checks of a paper: the expressions of its rows, and the functions that they call.

The cells `select` and `under` of ``expected.csv`` are Python expressions. In them `r` is the
`isthmus.papers.row_results.RowResults` of the row, and the functions of the paper's ``checks.py``
are available by name::

    r.mean("read.response", io_node=2) / r.mean("read.response", io_node=1)
    reads_alike(r, 2, 3, 4)
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from traceback import extract_tb
from types import CodeType
from typing import Any

from isthmus.core import read_text
from isthmus.errors import IsthmusError
from isthmus.papers.row_results import READS, NotSimulatedError, RowResults, no_result


@dataclass(frozen=True)
class Checks:
    """The checks of a paper's rows. ``checks.py`` may be missing; it is executed on first use."""

    path: Path

    @cached_property
    def text(self) -> str:
        """The source text of ``checks.py``."""
        return read_text(self.path) if self.path.is_file() else ""

    @cached_property
    def names(self) -> dict[str, Any]:
        """The global names of the file ``checks.py`` after its execution, with their values."""
        found: dict[str, Any] = {}
        with self._errors():
            exec(compile(self.text, str(self.path), "exec"), found)
        return found

    def read(self, expression: str) -> CodeType:
        """Compile an expression and check its names, without evaluating it.

        Raises:
            IsthmusError: it is not valid Python, or uses an undefined name.

        """
        names = self.names
        with self._errors():
            tree = ast.parse(expression.strip(), "the expression", "eval")
            for node in ast.walk(tree):
                match node:
                    case ast.Attribute(ast.Name("r"), name) if name not in READS:
                        raise IsthmusError(no_result(name))
            nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
            bound = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
            for node in nodes:
                if node.id not in {"r", *bound, *names, *dir(builtins)}:
                    own = ", ".join(name for name in names if not name.startswith("_"))
                    raise IsthmusError(f"no {node.id!r} in {self.path}; it has {own or 'nothing'}")
            return compile(tree, "the expression", "eval")

    def value(self, expression: str, results: RowResults) -> object:
        """Return the value of a Python expression, which may use the names of ``checks.py`` and the
        results as ``r``.

        Raises:
            IsthmusError: its evaluation fails.
            NotSimulatedError: it needs a simulation that `results` do not have.

        """
        code = self.read(expression)
        with self._errors():
            return eval(code, {**self.names, "r": results})

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Convert any exception in the block to an error of one line, which names the line of
        ``checks.py`` if the exception is from there.
        """
        try:
            yield
        except NotSimulatedError:
            raise
        except Exception as error:
            frames = extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == str(self.path)]
            place = f"{self.path}:{lines[-1]}: " if lines else ""
            kind = "" if isinstance(error, IsthmusError) else f"{type(error).__name__}: "
            raise IsthmusError(f"{place}{kind}{error}") from error
