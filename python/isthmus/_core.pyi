"""The Rust core, converted: text and JSON in, JSON out. Nothing is computed on this side.

Every function that takes JSON raises `ValueError` with one complete line (what is wrong, which
field, what would be right) when the input does not make sense. Lists of PEs and I/O nodes are
ascending; I/O nodes are numbered by their position in `io_nodes`.
"""

class ScenarioError(ValueError):
    """A scenario that makes no sense. The message is one complete line:
    ``file:line: field: problem; hint``.
    """

class ResumeError(ValueError):
    """A journal of finished points that is truncated or belongs to another scenario."""

def version() -> str:
    """Version of the core, the same as the package's."""

def check(text: str, file: str, overrides: list[str]) -> str:
    """Read a scenario and say what it would run, without running it.

    Returns JSON: ``{name, title, description, axes: [{key, label, unit, values: [text]}],
    points: int, searches: int, machines: [MachineSummary], canonical: text, digest: text}``.

    Raises:
        ScenarioError: the scenario or an override makes no sense.

    """

def fields() -> str:
    """Return a JSON list of the fields of a scenario file:
    ``[{key, type, units, default, range, meaning, applies}]``.
    """

def analyze(text: str, file: str, overrides: list[str]) -> str:
    """Return a RunResult in JSON with the analytic model's values only (every mean is null).

    Raises:
        ScenarioError: the scenario or an override makes no sense.

    """

class Experiment:
    """One run of a scenario: its points on `jobs` threads, finished points kept in `journal`."""

    def __init__(
        self,
        text: str,
        file: str,
        overrides: list[str],
        seed: int | None,
        jobs: int,
        quick: bool,
        journal: str | None,
    ) -> None:
        """Read the scenario and the journal; nothing runs yet.

        Raises:
            ScenarioError: the scenario or an override makes no sense.
            ResumeError: the journal is truncated or belongs to another scenario.

        """

    def start(self) -> None:
        """Begin, in threads of its own."""

    def progress(self) -> str:
        """Return JSON: ``{points_done, points_total, messages, running}``; a search counts as
        a point.
        """

    def cancel(self) -> None:
        """Ask the run to end after the events at hand; finished points stay in the journal."""

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` without holding the interpreter; True when finished."""

    def result(self) -> str:
        """Return the RunResult in JSON.

        Raises:
            RuntimeError: not finished, cancelled or failed.

        """

def topology(spec_json: str) -> str:
    """Describe a machine's networks.

    `spec_json` is one of::

        {"kind": "hypercube", "dimension": 7, "io_network": true,
         "placement": {"method": "combined" | "hamming" | "dominating" | "stride" | "clustered"
                                 | "list",
                       "count": 16 (stride, clustered), "pes": [0, 7] (list)},
         "faults": {"pes": [], "io_nodes": [], "links": [[0, 1]], "io_links": [[0, 1]]}}
        {"kind": "graph", "format": "graphml" | "edge-list", "text": "...", "file": "net.graphml",
         "placement": {"method": "dominating" | "list" | ..., as above}}

    Returns JSON::

        {"kind", "nodes": int, "links": int (undirected), "dimension": int | null,
         "diameter": int, "connected": bool,
         "names": [text] | null (imported graphs), "edges": [[a, b]] (empty above 4096 nodes),
         "io_nodes": [pe], "servers": [io node of each PE] (empty above 4096 nodes),
         "io_edges": [[i, j]] (links of the I/O network, by I/O node number),
         "coverage": [PEs at distance 0, 1, 2, ... of their I/O node],
         "distances": [ordered pairs of nodes at distance 0, 1, 2, ...],
         "io_distances": [the same over the I/O network],
         "deadlock": {"free": bool, "routing": text, "channels": int, "dependencies": int,
                      "proof": text, "cycle": [text] (channels, empty if free)},
         "broadcast": {"steps": int, "lower_bound": int, "root": int},
         "faults": [text], "unreachable": [pe]}
    """

def place(spec_json: str) -> str:
    """Place I/O nodes.

    `spec_json` is ``{"dimension": 7}`` or ``{"graph": {"format", "text", "file"}}``, with
    ``"method"``: ``combined`` (hypercubes), ``hamming`` (hypercubes of 2^m - 1 dimensions),
    ``dominating``, ``stride`` and ``clustered`` (with ``"count"``) or ``list`` (with ``"pes"``).

    Returns JSON::

        {"method", "pes": int, "io_nodes": [pe], "servers": [io node of each PE],
         "names": [text] | null, "coverage": [PEs at distance 0, 1, 2, ...],
         "pes_per_io_node": [smallest, largest], "dominating": bool (all within one hop),
         "optimal": true | false | null (unknown), "lower_bound": int (I/O nodes that any
         placement within one hop needs), "note": text}
    """

def balance(spec_json: str) -> str:
    """Size the I/O side after section 3 of the hypercube paper.

    `spec_json`: ``{"application": "sorting" | "matrix-product", "pes": 128,
    "memory": "8 MB" (per PE), "compute": 20.0 (MIPS of one PE) | null,
    "io_bandwidth": "5 MB/s" (of one PE or I/O node) | null}``.

    Returns JSON::

        {"application", "pes", "factor": float (I/O bandwidth of the system over that of one
         PE), "law": text (for example "N log M / (log N + log M)"), "simple_factor": float
         (N / log N or sqrt N), "simple_law": text, "io_nodes": int, "pes_per_io_node": float,
         "compute_mips": float | null, "io_bandwidth_mb_per_s": float | null, "source": text}
    """

def broadcast(spec_json: str) -> str:
    """Plan a broadcast over a hypercube and, where there is one, its I/O network.

    `spec_json`: ``{"dimension": 7, "root": 0, "faults": {...as in topology}}``.

    Returns JSON: ``{"steps": int, "lower_bound": int, "sends": [[step, from, to]],
    "unreached": [pe]}``.
    """
