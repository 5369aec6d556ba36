"""Descriptions of network interfaces, and of the cells of a torus that send through them, in
results.
"""

from __future__ import annotations

from typing import ClassVar

from isthmus.machines.base import Channel, Machine
from isthmus.wording import counted, number


class InterfaceSummary(Machine, frozen=True, tag="interface"):
    """Description, in results, of a torus of processor cells with a network interface."""

    utilisation: ClassVar[str] = "utilisation of a link (share of what it can carry)"
    channels: ClassVar[dict[str, Channel]] = {
        "link": Channel("link between cells", "the links between cells", "the link {a} → {b}"),
        "interface_link": Channel(
            "link to the interface",
            "the links to the interface",
            "the link from cell {a} to the interface",
        ),
        "cell_processor": Channel(
            "processor of a cell, copying",
            "the processors of the cells",
            "the processor of cell {a}",
        ),
        "bus": Channel("memory bus", "the interface's memory bus", "the interface's memory bus"),
        "processor": Channel("processor", "the interface's processor", "the interface's processor"),
        "store": Channel(
            "staging to network memory",
            "the way from staging to network memory",
            "the way from staging to network memory",
        ),
        "microcode": Channel("microcode", "the interface's microcode", "the interface's microcode"),
        "network": Channel("external network", "the external network", "the external network"),
    }

    rows: int
    columns: int
    links: int
    """Number of links between the processors and the network interface."""
    link_columns: list[int]
    """For each link to the interface, the column of the torus to which it belongs."""
    link_mb_per_s: float
    network_mb_per_s: float
    staging_bytes: int
    engines: int
    """Number of DMA engines for links."""

    @property
    def title(self) -> str:
        """A description of the machine, on one line."""
        return f"{self.rows} x {self.columns} cells, {counted(self.links, 'link')} to the interface"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Further properties of the machine for reports, as pairs of a name and a text."""
        return [
            ("Links", f"{number(self.link_mb_per_s)} MB/s each way"),
            ("To the interface from columns", ", ".join(map(str, self.link_columns))),
            ("External network", f"{number(self.network_mb_per_s)} MB/s"),
            ("Staging memory", f"{self.staging_bytes:,} B"),
            ("DMA engines", str(self.engines)),
        ]

    def is_pictured(self, channel: str) -> bool:
        """Return whether the machine's picture shows a channel: False, as there is no picture."""
        del channel
        return False
