"""Print comments and names at random for readers to judge: ``python tools/sample.py SEED``.

Two readers who do not know the code say which of the 20 comments and 20 names they understand at
once. Comments are whole blocks. Names are those of definitions and of files of Rust, with their
documentation. A change of the code replaces what it changes in the sample of a seed, and leaves the
rest. The sample of seed 60 was read last.
"""

import ast
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

EACH = 20
RUST_COMMENT = re.compile(r"(?:^[ \t]*//.*\n)+(?:^[ \t]*#\[.*\]\n)*.*", re.MULTILINE)
RUST_NAME = re.compile(
    r"(?:^[ \t]*//.*\n)*(?:^[ \t]*#\[.*\]\n)*^[ \t]*(?:pub(?:\(\w+\))? )?"
    r"(?:const |async )?(?:fn|struct|enum|trait|type) \w+.*|\A(?://!.*\n)+",
    re.MULTILINE,
)
PYTHON_COMMENT = re.compile(r"(?:^[ \t]*#.*\n)+.*", re.MULTILINE)
DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def documented(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the definitions and attributes of a Python file, and whether each is a definition."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        statements = body if isinstance(body, list) else []
        for before, each in zip([node, *statements], statements, strict=False):
            match each:
                case ast.Expr(value=ast.Constant(value=str())) if hasattr(before, "lineno"):
                    is_name = isinstance(before, DEFINITION)
                    yield is_name, "\n".join(lines[before.lineno - 1 : each.end_lineno])


def rank(text: str) -> bytes:
    """Return a text's place in the order in which items are drawn."""
    return hashlib.sha256(text.encode()).digest()


def main(seed: str) -> None:
    """Print the sample of a seed."""
    listed = ["git", "ls-files", "crates/*/src/*.rs", "python/isthmus/*.py"]
    comments, names = [], []
    for file in subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split():
        text = Path(file).read_text("utf-8")
        if file.endswith(".rs"):
            comments += [(file, each) for each in RUST_COMMENT.findall(text)]
            names += [(file, each) for each in RUST_NAME.findall(text)]
        else:
            found = list(documented(text))
            comments += [(file, each) for each in PYTHON_COMMENT.findall(text)]
            comments += [(file, each) for _, each in found]
            names += [(file, each) for is_name, each in found if is_name]
    for kind, pool in (("comment", comments), ("name", names)):
        # Equal texts of a file count once. Names and comments are drawn independently.
        drawn = sorted(set(pool), key=lambda each: rank(f"{seed}{kind}{each}"))
        for number, (file, text) in enumerate(drawn[:EACH], 1):
            print(f"--- {kind} {number}: {file}\n{text.rstrip()}\n")


if __name__ == "__main__":
    main(sys.argv[1])
