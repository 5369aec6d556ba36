"""Servers that serve one request at a time, clients that pause: what they give without a network.

    python papers/qsnet-io/mechanisms/serial_servers.py

Two readings of the paper together: an I/O server is a process that serves one request at a time,
read or write, and a client pauses after each message. Both are a closed network of queues: messages
of exponential length at servers that take them in order, and a pause in between. Mean value
analysis (Reiser and Lavenberg, 1980) solves it exactly, whatever the pauses are distributed like.
What the links do to one another is left out (``readings.toml`` has it), so that this is what
servers at a distance from each other, the paper's distributed ones, give at most. Reads and writes
take a server alike: the share of reads does not matter.
"""

from __future__ import annotations

MESSAGE_MB = 1.0
SERVER_MB_PER_S = 338.6
"""What a server accepts at most: 320 B in 945 ns."""
PAUSE_S = 0.0207
"""As long as a server needs to serve each of its 7 clients once."""
CASES = {
    "random, dedicated": (56, 8),
    "random, shared": (64, 8),
    "deterministic, dedicated": (7, 1),
    "deterministic, shared": (8, 1),
}
"""Clients, and servers that they draw from."""


def accepted(clients: int, servers: int, pause_s: float) -> float:
    """MB/s that each of some servers accepts from clients that ask one after the other."""
    service_s = MESSAGE_MB / SERVER_MB_PER_S
    waiting = rate = 0.0
    for asking in range(1, clients + 1):
        # An arrival finds what the queue holds on average with one client less.
        response_s = service_s * (1 + waiting)
        rate = asking / (pause_s + response_s) / servers
        waiting = rate * response_s
    return rate * MESSAGE_MB


def main() -> None:
    """Print the table of the README."""
    print("| traffic | no pause | pause of 20.7 ms |\n|---|---|---|")
    for name, (clients, servers) in CASES.items():
        told = (f"{accepted(clients, servers, pause):.0f}" for pause in (0.0, PAUSE_S))
        print(f"| {name} | {' | '.join(told)} |")


if __name__ == "__main__":
    main()
