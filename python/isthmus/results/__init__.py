"""Results of a run: the schema's objects, tidy tables, files on disk."""

from isthmus.results.collection import Results
from isthmus.results.schema import RunResult

__all__ = ["Results", "RunResult"]
