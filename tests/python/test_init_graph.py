"""Scenarios that ``isthmus init`` writes around the file of a graph."""

import pytest

from isthmus.core import parse_toml

EDGES = "left right 4\nleft a\nleft b\nright c\n"
GRAPHML = """<graphml><key id="w" for="edge" attr.name="width" attr.type="int"/>
<graph edgedefault="undirected">
<node id="s"/><node id="it's"/><node id="u'''"/>
<edge source="s" target="it's"><data key="w">2</data></edge>
<edge source="s" target="u'''"/>
</graph></graphml>
"""


@pytest.mark.parametrize("text", [EDGES, GRAPHML, EDGES + "# \\ \u200b", "a b\r\nb c\r\n"])
def test_the_file_is_in_the_scenario(isthmus, tmp_path, text):
    graph, written = tmp_path / "net", tmp_path / "net.toml"
    graph.write_bytes(text.encode())
    done = isthmus("init", "graph", written, "--graph", graph)
    assert done.returncode == 0, done
    settings = parse_toml(written.read_bytes().decode(), "written")["machine"]
    assert settings["graph"] == "edges"
    assert settings["edges"].splitlines() == text.splitlines()
    assert isthmus("check", written).returncode == 0


def test_only_networks_of_switches_take_a_graph(isthmus, tmp_path):
    done = isthmus("init", "sci", "--graph", tmp_path / "net")
    assert done.returncode == 2
    assert "isthmus init graph" in done.stderr
