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


def test_a_table_of_routes_is_in_the_scenario_beside_its_graph(isthmus, tmp_path):
    graph, routes, written = tmp_path / "net", tmp_path / "routes", tmp_path / "net.toml"
    graph.write_text("a b\nb c\nc a\n")
    table = "# straight\na * b\na c c\nb * c\nb a a\nc * a\nc b b\n"
    routes.write_text(table)
    done = isthmus("init", "graph", written, "--graph", graph, "--routes", routes)
    assert done.returncode == 0, done
    settings = parse_toml(written.read_text(), "written")["machine"]
    assert (settings["routing"], settings["routes"]) == ("table", table)
    assert isthmus("check", written).returncode == 0
    line = written.read_text().splitlines().index("c b b") + 1
    written.write_text(written.read_text().replace("c b b", "c b d"))
    done = isthmus("check", written)
    assert done.returncode == 2
    assert f"{written}:{line}: machine.routes: no switch is called" in done.stderr
    alone = isthmus("init", "graph", "--routes", routes)
    assert alone.returncode == 2
    assert "--graph" in alone.stderr


def test_only_networks_of_switches_take_a_graph(isthmus, tmp_path):
    done = isthmus("init", "sci", "--graph", tmp_path / "net")
    assert done.returncode == 2
    assert "isthmus init graph" in done.stderr


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", "", "no switch at all"),
        ("# nothing\n\na b 0\n", ":3", 'a width of 0 between "a" and "b"'),
        ("<graphml><graph>\n<node id='a'/", ":2", "not well-formed XML"),
    ],
)
def test_a_graph_that_is_wrong_is_not_put_into_a_scenario(isthmus, tmp_path, text, line, problem):
    graph, written = tmp_path / "net", tmp_path / "net.toml"
    graph.write_text(text)
    done = isthmus("init", "graph", written, "--graph", graph)
    assert done.returncode == 2
    assert done.stderr.startswith(f"isthmus: {graph}{line}: {problem}"), done.stderr
    assert "workload.load" not in done.stderr
    assert not written.exists()


def test_routes_that_are_wrong_are_named_by_their_file_and_line(isthmus, tmp_path):
    graph, routes, written = tmp_path / "net", tmp_path / "routes", tmp_path / "net.toml"
    graph.write_text("a b\nb c\nc a\n")
    routes.write_text("a * b\na c c\nb * c\nb a a\nb b a\nc * a\nc b b\n")
    done = isthmus("init", "graph", written, "--graph", graph, "--routes", routes)
    assert done.returncode == 2
    assert done.stderr.startswith(f'isthmus: {routes}:5: a route from "b" to itself'), done.stderr
    assert not written.exists()


def test_the_title_is_not_that_of_a_torus(isthmus, tmp_path):
    graph = tmp_path / "net"
    graph.write_text(EDGES)
    written = isthmus("init", "graph", "--graph", graph).stdout
    assert parse_toml(written, "written")["title"].startswith("What does this network carry")


def test_what_the_rest_of_the_scenario_lacks_does_not_keep_a_graph_from_it(isthmus, tmp_path):
    # One node: machine.nodes_per_switch, which is in the scenario, gives more.
    graph, written = tmp_path / "net", tmp_path / "net.toml"
    graph.write_text(
        '<graphml><key id="r" for="node" attr.name="role" attr.type="string"/><graph>'
        '<node id="s"><data key="r">switch</data></node><node id="n"><data key="r">node</data>'
        '</node><edge source="s" target="n"/></graph></graphml>'
    )
    assert isthmus("init", "graph", written, "--graph", graph).returncode == 0
    assert isthmus("check", written).returncode == 2
