"""Texts of the channels that all packet networks have."""

from __future__ import annotations

from isthmus.machines.base import DEVICE, Channel

INJECT = Channel(
    "node → switch",
    "the links out of the nodes",
    "the link out of node {a}",
    "the links out of the I/O servers",
    "the link out of I/O server {server}",
)
SWITCH_LINK = Channel(
    "switch → switch", "the links between switches", "one of the links between switches"
)
EJECT = Channel(
    "switch → node",
    "the links into the nodes",
    "the link into node {b}",
    "the links into the I/O servers",
    "the link into I/O server {server}",
)
INTERFACE = Channel(
    "network interface",
    "the network interfaces",
    "the network interface of node {a}",
    "the network interfaces of the I/O servers",
    "the network interface of I/O server {server}",
)
SERVER = Channel("I/O server")
PLACES = {"interface": INTERFACE, "device": DEVICE, "server": SERVER}
"""Texts that name the machine parts at a single node, by the kind of part (links join two)."""
