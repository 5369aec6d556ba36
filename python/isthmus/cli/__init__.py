"""The command line. Modules are imported when their command is called, so that help is fast and
Ctrl-C is handled from the first moment.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Run the command, print an error in one line, and exit with its status."""
    try:
        from isthmus.cli.process import run
    except KeyboardInterrupt:
        import os

        os.write(2, b"isthmus: interrupted\n")
        os._exit(130)
    run()
