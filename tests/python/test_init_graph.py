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


@pytest.mark.parametrize(
    ("line", "problem", "right"),
    [
        (
            "a b bandwidth=1000Gbps",
            'attribute "bandwidth" of the edge between "a" and "b"',
            "width",
        ),
        ("a b {'latency': '5us'}", 'attribute "latency" of the edge between "a" and "b"', "delay"),
        ("a b widht=4", 'attribute "widht" of the edge between "a" and "b"', "width of edges"),
        ("a b width=2 weight=3", 'attribute "weight" of the edge between "a" and "b"', "width"),
        (
            'a type="host"',
            'attribute "type" of vertex "a"',
            'role of a vertex ("node" or "switch")',
        ),
        ("widht=4 a b", '"widht=4" where the name of a node belongs', "in double quotes"),
        ('Switch 24 "S-0054" # "x"', "output of ibnetdiscover", "for each cable"),
    ],
)
def test_what_means_nothing_in_a_list_is_refused_at_its_line(
    isthmus, tmp_path, line, problem, right
):
    graph, written = tmp_path / "net", tmp_path / "net.toml"
    graph.write_text(f"b c\n{line}\n")
    done = isthmus("init", "graph", written, "--graph", graph)
    assert done.returncode == 2
    assert done.stderr.startswith(f"isthmus: {graph}:2: {problem}"), done.stderr
    assert right in done.stderr
    assert not written.exists()


def test_attributes_of_graphml_are_known_decoration_or_refused(isthmus, tmp_path):
    def graphml(keys: str) -> str:
        lines = [
            f'<key id="{key}" for="all" attr.name="{name}"><default>1</default></key>\n'
            for key, name in enumerate(keys.split())
        ]
        return (
            f"<graphml>{''.join(lines)}<graph>\n<node id='a'/>\n<node id='b'/>\n"
            "<edge source='a' target='b' id='e'/></graph></graphml>"
        )

    graph, written = tmp_path / "net.graphml", tmp_path / "net.toml"
    graph.write_text(graphml("x label"))
    done = isthmus("init", "graph", written, "--graph", graph)
    assert done.returncode == 0, done.stderr
    parts = "label, x of edges; label, x of vertices"
    assert f"attributes used: none; not used: {parts}\n" in done.stderr
    graph.write_text(graphml("LinkSpeed Country"))
    refused = isthmus("init", "graph", "--graph", graph)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"isthmus: {graph}:4: attribute "), refused.stderr
    # Named as the refusal says they have no effect, in the scenario too.
    names = "Country, LinkSpeed"
    assert f'machine.ignored = "{names}" (init: --ignored)' in refused.stderr
    written.unlink()
    done = isthmus("init", "graph", written, "--graph", graph, "--ignored", names)
    assert done.returncode == 0, done.stderr
    assert "not used: Country, LinkSpeed of edges; Country, LinkSpeed of" in done.stderr
    assert isthmus("check", written).returncode == 0
    for other in (names + ", Speed", "Country"):
        changed = isthmus("check", written, f"machine.ignored={other}")
        assert changed.returncode == 2
        assert ("Speed" in changed.stderr) and "machine." in changed.stderr


def test_the_account_says_what_a_list_comes_to(isthmus, tmp_path):
    # 535 of 540 vertices have one neighbour: 5 switches in a ring, each two joined by 4 cables.
    ring = [f"s{at} s{(at + 1) % 5} width=4 color=red\n" for at in range(5)]
    hosts = [f"h{at} s{at % 5}\n" for at in range(535)]
    graph, written = tmp_path / "net", tmp_path / "net.toml"
    graph.write_text("".join(ring + hosts))
    done = isthmus("init", "graph", written, "--graph", graph)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[:3] == [
        f"isthmus: {graph}: 540 vertices: 5 switches, 535 nodes, 20 cables between switches",
        f'isthmus: {graph}: leaves = "nodes": 535 vertices have one neighbour, most of all',
        f"isthmus: {graph}: attributes used: width of edges; not used: color of edges",
    ]
    assert parse_toml(written.read_text(), "written")["machine"]["leaves"] == "nodes"
    # Hosts with two cables are no nodes.
    graph.write_text("s a 2\ns b\ns c\n")
    done = isthmus("init", "graph", "--graph", graph)
    assert 'leaves = "switches": as nodes they make no network: node "a" is joined' in done.stderr


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


ONE_WAY = (
    """
version = 1
name = "one-way"
[machine]
kind = "graph"
graph = "edges"
leaves = "nodes"
edges = """
    + "'''\nleft right\nleft a\nleft b\nright c\nright d\n'''"
    + """
switching = "cut-through"
[workload.jobs.u]
traffic = "listed"
messages = [[0, 2, "100 kB"], [1, 3, "100 kB"]]
[stop]
rule = "fixed"
time = "2 ms"
replications = 2
"""
)


def test_links_between_switches_have_the_names_of_the_file(isthmus, tmp_path):
    # Two nodes send over one cable, which carries half of what they could send.
    (tmp_path / "s.toml").write_text(ONE_WAY)
    done = isthmus("run", "s.toml", "--out", "out")
    assert done.returncode == 0, done
    assert "The link from switch left to switch right fills first" in done.stdout
