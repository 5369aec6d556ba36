"""The forms of an exchange: how data are sent from rank to rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from isthmus.arrays.mpi.forms.transport import Transport

Form = Literal["alltoall", "pairwise", "datatype", "window"]
FORMS: tuple[Form, ...] = ("alltoall", "pairwise", "datatype", "window")


def transports() -> dict[Form, type[Transport]]:
    """Return the class that implements each form (method) of an exchange."""
    from isthmus.arrays.mpi.forms.datatypes import Datatypes
    from isthmus.arrays.mpi.forms.packed import Collective, Pairwise
    from isthmus.arrays.mpi.forms.window import Window

    return {
        "alltoall": Collective,
        "pairwise": Pairwise,
        "datatype": Datatypes,
        "window": Window,
    }
