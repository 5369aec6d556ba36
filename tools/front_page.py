"""Write the tables of kinds, commands and papers in README.md and docs/index.md.

    .venv/bin/python tools/front_page.py            writes the tables
    .venv/bin/python tools/front_page.py --check    says whether they are up to date

The names come from the package. `KINDS` holds further texts about the kinds.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from isthmus.cli import init
from isthmus.cli.commands import COMMANDS
from isthmus.papers.folder import papers

ROOT = Path(__file__).parent.parent
PAGES = {"README.md": "docs/", "docs/index.md": ""}
"""The pages, each with the path from it to the guide."""
KINDS = {
    "hypercube": (
        "Binary hypercube with I/O nodes, with or without a separate I/O network, wormhole routing",
        "machine.md",
    ),
    "sci": ("SCI rings, tori and rings joined by switch nodes, at symbol level", "rings.md"),
    "fat-tree": (
        "Fat tree with I/O servers; circuits as in QsNET, cut-through as in InfiniBand",
        "fat-trees.md",
    ),
    "graph": (
        "Switches joined in any form: dragonflies, tori, meshes, GraphML and edge lists",
        "graphs.md",
    ),
    "interface": (
        "Network interface with a stream manager, fed by the cells of a torus",
        "iwarp.md",
    ),
}
"""Description of each kind of machine, and its page in the guide."""


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table with these headings and rows."""
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def tables(guide: str) -> dict[str, str]:
    """Return the tables by name, with links to the guide below `guide`."""
    if set(KINDS) != set(init.KINDS):
        sys.exit(f"KINDS: {sorted(KINDS)}, the package has {init.KINDS}")
    kinds = [(f"[`{name}`]({guide}{page})", text) for name, (text, page) in KINDS.items()]
    commands = [(f"`isthmus {name}`", text) for name, text in COMMANDS.items()]
    claimed = [
        (f"`{each.name}`", f"{each.authors}, *{each.title}*, {each.year}") for each in papers()
    ]
    return {
        "kinds": table(("kind", "machine"), kinds),
        "commands": table(("command", "what it does"), commands),
        "papers": table(("name", "paper"), claimed),
    }


def written(text: str, guide: str) -> str:
    """Return a page with its tables up to date."""
    for name, rows in tables(guide).items():
        block = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
        text, count = re.subn(block, rf"\g<1>\n{rows}\n\g<2>", text, flags=re.DOTALL)
        if count != 1:
            sys.exit(f"<!-- {name} -->: {count} times in a page, where 1 must be")
    return text


def main() -> None:
    """Write both pages, or check them."""
    stale = []
    for page, guide in PAGES.items():
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        if (new := written(text, guide)) != text:
            stale.append(page)
            if "--check" not in sys.argv:
                path.write_text(new, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.exit(f"{', '.join(stale)}: run python tools/front_page.py")


if __name__ == "__main__":
    main()
