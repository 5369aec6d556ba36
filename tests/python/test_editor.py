"""A public TOML language server completes and checks scenarios by the JSON Schema."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from isthmus import _core

DIRECTIVE = "#:schema ./scenario.schema.json\n"


class Server:
    """The language server Tombi, as an editor speaks to it: JSON-RPC on its standard streams."""

    def __init__(self, folder: Path):
        program = shutil.which("tombi", path=str(Path(sys.executable).parent)) or "tombi"
        self.folder = folder
        self.process = subprocess.Popen(
            [program, "lsp"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.asked = 0
        uri = folder.as_uri()
        self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": uri,
                "capabilities": {},
                "workspaceFolders": [{"uri": uri, "name": "scenarios"}],
            },
        )
        self.tell("initialized", {})

    def write(self, message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def read(self):
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.process.stdout.read(length))

    def tell(self, method, params):
        self.write({"method": method, "params": params})

    def ask(self, method, params):
        """Its answer; its own questions meanwhile are answered with nothing."""
        self.asked += 1
        self.write({"id": self.asked, "method": method, "params": params})
        while True:
            message = self.read()
            if "method" not in message and message.get("id") == self.asked:
                return message.get("result")
            if "method" in message and "id" in message:
                self.write({"id": message["id"], "result": None})

    def complete(self, text: str, *expected: str) -> dict[str, str]:
        """What it offers at the end of a scenario: labels and their documentation.

        Asked until it offers what is expected, as it reads the schema meanwhile.
        """
        lines = (DIRECTIVE + text).split("\n")
        text = DIRECTIVE + text + "\n"
        path = self.folder / f"{self.asked}.toml"
        path.write_text(text)
        document = {"uri": path.as_uri(), "languageId": "toml", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        here = {
            "textDocument": {"uri": path.as_uri()},
            "position": {"line": len(lines) - 1, "character": len(lines[-1])},
        }
        for _ in range(100):
            answer = self.ask("textDocument/completion", here)
            items = answer if isinstance(answer, list) else (answer or {}).get("items", [])
            offered = {
                item["label"]: (item.get("documentation") or {}).get("value", "") for item in items
            }
            if set(expected) <= set(offered):
                return offered
            time.sleep(0.2)
        raise AssertionError(f"{expected} are not all among {sorted(offered)}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("editor")
    (folder / "scenario.schema.json").write_text(_core.json_schema())
    # No list of other people's schemas is fetched.
    (folder / "tombi.toml").write_text("[schema.catalog]\npaths = []\n")
    return folder


@pytest.fixture(scope="module")
def server(folder):
    server = Server(folder)
    yield server
    server.process.kill()
    server.process.wait()


def test_tables_and_words_are_completed(server):
    tables = ("name", "machine", "workload", "sweep", "measure", "stop", "search")
    server.complete("version = 1\n", *tables)
    server.complete("version = 1\n[machine]\nkind = ", '"hypercube"', '"sci"', '"fat-tree"')
    server.complete("version = 1\n[stop]\nrule = ", '"precision"', '"fixed"')


def test_fields_are_completed_with_their_meaning(server):
    fields = server.complete('version = 1\nname = "x"\n[machine]\nkind = "sci"\nfab', "fabric")
    assert "Rings of the fabric" in fields["fabric"]
    server.complete('version = 1\nname = "x"\n[machine]\nkind = "fat-tree"\n', "arity", "levels")


def test_what_is_wrong_is_marked_where_it_stands(folder):
    path = folder / "wrong.toml"
    path.write_text(
        DIRECTIVE + 'version = 1\nname = "x"\n[machine]\nkind = "sci"\nfabric = "ring"\n'
        "size = 8\nhop = 12\nlanes = 3\n"
    )
    program = shutil.which("tombi", path=str(Path(sys.executable).parent)) or "tombi"
    told = subprocess.run(
        [program, "lint", "--offline", str(path)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"NO_COLOR": "1"},
    )
    words = told.stdout + told.stderr
    assert told.returncode != 0
    assert "wrong.toml:8:7" in words and "wrong.toml:9:1" in words, words
    # Files of fabrics have two forms, of which one needs a workload.
    errors = re.findall(r"Error: .*\n\s+at .*wrong\.toml:(\d+:\d+)", words)
    assert sorted(errors) == ["1:1", "8:7", "9:1"], words
