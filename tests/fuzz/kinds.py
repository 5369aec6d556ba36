"""What is mutated, and what is done with a mutant: one class for each kind of input."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from mutate import mutated

REPOSITORY = Path(__file__).resolve().parents[2]


def _smallest() -> dict[str, str]:
    files = sorted((REPOSITORY / "tests/scenarios").glob("small-*.toml"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    for known, less in QUICKER.items():
        texts = [text.replace(known, less) for text in texts]
    return {file.stem.removeprefix("small-"): text for file, text in zip(files, texts, strict=True)}


QUICKER = {
    'precision = "10%"': 'precision = "20%"',
    "messages_first = 4000": "messages_first = 2000",
    "messages_max = 40000": "messages_max = 8000",
}
SMALL = _smallest()
"""One scenario for each kind of machine, done within a second."""

GRAPHS = {
    "ring.txt": b"# a ring\na b\nb c\nc d\nd e\ne a\n",
    "two.txt": b"0 1\n1 2\n2 3\n\n5 6\n6 7\n",
    "grid.txt": b"".join(
        b"%d,%d %d,%d\n" % (x, y, x + a, y + 1 - a)
        for x in range(4)
        for y in range(4)
        for a in (0, 1)
    ),
    "topology.txt": b"SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n"
    b"SwitchName=s2 Switches=s[0-1]\n",
    "hosts.txt": b"s role=switch\ns t width=2\ns a x=1 label=\"an edge\"\nt b {'color': 'red'}\n"
    b"t c\nt c2 # c2 is a host\n",
    "ports.txt": b"vendid=0x8f1\nswitchguid=0x5442ba00003080(5442ba00003080)\n"
    b'Switch\t24 "S-005442ba00003080"\t\t# "ISR9024" base port 0 lid 6 lmc 0\n'
    b'[22]\t"H-0008f10403961354"[1](8f10403961355)\t\t# "MT23108" lid 4 4xSDR\n',
    "small.graphml": b"""<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="label" attr.type="string"/>
  <key id="d1" for="edge" attr.name="width"><default>2</default></key>
  <graph id="G" edgedefault="undirected">
    <node id="n0"><data key="d0">first &amp; last</data></node>
    <node id="n1"/>
    <node id="n2"/>
    <edge source="n0" target="n1"/>
    <edge source="n1" target="n2"/>
    <!-- a remark --><edge id="e2" source="n2" target="n0"/>
  </graph>
</graphml>
""",
}


@dataclass
class Mutant:
    """One case: files in a folder, a call of the command, how to judge its output."""

    call: str
    """What is called in the child: `command` with `words`, or a function of `calls`."""
    words: list[str]
    done: list[str]
    """Names of the mutations."""
    same: bytes | None = field(default=None, repr=False)
    """What standard output must be if the mutant is accepted."""


def simulate(file: str, journal: str = "") -> int:
    """Run a scenario without a folder, with or without a journal; print its result."""
    from isthmus.core import read_text
    from isthmus.execution import Job

    job = Job(read_text(Path(file)), file, quick=True)
    results = job.run(Path(journal) if journal else None)
    sys.stdout.write(results.json)
    return 0


CALLS: dict[str, Callable[..., int]] = {"simulate": simulate}


class Kind:
    """A kind of input. `make` writes mutant number `chance` into an empty folder."""

    weight = 1

    def __init__(self, home: Path) -> None:
        self.home = home

    def make(self, folder: Path, chance: Random) -> Mutant:
        """Write the mutant's files into `folder` and say what to call there."""
        raise NotImplementedError


def scenarios() -> list[bytes]:
    """All scenarios of the repository."""
    found = [
        *REPOSITORY.glob("examples/*.toml"),
        *REPOSITORY.glob("papers/*/scenarios/*.toml"),
        *REPOSITORY.glob("papers/*/mechanisms/*.toml"),
        *REPOSITORY.glob("crates/kinds/tests/good/*.toml"),
    ]
    # What is redistributed is no scenario.
    texts = [path.read_bytes() for path in sorted(found)]
    texts = [text for text in texts if b"[array]" not in text]
    return texts + [t.encode() for t in SMALL.values()]


class Scenario(Kind):
    """Scenario files, read by ``isthmus check``."""

    weight = 8

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.texts = scenarios()

    def make(self, folder: Path, chance: Random) -> Mutant:
        """A mutated scenario."""
        text, done = mutated(chance.choice(self.texts), chance, self.texts)
        (folder / "scenario.toml").write_bytes(text)
        more = chance.choice([[], [], [], ["--json"], ["--effective"]])
        return Mutant("command", ["check", "scenario.toml", *more], done)


class Override(Kind):
    """Changes on the command line, read by ``isthmus check``."""

    weight = 6

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.own = [(text, settings(text)) for text in scenarios()]
        from isthmus import _core

        fields = json.loads(_core.fields())
        self.words = [f"{each['key']}={each.get('default') or 1}".encode() for each in fields]
        self.words += [word for _, words in self.own for word in words]

    def make(self, folder: Path, chance: Random) -> Mutant:
        """A scenario as it is, with one to three changes: its own settings, mutated."""
        text, own = chance.choice(self.own)
        (folder / "scenario.toml").write_bytes(text)
        words, done = [], []
        for _ in range(chance.choice([1, 1, 2, 3])):
            word = chance.choice(own if chance.random() < 0.8 else self.words)
            if chance.random() < 0.8:
                word, names = mutated(word, chance, own)
                done += names
            # What a shell can hand over: no zero bytes, of limited length, no option.
            word = word.replace(b"\x00", b"")[:100_000]
            words.append("=" + os.fsdecode(word) if word.startswith(b"-") else os.fsdecode(word))
        return Mutant("command", ["check", "scenario.toml", *words], done)


def settings(text: bytes) -> list[bytes]:
    """All settings of a scenario as changes of the command line."""
    from isthmus.core import parse_toml
    from isthmus.scenario_fields import toml_value

    found = []
    waiting = [("", parse_toml(text.decode(), "scenario"))]
    while waiting:
        prefix, table = waiting.pop()
        for key, value in table.items():
            if isinstance(value, dict) and prefix != "sweep.":
                waiting.append((f"{prefix}{key}.", value))
            else:
                found.append(f"{prefix}{key}={toml_value(value)}".encode())
    return found


class Graph(Kind):
    """Graph files, read by ``isthmus topology``, ``isthmus place`` and ``isthmus init graph``."""

    weight = 5

    def make(self, folder: Path, chance: Random) -> Mutant:
        """A mutated graph."""
        name = chance.choice(list(GRAPHS))
        others = [text for each, text in GRAPHS.items() if each.split(".")[1] == name.split(".")[1]]
        text, done = mutated(GRAPHS[name], chance, others)
        (folder / name).write_bytes(text)
        words = [*chance.choice([["topology"], ["place"], ["init", "graph"]]), "--graph", name]
        others = [["--ignored", "label"]] if words[0] == "init" else [["--json"]]
        return Mutant("command", words + chance.choice([[], *others]), done)


class Redistribution(Kind):
    """Files that describe redistributions: planned, carried out, predicted on a machine."""

    weight = 4

    MACHINE = (
        'version = 1\nname = "t"\n[machine]\nkind = "fat-tree"\narity = 2\nlevels = 3\n'
        '[workload.servers]\nplacement = "clustered"\ncount = 2\n'
    )
    REST = (
        '[array]\nshape = [12, 16]\ndtype = "int32"\n[costs]\nmessage_overhead = "1 us"\n'
        'copy = "1 GB/s"\n[io]\nstripe = "128 B"\nrequest = "64 B"\noutstanding = 2\n'
    )
    LAYOUTS = (
        'kind = "block-cyclic"\ngrid = [2, 2]\nblocks = [2, 3]\nsource = [1, 0]\n',
        'kind = "block"\ngrid = [2, 2]\nnumbering = "column"\nranks = [3, 1, 0, 2]\n',
        'kind = "whole"\nrank = 1\n',
        'kind = "row-swath"\nranks = 4\n',
        'kind = "coarse"\nside = 2\n',
        'kind = "fine"\nside = 2\nfactor = 2\n',
        'kind = "hpf"\ndistribution = ["CYCLIC(2)", "*"]\ngrid = [4]\n',
        'kind = "scalapack"\ndescriptor = [1, 0, 12, 16, 2, 2, 0, 1, 6]\ngrid = [2, 2]\n',
        'kind = "darray"\ndistributions = ["cyclic", "block"]\narguments = [2, "default"]\n'
        "processes = [2, 2]\n",
        'kind = "boxes"\nboxes = [[[[0, 12], [0, 9]]], [[[0, 12], [9, 16]]]]\n',
        'kind = "chunks"\nchunks = [5, [6, 10]]\nranks = 3\n',
        'kind = "interface"\ngrid = [2, 2]\nlinks = 2\ntu = "64 B"\n',
    )

    def make(self, folder: Path, chance: Random) -> Mutant:
        """A mutated description."""
        layouts = [chance.choice(self.LAYOUTS) for _ in range(2)]
        text = f"{self.REST}[from]\n{layouts[0]}[to]\n{layouts[1]}".encode()
        others = [f"{self.REST}[from]\n{each}[to]\n{each}".encode() for each in self.LAYOUTS]
        text, done = mutated(text, chance, others)
        (folder / "plan.toml").write_bytes(text)
        (folder / "machine.toml").write_text(self.MACHINE)
        words = chance.choice(
            [
                ["plan"],
                ["plan", "--json"],
                ["run", "--repeat", "1", "--threads", "1", "--memory", "100 MB"],
                ["predict", "--machine", "machine.toml", "--most", "50 kB", "--jobs", "1"],
            ]
        )
        return Mutant("command", ["redistribute", words[0], "plan.toml", *words[1:]], done)


class Run(Kind):
    """Small scenarios, run."""

    weight = 2

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.texts = [text.encode() for text in SMALL.values()]

    def make(self, folder: Path, chance: Random) -> Mutant:
        """A mutated small scenario."""
        text, done = mutated(chance.choice(self.texts), chance, self.texts)
        (folder / "scenario.toml").write_bytes(text)
        return Mutant("simulate", ["scenario.toml"], done)


class Journal(Kind):
    """Journals of finished points: what is accepted must not change the result."""

    weight = 6

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.finished: list[tuple[str, Path, bytes]] = []
        program = "import kinds; kinds.simulate('scenario.toml', 'points')"
        made = {}
        for name, text in SMALL.items():
            for seed in (1, 2):
                made[home / f"journal-{name}-{seed}"] = f"seed = {seed}\n{text}"
        for (folder, text), result in zip(made.items(), _python(program, made), strict=True):
            self.finished.append((text, folder / "points", result))

    def make(self, folder: Path, chance: Random) -> Mutant:
        """A finished run whose journal has one thing wrong."""
        number = chance.randrange(len(self.finished))
        text, points, result = self.finished[number]
        (folder / "scenario.toml").write_text(text)
        shutil.copytree(points, folder / "points")
        files = sorted(p for p in (folder / "points").rglob("*") if p.is_file())
        chosen = chance.choice(files)
        what = chance.randrange(10)
        if what == 0:
            chosen.unlink()
            done = ["remove"]
        elif what == 1:
            other = chance.choice(files)
            a, b = chosen.read_bytes(), other.read_bytes()
            chosen.write_bytes(b)
            other.write_bytes(a)
            done = ["swap_files"]
        elif what == 2:
            foreign = chance.choice(self.finished)[1]
            source = foreign / chosen.relative_to(folder / "points")
            if source.is_file():
                chosen.write_bytes(source.read_bytes())
            done = ["foreign_file"]
        else:
            others = [p.read_bytes() for p in files]
            data, done = mutated(chosen.read_bytes(), chance, others)
            chosen.write_bytes(data)
        done.append(chosen.name)
        return Mutant("simulate", ["scenario.toml", "points"], done, same=result)


class Result(Kind):
    """Finished runs, whose result is read by ``isthmus report``."""

    weight = 1

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        made = {home / f"result-{name}": text for name, text in SMALL.items()}
        words = "['isthmus', 'run', 'scenario.toml', '--quick', '--out', 'out']"
        _python(f"import sys; sys.argv = {words}; import isthmus.cli as c; c.main()", made)
        self.folders = [folder / "out" for folder in made]
        self.texts = [(folder / "result.json").read_bytes() for folder in self.folders]

    def make(self, folder: Path, chance: Random) -> Mutant:
        """A finished run with a mutated result."""
        source = chance.choice(self.folders)
        shutil.copytree(source, folder / "out", symlinks=True)
        result = folder / "out" / "result.json"
        text, done = mutated(result.read_bytes(), chance, self.texts)
        result.write_bytes(text)
        return Mutant("command", ["report", "out"], done)


class Claims(Kind):
    """Tables of claims, read and judged by ``isthmus papers run``; none needs a simulation."""

    weight = 3

    PAPER = 'title = "A paper"\nauthors = "A. Author"\nyear = 1995\npublished = "J. Tests 1"\n'
    CHECKS = "from isthmus import balance\n\ndef equation(name, nodes):\n    return nodes\n"
    """So that a mutant of a check calls nothing that takes long."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.texts = []
        for table in sorted(REPOSITORY.glob("papers/*/expected.csv")):
            lines = table.read_bytes().splitlines(keepends=True)
            free = [line for line in lines if b"balance(" in line or b"equation(" in line]
            kept = [line for line in free if b",peaks," not in line and b",figure-" not in line]
            self.texts += [lines[0] + line for line in kept] + [lines[0] + b"".join(kept)]
        self.texts = [text for text in self.texts if text.count(b"\n") > 1]

    def make(self, folder: Path, chance: Random) -> Mutant:
        """A paper with a mutated table."""
        text, done = mutated(chance.choice(self.texts), chance, self.texts)
        (folder / "tiny").mkdir()
        (folder / "tiny/paper.toml").write_text(self.PAPER)
        (folder / "tiny/checks.py").write_text(self.CHECKS)
        (folder / "tiny/expected.csv").write_bytes(text)
        words = ["papers", "run", "tiny", "--out", "out", "--no-figures"]
        return Mutant("command", words + chance.choice([[], ["--json"]]), done)


def _python(program: str, made: Mapping[Path, str]) -> list[bytes]:
    """Standard outputs of a Python program in folders with these scenarios; it must end well."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "MPLBACKEND": "Agg"}
    running = []
    for folder, text in made.items():
        folder.mkdir(parents=True)
        (folder / "scenario.toml").write_text(text)
        words = [sys.executable, "-c", program]
        pipe = subprocess.PIPE
        running.append(
            subprocess.Popen(words, cwd=folder, stdout=pipe, stderr=pipe, env=environment)
        )
    found = []
    for each in running:
        out, err = each.communicate()
        if each.returncode:
            raise SystemExit(f"the cases could not be made:\n{err.decode(errors='replace')}")
        found.append(out)
    return found


KINDS: dict[str, type[Kind]] = {
    "scenario": Scenario,
    "override": Override,
    "journal": Journal,
    "graph": Graph,
    "redistribution": Redistribution,
    "run": Run,
    "result": Result,
    "claims": Claims,
}
