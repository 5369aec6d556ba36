"""Errors that the user can act on: one sentence that says what, where and what would be right."""

from __future__ import annotations


class IsthmusError(Exception):
    """Something the user can put right; the command line prints it in one line and exits 2."""


class RunFailedError(IsthmusError):
    """A run that began and could not be finished; the command line exits 1."""
