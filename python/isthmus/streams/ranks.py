"""Ranks of MPI as one application: one session each, with collective calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from isthmus.errors import IsthmusError
from isthmus.streams.connection import Connection
from isthmus.streams.errors import StreamsError
from isthmus.streams.movers import Movers, MpiMovers
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
    """Create one application for all ranks of a communicator; a collective call.

    Rank 0 creates the application, and the others join it. Links are assigned round-robin: link `k`
    to rank `k` modulo their number. `Nic.open`, `Nic.submit`, `Nic.stream` and `Nic.close` are
    collective calls with equal arguments. Each rank sends the part of a stream for its own links.

    Args:
        address: address of the daemon.
        comm: the communicator, of mpi4py.
        token: as in `connect`.
        ca: as in `connect`.
        name: as in `connect`.
        watch: whether rank 0 receives events.
        patience: as in `connect`.

    Raises:
        IsthmusError: `comm` is not a communicator that connects the ranks.
        StreamsError: on all ranks, if the daemon refuses any of them.

    """
    from isthmus.arrays.mpi.communicator import refuse_unless_communicator

    refuse_unless_communicator(comm)

    def connect_first() -> Nic:
        """Connect rank 0 to the daemon as a new application."""
        return connect(address, token=token, ca=ca, name=name, watch=watch, patience=patience)

    first = _call_on_ranks(comm, connect_first if comm.rank == 0 else None)
    ticket = comm.bcast(first.ticket if first is not None else None, 0)

    def join_first() -> Nic:
        """Let this rank join the application that rank 0 has created."""
        return join(address, ticket, ca=ca, patience=patience)

    other = _call_on_ranks(comm, join_first if comm.rank != 0 else None)
    made = first or other
    assert made is not None
    return RankNic(made, comm)


def _call_on_ranks(comm: Any, call: Callable[[], R] | None) -> R | None:
    """Call `call` on each rank where it is not None; raise an error of one rank on all ranks."""
    found: R | None = None
    problem: IsthmusError | None = None
    try:
        if call is not None:
            found = call()
    except IsthmusError as error:
        problem = error
    problems = comm.allgather(None if problem is None else str(problem))
    if problem is not None:
        raise problem
    others = [(rank, said) for rank, said in enumerate(problems) if said is not None]
    if others:
        rank, said = others[0]
        raise StreamsError(f"rank {rank}: {said}")
    return found


class RankNic(Nic):
    """The session of one MPI rank in an application that all ranks share; see `connect_ranks`."""

    def __init__(self, nic: Nic, comm: Any) -> None:
        """Turn the session of one rank into a part of the session of all ranks."""
        super().__init__(nic._core, nic.address, nic._patience, watch=nic._watch)
        # This object takes over the session of `nic`, so the end of `nic` must not end the session.
        nic._finalizer.detach()
        self.comm = comm
        self._ranks: Ranks | None = None

    def open(self, destination: str, **settings: Any) -> Connection:
        """Open a connection on rank 0 for all ranks; arguments are those of `Nic.open`."""
        made = _call_on_ranks(
            self.comm,
            (lambda: super(RankNic, self).open(destination, **settings))
            if self.comm.rank == 0
            else None,
        )
        number = self.comm.bcast(made.number if made is not None else None, 0)
        checksum = settings.get("checksum", "crc32c")
        return _RankConnection(self._ask, number, destination, self, checksum)

    def submit(self, specs: Sequence[StreamSpec], *, links: bool = True) -> list[Stream]:
        """Register streams on rank 0 for all ranks; each rank makes its own links."""
        if links:
            _call_on_ranks(self.comm, lambda: self._link(specs))
        made = _call_on_ranks(
            self.comm,
            (lambda: super(RankNic, self).submit(specs, links=False))
            if self.comm.rank == 0
            else None,
        )
        numbers = self.comm.bcast([one.number for one in made] if made is not None else None, 0)

        def adopt() -> list[Stream]:
            """Take over the streams that rank 0 has registered."""
            return [self.adopt(number, spec) for number, spec in zip(numbers, specs, strict=True)]

        adopted = _call_on_ranks(self.comm, adopt if made is None else None)
        found = made if made is not None else adopted
        assert found is not None
        return found

    def _link(self, specs: Sequence[StreamSpec]) -> None:
        """Create the links of this rank to the daemon that these streams need and that do not exist
        yet.
        """
        for number in sorted({link for spec in specs for link in spec.link_numbers}):
            if number % self.comm.size == self.comm.rank and number not in self.links:
                self.link(number)

    def movers(self, threads: int | None = None) -> Movers:
        """Return the object that redistributes arrays between the ranks of this session."""
        from isthmus.arrays.mpi import Ranks

        if threads is not None:
            raise IsthmusError("threads: ranks move arrays here; leave it out")
        if self._ranks is None:
            self._ranks = Ranks(self.comm)
        return MpiMovers(self._ranks)

    def close(self) -> None:
        """End the session; a collective call."""
        if self._ranks is not None:
            ranks, self._ranks = self._ranks, None
            ranks.close()
        if self.comm.rank != 0:
            super().close()
        # Wait for all ranks before rank 0 closes its session, since that ends the application.
        self.comm.Barrier()
        super().close()

    def __exit__(self, *error: object) -> None:
        if not error or error[0] is None:
            self.close()
            return
        # Other ranks may never reach this call, so do not wait for them.
        with suppress(IsthmusError):
            super().close()


class _RankConnection(Connection):
    """A connection that all ranks of a communicator share."""

    def close(self) -> None:
        """Close the connection on rank 0 after all ranks have called this."""
        session = self.session
        assert isinstance(session, RankNic)
        _call_on_ranks(session.comm, super().close if session.comm.rank == 0 else None)
