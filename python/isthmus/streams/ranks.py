"""Ranks of MPI that are one application: a session each, and what they do together."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from isthmus.errors import IsthmusError
from isthmus.streams.connection import Connection
from isthmus.streams.errors import StreamsError
from isthmus.streams.movers import Movers, OfMpi
from isthmus.streams.session import Nic, connect, join
from isthmus.streams.specs import StreamSpec
from isthmus.streams.stream import Stream

if TYPE_CHECKING:
    from isthmus.arrays.mpi import Ranks

R = TypeVar("R")


def connect_ranks(
    address: str,
    comm: Any,
    *,
    token: str | None = None,
    ca: str | os.PathLike[str] | None = None,
    name: str | None = None,
    watch: bool = False,
    patience: str | float = "60 s",
) -> RankNic:
    """Make one application of all ranks of a communicator; all call it.

    Rank 0 makes the application, the others join it. Links belong to ranks in turn: link `k` to
    rank `k` modulo their number. `Nic.open`, `Nic.submit`, `Nic.stream` and `Nic.close` are called
    by all ranks with the same arguments, and return to each its own: a stream of which a rank sends
    what goes over its links.

    Args:
        address: where the daemon listens.
        comm: the communicator, of mpi4py.
        token: as in `connect`.
        ca: as in `connect`.
        name: as in `connect`.
        watch: whether rank 0 is told events.
        patience: as in `connect`.

    Raises:
        IsthmusError: it is no communicator through which ranks can talk.
        StreamsError: on all ranks, if any cannot be let in.

    """
    from isthmus.arrays.mpi.communicator import refuse_unless_communicator

    refuse_unless_communicator(comm)

    def hello() -> Nic:
        return connect(address, token=token, ca=ca, name=name, watch=watch, patience=patience)

    first = _together(comm, hello if comm.rank == 0 else None)
    ticket = comm.bcast(first.ticket if first is not None else None, 0)

    def later() -> Nic:
        return join(address, ticket, ca=ca, patience=patience)

    other = _together(comm, later if comm.rank != 0 else None)
    made = first or other
    assert made is not None
    return RankNic(made, comm)


def _together(comm: Any, call: Callable[[], R] | None) -> R | None:
    """Call it where there is something to call; what goes wrong anywhere is raised everywhere."""
    found: R | None = None
    problem: IsthmusError | None = None
    try:
        if call is not None:
            found = call()
    except IsthmusError as error:
        problem = error
    told = comm.allgather(None if problem is None else str(problem))
    if problem is not None:
        raise problem
    others = [(rank, said) for rank, said in enumerate(told) if said is not None]
    if others:
        rank, said = others[0]
        raise StreamsError(f"rank {rank}: {said}")
    return found


class RankNic(Nic):
    """The session of a rank: see `connect_ranks`."""

    def __init__(self, nic: Nic, comm: Any) -> None:
        super().__init__(nic._core, nic.address, nic._patience, watch=nic._watch)
        # This one ends the session now.
        nic._finalizer.detach()
        self.comm = comm
        self._ranks: Ranks | None = None

    def open(self, destination: str, **settings: Any) -> Connection:
        """Open a connection, which rank 0 does for all; arguments are those of `Nic.open`."""
        made = _together(
            self.comm,
            (lambda: super(RankNic, self).open(destination, **settings))
            if self.comm.rank == 0
            else None,
        )
        number = self.comm.bcast(made.number if made is not None else None, 0)
        checksum = settings.get("checksum", "crc32c")
        return _RankConnection(self._ask, number, destination, self, checksum)

    def submit(self, specs: Sequence[StreamSpec], *, links: bool = True) -> list[Stream]:
        """Register streams, which rank 0 does for all; each rank makes the links that it has."""
        if links:
            _together(self.comm, lambda: self._link(specs))
        made = _together(
            self.comm,
            (lambda: super(RankNic, self).submit(specs, links=False))
            if self.comm.rank == 0
            else None,
        )
        numbers = self.comm.bcast([one.number for one in made] if made is not None else None, 0)

        def adopt() -> list[Stream]:
            return [self.adopt(number, spec) for number, spec in zip(numbers, specs, strict=True)]

        adopted = _together(self.comm, adopt if made is None else None)
        found = made if made is not None else adopted
        assert found is not None
        return found

    def _link(self, specs: Sequence[StreamSpec]) -> None:
        for number in sorted({link for spec in specs for link in spec.link_numbers}):
            if number % self.comm.size == self.comm.rank and number not in self.links:
                self.link(number)

    def movers(self, threads: int | None = None) -> Movers:
        """Who reshuffles arrays of this session: its ranks."""
        from isthmus.arrays.mpi import Ranks

        if threads is not None:
            raise IsthmusError("threads: ranks move arrays here; leave it out")
        if self._ranks is None:
            self._ranks = Ranks(self.comm)
        return OfMpi(self._ranks)

    def close(self) -> None:
        """End the session; all ranks do together."""
        if self._ranks is not None:
            ranks, self._ranks = self._ranks, None
            ranks.close()
        if self.comm.rank != 0:
            super().close()
        # The application ends with the first one's.
        self.comm.Barrier()
        super().close()

    def __exit__(self, *error: object) -> None:
        if not error or error[0] is None:
            self.close()
            return
        # Others may be elsewhere: nobody is waited for.
        with suppress(IsthmusError):
            super().close()


class _RankConnection(Connection):
    """A connection of all ranks."""

    def close(self) -> None:
        """Close it, which rank 0 does once all ranks ask for it."""
        session = self.session
        assert isinstance(session, RankNic)
        _together(session.comm, super().close if session.comm.rank == 0 else None)
