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
"""Prefix of the name of a memory file; a random text follows that identifies the file."""


class Shared:
    """Memory of each rank of a node, shared by all; it lives as long as a rank maps it."""

    def __init__(self, node: Any, size: int) -> None:
        """Allocate the memory; a collective call of the node.

        Args:
            node: communicator of the node.
            size: bytes of this rank; other ranks may have other sizes.

        Raises:
            AgreedError: a rank has not enough memory, or cannot map the memory of another rank.

        """
        problem, descriptor, mine = "", -1, (0, 0, 0, "")
        mark = NAME + secrets.token_hex(16)
        try:
            descriptor = os.memfd_create(mark)
            # Reserve pages now: a failure at first access would kill the process.
            os.posix_fallocate(descriptor, 0, max(size, 1))
            mine = (os.getpid(), descriptor, max(size, 1), mark)
        except OSError as error:
            problem = f"{size:,} bytes of shared memory: {error.strerror}"
        answers = node.allgather((problem, mine))
        self.of: list[Bytes] = []
        """The shared memory of each rank of the node."""
        if not any(problem for problem, _ in answers):
            try:
                self.of = [_map_memory(*one) for _, one in answers]
            except OSError as error:
                problem = f"memory of another rank of the node: {error.strerror}"
            answers = node.allgather((problem, mine))
        if descriptor >= 0:
            os.close(descriptor)
        for rank, (problem, _) in enumerate(answers):
            if problem:
                raise AgreedError(f"rank {rank} of the node: {problem}")


def _map_memory(process: int, file: int, size: int, mark: str) -> Bytes:
    """Map the shared memory of another process into this one."""
    opened = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR | os.O_CLOEXEC)
    try:
        # Check the name of the file: in another PID namespace an unrelated process may have this
        # process number.
        if mark not in str(Path(f"/proc/self/fd/{opened}").readlink()):
            raise OSError(errno.ESRCH, os.strerror(errno.ESRCH))
        return np.frombuffer(mmap.mmap(opened, size), np.uint8)
    finally:
        os.close(opened)


def can_share(node: Any) -> bool:
    """Return whether the ranks of a node can share memory; a collective call."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        Shared(node, 1)
    except AgreedError:
        return False
    return True
