"""What ranks raise alike, and what they close together then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isthmus.errors import IsthmusError


class AgreedError(IsthmusError):
    """What all ranks raise alike, having told one another."""


def may_close(kind: type[BaseException] | None) -> bool:
    """Whether what all ranks close together is closed after an error of this kind.

    What ranks have agreed on is raised on all of them. A rank that has failed otherwise cannot wait
    for the others, who may be anywhere.
    """
    return kind is None or issubclass(kind, AgreedError)


def refuse_problems(told: Sequence[str]) -> None:
    """Raise on all ranks what the first says that cannot go on.

    Args:
        told: by rank its problem, nothing where it has none.

    Raises:
        AgreedError: a rank has one.

    """
    for rank, problem in enumerate(told):
        if problem:
            raise AgreedError(f"rank {rank}: {problem}")


def refuse_others(told: Sequence[Mapping[str, object]]) -> None:
    """Refuse ranks that give something else than rank 0.

    Args:
        told: by rank, and by name, what each gives, or a fingerprint of it.

    Raises:
        AgreedError: one does; the message names the first, and what.

    """
    for rank, given in enumerate(told):
        for name, value in given.items():
            first = told[0][name]
            if value != first:
                values = (
                    f" ({value} there, {first} here)"
                    if isinstance(value, str) and isinstance(first, str)
                    else ""
                )
                raise AgreedError(
                    f"rank {rank}: {name}: not what rank 0 gives{values}; all ranks give the same"
                )


def words_of(error: Exception) -> str:
    """What other ranks are told of an error of one of them."""
    return str(error) if isinstance(error, IsthmusError) else f"{type(error).__name__}: {error}"
