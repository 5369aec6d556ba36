"""What ranks raise alike, and what they close together then."""

from __future__ import annotations

from isthmus.errors import IsthmusError


class AgreedError(IsthmusError):
    """What all ranks raise alike, having told one another."""


def may_close(kind: type[BaseException] | None) -> bool:
    """Whether what all ranks close together is closed after an error of this kind.

    What ranks have agreed on is raised on all of them. A rank that has failed otherwise cannot wait
    for the others, who may be anywhere.
    """
    return kind is None or issubclass(kind, AgreedError)


def words_of(error: Exception) -> str:
    """What other ranks are told of an error of one of them."""
    return str(error) if isinstance(error, IsthmusError) else f"{type(error).__name__}: {error}"
