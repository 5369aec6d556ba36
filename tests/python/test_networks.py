"""Topology, placement and balance on the command line."""

import json
import math
import re

import pytest

import isthmus as package
from isthmus.arguments import APPLICATIONS
from isthmus.cli import topology
from test_cli import one_line

EDGES = "a b\nb c\nc d\nd e\ne a\n"


def told(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_topology_of_the_paper_s_cube(isthmus):
    answer = told(isthmus("topology", "--dimension", 7, "--json"))
    assert (answer["nodes"], answer["links"], answer["diameter"]) == (128, 448, 7)
    # Ordered pairs at distance k: 2^7 times "7 choose k".
    assert answer["distances"] == [128 * c for c in (1, 7, 21, 35, 35, 21, 7, 1)]
    # A perfect code: 16 PEs with an I/O node, the other 112 one hop away.
    assert answer["coverage"] == [16, 112]
    assert len(answer["io_edges"]) == 32
    assert answer["deadlock"]["free"]
    assert answer["broadcast"]["steps"] == 7
    text = isthmus("topology", "--dimension", 7).stdout
    assert "128 nodes, 448 links, diameter 7" in text
    assert "16 with an I/O node, 112 at 1 hop" in text


def test_topology_is_drawn(isthmus, tmp_path):
    done = isthmus("topology", "--dimension", 4, "--draw", "cube.svg")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "cube.svg").read_text().count("<path") > 16
    one_line(isthmus("topology", "--dimension", 4, "--draw", "cube.pdf"), ".png or .svg")
    one_line(isthmus("topology", "--dimension", 9, "--draw", "x.png"), "too many to draw")


def test_any_graph_is_brought_in(isthmus, tmp_path):
    (tmp_path / "ring.txt").write_text(EDGES)
    answer = told(isthmus("topology", "--graph", "ring.txt", "--json"))
    assert (answer["nodes"], answer["links"], answer["diameter"]) == (5, 5, 2)
    # Two nodes dominate a ring of five.
    assert len(answer["io_nodes"]) == 2
    done = isthmus("place", "--graph", "ring.txt", "--draw", "ring.png")
    assert done.returncode == 0, done.stderr
    assert "no placement needs fewer" in done.stdout
    assert (tmp_path / "ring.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("dimension", "method", "count"), [(3, "hamming", 2), (7, "combined", 16), (4, "dominating", 4)]
)
def test_placements(isthmus, dimension, method, count):
    answer = told(isthmus("place", "-d", dimension, "--method", method, "--json"))
    assert len(answer["io_nodes"]) == count
    assert answer["dominating"]
    assert answer["optimal"] is True


def test_placements_asked_for_in_detail(isthmus):
    stride = told(isthmus("place", "-d", 4, "--method", "stride", "--count", 4, "--json"))
    assert len(stride["io_nodes"]) == 4
    chosen = told(isthmus("place", "-d", 3, "--pes", "0,7", "--json"))
    assert chosen["io_nodes"] == [0, 7]
    assert chosen["coverage"] == [2, 6]


def test_placements_that_make_no_sense(isthmus):
    one_line(isthmus("place"), "give either --dimension N", "--graph FILE")
    one_line(isthmus("place", "-d", 21), "21")
    one_line(isthmus("place", "-d", 3, "--pes", "0,9"), "9")
    one_line(isthmus("place", "-d", 3, "--pes", "0;9"), "not a list of numbers such as 0,7,9")
    one_line(isthmus("place", "-d", 4, "--method", "hamming"), "combined")
    one_line(isthmus("topology", "--graph", "none.graphml"), "none.graphml: cannot be read")


def test_balance(isthmus):
    # Section 3.1: N / log N for sorting, sqrt(N) for the matrix product.
    answer = told(isthmus("balance", "sorting", "--pes", 128, "--json"))
    assert answer["simple_factor"] == pytest.approx(128 / 7)
    answer = told(isthmus("balance", "matrix-product", "--pes", 64, "--json"))
    assert answer["simple_factor"] == pytest.approx(8.0)
    one_line(isthmus("balance", "sorting", "--pes", 128, "--memory", "8"), "memory")


def test_balance_without_a_memory_gives_the_paper_s_number_of_io_nodes(isthmus):
    # N / log N = 128 / 7 = 18.3, so 19 I/O nodes; the Hamming code of length 7 has 2^4 words.
    answer = told(isthmus("balance", "sorting", "--pes", 128, "--json"))
    assert answer["memory_words"] is None
    assert answer["io_nodes"] == answer["simple_io_nodes"] == 19
    assert answer["hamming"] == {"io_nodes": 16, "pes_per_io_node": 8, "perfect": True}
    text = isthmus("balance", "sorting", "--pes", 128).stdout
    assert "18.3 times that of one PE: N / log N" in text
    assert "19 I/O nodes" in text
    assert "Hamming code, perfect: 16 I/O nodes, each for 8 PEs" in text
    assert "law with memory" not in text


def test_balance_with_a_memory_tells_both_laws(isthmus):
    # 8 MB are 10^6 words of 8 B: N log M / (log N + log M) with base-2 logarithms.
    log_m = math.log2(8e6 / 8)
    words = ("balance", "sorting", "--pes", 128, "--memory", "8 MB")
    answer = told(isthmus(*words, "--json"))
    assert answer["factor"] == pytest.approx(128 * log_m / (7 + log_m))
    assert answer["simple_io_nodes"] == 19
    text = isthmus(*words).stdout
    assert text.index("simple law") < text.index("19 I/O nodes") < text.index("law with memory")
    assert text.index("law with memory") < text.index(f"{answer['io_nodes']} I/O nodes")
    smaller = told(isthmus(*words, "--word", "80 B", "--json"))
    assert smaller["memory_words"] == pytest.approx(answer["memory_words"] / 10)
    same = isthmus("balance", "matrix-product", "--pes", 64, "--memory", "8 MB").stdout
    assert "the same; M = 1,000,000 words a PE makes no difference" in same


@pytest.mark.parametrize(
    ("words", "factor"),
    [
        (["sorting"], 64 / 6),
        (["fft"], 64 / 6),
        (["matrix-product"], 8.0),
        (["grid", "--grid-dimensions", 3], 16.0),
        (["io-bound"], 64.0),
        (["search"], 64**2 / 6),
    ],
)
def test_balance_of_every_application(isthmus, words, factor):
    answer = told(isthmus("balance", *words, "--pes", 64, "--json"))
    assert answer["factor"] == pytest.approx(factor)
    assert isthmus("balance", *words, "--pes", 64).returncode == 0


def test_balance_in_figures(isthmus):
    words = ("balance", "matrix-product", "--pes", 64, "--mips", 20, "--io-bandwidth", "5 MB/s")
    # 8 times 5 MB/s, over I/O nodes of 20 MB/s.
    answer = told(isthmus(*words, "--io-node-bandwidth", "20 MB/s", "--json"))
    assert (answer["io_bandwidth_mb_per_s"], answer["io_nodes"]) == (40.0, 2)
    text = isthmus(*words).stdout
    assert "40.0 MB/s in all" in text
    assert "1.28 GIPS in all" in text


def test_balance_that_makes_no_sense(isthmus):
    one_line(isthmus("balance", "grid", "--pes", 64), "grid_dimensions")
    one_line(isthmus("balance", "fft", "--pes", 64, "--grid-dimensions", 2), "grid_dimensions")
    one_line(isthmus("balance", "fft", "--pes", 64, "--word", "4 B"), "--memory")
    one_line(isthmus("balance", "sort", "--pes", 64), "'sort'", "sorting")


def test_what_the_core_does_not_compute_for_large_networks_is_said(isthmus):
    done = isthmus("topology", "-d", 14, "--failed-pes", 3)
    assert done.returncode == 0, done.stderr
    assert "diameter not computed" in done.stdout
    assert "not computed for a network of this size" in done.stdout


@pytest.mark.parametrize("missing", ["dependencies", "broadcast", "distances", "diameter"])
def test_every_value_that_may_be_null_may_be_printed(isthmus, missing, capsys):
    answer = told(isthmus("topology", "-d", 4, "--json"))
    holder = answer["deadlock"] if missing == "dependencies" else answer
    holder[missing] = None
    topology._print(answer, io_network=True)
    out = capsys.readouterr().out
    assert "16 nodes, 32 links" in out
    assert ("dependencies" in out) == (missing != "dependencies")
    assert ("broadcast" in out) == (missing != "broadcast")
    assert ("not computed" in out) == (missing in ("distances", "diameter"))


def test_graphs_have_an_io_network_only_if_asked_for(isthmus, tmp_path):
    (tmp_path / "ring.txt").write_text(EDGES)
    ring = ("topology", "--graph", "ring.txt")
    assert told(isthmus(*ring, "--json"))["io_edges"] == []
    assert "I/O network" not in isthmus(*ring).stdout
    assert told(isthmus(*ring, "--io-network", "--json"))["io_edges"] == [[0, 1]]
    assert "I/O network" in isthmus(*ring, "--io-network").stdout
    cube = ("topology", "-d", 3)
    assert told(isthmus(*cube, "--json"))["io_edges"] == [[0, 1]]
    assert told(isthmus(*cube, "--no-io-network", "--json"))["io_edges"] == []


def test_a_graph_that_takes_layers_is_told_why_and_a_routing_without(isthmus, tmp_path):
    (tmp_path / "ring.txt").write_text(EDGES)
    text = isthmus("topology", "--graph", "ring.txt").stdout
    assert re.search(r"deadlock +free in 2 layers of virtual channels \(one of the shortest", text)
    assert re.search(r"in one layer +possible: (\w to \w → ){4}\w to \w\n", text)
    assert re.search(r"instead +free \(up\*/down\*", text)


def ring(nodes, first=0):
    return [(first + node, first + (node + 1) % nodes) for node in range(nodes)]


GRAPHS = {
    "ring": ring(6),
    "six rings": [
        *(cable for first in range(0, 36, 6) for cable in ring(6, first)),
        *((6 * one, 6 * other) for one, other in ring(6)),
    ],
    "square": ring(4),
    "tree": [(node, (node - 1) // 2) for node in range(1, 15)],
    "torus": [
        (5 * x + y, 5 * (x + dx) % 25 + (y + dy) % 5)
        for x in range(5)
        for y in range(5)
        for dx, dy in ((1, 0), (0, 1))
    ],
    "chords": [(at, (at + step) % 60) for at in range(60) for step in (1, 7, 22)],
    "parallel": [*ring(5), *ring(5)],
}


@pytest.mark.parametrize("name", GRAPHS)
def test_topology_and_check_agree_on_the_routes_of_a_graph(tmp_path, name):
    edges = "".join(f"{a} {b}\n" for a, b in GRAPHS[name])
    file = tmp_path / "net.txt"
    file.write_text(edges)
    verdict = package.topology(graph=file)["deadlock"]
    shortest, up_down = (machine_of(edges, routing) for routing in ("minimal", "up-down"))
    assert verdict["free"]
    assert (verdict["routing"], said(verdict)) == (shortest["routing"], shortest["deadlock"])
    # Links of nodes, in both directions, count in a scenario.
    cables = len(set(map(frozenset, GRAPHS[name])))
    assert verdict["channels"] == 2 * cables
    other = verdict["alternative"]
    assert (other is not None) == (verdict["layers"] > 1) == bool(verdict["cycle"])
    if other is not None:
        assert other["routing"] == f"up*/down*: {up_down['routing']}"
        assert said(other) == up_down["deadlock"]


def machine_of(edges, routing):
    """What `isthmus check` says of a network of switches with a node at each."""
    net = package.Graph(graph="edges", edges=edges, routing=routing, virtual_channels=8)
    work = package.Jobs(jobs={"all": package.Job(traffic="uniform", message="4 kB")})
    (machine,) = package.check(net, work)["machines"]
    return machine


def said(verdict):
    layers = verdict.get("layers", 1)
    where = f" in {layers} layers of virtual channels" if layers > 1 else ""
    return f"free of deadlock{where}: {verdict['proof']}"


def test_topology_of_a_fabric(isthmus, tmp_path):
    answer = told(isthmus("topology", "--fabric", "bidirectional-torus", "--size", "4x4", "--json"))
    # Table 7: four times sqrt(N) rings of sqrt(N) nodes.
    assert answer["ring_lengths"] == [[4, 16]]
    assert answer["rings_per_node"] == [4, 4]
    assert answer["links"] == 64
    assert answer["deadlock"]["free"]
    assert sum(answer["distances"]) == pytest.approx(1)
    text = isthmus("topology", "--fabric", "uniform-ring-torus", "--size", "4x4").stdout
    assert "16 nodes, 16 rings of 4 nodes" in text
    assert "wait for one another in a circle" in text


def test_topology_of_a_fabric_with_faults_is_drawn(isthmus, tmp_path):
    words = "--fabric torus --size 3x3 --failed-nodes 4 --failed-links 0-1 --draw torus.svg"
    done = isthmus("topology", *words.split())
    assert done.returncode == 0, done.stderr
    assert "rings out of service  3 of 6 (0, 1, 4)" in done.stdout
    drawn = (tmp_path / "torus.svg").read_text()
    assert "3 x 3 unidirectional torus: 9 nodes, 6 rings of 3 nodes" in drawn


def test_rings_are_given_one_by_one(isthmus, tmp_path):
    done = isthmus("topology", "--fabric", "rings", "--rings", "0,1,2/2,3", "--draw", "r.png")
    assert "1 of 2 nodes, 1 of 3 nodes; each node on 1 to 2; 5 directed links" in done.stdout
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--fabric torus", "--fabric torus: say how large; for example --size 6x6"),
        ("--fabric rings", "--fabric rings: say which; for example --rings 0,1,2/2,3,4"),
        ("--fabric ring --size 1", "--size: a ring of one node; give 2 nodes or more"),
        ("--fabric torus --size 3x3 --failed-nodes 9", "--failed-nodes: node 9 does not exist"),
        ("--fabric torus --size 3x3 --failed-links 0-8", "--failed-links: "),
        ("--fabric rings --rings 0,1/2,3", "--rings: no path from node 0 to node 2"),
        ("--fabric rings --rings 0,x", "'0,x' is not a list of rings such as 0,1,2/2,3,4"),
        ("--fabric torus --size 3x3 --method list", "--method: not with --fabric"),
        ("--dimension 3 --size 3x3", "--size: not with hypercubes and graphs"),
        ("--fabric torus --size 30x30 --draw x.png", "900 nodes are too many to draw one by one"),
    ],
)
def test_what_a_fabric_cannot_be_is_told(isthmus, words, message):
    assert message in one_line(isthmus("topology", *words.split()))


def test_pes_of_a_failed_pe_ask_the_nearest_io_node_each(isthmus):
    """I/O nodes of the 4-cube are at 0, 7, 9 and 14; 9 serves 8, 9, 11 and 13."""
    answer = told(isthmus("topology", "-d", 4, "--failed-pes", 9, "--json"))
    assert answer["io_nodes"] == [0, 7, 9, 14]
    working = [0, 7, 14]
    for pe, server in enumerate(answer["servers"]):
        if pe == 9:
            assert server is None
            continue
        hops = (pe ^ answer["io_nodes"][server]).bit_count()
        assert hops == min((pe ^ io).bit_count() for io in working)
    assert sum(answer["coverage"]) == 15
    assert answer["faults"] == [
        "PE 9 has failed, with its router and I/O node 2; each of the PEs that it served asks the "
        "one nearest to it, and its blocks are reached through I/O node 0"
    ]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: package.place("7"), "dimension: '7' is impossible; give a whole number"),
        (lambda: package.place(3.0), "dimension: 3.0 is impossible; give a whole number"),
        (lambda: package.place(70), "dimension: a hypercube has 1 to 20 dimensions, not 70"),
        (
            lambda: package.topology(package.Graph(graph="ring", switches=5)),
            "dimension: Graph",
        ),
        (lambda: package.balance("sort", 128), "no application 'sort'; did you mean 'sorting'?"),
        (lambda: package.balance("sorting", "128"), "pes: '128' is impossible"),
        (
            lambda: package.check(
                package.Graph(graph="ring", switches=4),
                package.Jobs(jobs={"größe": package.Job(traffic="uniform", message="4 kB")}),
            ),
            'workload.jobs: "größe" is not a name',
        ),
    ],
)
def test_arguments_of_another_kind_are_named(call, said):
    with pytest.raises(package.IsthmusError) as error:
        call()
    assert said in str(error.value), error.value


def test_balance_knows_the_applications_of_the_core():
    for application in APPLICATIONS:
        more = {"grid_dimensions": 2} if application == "grid" else {}
        assert package.balance(application, 64, **more)["io_nodes"]
