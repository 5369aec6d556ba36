"""Doctests of docstrings as code: without this, Markdown takes `>>>` for nested quotations."""

from __future__ import annotations

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"(?:^>>> .*\n?(?:^(?!\s*$).*\n?)*)", re.MULTILINE)


class Doctests(griffe.Extension):
    """Puts every doctest of a docstring into a fenced block."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            value = obj.docstring.value
            obj.docstring.value = DOCTEST.sub(
                lambda found: f"```pycon\n{found.group().rstrip()}\n```\n", value
            )
