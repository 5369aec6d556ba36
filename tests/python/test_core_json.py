"""Questions about networks, placements and balance, asked of the core directly.

Expectations are derived here: closed forms, or walks over the plain graph.
"""

import json
import re
import time
from collections import deque
from itertools import pairwise
from math import ceil, comb, log2

import pytest

from isthmus import _core

PAPER_IO_NODES = [0, 7, 25, 30, 42, 45, 51, 52, 75, 76, 82, 85, 97, 102, 120, 127]
"""Section 4.1 of the hypercube paper."""


def ask(function, **spec):
    return json.loads(function(json.dumps(spec)))


def cube(dimension, **more):
    return ask(_core.topology, kind="hypercube", dimension=dimension, **more)


def edge_list(edges):
    return "".join(f"{a} {b}\n" for a, b in edges)


def graph(edges, **more):
    text = edges if isinstance(edges, str) else edge_list(edges)
    return ask(_core.topology, kind="graph", format="edge-list", text=text, **more)


def ring(count):
    return [(node, (node + 1) % count) for node in range(count)]


def cube_edges(dimension):
    return [
        (node, node | 1 << bit)
        for node in range(1 << dimension)
        for bit in range(dimension)
        if not node >> bit & 1
    ]


def hops_from(start, edges, working):
    """Breadth-first distances over the nodes that work."""
    neighbours = {node: [] for node in working}
    for a, b in edges:
        if a in neighbours and b in neighbours:
            neighbours[a].append(b)
            neighbours[b].append(a)
    hops, queue = {start: 0}, deque([start])
    while queue:
        node = queue.popleft()
        for other in neighbours[node]:
            if other not in hops:
                hops[other] = hops[node] + 1
                queue.append(other)
    return hops


def histogram(edges, working):
    counts = []
    for start in working:
        for hops in hops_from(start, edges, working).values():
            counts += [0] * (hops + 1 - len(counts))
            counts[hops] += 1
    return counts


def ecube(source, target):
    """The links that e-cube routing crosses, highest dimension first."""
    path = []
    while source != target:
        after = source ^ 1 << ((source ^ target).bit_length() - 1)
        path.append((source, after))
        source = after
    return path


def ends(channel):
    """A channel of a cycle: "PE 3 to 7" or "a to b"."""
    source, target = channel.split(" to ")
    return source.split()[-1], target


class TestHypercubes:
    def test_the_paper_s_machine(self):
        told = cube(7)
        assert (told["nodes"], told["links"], told["diameter"]) == (128, 128 * 7 // 2, 7)
        assert told["distances"] == [128 * comb(7, hops) for hops in range(8)]
        assert told["io_nodes"] == PAPER_IO_NODES
        assert told["coverage"] == [16, 112]
        assert told["pes_per_io_node"] == [8, 8]
        for pe, server in enumerate(told["servers"]):
            assert (pe ^ PAPER_IO_NODES[server]).bit_count() <= 1
        assert sorted(map(tuple, told["edges"])) == sorted(cube_edges(7))
        assert sorted(map(tuple, told["io_edges"])) == sorted(cube_edges(4))
        assert told["broadcast"] == {"steps": 7, "lower_bound": 7, "root": 0}
        assert told["io_broadcast"]["steps"] == 4
        assert (told["connected"], told["unreachable"], told["faults"]) == (True, [], [])
        assert told["names"] is None

    def test_dependencies_are_those_of_all_routes(self):
        for dimension in (1, 3, 5):
            nodes = range(1 << dimension)
            waits = {pair for a in nodes for b in nodes for pair in pairwise(ecube(a, b))}
            verdict = cube(dimension, io_network=False)["deadlock"]
            assert verdict["free"]
            assert verdict["cycle"] == []
            assert verdict["channels"] == dimension * 2**dimension
            assert verdict["dependencies"] == len(waits)

    def test_without_an_io_network(self):
        told = cube(5, io_network=False)
        assert (told["io_edges"], told["io_distances"], told["io_broadcast"]) == ([], [], None)
        assert told["deadlock"]["channels"] == 5 * 32

    @pytest.mark.parametrize("count", [1, 2, 3, 11, 16, 23])
    def test_an_io_network_of_any_size(self, count):
        told = cube(5, placement={"method": "stride", "count": count})
        expected = [(a, b) for a, b in cube_edges(5) if b < count]
        assert sorted(map(tuple, told["io_edges"])) == sorted(expected)
        assert told["io_distances"] == histogram(expected, range(count))
        assert told["io_broadcast"]["steps"] == ceil(log2(count))
        assert told["deadlock"]["free"]

    def test_twenty_dimensions_answer_soon_and_leave_out_long_lists(self):
        begun = time.monotonic()
        told = cube(20)
        assert time.monotonic() - begun < 30
        assert told["links"] == 20 * 2**19
        assert told["distances"] == [2**20 * comb(20, hops) for hops in range(21)]
        assert (told["edges"], told["servers"], told["io_edges"]) == ([], [], [])
        # The 15-cube's code in each of 32 subcubes: 2^11 I/O nodes each.
        assert len(told["io_nodes"]) == 65536
        assert told["coverage"] == [65536, 2**20 - 65536]
        assert told["deadlock"]["free"]
        assert told["broadcast"]["steps"] == 20


class TestFaults:
    def test_what_has_failed_is_routed_around(self):
        faults = {"pes": [7], "io_nodes": [3], "links": [[0, 1]], "io_links": [[0, 1]]}
        told = cube(7, faults=faults)
        working = [pe for pe in range(128) if pe != 7]
        left = [e for e in cube_edges(7) if e != (0, 1) and 7 not in e]
        assert told["links"] == len(left)
        assert sorted(map(tuple, told["edges"])) == sorted(left)
        assert told["distances"] == histogram(left, working)
        io_left = [e for e in cube_edges(4) if e != (0, 1)]
        assert told["io_distances"] == histogram(io_left, range(16))
        assert told["connected"]
        # I/O nodes 1 (at PE 7) and 3 serve nobody any more; the code has distance 3.
        assert not {1, 3} & {told["servers"][pe] for pe in working}
        assert sum(told["coverage"]) == 127
        assert told["coverage"][0] == 14
        lost = [pe for pe in working if (pe ^ 30).bit_count() == 1]
        (heir,) = {told["servers"][pe] for pe in lost}
        assert (PAPER_IO_NODES[heir] ^ 30).bit_count() == 3
        verdict = told["deadlock"]
        assert verdict["free"]
        assert verdict["channels"] == 2 * len(left) + 2 * len(io_left)
        assert "detours" in verdict["routing"]
        words = " ".join(told["faults"])
        assert all(part in words for part in ("PE 7", "I/O node 3", "PE link 0-1", "I/O link 0-1"))
        # 14 I/O nodes still pass a broadcast on.
        assert told["io_broadcast"]["steps"] >= ceil(log2(14))

    def test_a_pe_cut_off_is_named(self):
        told = cube(3, faults={"links": [[0, 1], [0, 2], [0, 4]]})
        assert not told["connected"]
        assert told["unreachable"] == [0]
        assert told["links"] == 9
        assert told["diameter"] == 3
        assert told["broadcast"]["root"] == 1
        assert any("cut the network apart" in line for line in told["faults"])

    def test_many_faults_in_a_large_cube(self):
        told = cube(16, faults={"pes": [37 * i + 11 for i in range(20)]})
        assert told["connected"]
        assert told["deadlock"]["free"]
        assert (told["diameter"], told["distances"]) == (None, [])
        assert told["deadlock"]["dependencies"] is None
        assert sum(told["coverage"]) == 2**16 - 20


class TestGraphs:
    def test_a_ring_takes_two_layers_and_shows_the_circle_of_one(self):
        told = graph(ring(6))
        assert (told["nodes"], told["links"], told["diameter"]) == (6, 6, 3)
        assert told["distances"] == [6, 12, 12, 6]
        assert told["names"] == list("012345")
        verdict = told["deadlock"]
        assert verdict["free"]
        assert verdict["layers"] == 2
        assert (verdict["channels"], verdict["dependencies"]) == (12, None)
        channels = [ends(channel) for channel in verdict["cycle"]]
        assert len(channels) == 6
        for held, asked in pairwise([*channels, channels[0]]):
            assert held[1] == asked[0]
            assert held[0] != asked[1]

    def test_up_down_routing_is_the_way_out(self):
        other = graph(ring(6))["deadlock"]["alternative"]
        assert other["free"]
        # Nodes 0 to 5 have the levels 0 1 2 3 2 1, so node 3 is the one that no route passes
        # through; only the pair 2 and 4 has to go the long way round, 4 hops instead of 2.
        assert other["hops"] == [6, 12, 10, 6, 2]
        assert sum(other["hops"]) == 36

    def test_short_rings_and_trees_are_free_in_one_layer(self):
        for edges in (ring(4), [(node, (node - 1) // 2) for node in range(1, 15)]):
            verdict = graph(edges)["deadlock"]
            assert (verdict["free"], verdict["layers"], verdict["cycle"]) == (True, 1, [])
            assert verdict["alternative"] is None

    def test_a_mesh_in_a_list_is_an_irregular_graph(self):
        mesh = [(8 * i + j, 8 * i + j + 1) for i in range(8) for j in range(7)]
        mesh += [(8 * i + j, 8 * i + j + 8) for i in range(7) for j in range(8)]
        told = graph(mesh)
        assert told["deadlock"]["free"]
        assert told["deadlock"]["layers"] == 2
        assert told["diameter"] == 14
        assert told["distances"] == histogram(mesh, range(64))

    def test_graphml_and_names(self):
        text = """<graphml><graph edgedefault="undirected">
            <node id="hub"/><node id="a"/><node id="b"/><node id="c"/>
            <edge source="hub" target="a"/><edge source="hub" target="b"/>
            <edge source="hub" target="c"/></graph></graphml>"""
        told = ask(_core.topology, kind="graph", format="graphml", text=text)
        assert told["names"] == ["hub", "a", "b", "c"]
        assert told["io_nodes"] == [0]
        assert told["coverage"] == [1, 3]
        assert told["broadcast"] is None
        named = {"format": "graphml", "text": text}
        placed = ask(_core.place, graph=named, method="list", pes=["a", 2])
        assert placed["io_nodes"] == [1, 2]

    def test_parts_without_a_path(self):
        told = graph("a b\nb c\nd e\n")
        assert not told["connected"]
        assert told["unreachable"] == [3, 4]
        assert told["io_nodes"] == [1, 3]
        verdict = told["deadlock"]
        assert (verdict["channels"], verdict["layers"]) == (6, 1)
        # A ring of six beside a pair: each part counts.
        both = graph([*ring(6), (6, 7)])["deadlock"]
        assert (both["channels"], both["layers"]) == (14, 2)
        assert both["alternative"]["hops"] == [8, 14, 10, 6, 2]

    def test_an_io_network_if_asked_for(self):
        assert graph(ring(9))["io_edges"] == []
        told = graph(ring(9), io_network=True)
        assert told["io_edges"] == [[0, 1], [0, 2]]

    def test_large_graphs_still_get_a_routing(self):
        side = 160
        mesh = [(side * i + j, side * i + j + 1) for i in range(side) for j in range(side - 1)]
        mesh += [(side * i + j, side * i + j + side) for i in range(side - 1) for j in range(side)]
        told = graph(mesh, placement={"method": "stride", "count": 100})
        assert told["connected"]
        assert (told["diameter"], told["distances"], told["edges"]) == (None, [], [])
        assert told["deadlock"]["free"]
        assert "up*/down*" in told["deadlock"]["routing"]


class TestPlacements:
    def test_the_code_of_the_7_cube_is_perfect(self):
        for method in ("hamming", "combined", "dominating"):
            told = ask(_core.place, dimension=7, method=method)
            assert told["io_nodes"] == PAPER_IO_NODES
            assert told["coverage"] == [16, 112]
            assert told["mean_distance"] == pytest.approx(112 / 128)
            assert told["pes_per_io_node"] == [8, 8]
            # 128 PEs, 8 in reach of each I/O node.
            assert told["lower_bound"] == told["fewest_known"] == 128 // 8
            assert (told["dominating"], told["perfect"], told["optimal"]) == (True, True, True)

    def test_combined_cubes_are_as_printed_and_not_always_the_fewest(self):
        four = ask(_core.place, dimension=4)
        assert four["io_nodes"] == [0, 7, 9, 14]
        assert four["optimal"] is True
        assert not four["perfect"]
        five = ask(_core.place, dimension=5)
        assert len(five["io_nodes"]) == 8
        # K(5, 1) = 7 (covering codes of radius 1).
        assert (five["fewest_known"], five["lower_bound"]) == (7, 7)
        assert five["optimal"] is False

    def test_dominating_sets(self):
        told = ask(_core.place, dimension=5, method="dominating")
        assert told["optimal"] is True
        reach = {pe ^ flip for pe in told["io_nodes"] for flip in (0, 1, 2, 4, 8, 16)}
        assert reach == set(range(32))
        for count in range(3, 12):
            file = {"format": "edge-list", "text": edge_list(ring(count))}
            told = ask(_core.place, graph=file)
            assert len(told["io_nodes"]) == ceil(count / 3)
            assert told["optimal"] is True

    def test_stride_leaves_pes_further_away(self):
        told = ask(_core.place, dimension=6, method="stride", count=8)
        assert told["io_nodes"] == list(range(0, 64, 8))
        # A PE is as far as its low three bits say.
        assert told["coverage"] == [8 * comb(3, hops) for hops in range(4)]
        assert (told["dominating"], told["optimal"]) == (False, False)
        clustered = ask(_core.place, dimension=6, method="clustered", count=8)
        assert clustered["io_nodes"] == list(range(8))

    def test_a_scenario_can_use_a_dominating_set(self):
        text = (
            'version = 1\nname = "x"\n[machine]\nkind = "hypercube"\ndimension = 5\n'
            'placement = "dominating"\nlanes.io_link = 1\n[workload]\nrate = "1 /ms"\n'
        )
        (machine,) = json.loads(_core.check(text, "x.toml", []))["machines"]
        assert machine["io_nodes"] == ask(_core.place, dimension=5, method="dominating")["io_nodes"]


class TestBalance:
    def test_sorting_on_the_paper_s_machine(self):
        told = ask(_core.balance, application="sorting", pes=128)
        assert told["factor"] == told["simple_factor"] == pytest.approx(128 / log2(128))
        assert told["io_nodes"] == ceil(128 / log2(128))
        assert told["pes_per_io_node"] == pytest.approx(128 / told["io_nodes"])
        assert told["hamming"] == {"io_nodes": 16, "pes_per_io_node": 8, "perfect": True}
        assert told["simple_law"] == "N / log N"
        assert told["compute_mips"] is None
        assert told["io_bandwidth_mb_per_s"] is None

    def test_the_memory_counts_if_it_is_given(self):
        words = 8e6 / 8
        factor = 128 * log2(words) / (log2(128) + log2(words))
        told = ask(
            _core.balance,
            application="sorting",
            pes=128,
            memory="8 MB",
            compute=20.0,
            io_bandwidth="5 MB/s",
        )
        assert told["memory_words"] == words
        assert told["factor"] == pytest.approx(factor)
        assert told["law"] == "N log M / (log N + log M)"
        assert told["io_nodes"] == ceil(factor)
        assert told["simple_factor"] == pytest.approx(128 / 7)
        assert told["io_bandwidth_mb_per_s"] == pytest.approx(5 * factor)
        assert told["compute_mips"] == 128 * 20
        assert told["instructions_per_byte_pe"] == pytest.approx(20 / 5)
        small = ask(_core.balance, application="sorting", pes=128, memory="8 MB", word="4 B")
        assert small["memory_words"] == 2 * words

    @pytest.mark.parametrize(
        ("application", "expected"),
        [
            ({"application": "matrix-product"}, 8),
            ({"application": "fft"}, 64 / 6),
            ({"application": "grid", "grid_dimensions": 2}, 8),
            ({"application": "grid", "grid_dimensions": 3}, 16),
            ({"application": "io-bound"}, 64),
            ({"application": "search"}, 64 * 64 / 6),
        ],
    )
    def test_other_applications(self, application, expected):
        told = ask(_core.balance, pes=64, **application)
        assert told["simple_factor"] == pytest.approx(expected)
        assert told["source"]

    def test_faster_io_nodes_are_fewer(self):
        told = ask(
            _core.balance,
            application="matrix-product",
            pes=64,
            io_bandwidth="2 MB/s",
            io_node_bandwidth="8 MB/s",
        )
        # sqrt(64) * 2 MB/s from nodes of 8 MB/s.
        assert told["io_nodes"] == 2


FILE = {"format": "edge-list", "text": "a b\nc d\n"}


@pytest.mark.parametrize(
    ("function", "spec", "words"),
    [
        ("topology", {"kind": "ring"}, ["kind", "hypercube", "graph"]),
        ("topology", {"kind": "hypercube"}, ["dimension", "1 to 20"]),
        ("topology", {"kind": "hypercube", "dimension": 21}, ["dimension", "1 to 20", "21"]),
        ("topology", {"kind": "hypercube", "dimension": "7"}, ["dimension", "whole number"]),
        ("topology", {"kind": "hypercube", "dimension": -7}, ["dimension", "-7", "whole number"]),
        ("topology", {"kind": "hypercube", "dimension": 3, "text": ""}, ["text", "leave it out"]),
        ("topology", {"kind": "hypercube", "dimension": 3, "lanes": 1}, ["lanes", "io_network"]),
        (
            "topology",
            {"kind": "hypercube", "dimension": 3, "placement": {"method": "stride"}},
            ["placement.count", "missing"],
        ),
        (
            "topology",
            {"kind": "hypercube", "dimension": 3, "placement": {"method": "list", "pes": [8]}},
            ["placement.pes", "PE 8", "0 to 7"],
        ),
        (
            "topology",
            {"kind": "hypercube", "dimension": 3, "placement": "combined"},
            ["placement", "an object with a method"],
        ),
        (
            "topology",
            {"kind": "hypercube", "dimension": 3, "faults": {"pes": [8]}},
            ["faults.pes", "8", "0 to 7"],
        ),
        (
            "topology",
            {"kind": "hypercube", "dimension": 3, "faults": {"links": [[0, 3]]}},
            ["faults.links", "0-3", "not neighbours"],
        ),
        (
            "topology",
            {"kind": "hypercube", "dimension": 3, "faults": {"links": [[0, 1], [0, 1, 2]]}},
            ["faults.links[1]", "two ends"],
        ),
        (
            "topology",
            {"kind": "hypercube", "dimension": 3, "faults": {"io_nodes": [2]}},
            ["faults.io_nodes", "2", "0 to 1"],
        ),
        (
            "topology",
            {"kind": "hypercube", "dimension": 3, "faults": {"io_nodes": [0, 1]}},
            ["faults", "all I/O nodes have failed"],
        ),
        (
            "topology",
            {
                "kind": "hypercube",
                "dimension": 3,
                "io_network": False,
                "faults": {"io_links": [[0, 1]]},
            },
            ["faults.io_links", "no I/O network"],
        ),
        ("topology", {"kind": "graph"}, ["format", "graphml or edge-list"]),
        ("topology", {"kind": "graph", "format": "graphml"}, ["text", "missing"]),
        (
            "topology",
            {"kind": "graph", "format": "edge-list", "text": "a b\nb b\n", "file": "net.txt"},
            ["net.txt:2: ", "itself"],
        ),
        (
            "topology",
            {"kind": "graph", "format": "graphml", "text": "a b"},
            ["text: line 1", "graphml"],
        ),
        (
            "topology",
            {"kind": "graph", "format": "edge-list", "text": "# nothing"},
            ["text", "without nodes"],
        ),
        (
            "topology",
            {"kind": "graph", "format": "edge-list", "text": "a b", "faults": {"pes": [0]}},
            ["faults", "only hypercubes"],
        ),
        ("place", {}, ["dimension", "graph"]),
        ("place", {"dimension": 6, "method": "hamming"}, ["method", "combined"]),
        ("place", {"dimension": 3, "method": "stride", "count": 9}, ["count", "9", "8 PEs"]),
        ("place", {"dimension": 3, "count": 2}, ["count", "leave it out"]),
        ("place", {"dimension": 3, "method": "list", "pes": ["a"]}, ["pes", '"a"', "number"]),
        ("place", {"graph": FILE, "method": "combined"}, ["method", "dominating"]),
        ("place", {"graph": FILE, "method": "list", "pes": ["a"]}, ["pes", '"c"', "no path"]),
        ("balance", {"application": "sorting"}, ["pes"]),
        ("balance", {"application": "sorting", "pes": 0}, ["pes", "above zero"]),
        ("balance", {"application": "chess", "pes": 8}, ["application", "matrix-product"]),
        ("balance", {"application": "grid", "pes": 8}, ["grid_dimensions", "missing"]),
        ("balance", {"application": "sorting", "pes": 8, "memory": "8"}, ["memory", "unit"]),
        ("balance", {"application": "sorting", "pes": 8, "memory": 8}, ["memory", "8 MB"]),
        ("balance", {"application": "sorting", "pes": 8, "memory": "1 B"}, ["memory", "2 or more"]),
        ("balance", {"application": "sorting", "pes": 8, "compute": -1}, ["compute", "above zero"]),
        (
            "balance",
            {"application": "sorting", "pes": 8, "io_bandwidth": "5 MB"},
            ["io_bandwidth", "MB/s"],
        ),
    ],
)
def test_bad_questions_get_one_line(function, spec, words):
    with pytest.raises(ValueError, match=re.escape(words[0])) as refusal:
        ask(getattr(_core, function), **spec)
    message = str(refusal.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"dimension": NaN}'])
def test_what_is_no_object_is_refused(text):
    with pytest.raises(ValueError, match="JSON"):
        _core.place(text)
