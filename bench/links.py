"""Two network namespaces with shaped links between them.

Each link is a pair of ``veth``, shaped by ``tbf``. Link `k` has the address 10.77.`k`.1 at the far
end and 10.77.`k`.2 at the near one. This requires root, ``ip`` and ``tc`` (iproute2).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from measure import run


@dataclass(frozen=True)
class Ends:
    """The names of two network namespaces."""

    near: str
    far: str


NAMES = Ends(f"isthmus-near-{os.getpid()}", f"isthmus-far-{os.getpid()}")


def inside(namespace: str, command: list[str]) -> list[str]:
    """Return a command that runs another one in a network namespace.

    Unlike ``ip netns exec``, it keeps the mounts of the caller: all processes see a file system
    that the command mounts.
    """
    return ["nsenter", f"--net=/run/netns/{namespace}", "--", *command]


def missing() -> str | None:
    """Return what is missing to make networks, if anything."""
    if os.geteuid() != 0:
        return "only root makes networks"
    if tools := [tool for tool in ("ip", "tc", "nsenter") if not shutil.which(tool)]:
        return f"{' and '.join(tools)} missing: apt-get install iproute2 util-linux"
    tried = subprocess.run(["ip", "netns", "add", NAMES.near], capture_output=True, check=False)
    if tried.returncode != 0:
        return f"the system makes no networks: {tried.stderr.decode().strip()}"
    _ip("netns", "del", NAMES.near)
    return None


@contextmanager
def network(links: int, shape: tuple[str, ...], *, both: bool = False) -> Iterator[Ends]:
    """Make two namespaces with links between them, which exist during the ``with`` block.

    Args:
        links: the number of links.
        shape: the parameters of ``tbf``.
        both: whether bytes from the far end are shaped as well.

    """
    try:
        for name in (NAMES.near, NAMES.far):
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        for link in range(links):
            _join(link, shape, both=both)
        yield NAMES
    finally:
        # The links disappear with the namespaces.
        for name in (NAMES.near, NAMES.far):
            _remove(name)


def _remove(name: str) -> None:
    """Remove a namespace; a process in it may need a moment to end."""
    for _ in range(50):
        listed = subprocess.run(["ip", "netns", "list"], capture_output=True, check=False)
        if name not in listed.stdout.decode():
            return
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        time.sleep(0.1)
    sys.stdout.write(f"the network {name} is left: ip netns del {name}\n")


def _join(link: int, shape: tuple[str, ...], *, both: bool) -> None:
    """Make a shaped link between the two namespaces."""
    ends = (f"near{link}", f"far{link}")
    peer = ("peer", "name", ends[1], "netns", NAMES.far)
    _ip("link", "add", ends[0], "netns", NAMES.near, "type", "veth", *peer)
    for name, end, host in ((NAMES.near, ends[0], 2), (NAMES.far, ends[1], 1)):
        _ip("-n", name, "address", "add", f"10.77.{link}.{host}/24", "dev", end)
        _ip("-n", name, "link", "set", end, "up")
        if both or name == NAMES.near:
            run(["tc", "-n", name, "qdisc", "add", "dev", end, "root", "tbf", *shape])


def _ip(*words: str) -> None:
    """Run the command ``ip``."""
    run(["ip", *words])
