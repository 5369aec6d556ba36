"""Count the lines of code, by crate and by folder: ``python tools/lines.py [COMMIT]``.

Blank lines, comments, docstrings and tests do not count. Tests are folders and modules of that
name, and items of Rust under ``#[cfg(test)]``. With a commit, the difference to it stands beside.
"""

import ast
import io
import re
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import PurePosixPath

TEST = re.compile(r"(^|/)(tests|fuzz-bodies|conformance)(/|\.rs$)")
TOKENS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^'\\])'""", re.DOTALL
)


def rust(text: str) -> int:
    """Count the lines of code of a Rust file."""

    def blank(found: re.Match[str]) -> str:
        """Replace a comment by nothing, or a string by letters, and keep the line breaks."""
        comment = found[0].startswith("/")
        # A string keeps its lines, and holds no brace.
        return re.sub(r"[^\n]", "" if comment else "s", found[0])

    lines = TOKENS.sub(blank, text).splitlines()
    count, depth, tests = 0, 0, None
    for line in lines:
        if tests is None and line.strip() == "#[cfg(test)]":
            tests = depth
            continue
        depth += line.count("{") - line.count("}")
        if tests is None:
            count += bool(line.strip())
        elif depth == tests and re.search(r"[};]\s*$", line):
            tests = None
    return count


def python(text: str) -> int:
    """Count the lines of code of a Python file."""
    lines = text.splitlines()
    code = {at for at, line in enumerate(lines, 1) if line.strip() and line.strip()[0] != "#"}
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                code -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def counted(commit: str) -> Counter[str]:
    """Count the lines of a commit, by crate or folder."""
    archive = subprocess.run(["git", "archive", commit], capture_output=True, check=True).stdout
    found: Counter[str] = Counter()
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            kind = {".rs": rust, ".py": python}.get(path.suffix)
            file = tar.extractfile(member) if kind else None
            if file is None or kind is None or TEST.search(member.name):
                continue
            parts = path.parts
            where = "/".join(parts[:2] if parts[0] == "crates" else parts[:1])
            if parts[:2] == ("python", "isthmus") and len(parts) > 3:
                where = "/".join(parts[:3])
            found[f"{path.suffix[1:]} {where}"] += kind(file.read().decode())
    return found


def main() -> None:
    """Print the table of lines of code."""
    now, before = counted("HEAD"), counted(sys.argv[1]) if sys.argv[1:] else None
    for language in ("rs", "py"):
        names = sorted({n for n in now | (before or now) if n.startswith(language)})
        total = [0, 0]
        for name in [*names, f"{language} total"]:
            pair = [now[name], (before or now)[name]] if name in names else total
            total = [total[0] + pair[0], total[1] + pair[1]] if name in names else total
            print(f"{name:40}{pair[0]:8}" + (f"{pair[0] - pair[1]:+8}" if before else ""))


if __name__ == "__main__":
    main()
