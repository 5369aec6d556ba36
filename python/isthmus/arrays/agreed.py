"""Errors that all ranks raise together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isthmus.errors import IsthmusError


class AgreedError(IsthmusError):
    """An error that all ranks raise with the same text, after they have exchanged it."""


def can_close_after(kind: type[BaseException] | None) -> bool:
    """Return whether a collective close is safe after an error of this kind.

    All ranks raise an `AgreedError`. After any other error the remaining ranks may still be
    inside other collective calls, so the failed rank cannot wait for them.
    """
    return kind is None or issubclass(kind, AgreedError)


def refuse_problems(problems: Sequence[str]) -> None:
    """Raise the problem of the first rank that has one, on all ranks.

    Args:
        problems: the problem of each rank, empty if it has none.

    Raises:
        AgreedError: a rank has a problem.

    """
    for rank, problem in enumerate(problems):
        if problem:
            raise AgreedError(f"rank {rank}: {problem}")


def refuse_differences(by_rank: Sequence[Mapping[str, object]]) -> None:
    """Refuse ranks whose arguments differ from those of rank 0.

    Args:
        by_rank: for each rank its arguments by name, or fingerprints of them.

    Raises:
        AgreedError: an argument differs; the message names the first rank and the argument.

    """
    for rank, given in enumerate(by_rank):
        for name, value in given.items():
            first = by_rank[0][name]
            if value != first:
                values = (
                    f" ({value} there, {first} here)"
                    if isinstance(value, str) and isinstance(first, str)
                    else ""
                )
                raise AgreedError(
                    f"rank {rank}: {name}: not what rank 0 gives{values}; all ranks give the same"
                )


def error_text(error: Exception) -> str:
    """Return the text of an error for the other ranks."""
    return str(error) if isinstance(error, IsthmusError) else f"{type(error).__name__}: {error}"
