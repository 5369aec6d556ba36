"""Examples and papers that are part of the package.

In the repository both are folders at its top, with links here; wheels and source distributions
contain copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from isthmus.core import parse_toml, read_text
from isthmus.errors import IsthmusError

HOME = Path(__file__).resolve().parent
PAPERS = HOME / "papers"
"""Folder of the papers, with one folder for each paper."""
EXAMPLES = HOME / "examples"
"""Folder of the examples: scenarios and a notebook for learning."""


@dataclass(frozen=True)
class Example:
    """An example in the package, for learning: a scenario file or a notebook."""

    path: Path

    @property
    def name(self) -> str:
        """Name on the command line: the file name without its suffix."""
        return self.path.stem

    @property
    def text(self) -> str:
        """Content of the file."""
        return read_text(self.path)

    @property
    def title(self) -> str:
        """Subject of the example, in one line."""
        if self.path.suffix == ".ipynb":
            return "a notebook: the same from Python"
        return str(parse_toml(self.text, str(self.path)).get("title", ""))


def examples() -> list[Example]:
    """Return all examples, sorted by name.

    Raises:
        IsthmusError: the package is incomplete and has no examples.

    """
    found = [p for p in EXAMPLES.glob("*") if p.suffix in (".toml", ".ipynb")]
    if not found:
        raise IsthmusError(f"{EXAMPLES}: no examples; install the package whole")
    return [Example(path) for path in sorted(found)]


def example(name: str) -> Example:
    """Return the example with this name, with or without the file's suffix.

    Raises:
        IsthmusError: the example does not exist.

    """
    known = examples()
    for each in known:
        if name in (each.name, each.path.name):
            return each
    raise IsthmusError(f"no example {name!r}; there is {', '.join(e.name for e in known)}")


def copy(chosen: list[Example], folder: Path) -> list[Path]:
    """Copy examples into a folder; existing files with the same content are left alone.

    Raises:
        IsthmusError: a file with other content is in the way, or the folder cannot be written.

    """
    from isthmus.files import ready_folder, write_text

    ready_folder(folder)
    made = [(each, folder / each.path.name) for each in chosen]
    for each, path in made:
        if path.is_dir() or (path.exists() and path.read_bytes() != each.path.read_bytes()):
            raise IsthmusError(f"{path}: is there with other content; copy to another folder")
    for each, path in made:
        if not path.exists():
            write_text(path, each.text)
    return [path for _, path in made]
