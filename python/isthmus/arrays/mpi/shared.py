"""Memory that the ranks of a node share."""

from __future__ import annotations

import errno
import mmap
import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus.arrays.agreed import AgreedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

NAME = "isthmus-"
"""Memory bears it with a mark of its own behind it, by which it is known again."""


class Shared:
    """Memory of each rank of a node that all of them see; it is there as long as anybody looks."""

    def __init__(self, node: Any, size: int) -> None:
        """Set it aside; all ranks of the node do.

        Args:
            node: their communicator.
            size: bytes of this rank, which need not be as many as those of others.

        Raises:
            AgreedError: a rank has not enough memory, or cannot see that of
                another.

        """
        problem, own, mine = "", -1, (0, 0, 0, "")
        mark = NAME + secrets.token_hex(16)
        try:
            own = os.memfd_create(mark)
            # Now rather than at the first touch, where there would be nobody to tell.
            os.posix_fallocate(own, 0, max(size, 1))
            mine = (os.getpid(), own, max(size, 1), mark)
        except OSError as error:
            problem = f"{size:,} bytes of shared memory: {error.strerror}"
        told = node.allgather((problem, mine))
        self.of: list[Bytes] = []
        """By rank its memory."""
        if not any(problem for problem, _ in told):
            try:
                self.of = [_seen(*one) for _, one in told]
            except OSError as error:
                problem = f"memory of another rank of the node: {error.strerror}"
            told = node.allgather((problem, mine))
        if own >= 0:
            os.close(own)
        for rank, (problem, _) in enumerate(told):
            if problem:
                raise AgreedError(f"rank {rank} of the node: {problem}")


def _seen(process: int, file: int, size: int, mark: str) -> Bytes:
    """The memory of another process."""
    opened = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR | os.O_CLOEXEC)
    try:
        # In a container of its own another process may have the same number.
        if mark not in str(Path(f"/proc/self/fd/{opened}").readlink()):
            raise OSError(errno.ESRCH, os.strerror(errno.ESRCH))
        return np.frombuffer(mmap.mmap(opened, size), np.uint8)
    finally:
        os.close(opened)


def can_share(node: Any) -> bool:
    """Whether the ranks of a node can share memory so; all of them ask."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        Shared(node, 1)
    except AgreedError:
        return False
    return True
