"""Files that use one another: no circle of more than two of them, in any crate or in the package.

A circle of two is a pair that is read together; one of more has no file that can be understood
first. Looked at are `use` lines, paths that begin with `crate`, `self` or `super`, and imports;
what is re-exported counts as used from where it stands. Tests within files may use anything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FILES_MAX = 2

Module = tuple[str, ...]
Graph = dict[Path, set[Path]]

DEFINED = re.compile(
    r"^\s*(?:pub(?:\([a-z]+\))?\s+)?(?:const |unsafe |async )*"
    r"(?:fn|struct|enum|trait|type|const|static|macro_rules!)\s+(\w+)",
    re.MULTILINE,
)
USED = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
INLINE = re.compile(r"\b(?:crate|self|super)(?:::\w+)+")


def paths(use: str) -> Iterator[str]:
    """The paths of a `use`: `a::{b, c::{d, e}}` are `a::b`, `a::c::d` and `a::c::e`."""
    before, brace, inside = use.strip().partition("{")
    if not brace:
        if before:
            yield re.sub(r"\s+as\s+\w+$", "", before).replace(" ", "")
        return
    depth, part = 0, ""
    for letter in inside.rstrip().removesuffix("}") + ",":
        if letter == "," and depth == 0:
            yield from (before + path for path in paths(part)) if part.strip() else ()
            part = ""
        else:
            depth += (letter == "{") - (letter == "}")
            part += letter


class Crate:
    """The modules of a crate, each with what it defines, re-exports and uses."""

    def __init__(self, source: Path) -> None:
        self.files: dict[Module, Path] = {}
        for file in source.rglob("*.rs"):
            module = file.relative_to(source).with_suffix("").parts
            self.files[module[:-1] if module[-1] in ("mod", "lib") else module] = file
        self.defined: dict[Module, set[str]] = {}
        self.passed_on: dict[Module, dict[str, Module]] = {}
        self.used: dict[Module, list[Module]] = {}
        for module, file in self.files.items():
            text = re.sub(r"//.*", "", file.read_text(encoding="utf-8"))
            text = text.split("#[cfg(test)]")[0]
            self.defined[module] = set(DEFINED.findall(text))
            self.passed_on[module], self.used[module] = {}, []
            for public, use in USED.findall(text):
                for path in map(self.whole(module), paths(re.sub(r"\s+", " ", use))):
                    if path and public:
                        self.passed_on[module][path[-1]] = path
                    elif path:
                        self.used[module].append(path)
            inline = map(self.whole(module), INLINE.findall(USED.sub("", text)))
            self.used[module] += [path for path in inline if path]

    def whole(self, module: Module):
        """The path from the root of the crate; nothing for paths out of it."""

        def whole(path: str) -> Module:
            first, *rest = path.split("::")
            if first == "crate":
                return tuple(rest)
            if first == "self":
                return (*module, *rest)
            above = module
            while first == "super" and above:
                above = above[:-1]
                if not rest or rest[0] != "super":
                    return (*above, *rest)
                rest = rest[1:]
            return (*module, first, *rest) if (*module, first) in self.files else ()

        return whole

    def place(self, path: Module, hops: int = 8) -> Path | None:
        """The file that defines what a path names."""
        module: Module = ()
        for at, name in enumerate(path):
            if (*module, name) in self.files:
                module = (*module, name)
                continue
            on = self.passed_on.get(module, {}).get(name)
            if on and hops and name not in self.defined[module]:
                return self.place((*on, *path[at + 1 :]), hops - 1)
            break
        return self.files.get(module)

    def graph(self) -> Graph:
        return {
            self.files[module]: {
                file for file in map(self.place, used) if file and file != self.files[module]
            }
            for module, used in self.used.items()
        }


def of_package(folder: Path) -> Graph:
    """The modules of a package and what each imports of it; packages themselves only pass on."""
    files = {}
    for file in folder.rglob("*.py"):
        if not {"bundled", "vendor"} & set(file.relative_to(folder).parts):
            files[".".join(file.relative_to(folder.parent).with_suffix("").parts)] = file
    graph: Graph = {file: set() for file in files.values()}
    for file in files.values():
        if file.name == "__init__.py":
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for_types = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and id(node) not in for_types:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                found = {files.get(name) or files.get(node.module) for name in names}
                graph[file] |= {other for other in found if other and other != file}
    return graph


def circles(graph: Mapping[Path, Iterable[Path]]) -> list[list[Path]]:
    """Sets of files that all lead to one another."""

    def reached(start: Path) -> set[Path]:
        seen: set[Path] = set()
        left = [start]
        while left:
            new = set(graph.get(left.pop(), ())) - seen
            seen |= new
            left += new
        return seen

    reach = {file: reached(file) for file in graph}
    found = {
        frozenset(other for other in reach[file] if file in reach.get(other, ()))
        for file in graph
        if file in reach[file]
    }
    return sorted(sorted(circle) for circle in found)


CRATES = sorted(path.parent for path in ROOT.glob("crates/*/src"))


@pytest.mark.parametrize("crate", CRATES, ids=lambda path: path.name)
def test_no_circle_in_a_crate(crate: Path) -> None:
    graph = Crate(crate / "src").graph()
    assert len(graph) == 1 or any(graph.values())
    large = [circle for circle in circles(graph) if len(circle) > FILES_MAX]
    assert not large, [[str(file.relative_to(crate)) for file in circle] for circle in large]


def test_no_circle_in_the_package() -> None:
    package = ROOT / "python" / "isthmus"
    graph = of_package(package)
    assert sum(map(len, graph.values())) > 100
    large = [circle for circle in circles(graph) if len(circle) > FILES_MAX]
    assert not large, [[str(file.relative_to(package)) for file in circle] for circle in large]


def test_circles_are_found(tmp_path: Path) -> None:
    """Through groups, re-exports, paths in the code and modules above; not through tests."""
    files = {
        "lib.rs": "mod a;\nmod b;\nmod c;\nmod d;\npub use a::A;",
        "a/mod.rs": "mod below;\npub(crate) use below::Deep;\nuse crate::{b::{B, Other}, d};",
        "a/below.rs": "pub struct Deep;\nfn f() -> super::super::c::C {}",
        "b.rs": "use crate::a::Deep as D;\npub struct B;",
        "c.rs": "fn f() { crate::b::g() }\nuse self::d::D; // crate::lib",
        "d.rs": "pub struct D;\n#[cfg(test)]\nmod tests { use crate::c::C; }",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = circles(Crate(tmp_path).graph())
    assert [[file.name for file in circle] for circle in found] == [["below.rs", "b.rs", "c.rs"]]
