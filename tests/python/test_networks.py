"""Topology, placement and balance on the command line."""

import json

import pytest

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
    assert "I/O nodes" in isthmus("balance", "sorting", "--pes", 128).stdout
    one_line(isthmus("balance", "sorting", "--pes", 128, "--memory", "8"), "memory")
