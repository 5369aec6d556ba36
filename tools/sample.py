"""Print comments and names at random for readers to judge: ``python tools/sample.py SEED``.

Two readers who do not know the code say which of the 20 comments and 20 names they understand at
once. Comments are whole blocks. Names are those of definitions and of files of Rust, with their
documentation.
"""

import random
import re
import subprocess
import sys
from pathlib import Path

EACH = 20
BLOCK = {
    ".rs": re.compile(r"(?:^[ \t]*//.*\n)+.*", re.MULTILINE),
    ".py": re.compile(r'(?:^[ \t]*#.*\n)+.*|^.*\n[ \t]*"""[^"]+"""', re.MULTILINE),
}
NAME = {
    ".rs": r"(?:^[ \t]*//.*\n)*(?:^[ \t]*#\[.*\]\n)*^[ \t]*(?:pub(?:\(\w+\))? )?"
    r"(?:const |async )?(?:fn|struct|enum|trait|type) \w+.*|\A(?://!.*\n)+",
    ".py": r'^[ \t]*(?:async )?(?:def|class) \w+.*(?:\n[ \t]*"""[^"]+"""|)',
}


def main(seed: str) -> None:
    """Print the sample of a seed."""
    listed = ["git", "ls-files", "crates/*/src/*.rs", "python/isthmus/*.py"]
    files = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
    texts = [(Path(file).suffix, file, Path(file).read_text("utf-8")) for file in files]
    comments = [(file, each) for end, file, text in texts for each in BLOCK[end].findall(text)]
    names = [
        (file, each) for end, file, text in texts for each in re.findall(NAME[end], text, re.M)
    ]
    sample = random.Random(seed)
    for kind, found in (("comment", comments), ("name", names)):
        for number, (file, text) in enumerate(sample.sample(found, EACH), 1):
            print(f"--- {kind} {number}: {file}\n{text.rstrip()}\n")


if __name__ == "__main__":
    main(sys.argv[1])
