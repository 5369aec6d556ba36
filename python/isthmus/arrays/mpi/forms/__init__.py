"""The forms in which data go from rank to rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from isthmus.arrays.mpi.forms.way import Way

Form = Literal["alltoall", "pairwise", "datatype", "window"]
FORMS: tuple[Form, ...] = ("alltoall", "pairwise", "datatype", "window")


def ways() -> dict[Form, type[Way]]:
    """By form what carries data so."""
    from isthmus.arrays.mpi.forms.datatypes import Datatypes
    from isthmus.arrays.mpi.forms.packed import Collective, Pairwise
    from isthmus.arrays.mpi.forms.window import Window

    return {
        "alltoall": Collective,
        "pairwise": Pairwise,
        "datatype": Datatypes,
        "window": Window,
    }
