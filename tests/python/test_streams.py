"""Streams that are closed, full or know ASCII only; signals from the first moment on."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import SMALL

ISTHMUS = [sys.executable, "-m", "isthmus"]
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of a shell in which `isthmus` is ours."""
    whole = f'isthmus() {{ {shlex.join(ISTHMUS)} "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", whole],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "status", "told"),
    [
        ("isthmus check small.toml >&-", 1, "standard output cannot be written (Bad file"),
        ("isthmus check small.toml >/dev/full", 1, "standard output cannot be written (No space"),
        ("isthmus check small.toml --json >/dev/full", 1, "standard output cannot be written"),
        ("isthmus --help >/dev/full", 1, "standard output cannot be written (No space left"),
        ("isthmus check none.toml >&-", 2, "none.toml: cannot be read"),
        ("isthmus check none.toml 2>&-", 2, ""),
        ("isthmus check none.toml 2>/dev/full", 2, ""),
        ("isthmus check small.toml -v 2>/dev/full >/dev/null", 0, ""),
        ("isthmus check small.toml >&- 2>&-", 1, ""),
        ("isthmus check small.toml <&- >/dev/null", 0, ""),
        ("isthmus check - <&-", 2, "<stdin>: cannot be read (it is closed); give a FILE"),
    ],
)
def test_streams_that_cannot_be_used(small, command, status, told):
    done = shell(command, small.parent)
    assert done.returncode == status, done
    assert "Traceback" not in done.stderr
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == bool(told)


def test_files_never_take_the_place_of_a_closed_stream(small):
    done = shell("isthmus init sci new.toml >&- 2>&- && isthmus check new.toml", small.parent)
    assert done.returncode == 0, done.stderr


def test_a_reader_that_goes_away_is_no_mistake(small):
    # More than a pipe holds, to somebody who reads nothing.
    lines = "isthmus check --fields --json | (exec 0<&-; sleep 1); echo ${PIPESTATUS[0]}"
    code = (
        "import os, sys\nfrom isthmus.cli import main\n"
        "r, w = os.pipe()\nos.close(r)\nos.dup2(w, 1)\n"
        "sys.argv = ['isthmus', 'check', '--fields']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 141
    assert done.stderr == ""
    done = shell(lines, small.parent)
    assert done.stdout.split() == ["141"]
    assert done.stderr == ""


def test_a_locale_of_ascii(small):
    small.write_text(SMALL.replace("A small machine", "Größe – µ × ± 5 → 図"))
    done = shell("isthmus check small.toml; isthmus check small.toml --json", small.parent, **ASCII)
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.splitlines()[0], done.stdout.splitlines()[-1]
    assert "small - Grosse - u x +/- 5 -> ?" in first
    # Documents are UTF-8 whatever the locale.
    assert json.loads(last)["title"] == "Größe – µ × ± 5 → 図"


def test_words_of_the_command_line_in_a_locale_of_ascii(small):
    done = shell("isthmus check small.toml title=Größe --json", small.parent, **ASCII)
    assert json.loads(done.stdout)["title"] == "Größe"
    bad = shell(r"isthmus check small.toml $'title=Gr\xf6'", small.parent)
    assert bad.returncode == 2
    assert "not text in UTF-8" in bad.stderr
    assert len(bad.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("run small.toml --jobs 99999999999999999999", "'--jobs'"),
        ("faults small.toml --jobs 99999999999999999999", "'--jobs'"),
        ("papers run sci-fabrics --jobs 99999999999999999999", "'--jobs'"),
        ("run small.toml --seed 99999999999999999999", "'--seed'"),
        ("place -d 99999999999999999999", "dimension"),
        ("place -d 3 --pes 99999999999999999999", "pes"),
        ("balance sorting --pes 99999999999999999999", "pes"),
        ("balance sorting --pes 128 --mips 1e400", "is not a finite number"),
        ("balance sorting --pes 128 --mips nan", "is not a finite number"),
    ],
)
def test_numbers_without_measure(isthmus, small, words, told):
    done = isthmus(*words.split())
    assert done.returncode == 2, done
    (line,) = done.stderr.splitlines()
    assert line.startswith("isthmus: ")
    assert told in line


INTERRUPT_AT = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
        return None
import isthmus.cli
sys.meta_path.insert(0, Finder())
sys.argv = ['isthmus', 'run', 'small.toml']
isthmus.cli.main()
"""


@pytest.mark.parametrize(
    "module",
    [
        "isthmus.cli.process",
        "isthmus.cli.streams",
        "click",
        "click.core",
        "click.shell_completion",
        "isthmus.cli.commands",
        "isthmus.cli.run",
        "isthmus.cli.voice",
        "isthmus.execution",
        "isthmus._core",
        "polars",
    ],
)
def test_ctrl_c_while_something_is_imported(small, module):
    code = INTERRUPT_AT.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=small.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if module in ("click.shell_completion", "polars") and done.returncode == 0:
        pytest.skip(f"{module} is not imported")
    assert done.returncode == 130, done
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("isthmus: interrupted")


def test_ctrl_c_at_any_moment_of_the_start(small):
    """What Python does before it comes to us is not ours: it may be killed or print that it was."""
    chance = random.Random(7)
    for _ in range(12):
        process = subprocess.Popen(
            [*ISTHMUS, "run", "small.toml"],
            cwd=small.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(chance.uniform(0, 0.25))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
        ours = "isthmus/cli/process.py" in err or "isthmus/cli/commands.py" in err
        assert not ours, err
        if "Traceback" not in err:
            assert process.returncode in (130, -signal.SIGINT), (process.returncode, err)


def test_ctrl_c_in_a_destructor_is_not_lost():
    code = (
        "import os, signal, sys, time\n"
        "from isthmus.cli import process\n"
        "class Held:\n"
        "    def __del__(self): os.kill(os.getpid(), signal.SIGINT); time.sleep(0.01)\n"
        "def command():\n"
        "    Held()\n"
        "    time.sleep(60)\n"
        "    return 0\n"
        "process._command = command\n"
        "process.run()"
    )
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "isthmus: interrupted\n"
    assert time.monotonic() - began < 50


@pytest.mark.parametrize("told", [False, True])
def test_ctrl_c_while_a_class_is_made_is_no_error(told):
    """Python before 3.12 makes a RuntimeError of whatever is raised in ``__set_name__``, of which
    others of ours are made.
    """
    code = (
        "import os, signal\n"
        "from isthmus.cli import process\n"
        "from isthmus.errors import RunFailedError\n"
        "class Field:\n"
        "    def __set_name__(self, owner, name): os.kill(os.getpid(), signal.SIGINT)\n"
        "def command():\n"
        "    try:\n"
        "        type('Jobs', (), {'field': Field()})\n"
        "    except RuntimeError as error:\n"
        f"        if {told}: raise RunFailedError('a worker ended') from error\n"
        "        raise\n"
        "process._invoke = command\n"
        "process.run()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "isthmus: interrupted\n")


def test_an_error_that_is_its_own_cause_is_told():
    code = (
        "from isthmus.cli import process\n"
        "from isthmus.errors import IsthmusError\n"
        "error = IsthmusError('this is wrong')\n"
        "def command(): raise error from error\n"
        "process._invoke = command\n"
        "process.run()"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (2, "isthmus: this is wrong\n")


def test_an_error_of_our_own_is_one_line(small):
    code = (
        "import sys\nfrom isthmus import _core\n"
        "def broken(*_): raise TypeError('this is\\nnot meant')\n"
        "_core.check = broken\n"
        "from isthmus.cli import main\nsys.argv = ['isthmus', 'check', 'small.toml']\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=small.parent, check=False
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "an error of isthmus itself: TypeError: this is not meant" in line
    assert "please report it" in line


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ("def broken(*_): raise MemoryError", "isthmus: not enough memory; give the process more"),
        # What a library of data frames does that could not load its own.
        (
            "exec(compile('def broken(*_): PyDataFrame', 'site-packages/polars/frame.py', 'exec'))",
            "isthmus: polars could not be loaded: not enough memory; give the process more",
        ),
    ],
)
def test_too_little_memory_is_no_error_of_ours(small, fails, said):
    code = (
        f"import sys\nfrom isthmus import _core\n{fails}\n_core.check = broken\n"
        "from isthmus.cli import main\nsys.argv = ['isthmus', 'check', 'small.toml']\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=small.parent, check=False
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(said)
    assert "report" not in line


def test_every_status_is_in_the_guide():
    from conftest import REPOSITORY
    from isthmus.cli import process

    page = (REPOSITORY / "docs" / "command-line.md").read_text(encoding="utf-8")
    for status in (
        process.DONE,
        process.FAILED,
        process.BAD_INPUT,
        process.INTERRUPTED,
        process.BROKEN_PIPE,
        128 + signal.SIGTERM,
    ):
        assert f"| {status} |" in page
