"""The Rust core, converted: text and JSON in, JSON out, and the bytes of distributed arrays.

Every function that takes JSON raises `ValueError` with one complete line (what is wrong, which
field, what would be right) when the input does not make sense. Lists of PEs and I/O nodes are
ascending; I/O nodes are numbered by their position in `io_nodes`.

Every function that takes text listens for Ctrl-C while it works and raises `KeyboardInterrupt` at
once, as `Experiment` does while it is made. An error of the core itself, a panic, is a `CoreError`.
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BinColumns",
    "ChannelColumns",
    "CoreError",
    "Daemon",
    "Experiment",
    "IoDistribution",
    "IodFiles",
    "Layout",
    "NicError",
    "NicPending",
    "NicSession",
    "NicSink",
    "NicStream",
    "NicTaking",
    "Plan",
    "ResumeError",
    "ScenarioError",
    "Share",
    "Vcr",
    "address",
    "analyze",
    "balance",
    "cached_exports",
    "check",
    "claims_on",
    "compare",
    "crc32c",
    "differences",
    "fence",
    "fields",
    "graph_account",
    "is_worker",
    "journal_flaws",
    "json_schema",
    "live_points",
    "live_run",
    "memory_amount",
    "memory_bound",
    "model",
    "mount_files",
    "mri",
    "optimise",
    "peak",
    "place",
    "placed",
    "processors",
    "quantities",
    "rings",
    "serve_files",
    "serve_streams",
    "settings",
    "stretch",
    "study",
    "topology",
    "version",
    "worker_beat_s",
]

class ScenarioError(ValueError):
    """A scenario that makes no sense. The message is one complete line:
    ``file:line: field: problem; hint``.
    """

class ResumeError(ValueError):
    """A journal of finished points that is damaged or belongs to another run."""

class CoreError(RuntimeError):
    """The core has failed, which is to be reported. The message is one line."""

def version() -> str:
    """Version of the core, the same as the package's."""

def processors() -> int:
    """Processors that a run may use: the threads that it has if nobody says how many."""

def check(text: str, file: str, overrides: list[str]) -> str:
    """Read a scenario and say what it would run, without running it.

    Returns JSON::

        {"name", "title", "description", "changes": [{"key", "from": text | null, "to": text |
         null}] (what overrides have changed), "axes": [{"key", "label", "unit": text | null,
         "values": [text]}], "load_axis": int | null (the one of `axes` that sets the load),
         "points": int, "searches": int, "machines": [MachineSummary], "canonical": text (the
         scenario with its overrides), "digest": text, "seed": int,
         "resolved": [{"key", "value", "from", "source": text (empty but for a preset)}] (at the
         first point),
         "capacity": [{"variant": [{"text", "number": float | null (in the axis' unit)}] (values
           of all axes but the load's), "load": float (the highest; in the unit of a result's
           loads: /ms for a hypercube, GB/s for sci, MB/s for a fat-tree) | null (closed loops),
           "parts": [{"name", "demand": float | null, "at_most": bool, "supply": float | null (no
             limit), "share": float (of the supply) | null, "unit": text (of demand and supply:
             MB/s, or 1/ms for requests), "basis": text}], "remarks": [text]}],
         "warnings": [text]}

    Raises:
        ScenarioError: the scenario or an override makes no sense.
        KeyboardInterrupt: Ctrl-C; no further machine is built.

    """

def serve_streams(options_json: str) -> Daemon:
    """Start the daemon of the stream manager. Linux only.

    `options_json`: ``{"server": SERVER, "files", "to", "accept": [text],
    "staging_bytes", "network_bytes", "ring_bytes", "screen_memory_bytes": int,
    "connection_network_bytes": int | null, "stall_ns", "grace_ns", "link_grace_ns": int,
    "applications", "connections", "streams", "links", "waits": int, "screens": text | null}``, with
    SERVER ``{"listen": [text], "socket_mode", "token_file", "operator_token_file", "tls_cert",
    "tls_key", "log", "metrics": text | null, "sessions", "hello_ns": int}``

    Raises:
        ValueError: what is wrong, and what would do, in one line.

    """

def serve_files(options_json: str) -> Daemon:
    """Start the I/O daemon. Linux only.

    `options_json`: ``{"server": SERVER, "exports": [text], "read_only", "allow_plain": bool,
    "fids", "message_bytes", "store_timeout_ns", "grace_ns": int}``, with SERVER as in
    `serve_streams`

    Raises:
        ValueError: what is wrong, and what would do, in one line.

    """

def cached_exports(folder: str) -> list[str]:
    """Return the exports with unstored data in the folder of a cache: paths, or URLs of buckets.

    The list is empty if everything is stored. Linux only.

    Raises:
        ValueError: the folder is none of a cache, or is in use.

    """

def mount_files(options_json: str) -> Daemon:
    """Mount the files of an I/O daemon in a folder, by FUSE. Linux only.

    `options_json`: ``{"directory": text, "daemon": {...}, "fresh_ns": int, "read_only": bool}``;
    the options of the daemon are those of `IodFiles.open`.

    Raises:
        ValueError: what is wrong, and what would do, in one line.

    """

@final
class IodFiles:
    """A connection to an I/O daemon, with its files by their paths. Linux only.

    An operation has a number of the caller, which is not 0. It does not wait: it ends at some time,
    and `take` returns its result. Operations that use a file may follow `open_file` at once. Paths
    are those from the root of the export.
    """

    @staticmethod
    def open(options_json: str) -> IodFiles:
        """Connect.

        `options_json`: ``{"address", "export": text, "token", "tls_ca": text | null, "timeout_ns":
        int}``

        Raises:
            ValueError: the daemon cannot be reached, or refuses the client.

        """

    def descriptor(self) -> int:
        """Descriptor that is readable while operations have ended that were not taken."""

    def take(self) -> list[tuple[int, int, Any]]:
        """Operations that have ended: number, error number of Linux or 0, value. The number 0
        stands for a line on the connection.
        """

    def end(self) -> None:
        """End the connection; operations in flight fail."""

    def fetch(self, number: int, path: bytes, count: int) -> None:
        """Read the start of a file: ``((file number, size, time of the last write in ns),
        data)``.
        """

    def prefetch(self, number: int, path: bytes) -> None:
        """Have the daemon read a file into its cache."""

    def attributes(self, number: int, path: bytes) -> None:
        """Attributes: ``(file number, size, time of the last write in ns, mode, links, owner,
        group)``.
        """

    def attributes_of(self, number: int, fid: int) -> None:
        """Attributes of an open file."""

    def status(self, number: int) -> None:
        """State of the daemon, as a dictionary of whole numbers."""

    def list_unstored(self, number: int, start: int) -> None:
        """Some files with bytes that are not stored, from the one with this number on: ``[(file
        number, bytes, age in s, error number or None, absolute path)]``; none at the end.
        """

    def drain(self, number: int) -> None:
        """Have the daemon store all files."""

    def abandon(self, number: int, file: int, path: bytes) -> None:
        """Drop the bytes of a file that are not stored; the value is their number."""

    def read_link(self, number: int, path: bytes) -> None:
        """Target of a symbolic link."""

    def list(self, number: int, path: bytes) -> None:
        """Entries of a directory: ``[(name, attributes)]``."""

    def make_directory(self, number: int, path: bytes, mode: int) -> None:
        """Create a directory."""

    def remove(self, number: int, path: bytes, is_directory: bool) -> None:
        """Remove a file, or an empty directory."""

    def rename(self, number: int, old: bytes, new: bytes) -> None:
        """Rename a file or directory."""

    def open_file(self, path: bytes, flags: int, mode: int) -> int:
        """Open a file, and return its fid."""

    def read(self, number: int, fid: int, offset: int, count: int) -> None:
        """Read bytes of an open file; fewer at its end."""

    def write(self, number: int, fid: int, offset: int, data: bytes) -> None:
        """Write bytes to an open file."""

    def commit(self, number: int, fid: int, level: int) -> None:
        """Wait until an open file is safe: 0 as a close, 1 in the cache, 2 in the store."""

    def close(self, fid: int) -> None:
        """Close an open file."""

@final
class Daemon:
    """A running daemon. Linux only. It ends at once when it is deleted."""

    def status(self) -> str:
        """Where it listens, as JSON: ``{"listening": [text], "metrics": text | null}``, and
        ``"screens": text | null`` for the stream manager; ``{"mounted": text}`` for a mount.
        """

    def runs(self) -> bool:
        """Whether the daemon still serves."""

    def reload(self) -> None:
        """Open the log file again, and read the tokens and the certificate again."""

    def stop(self) -> None:
        """End it: within its time of grace and some seconds more.

        Raises:
            RuntimeError: the daemon had ended before, or leaves data that is not stored.

        """

def memory_bound() -> int:
    """Bytes that what this process does may take if nobody says how many: half of what it may
    use, control groups included.
    """

def fields() -> str:
    """Return a JSON list of the fields of a scenario file:
    ``[{key, type, units, default, range, meaning, applies}]``.
    """

def json_schema() -> str:
    """Return the JSON Schema (draft 2020-12) of a scenario file."""

def journal_flaws(
    folder: str, digest: str, seed: int, quick: bool, version: str, names: list[str]
) -> list[tuple[str, str, bool]]:
    """Return which of these entries of a journal's folder are not what was written for them in
    that run, why, and whether that is only that they cannot be read. What is not there is not
    wrong.

    Raises:
        KeyboardInterrupt: Ctrl-C.

    """

def is_worker(text: str) -> bool:
    """Whether it is the name of a process that does parts of runs."""

def claims_on(folder: str, units: list[str]) -> list[tuple[str, str, int, bool, float, float]]:
    """Return the claims on these units that are there: the unit, host and number of the process
    that has made it, whether that is known to be no more, when it gave its last sign of life by the
    folder's time, and after how many seconds without one it is lost.
    """

def worker_beat_s(expiry_s: float) -> float:
    """Return the seconds between two signs of life of a process whose claims are lost after
    `expiry_s` without one.
    """

def memory_amount(text: str) -> int:
    """Return the bytes of an amount of memory that a run may take.

    Raises:
        ValueError: it is none, or less than a run needs.

    """

def analyze(text: str, file: str, overrides: list[str]) -> str:
    """Return a RunResult in JSON with the analytic model's values only (every mean is null).

    Raises:
        ScenarioError: the scenario or an override makes no sense.
        KeyboardInterrupt: Ctrl-C; no further machine is built.

    """

def model(spec_json: str) -> str:
    """Evaluate section 6's queueing model at every point of a scenario, under named readings.

    `spec_json` is ``{"scenario": text, "file": text (for messages), "overrides": ["key=value"]}``;
    the readings are ``literal``, ``table_2_one_lane``, ``table_2_two_lanes``, ``control_bound`` and
    ``counted``.

    Returns JSON; numbers that are infinite are null::

        {"points": [{"values": [text of each axis],
          "readings": null (not covered by the model) | {reading:
            {"saturation_per_ms": float (messages per PE), "saturation_channel": text,
             "bound_per_ms": float (the same without blocking), "bound_channel": text,
             "saturated": text | null (the channel that is saturated at this point),
             "classes": {class: {"router_us", "generation_us", "channels": float}},
             "read_us": float (a whole read), "reply_us": float (the mean reply),
             "channels": [{"kind", "dimension": int | null, "lanes": int, "rate_per_ms": float,
                           "rate_ratio": float (messages per message of one PE),
                           "base_service_cycles", "base_scv", "service_cycles", "scv",
                           "wait_cycles", "carried", "utilisation": float}]}}}]}

    Raises:
        ValueError: the question or the scenario makes no sense.

    """

@final
class Experiment:
    """One run of a scenario: its points on `jobs` threads, finished points kept in `journal`.

    With `expiry_s` it is there to do parts of the run: machines are built when they are needed, and
    `start` and `compute` take the positions of points and searches; claims of other
    processes at the same journal are lost after that many seconds.
    """

    def __new__(
        cls,
        text: str,
        file: str,
        overrides: list[str],
        seed: int | None,
        jobs: int,
        quick: bool,
        journal: str | None,
        memory: str | None = None,
        expiry_s: float | None = None,
    ) -> Experiment:
        """Read the scenario and the journal; nothing runs yet. `memory`, such as ``4 GB``, is
        what simulations may take; half of what this process may use if None.

        Raises:
            ValueError: `memory` makes no sense.
            ScenarioError: the scenario or an override makes no sense.
            ResumeError: the journal is damaged or belongs to another run.
            KeyboardInterrupt: Ctrl-C; no further machine is built.

        """

    def warnings(self) -> str:
        """Return a JSON list of what may mislead in a run of this length, one line each."""

    def start(self, part: tuple[list[int], list[int]] | None = None) -> None:
        """Begin, in threads of its own: all of it, or the points and searches of these
        positions.
        """

    def compute(self, part: tuple[list[int], list[int]]) -> tuple[list[tuple[str, bytes]], str]:
        """Do these points and searches now. Returns the files of a journal by name, and JSON:
        ``{done, failed: [[name, reason]]}``.
        """

    def admit(self, name: str, bytes: bytes) -> None:
        """Take into the journal what another process' `compute` gave.

        Raises:
            ResumeError: it is of another run or version, or damaged, or cannot be kept.

        """

    def counts(self) -> tuple[int, int]:
        """Return how many points and searches there are."""

    def missing(self) -> tuple[list[int], list[int]]:
        """Return the positions of the points and searches that the journal does not have."""

    def progress(self) -> str:
        """Return JSON: ``{points_done, points_total, elsewhere, messages, running}``; a search
        counts as a point; `elsewhere` are those waited for, since other processes are at them.
        """

    def cancel(self) -> None:
        """Ask the run to end after the events at hand; finished points stay in the journal."""

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` without holding the interpreter; True when finished."""

    def result(self) -> bytes | memoryview:
        """Give away the RunResult in JSON; of a part ``{done, failed: [[name, reason]]}``.

        Raises:
            ValueError: a point was over before its warm-up was; the scenario is to be changed.
            RuntimeError: not finished, cancelled or failed.

        """

@final
class BinColumns:
    """Bins of many distributions as columns."""

    def __new__(cls) -> BinColumns:
        """None yet."""

    def add(self, lists: list[bytes]) -> None:
        """Add JSON lists of bins, ``{lower, upper, count}`` each; the lists are read at the same
        time.

        Raises:
            ValueError: with the position of the first that has no bins, and what is wrong.

        """

    def take(self, steps: Sequence[float]) -> dict[str, NDArray[np.generic]]:
        """Give the columns away: ``lengths`` (bins of each), ``lower`` and ``upper`` in the unit of
        `steps` (of each), ``count``.

        Raises:
            ValueError: there are not as many steps as distributions.

        """

@final
class ChannelColumns:
    """Channels of many points as columns."""

    def __new__(cls) -> ChannelColumns:
        """None yet."""

    def add(self, lists: list[bytes]) -> None:
        """Add JSON lists with a list of channels for each point; the former are read at the same
        time.

        Raises:
            ValueError: with the position of the first that is no such list, and what is wrong.

        """

    def kinds(self) -> list[str]:
        """Return the kinds of channels, in the order of their numbers."""

    def take(self) -> dict[str, NDArray[np.generic]]:
        """Give the columns away: ``lengths`` (channels of each point), ``kind`` (its number),
        ``from`` and ``to`` (-1 for none), and numbers as in the result, NaN for none.
        """

def topology(spec_json: str) -> str:
    """Describe a machine's networks.

    `spec_json` is one of::

        {"kind": "hypercube", "dimension": 7, "io_network": true (the default),
         "placement": {"method": "combined" (the default) | "hamming" | "dominating" | "stride"
                                 | "clustered" | "list",
                       "count": 16 (stride, clustered), "pes": [0, 7] (list)},
         "faults": {"pes": [], "io_nodes": [], "links": [[0, 1]], "io_links": [[0, 1]]}}
        {"kind": "graph", "format": "graphml" | "edge-list", "text": "...", "file": "net.graphml",
         "io_network": false (the default),
         "placement": {"method": "dominating" (the default) | "stride" | "clustered" | "list",
                       "count": 16, "pes": [0, "name of a node"]}}

    A graph's I/O network, if asked for, is the hypercube over the numbers of its I/O nodes, as in
    a hypercube. Faults of a graph are refused unless they are empty lists.

    Returns JSON::

        {"kind", "nodes": int (failed ones too), "links": int (undirected; only those that work),
         "dimension": int | null, "diameter": int | null (as `distances`), "connected": bool,
         "names": [text] | null (imported graphs), "edges": [[a, b]] (empty above 4096 nodes),
         "io_nodes": [pe], "servers": [io node of each PE] (empty above 4096 nodes),
         "io_edges": [[i, j]] (links of the I/O network, by I/O node number; empty above 4096 I/O
         nodes), "coverage": [PEs at distance 0, 1, 2, ... of their I/O node],
         "pes_per_io_node": [smallest, largest],
         "distances": [ordered pairs of nodes at distance 0, 1, 2, ...] (empty for hypercubes with
         faults above 8192 nodes and for graphs of nodes * (nodes + 2 * links) above 2^29),
         "io_distances": [the same over the I/O network],
         "deadlock": {"free": bool, "routing": text, "channels": int, "dependencies": int | null
                      (not counted, as of graphs), "layers": int (of virtual channels; graphs only),
                      "proof": text, "cycle": [text] (channels, empty if free; of a graph, those
                      of a cycle that a single layer would have),
                      "alternative": {"routing": text, "free": bool, "proof": text,
                                      "hops": [ordered pairs whose route has 0, 1, 2, ... hops]}
                                      | null (graphs whose routes take more than
                                      one layer)},
         "broadcast": {"steps": int, "lower_bound": int, "root": int} | null (graphs, and where
         nothing works), "io_broadcast": the same over the working I/O nodes, by number | null,
         "faults": [text], "unreachable": [pe]}

    A channel is one direction of a link. `distances` count pairs that some path of working links
    joins. With faults, `servers` are the I/O nodes that do the work in the end, null for PEs that
    have failed, and `coverage`
    counts working PEs by the address bits between them and that I/O node; where faults cut a
    network apart, both are as if nothing had failed and `faults` says that the machine cannot run.
    `unreachable` are the working PEs outside the largest connected part. A broadcast starts at the
    lowest node of that part. A graph is judged as a network of switches with a node at each, part
    by part, by the routes that a scenario of kind graph takes: of `routing = "minimal"`, and as the
    alternative of `routing = "up-down"`. Graphs too large for `distances`, and those of more than
    4096 nodes, are judged under the latter only.
    """

def graph_account(spec_json: str) -> str:
    """Say what the file of a graph comes to as a network of switches.

    `spec_json`: ``{"text": "...", "file": "net.graphml" (for messages), "ignored": "a, b" (names of
    attributes that have no effect)}``.

    Returns JSON::

        {"vertices": int, "leaves": int (vertices with one neighbour and no role),
         "leaves_are": "nodes" | "switches", "obstacle": why leaves cannot be nodes | null,
         "switches": int, "nodes": int, "cables": int (between switches),
         "used": {"edges" | "vertices" | "graph": [names of attributes]}, "not_used": the same}

    Leaves are nodes if they are most of the vertices and nothing is in the way.

    Raises:
        ValueError: the file, the line, what is wrong and what would be right.

    """

def live_points(spec_json: str) -> str:
    """List the points of a scenario of kind "interface", and which can be carried out here. Linux
    only: elsewhere there is no such function.

    `spec_json`: ``{"scenario": text, "file": text (for messages), "overrides": ["key=value"]}``.

    Returns JSON::

        {"name": text, "points": [{"at": {key of an axis: its value as text},
          "missing": why it cannot be carried out here | null}]}

    Raises:
        ValueError: the scenario makes no sense, or is of another kind.

    """

def live_run(spec_json: str) -> str:
    """Carry out one point of a scenario of kind "interface". Linux only.

    `spec_json`: ``{"question": as for live_points, "point": its number, "pace": "free" |
    "described", "least": amount of data with its unit}``. Whole ADUs are moved, and so many as the
    scenario says at least.

    Returns JSON::

        {"ns": int, from the first byte to the last that is confirmed, "bytes": int}

    Raises:
        ValueError: as for live_points; the point cannot be carried out, or went wrong.

    """

def rings(spec_json: str) -> str:
    """Describe the SCI fabrics of a scenario.

    `spec_json`: ``{"scenario": text, "file": text (for messages), "overrides": ["key=value"]}``.

    Returns JSON::

        {"fabrics": [{"summary": SciSummary, "sizes": [nodes in each dimension] | null,
          "ring_lengths": [[nodes, rings of so many]], "rings_per_node": [fewest, most],
          "links": int (directed), "distances": [share of packets by links],
          "deadlock": {"free": bool, "nodes": [nodes of the circle of queues, empty if free]}}]}

    Raises:
        ValueError: the question or the scenario makes no sense.

    """

def study(spec_json: str) -> str:
    """List what can fail of the SCI fabrics of scenarios, and write the scenario that runs it.

    `spec_json`: ``{"scenarios": [{"scenario": text, "file": text (for messages), "overrides":
    ["key=value"]}], "double": 40, "seed": int | null}``: each value of an axis over machines is a
    fabric, and so many pairs of its single failures are drawn, without repetition. Loads, rules and
    a seed that is left out are those of the first scenario.

    Returns JSON::

        {"name": text, "title": text, "seed": int,
         "sites": [{"label": text, "nodes": int, "single": int (failures that differ),
                    "pairs": int (of these), "harmed": [faults of the scenario itself, in words]}],
         "cases": [{"label": text, "site": int, "kind": "none" | "one link" | "one node" |
                    "two parts", "failure": text, "failed": [nodes], "weight": int, "live": int}],
         "text": a scenario whose axis "fault" has the cases with two live nodes or more,
         "left_out": what further scenarios say and the study does not follow, in words}

    Links that stop the same rings are one failure of so much ``weight``; ``live`` counts the nodes
    that still reach one another, 0 where none do.

    Raises:
        ValueError: the question or a scenario makes no sense, or cannot be studied.

    """

def peak(spec_json: str) -> str:
    """Peak throughput of SCI rings and tori in the closed forms of the SCI paper.

    `spec_json`: ``{"equation": "1" (a ring) | "2" (the bound of counter-rotating rings) | "table 2"
    (Eq. 2 with their mean distances) | "4" (square tori) | "table 4" (Eq. 4 with the rounded figure
    of one ring), "nodes": 36 (of the whole fabric)}``.

    Returns JSON: ``{"peak_gb_per_s": float}`` (payload of all nodes together, in the 64-byte moves
    of Table 1).

    Raises:
        ValueError: the question makes no sense, or the nodes make no square torus.

    """

def place(spec_json: str) -> str:
    """Place I/O nodes.

    `spec_json` is ``{"dimension": 7}`` or ``{"graph": {"format", "text", "file"}}``, with
    ``"method"``: ``combined`` (hypercubes, the default there), ``hamming`` (hypercubes of 2^m - 1
    dimensions), ``dominating`` (the default for graphs), ``stride`` and ``clustered`` (with
    ``"count"``) or ``list`` (with ``"pes"``, in graphs numbers or names of nodes).

    Returns JSON::

        {"method", "pes": int, "io_nodes": [pe], "servers": [io node of each PE],
         "names": [text] | null, "coverage": [PEs at distance 0, 1, 2, ...],
         "mean_distance": float (hops), "pes_per_io_node": [smallest, largest],
         "dominating": bool (all within one hop), "perfect": bool (within one hop of exactly one),
         "optimal": true | false | null (unknown), "lower_bound": int (I/O nodes that any
         placement within one hop needs), "fewest_known": int (I/O nodes of the smallest placement
         within one hop that was found), "note": text}

    `optimal` is false where a smaller placement within one hop was found, and for placements that
    leave a PE further away.
    """

def compare(question: str) -> str:
    """Compare results: ratios, differences and means of several, with their intervals.

    `question`: ``{"operation": "ratio" | "difference" | "sum" | "percent_more" |
    "percent_less" | "geometric_mean" | {"mean": [weights]}, "operands": [{"value": float,
    "low": float | null, "high": float | null, "each": [float] (what each replication says)}],
    "confidence": 0.95}``. Operands with as many replications are compared in pairs.

    Returns the same form as an operand as JSON, or null where there is no value. Raises ValueError.
    """

def differences(question: str) -> str:
    """Compare pairs of results, all of them judged together.

    `question`: ``{"pairs": [[first, second]] (operands of `compare`), "confidence": 0.95}``.

    Returns a JSON list, one object per pair: ``{"difference": second - first, "ratio": second /
    first | null, "differs": bool}``, both in the form of an operand, with intervals of that
    confidence. That any pair is said to differ where none does has a chance of 1 - confidence at
    most. Raises ValueError.
    """

def placed(text: str, file: str, overrides: list[str]) -> str:
    """Read a TOML file that is no scenario, with changes ``key=value``.

    Returns JSON: a tree of values, each ``{"at": text (what an error begins with, "plan.toml:3" or
    the change), KIND: ...}``, where KIND is ``table`` (a list of ``[key, place, value]`` in the
    order of the text), ``list``, ``text``, ``integer``, ``number``, ``flag``, or ``other`` (words
    that describe it).

    Raises:
        ScenarioError: it is not TOML, or a change is of no use.

    """

def settings(spec_json: str) -> str:
    """Say every setting of a scenario at every point.

    `spec_json`: ``{"scenario": text, "file": text (for messages), "points": [["key=value"]]}``,
    for each point overrides that leave one value of each axis, or have that value first.

    Returns JSON: ``{"digest": text (of the scenario without these overrides), "settings": [{"key",
    "given": bool (in the scenario, or by an axis, at any point), "load": bool (whether it decides
    how much is asked of the machine), "texts": [value at each point | null where it means
    nothing]}]}``. Nothing is built but what the scenario says. Raises ValueError.
    """

def quantities(spec_json: str) -> str:
    """Read texts as numbers of one unit.

    `spec_json`: ``{"texts": [[text | null]]}``, lists of values as a scenario has them.

    Returns a JSON list, one object per list: ``{"unit": that of the first text | null, "numbers":
    [number in it | null for null] | null unless all texts are numbers of one dimension}``.
    """

def balance(spec_json: str) -> str:
    """Size the I/O side after section 3 of the hypercube paper.

    `spec_json`: ``{"application": "sorting" | "fft" | "matrix-product" | "grid" | "io-bound"
    | "search", "pes": 128, "grid_dimensions": 3 (grid only), "memory": "8 MB" (per PE) | null,
    "word": "8 B" (of one value, the default) | null, "compute": 20.0 (MIPS of one PE) | null,
    "io_bandwidth": "5 MB/s" (with which one PE is balanced) | null,
    "io_node_bandwidth": "20 MB/s" (of one I/O node, else that of one PE) | null}``.

    Returns JSON::

        {"application", "pes", "factor": float (I/O bandwidth of the system over that of one
         PE), "law": text (for example "N log M / (log N + log M)"), "simple_factor": float
         (N / log N or sqrt N), "simple_law": text, "io_nodes": int, "pes_per_io_node": float,
         "simple_io_nodes": int, "simple_pes_per_io_node": float,
         "hamming": {"io_nodes": int, "pes_per_io_node": int, "perfect": bool} | null,
         "memory_words": float | null (M), "compute_mips": float | null,
         "io_bandwidth_mb_per_s": float | null, "instructions_per_byte": float | null,
         "instructions_per_byte_pe": float | null, "source": text}

    `factor`, `io_nodes` and `io_bandwidth_mb_per_s` count the memory if it is given and follow the
    simple law if not; the `simple_` ones leave it out, as the paper does for its number of I/O
    nodes. `hamming` is the code whose number of I/O nodes is nearest to `simple_io_nodes`, null
    where the PEs form no hypercube. `compute_mips` and `io_bandwidth_mb_per_s` are of the whole
    machine, `instructions_per_byte` of the machine and of one PE.
    """

@final
class Layout:
    """Which rank holds which elements of a distributed array; see `isthmus.arrays.Layout`.

    Ranks are given by number. Raises `ValueError` with one line for layouts that there are
    not.
    """

    @staticmethod
    def grid(
        shape: Sequence[int],
        extents: Sequence[int],
        first_is_fastest: bool,
        dims: Sequence[tuple[int, int, int] | tuple[int, Sequence[int]] | int | None],
    ) -> Layout:
        """Over a grid of processes: by dimension axis, block and source; axis and cuts; the axis
        alone for one block each; or nothing where it is whole.
        """

    @staticmethod
    def boxes(
        shape: Sequence[int],
        ranks: Sequence[Sequence[tuple[Sequence[int], Sequence[int]]]],
        partial: bool,
    ) -> Layout:
        """In boxes: by rank and part where it begins and where it ends; whether elements may be in
        none.
        """

    def on_ranks(self, ranks: Sequence[int]) -> Layout:
        """The same with other numbers for its ranks."""

    @property
    def shape(self) -> list[int]:
        """Indices of each dimension."""

    @property
    def ranks(self) -> list[int]:
        """The numbers of its ranks."""

    @property
    def replicas(self) -> int:
        """How many ranks hold each element."""

    def fingerprint(self) -> int:
        """A number that is the same for layouts that are the same, in processes that run this
        program.
        """

    def first_missing(self) -> list[int] | None:
        """The first element, in order of rows, that no rank holds; of a partial layout alone there
        may be one.
        """

    def runs(self, rank: int) -> list[list[tuple[int, int, int, int, int]]]:
        """By part and dimension the runs of indices that a rank holds: the first index, indices of
        a run, from run to run, how many runs, indices of the last.
        """

    def extents(self, rank: int) -> list[list[int]]:
        """By part the extents of the array that a rank holds."""

    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...

@final
class Plan:
    """How an array of one layout becomes one of another; see `isthmus.arrays.Plan`.

    Arrays are given by their bytes from the first element on and by their strides. `element` is the
    number of bytes of an element.
    """

    def __new__(cls, from_: Layout, to: Layout) -> Plan: ...
    def sends(self, rank: int) -> list[tuple[int, int]]:
        """Receivers, and how many elements each gets from a rank."""

    def receives(self, rank: int) -> list[tuple[int, int]]:
        """Senders, and how many elements a rank gets from each."""

    def runs(
        self,
        pair: tuple[int, int],
        element: int,
        columns: tuple[bool, bool],
        packed: bool | None = None,
    ) -> list[tuple[int, int]]:
        """Bytes of a run in one piece on both sides, and how many there are: in the memory of both
        of a pair, or with a message as one side when it is packed, or unpacked.
        """

    def redistribute(
        self,
        element: int,
        from_: Sequence[Sequence[tuple[NDArray[np.uint8], list[int]]]],
        to: Sequence[Sequence[tuple[NDArray[np.uint8], list[int]]]],
        threads: int,
    ) -> None:
        """Move the parts of all ranks, in order of the ranks of the layouts."""

@final
class IoDistribution:
    """A layout from which a network interface takes transfer units; see
    `isthmus.arrays.io_distribution`.

    Raises `ValueError` with one line for distributions that there are not.
    """

    def __new__(
        cls,
        shape: Sequence[int],
        grid: tuple[int, int],
        links: int,
        tu: int,
        element: int,
        ranks: Sequence[int] | None,
    ) -> IoDistribution: ...
    @property
    def layout(self) -> Layout:
        """Who holds what."""

    @property
    def over(
        self,
    ) -> tuple[list[int], list[tuple[int, int, int] | tuple[int, list[int]] | int | None]] | None:
        """Extents of the layout's process grid, and its dimensions as `Layout.grid` takes them."""

    @property
    def dim(self) -> int:
        """The dimension along which blocks lie."""

    @property
    def block(self) -> int:
        """Indices of that dimension in a block."""

    @property
    def unit_count(self) -> int:
        """How many transfer units the array is."""

    def link(self, rank: int) -> int:
        """Over which link a rank sends."""

    def unit(self, number: int) -> tuple[int, int, list[tuple[int, int]]]:
        """The number of a transfer unit, where it begins in the array, and of each block rank and
        elements.
        """

@final
class Share:
    """What one rank sends and receives by a plan, worked out once.

    Messages are given by their number among those that the rank sends, or receives; pieces of them
    by that number and the elements from one to before another.
    """

    def __new__(cls, plan: Plan, rank: int, element: int, columns: bool) -> Share: ...
    @staticmethod
    def between(plan: Plan, pair: tuple[int, int], element: int, columns: bool) -> Share:
        """What the second of a pair of ranks receives from the first, as its only message."""

    def sends(self) -> list[tuple[int, int]]:
        """By message the rank that it goes to, and its elements."""

    def receives(self) -> list[tuple[int, int]]:
        """By message the rank that it comes from, and its elements."""

    def piece(self, sent: bool, message: int, most: int) -> int:
        """Elements of a piece of a message, at most so many."""

    def places(
        self, sent: bool, message: int
    ) -> list[tuple[int, list[list[tuple[int, int, tuple[int, int], tuple[int, int]]]]]]:
        """By section of a message the part of this rank, and by dimension where its elements are:
        the first, indices of a run, how many runs and from run to run, how many groups and from
        group to group.
        """

    def spans(
        self, piece: tuple[int, int, int], comes_from: bool, strides: Sequence[int], gap: int
    ) -> list[tuple[int, int]]:
        """The bytes among which the elements of a piece that is received lie, in the memory that it
        comes from or goes to, an array of these strides: stretches with more than `gap` bytes
        between them.
        """

    def pack(
        self,
        parts: Sequence[tuple[NDArray[np.uint8], list[int]]],
        pieces: Sequence[tuple[tuple[int, int, int], NDArray[np.uint8]]],
    ) -> None:
        """Write pieces into memory, each at its place."""

    def unpack(
        self,
        sources: Sequence[
            tuple[
                tuple[int, int, int],
                NDArray[np.uint8] | Sequence[tuple[NDArray[np.uint8], list[int]]],
            ]
        ],
        parts: Sequence[tuple[NDArray[np.uint8], list[int]]],
    ) -> None:
        """Read pieces, each from a message or from the parts of the rank that it comes from."""

def stretch(
    shape: Sequence[int], first: int, end: int, columns: bool
) -> list[tuple[list[int], list[int]]]:
    """The elements of an array from one to before another in their order in a file, in boxes that
    follow one another, each in one piece: where each begins and ends.
    """

def fence() -> None:
    """Have other processes that share memory see what was written before it before what is written
    after it.
    """

def address(data: NDArray[np.uint8]) -> int:
    """The address of the first byte."""

def crc32c(data: NDArray[np.uint8]) -> int:
    """The CRC-32C of bytes."""

@final
class Vcr:
    """The digital VCR: four images in step on a page, until it is finished. Linux only."""

    def __new__(cls, spec_json: str) -> Vcr: ...
    def address(self) -> str:
        """Where its page is."""

    def figures(self) -> str:
        """How far it is, as JSON."""

    def failure(self) -> str | None:
        """Why it has ended by itself, if it has."""

    def finish(self) -> str:
        """Run the simulation to its end; return the result as JSON."""

class NicError(Exception):
    """What went wrong with a session or a stream: its kind, one line, and of a refusal why."""

@final
class NicSession:
    """A session with a stream manager's daemon. Times are in seconds; none: as long as it takes.

    All that waits listens for Ctrl-C, and raises `NicError`. Requests, answers and events are the
    JSON of the control interface.
    """

    @staticmethod
    def connect(
        address: str,
        ca: str | None,
        token: str | None,
        name: str,
        watch: bool,
        seconds: float | None,
    ) -> NicSession:
        """Make an application. `ca` is a file of trusted certificates; with `watch` the session
        receives events.
        """
    @staticmethod
    def join(
        address: str, ca: str | None, ticket: str, watch: bool, seconds: float | None
    ) -> NicSession:
        """Join an application by its ticket."""
    def welcome(self) -> tuple[int, str, str, int, int]:
        """Number of the application, ticket, version of the daemon, bytes of staging and network
        memory.
        """
    def link(
        self,
        number: int,
        rings: tuple[int, int] | None,
        grace: float | None,
        seconds: float | None,
    ) -> None:
        """Make a link: over rings of so many bytes from here and to here, or over a socket."""
    def unlink(self, number: int) -> None:
        """Give a link up."""
    def links(self) -> list[int]:
        """Numbers of the links of this process, ascending."""
    def ask(self, request: str, seconds: float | None) -> str:
        """Ask, and wait for the answer."""
    def ask_noticed(self, request: str, seconds: float | None) -> NicPending:
        """Send a request; `notices` reports when the reply is there."""
    def submit(self, specs: str, seconds: float | None) -> list[NicStream]:
        """Register streams, all or none: a list of their specifications."""
    def adopt(self, number: int, spec: str, seconds: float | None) -> NicStream:
        """A stream that another process of the application has registered."""
    def event(self, seconds: float | None) -> str | None:
        """The next event; none if there is none in time."""
    def notices(self) -> tuple[list[int], list[str]]:
        """Requests that are answered, and events, since this was last asked."""
    def check_process(self) -> None:
        """Refuse in a process that was forked from the one that made the session."""
    def fileno(self) -> int:
        """The descriptor that is readable while there are notices, or the session is over."""
    def gone(self) -> str | None:
        """Why the session is over; none while it is not."""
    def end(self) -> None:
        """End the session."""

@final
class NicPending:
    """A request that is under way."""

    @property
    def id(self) -> int:
        """The number that `NicSession.notices` reports."""
    def poll(self) -> str | None:
        """The answer, if it is there."""

@final
class NicStream:
    """A stream. Times are in seconds without anything being moved; none: as long as it takes."""

    @property
    def number(self) -> int:
        """As the daemon counts."""
    def check_process(self) -> None:
        """Refuse in a process that was forked from the one that made the session."""
    def own_bytes(self, adu_bytes: int) -> int:
        """Bytes of an ADU that go over links of this process."""
    def send(self, data: NDArray[np.uint8], adu_bytes: int | None, seconds: float | None) -> int:
        """Send an ADU, or the SUs of one of so many bytes that go over links of this process.

        Returns its number.
        """
    def send_run(self, data: NDArray[np.uint8], seconds: float | None) -> None:
        """Send the next bytes of those that go over links of this process: whole TUs."""
    def recv_run(
        self, data: NDArray[np.uint8], seconds: float | None
    ) -> list[tuple[int, tuple[int, int]]]:
        """Receive the next bytes of those that come over links of this process: whole TUs.

        Returns by ADU what is missing: from one byte to before another.
        """
    def recv(
        self, data: NDArray[np.uint8], adu_bytes: int | None, seconds: float | None
    ) -> tuple[int, list[tuple[int, int]]] | None:
        """Receive an ADU, or the SUs of one of so many bytes that come over links of this process.

        Returns its number, and the bytes of it that are missing, from one to before another; none
        at the end of the stream.
        """
    def wait(self, adus: int | None, moved: bool, seconds: float | None) -> str:
        """Wait until so many ADUs are moved or done, or for the end; the status."""
    def status(self, seconds: float | None) -> str:
        """Where it is."""
    def finish(self, adus: int, seconds: float | None) -> None:
        """Say how many ADUs there are."""
    def cancel(self, seconds: float | None) -> None:
        """Cancel it."""

@final
class NicSink:
    """A sink that listens on a TCP port, checks what comes, and confirms it."""

    def __new__(
        cls, address: str, window: int, checksum: str, channel: int, repair: bool
    ) -> NicSink:
        """Listen: an address with a port; bytes that a sender may send before they are confirmed;
        checksum and channel of the connection; whether corrupted packets are waited for again.
        """
    def address(self) -> str:
        """Where it listens."""
    def strays(self) -> int:
        """How many connections sent no packet."""
    def take(self, seconds: float, out: str | None) -> NicTaking | None:
        """Let the next sender in, if one comes in time; what is good goes to a file as well."""

@final
class NicTaking:
    """A sender that is being listened to."""

    def peer(self) -> str:
        """Who sends."""
    def bytes(self) -> int:
        """Bytes of data that came and were right."""
    def over(self, seconds: float) -> bool:
        """Wait for the end so long at most; whether it is over."""
    def end(self) -> str:
        """End it, and say what was counted.

        Raises `RuntimeError` with what was not as it should be, and where.
        """

def optimise(spec_json: str) -> str:
    """Process optimisation by the stream manager, as JSON. Linux only."""

def mri(spec_json: str) -> str:
    """Medical imaging by the stream manager, as JSON. Linux only."""
