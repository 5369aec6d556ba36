"""Write `python/isthmus/objects.py`: the classes of scenarios, from the core's description of them.

    .venv/bin/python tools/objects.py            writes the file
    .venv/bin/python tools/objects.py --check    checks that the file is up to date

A table of a scenario file becomes a class, and a field an attribute. `CLASSES` holds the names and
descriptions of classes that do not follow from the name of the table.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isthmus import _core

TARGET = Path(__file__).parent.parent / "python" / "isthmus" / "objects.py"
WIDTH = 100
ABOUT = """Scenarios as objects. Attributes left out take the defaults of the scenario format.

Written by `tools/objects.py` from the core's description of scenario files; do not edit.
"""


@dataclass(frozen=True)
class Class:
    """Description of a class that the core's description lacks."""

    name: str = ""
    """Name of the class; by default it follows from the last word of the table's path."""
    about: str = ""
    """The docstring of the class."""
    search: tuple[str, str, str] | None = None
    """The load that a search varies by default, and both ends of its range."""


CLASSES = {
    "hypercube.machine": Class(
        about="""A binary hypercube of PEs with I/O nodes, which have a network of their own if
        ``io_link_lanes > 0``.

        The letters are those of Fig. 2 of the hypercube paper.

        >>> Hypercube(dimension=7, io_link_lanes=2).dimension
        7
        """,
    ),
    "hypercube.machine.device": Class(
        about="Start-up overhead, I/O node and disk (Table 1 of the hypercube paper)."
    ),
    "hypercube.machine.placement": Class(
        about="Where the I/O nodes go (section 3.2 of the hypercube paper)."
    ),
    "hypercube.machine.device.disk": Class(about="The disk behind an I/O node's cache."),
    "hypercube.machine.faults": Class(about="What has failed in a hypercube."),
    "sci.machine": Class(
        "Fabric",
        """A fabric of SCI rings joined by the nodes that are on several of them.

        Sections and tables are those of the SCI paper; the times that it does not state are fitted
        to its latencies.

        >>> Fabric(fabric="bidirectional-torus", size="6x6").size
        '6x6'
        """,
    ),
    "sci.machine.queues": Class(
        about="Slots of the queues of an interface, in packets (Table 1 of the SCI paper)."
    ),
    "sci.machine.faults": Class(
        "RingFaults",
        """What has failed in a fabric; a failed part takes its rings out of service (section 4.3).
        """,
    ),
    "fat-tree.machine": Class(
        about="""Nodes below levels of switches, with links up and down between them.

        Sections are those of the QsNET paper.

        >>> FatTree(arity=4, levels=3).levels
        3
        """,
    ),
    "fat-tree.machine.nic": Class(
        about="The network interface of a node (sections 2.2.1 and 4.1 of the QsNET paper)."
    ),
    "fat-tree.machine.ports": Class(about="The ports of the switches of a fat tree."),
    "graph.machine": Class(
        about="""Switches joined in any form, and nodes at them.

        >>> Graph(graph="torus", size="4x4", nodes_per_switch=2).graph
        'torus'
        """,
    ),
    "interface.machine": Class(
        "NetworkInterface",
        """Cells of a torus and the network interface through which they send.

        Sections and figures are those of the paper on iWarp.

        >>> NetworkInterface(rows=4, columns=4, links=2).links
        2
        """,
    ),
    "interface.machine.cell": Class("Cell", "One cell of the torus."),
    "interface.machine.interface": Class(
        "TransmitPipe", "The half of the interface that sends (section 4.2 of the paper on iWarp)."
    ),
    "interface.workload": Class(
        "StreamWorkload",
        """A stream of application data units (section 5.2 of the paper on iWarp).

        >>> StreamWorkload(reshuffle="fast", block="512 B", stripes=4).block
        '512 B'
        """,
        ("workload.load", "5 MB/s", "200 MB/s"),
    ),
    "hypercube.workload": Class(
        "Workload",
        """The traffic of every PE (section 4.3 of the hypercube paper).

        One of `interarrival` and `rate` is needed in an open loop, unless it is swept or searched.

        >>> Workload(interarrival="0.156 ms", locality=0.2).locality
        0.2
        """,
        ("workload.rate", "1 /ms", "50 /ms"),
    ),
    "hypercube.workload.hot_pe": Class("HotSpot", "A favoured target."),
    "hypercube.workload.hot_io_node": Class("HotSpot"),
    "hypercube.workload.file_blocks": Class("Files", "How large files are."),
    "hypercube.workload.collectives": Class(
        about="Shares of the I/O demands that are collective (section 4.3)."
    ),
    "sci.workload": Class(
        "PacketWorkload",
        """Packets between the nodes of a fabric (Table 1 of the SCI paper).

        `load` is needed unless it is swept or searched.

        >>> PacketWorkload(load="8 GB/s").load
        '8 GB/s'
        """,
        ("workload.load", "0.5 GB/s", "50 GB/s"),
    ),
    "sci.workload.hot_node": Class(about="A favoured node of a fabric."),
    "fat-tree.workload": Class(
        "Jobs",
        """The jobs that run on a machine and the I/O servers that they share.

        >>> work = Jobs(
        ...     servers=Servers(placement="clustered", count=8),
        ...     jobs={"compute": Job(traffic="uniform"), "io": Job(traffic="io", load=0.3)},
        ...     mapping="shared",
        ... )
        >>> list(work.jobs)
        ['compute', 'io']
        """,
        ("workload.load", "1 MB/s", "340 MB/s"),
    ),
    "fat-tree.workload.servers": Class(
        about="Which nodes are I/O servers (section 3.4 of the QsNET paper)."
    ),
    "fat-tree.workload.servers.device": Class(
        "ServerDevice", "What stands behind each I/O server of jobs."
    ),
    "fat-tree.workload.servers.device.disk": Class("ServerDisk", "A disk of such a device."),
    "sci-jobs.workload": Class(
        "RingJobs",
        """The jobs that run on a fabric of SCI rings, their messages cut into transactions.

        >>> RingJobs(jobs={"pairs": Job(traffic="ping", message="1 KiB")}, payload="64 B").payload
        '64 B'
        """,
        ("workload.load", "1 MB/s", "1 GB/s"),
    ),
    "sci-jobs.workload.servers": Class(
        "RingServers", "Which nodes of a fabric are I/O servers, and what stands behind them."
    ),
    "hypercube-jobs.workload": Class(
        "CubeJobs",
        """The jobs that run on the PEs of a hypercube, its I/O nodes their servers.

        >>> CubeJobs(jobs={"save": Job(traffic="io", message="1 MB")}, worms=4).worms
        4
        """,
        ("workload.load", "10 kB/s", "20 MB/s"),
    ),
    "hypercube-jobs.workload.servers": Class(
        "CubeServers", "What stands behind the I/O nodes in place of their caches and disks."
    ),
    "fat-tree.workload.jobs": Class(
        "Job",
        """A set of nodes with traffic of its own (sections 3.4, 3.5 and 4.2 to 4.4 of the QsNET
        paper).

        >>> Job(traffic="io", load=0.3).traffic
        'io'
        """,
    ),
    "stop": Class("Precision", "When a point has been simulated long enough."),
    "search": Class(
        about="""A search for the load at which the machine saturates.

        What is left out of `over`, `start` and `stop` is that of the work: ``Workload.search``.
        """
    ),
}
"""Descriptions of classes by table; a key begins with the kind of machine or of input file."""
FLAT = {"lanes": "{}_lanes"}
"""Tables whose fields become attributes of the table above, with their attribute names."""
RENAMED = {"from": "start", "to": "stop"}
"""Attributes whose keys are not valid names in Python."""


@dataclass
class Table:
    """A table of a scenario file."""

    path: str
    fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    named: bool = False
    """Whether there may be several such tables, each with a name."""

    def add(self, words: list[str], row: dict[str, Any]) -> None:
        """Add a field to the table that it belongs to."""
        first, *rest = words
        if not rest:
            self.fields[first] = row
            return
        below = self.tables.setdefault(first, Table(f"{self.path}.{first}"))
        if rest[0] == "NAME":
            below.named = True
            rest = rest[1:]
        below.add(rest, row)


def main() -> int:
    """Write the file, or check that it is up to date."""
    text = generate()
    if "--check" not in sys.argv:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.read_text(encoding="utf-8") == text:
        return 0
    print(
        f"{TARGET.name} is not what the core describes; run: python tools/objects.py",
        file=sys.stderr,
    )
    return 1


def generate() -> str:
    """Return the text of the module."""
    fields = json.loads(_core.fields())
    schema = json.loads(_core.json_schema())["$defs"]
    kinds = list(dict.fromkeys(row["machine"] for row in fields if row["machine"]))
    classes = Classes(schema)
    machines, works = [], []
    for top in ("stop", "search"):
        table = Table(top)
        for row in fields:
            words = row["key"].split(".")
            if words[0] == top:
                table.add(words[1:], merged(table.fields.get(words[1]), row))
        classes.add(table, None)
    for kind in kinds:
        for top, into in (("machine", machines), ("workload", works)):
            table = Table(f"{kind}.{top}")
            for row in fields:
                words = row["key"].split(".")
                if row["machine"] == kind and words[0] == top:
                    table.add(words[1:], row)
            if table.fields or table.tables:
                into.append(classes.add(table, kind if top == "machine" else None))
    return formatted(classes.text(machines, list(dict.fromkeys(works))))


def merged(first: dict[str, Any] | None, second: dict[str, Any]) -> dict[str, Any]:
    """Merge a field that several kinds of machine have, and keep what their descriptions share."""
    if first is None:
        return second
    default = first["default"] if first["default"] == second["default"] else "that of the machine"
    return {**first, "default": default, "also": [*first.get("also", []), second["machine"]]}


class Classes:
    """The classes that have been generated so far; equal tables share one class."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self.bodies: dict[str, str] = {}
        self.docs: dict[str, str] = {}
        self.of: dict[str, str] = {}

    def add(self, table: Table, kind: str | None) -> str:
        """Add the class of a table after the classes of its sub-tables, and return its name."""
        known = CLASSES.get(table.path, Class())
        name = known.name or camel(kind or table.path.rpartition(".")[2])
        lines = [line for attribute in self.attributes(table, "") for line in attribute]
        if kind is not None:
            lines = [f'kind: ClassVar[str] = "{kind}"', "", *lines]
        if known.search:
            over, start, stop = map(json.dumps, known.search)
            lines = [
                f"search: ClassVar[Search] = Search(over={over}, start={start}, stop={stop})",
                '"""The load that a search varies by default, and its ends."""',
                "",
                *lines,
            ]
        body = "\n".join(lines)
        if not known.name and kind is None:
            # A table of another kind with the same path and the same fields shares its class.
            name = self.twin(table.path, body) or name
        first = self.bodies.setdefault(name, body)
        same = attributes(first) == attributes(body)
        if not same:
            raise SystemExit(
                f"{table.path} is not as {self.of[name]}, and both would be called {name}: "
                "give one of them a name of its own in CLASSES"
            )
        self.of.setdefault(name, table.path)
        if known.about:
            self.docs[name] = textwrap.dedent(f"        {known.about}")
        elif name not in self.docs:
            self.docs[name] = f"Fields of ``[{table.path.partition('.')[2]}]`` in scenario files."
        return name

    def twin(self, path: str, body: str) -> str | None:
        """Return the class of another kind with this path and the same attributes, if any."""
        below = path.partition(".")[2]
        for name, of in self.of.items():
            same = attributes(self.bodies[name]) == attributes(body)
            if same and of.partition(".")[2] == below:
                return name
        return None

    def attributes(self, table: Table, prefix: str) -> Iterator[list[str]]:
        """Yield the attributes of a table's class, as lines."""
        pattern = FLAT.get(prefix.rstrip("."), "{}")
        for name in dict.fromkeys([*table.fields, *table.tables]):
            row, below = table.fields.get(name), table.tables.get(name)
            if below is not None and name in FLAT:
                yield from self.attributes(below, f"{name}.")
                continue
            attribute = RENAMED.get(name, pattern.format(name))
            if below is None:
                assert row is not None
                doc = self.doc(row)
                yield [f'{attribute}: {self.type(row)} | None = key("{prefix}{name}")', doc]
                continue
            kind = self.add(below, None)
            if below.named:
                yield [
                    f'{attribute}: Mapping[str, {kind}] | None = parts("{name}")',
                    '"""By names of your own; at least one must be given."""',
                ]
            elif row is None:
                yield [f'{attribute}: {kind} | None = part("{name}")']
            else:
                short = self.type(row)
                doc = wrapped(f"{row['meaning']}.")
                yield [f'{attribute}: {kind} | {short} | None = part("{name}")', doc]

    def type(self, row: dict[str, Any]) -> str:
        """Return the Python type of a field."""
        kinds = [row["machine"], *row.get("also", [])]
        found = [self.schema.get(f"{kind}.{row['key']}") for kind in kinds]
        found = [each or self.schema[row["key"]] for each in found]
        if all("enum" in each for each in found):
            words = dict.fromkeys(word for each in found for word in each["enum"])
            return literal(list(words))
        return python_type(found[0])

    @staticmethod
    def doc(row: dict[str, Any]) -> str:
        """Return the docstring of a field's attribute."""
        parts = [f"{row['meaning']}."]
        if row["default"] == "required":
            parts.append("Must be given or swept.")
        elif row["default"] and not row["default"].startswith("required"):
            parts.append(f"If left out: {row['default']}.")
        if row["range"] and row["type"] not in ("a word", "true or false"):
            parts.append(f"Range: {row['range']}.")
        if row["applies"]:
            parts.append(f"Only with {row['applies']}.")
        return wrapped(" ".join(parts))

    def text(self, machines: list[str], works: list[str]) -> str:
        """Return the text of the whole module."""
        listed = "".join(f"    {json.dumps(name)},\n" for name in sorted(self.bodies))
        classes = "".join(
            f"\n\n@dataclass(frozen=True, kw_only=True)\nclass {name}(Described):\n"
            + textwrap.indent(f'"""{self.docs[name]}"""\n\n{body}\n', "    ")
            for name, body in self.bodies.items()
        )
        return (
            f'"""{ABOUT}"""\n\n'
            "from __future__ import annotations\n\n"
            "from collections.abc import Mapping, Sequence\n"
            "from dataclasses import dataclass\n"
            "from typing import ClassVar, Literal\n\n"
            "from isthmus.scenario_fields import Described, key, part, parts\n\n"
            f"__all__ = [\n{listed}]\n{classes}\n\n"
            f'Machine = {" | ".join(machines)}\n"""Any kind of machine."""\n'
            f'AnyWorkload = {" | ".join(works)}\n"""Work of any kind of machine."""\n'
        )


def attributes(body: str) -> list[str]:
    """Return the attributes of a class with their types, without docstrings."""
    return [line for line in body.splitlines() if " = key(" in line or " = part" in line]


def python_type(schema: dict[str, Any]) -> str:
    """Translate a JSON schema to a Python type."""
    if "enum" in schema:
        return literal(schema["enum"])
    if "anyOf" in schema:
        alternatives = [python_type(each) for each in schema["anyOf"]]
        return " | ".join(dict.fromkeys(" | ".join(alternatives).split(" | ")))
    if schema["type"] == "array":
        items = schema["items"]
        if items.get("type") == "array" and items.get("minItems") == items.get("maxItems") == 2:
            return f"Sequence[tuple[{python_type(items['items'])}, {python_type(items['items'])}]]"
        return f"Sequence[{python_type(items)}]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[schema["type"]]


def literal(words: list[str]) -> str:
    """Return a Python type that permits only these words."""
    return f"Literal[{', '.join(map(json.dumps, words))}]"


def camel(name: str) -> str:
    """Return a class name, such as `FatTree` for `fat-tree`."""
    return "".join(word.capitalize() for word in name.replace("_", "-").split("-"))


def wrapped(text: str) -> str:
    """Wrap the docstring of an attribute."""
    quoted = text.replace("\\", "\\\\")
    lines = textwrap.wrap(
        f'"""{quoted}"""', WIDTH - 4, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines)


def formatted(text: str) -> str:
    """Format a text with the project's formatter."""
    command = [Path(sys.executable).with_name("ruff"), "format", "--stdin-filename", TARGET, "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
