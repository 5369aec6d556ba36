"""Who serves whom and which way messages go, done again from the words of docs/machine.md.

Nothing here looks at the code: each function follows one section of the page, and what it gives is
compared with what `isthmus place`, `isthmus topology` and the summary of a run's machine say.
"""

import json
import random
from itertools import pairwise

import pytest

from isthmus import Faults, HotSpot, Hypercube, Placement, Workload, _core, simulate


def hops(a, b):
    return (a ^ b).bit_count()


def codes(dimension):
    """Section "The codes": the PEs with an I/O node, and the number of the one that serves each."""
    m = max(m for m in range(1, 6) if 2**m - 1 <= dimension)
    n = 2**m - 1

    def syndrome(pe):
        s = 0
        for bit in range(dimension):
            if pe >> bit & 1:
                s ^= bit % n + 1
        return s

    carriers = [pe for pe in range(2**dimension) if syndrome(pe) == 0]
    number = {pe: i for i, pe in enumerate(carriers)}

    def server(pe):
        s = syndrome(pe)
        return number[pe] if s == 0 else number[pe ^ 1 << (s - 1)]

    return carriers, [server(pe) for pe in range(2**dimension)]


def nearest(dimension, carriers):
    """Section "The nearest"."""
    pes = range(2**dimension)
    distance = [min(hops(pe, carrier) for carrier in carriers) for pe in pes]
    server = {carrier: i for i, carrier in enumerate(carriers)}
    serves = [1] * len(carriers)
    order = sorted((pe for pe in pes if distance[pe] > 0), key=lambda pe: (distance[pe], pe))

    def best(pe):
        neighbours = [pe ^ 1 << bit for bit in range(dimension)]
        choices = {server[n] for n in neighbours if distance[n] == distance[pe] - 1}
        return min(choices, key=lambda node: (serves[node], node))

    for pe in order:
        server[pe] = best(pe)
        serves[server[pe]] += 1
    for _ in range(4):
        moved = False
        for pe in order:
            node = best(pe)
            if serves[node] <= serves[server[pe]] - 2:
                serves[server[pe]] -= 1
                serves[node] += 1
                server[pe] = node
                moved = True
        if not moved:
            break
    return [server[pe] for pe in pes]


def placed(dimension, placement):
    """Section "Placement"; the smallest sets are taken as they come."""
    kind, pes = placement["method"], 2**dimension
    if kind in ("combined", "hamming"):
        return codes(dimension)
    if kind == "stride":
        carriers = [i * pes // placement["count"] for i in range(placement["count"])]
    elif kind == "clustered":
        carriers = list(range(placement["count"]))
    else:
        carriers = sorted(placement["pes"])
    if kind == "dominating" and carriers == codes(dimension)[0]:
        return codes(dimension)
    return carriers, nearest(dimension, carriers)


def with_faults(dimension, carriers, servers, dead_pes, dead_io_nodes):
    """Section "Faults": the I/O node that does the work for each PE, none for those that failed."""
    alive = [pe for pe in range(2**dimension) if pe not in dead_pes]
    silent = [i for i, pe in enumerate(carriers) if i in dead_io_nodes or pe in dead_pes]
    working = [i for i in range(len(carriers)) if i not in silent]
    followers = [pe for pe in alive if carriers[servers[pe]] not in dead_pes]
    own = [sum(servers[pe] == i for pe in followers) for i in range(len(carriers))]
    serves, heir = list(own), {}
    for i in silent:
        heir[i] = min(working, key=lambda j: (hops(carriers[i], carriers[j]), serves[j], j))
        serves[heir[i]] += own[i]
    done = [None] * 2**dimension
    for pe in followers:
        done[pe] = heir.get(servers[pe], servers[pe])
    for pe in alive:
        if pe not in followers:
            done[pe] = min(working, key=lambda j: (hops(pe, carriers[j]), serves[j], j))
            serves[done[pe]] += 1
    return done


def route(count, a, b):
    """Section "Paths": the numbers passed from `a` to `b` in the cube of so many I/O nodes."""
    bits = [bit for bit in reversed(range(20)) if (a ^ b) >> bit & 1]
    if bits:
        i = bits[0]
        e = b | (2 ** (i + 1) - 1)
        if b >> i & 1 and e >= count:
            bits = [*bits[1:], i]
    passed = [a]
    for bit in bits:
        passed.append(passed[-1] ^ 1 << bit)
    return passed


def ask(function, **question):
    return json.loads(function(json.dumps(question)))


def shapes():
    """Placements on cubes of 1 to 8 dimensions: every kind, and lists at random."""
    draw = random.Random(15)
    for dimension in range(1, 9):
        pes = 2**dimension
        yield dimension, {"method": "combined"}
        counts = sorted({1, 2, pes, *(draw.randint(1, pes) for _ in range(6))})
        for count in counts:
            yield dimension, {"method": "stride", "count": count}
            yield dimension, {"method": "clustered", "count": count}
        for _ in range(10):
            some = draw.sample(range(pes), draw.randint(1, min(pes, 24)))
            yield dimension, {"method": "list", "pes": some}
    for dimension in (1, 3, 7):
        yield dimension, {"method": "hamming"}


def test_placements_can_be_done_again_from_the_page():
    moved = count = 0
    for dimension, placement in shapes():
        # `place` gives the same, after a search for smaller sets.
        answer = ask(_core.topology, kind="hypercube", dimension=dimension, placement=placement)
        carriers, servers = placed(dimension, placement)
        assert answer["io_nodes"] == carriers, (dimension, placement)
        assert answer["servers"] == servers, (dimension, placement)
        # Where taking the lowest of the nearest would do, nothing of the rule is tested.
        lowest = [
            min(carriers, key=lambda io, pe=pe: (hops(pe, io), io)) for pe in range(len(servers))
        ]
        moved += [carriers[i] for i in servers] != lowest
        count += 1
    print(f"{count} placements, {moved} of them decided by the rule for ties")
    assert count > 180 and moved > 60


@pytest.mark.parametrize("dimension", range(1, 8))
def test_smallest_sets_serve_as_the_page_says(dimension):
    answer = ask(_core.place, dimension=dimension, method="dominating")
    placement = {"method": "dominating", "pes": answer["io_nodes"]}
    assert answer["servers"] == placed(dimension, placement)[1]


def test_who_stands_in_can_be_done_again_from_the_page():
    draw = random.Random(51)
    ran = lost = 0
    for dimension, placement in shapes():
        carriers, servers = placed(dimension, placement)
        pes = 2**dimension
        dead_pes = draw.sample(range(pes), min(draw.randint(0, 3), max(0, pes - 2)))
        if draw.random() < 0.7:
            dead_pes = sorted({*dead_pes, draw.choice(carriers)})
        dead_io = draw.sample(range(len(carriers)), draw.randint(0, min(3, len(carriers) - 1)))
        gone = {*dead_io, *(i for i, pe in enumerate(carriers) if pe in dead_pes)}
        if len(gone) == len(carriers) or pes - len(dead_pes) < 2 or not (dead_pes or dead_io):
            continue
        faults = {"pes": dead_pes, "io_nodes": dead_io}
        answer = ask(
            _core.topology,
            kind="hypercube",
            dimension=dimension,
            placement=placement,
            faults=faults,
        )
        if any("cannot run" in line for line in answer["faults"]):
            continue
        expected = with_faults(dimension, carriers, servers, dead_pes, dead_io)
        assert answer["servers"] == expected, (dimension, placement, faults)
        ran += 1
        lost += any(carriers[i] in dead_pes for i in servers)
    print(f"{ran} machines with faults, {lost} of them with an I/O node whose PE has failed")
    assert ran > 120 and lost > 80


def test_routes_of_incomplete_cubes_can_be_done_again_from_the_page():
    """The pairs of links that some route crosses one after the other, counted by `topology`."""

    def waits(count, of):
        nodes = range(count)
        return len(
            {
                (p, q, r)
                for a in nodes
                for b in nodes
                for (p, q), (_, r) in pairwise(pairwise(of(a, b)))
            }
        )

    dimension = 6
    pes = waits(2**dimension, lambda a, b: route(2**dimension, a, b))
    for count in range(1, 65):
        answer = ask(
            _core.topology,
            kind="hypercube",
            dimension=dimension,
            placement={"method": "stride", "count": count},
        )
        expected = pes + waits(count, lambda a, b, c=count: route(c, a, b))
        assert answer["deadlock"]["dependencies"] == expected, count
        for a in range(count):
            for b in range(count):
                assert all(node < count for node in route(count, a, b))
                assert len(route(count, a, b)) == hops(a, b) + 1


@pytest.mark.parametrize(("count", "target"), [(5, 4), (7, 6), (11, 9), (13, 12), (13, 2)])
def test_messages_take_the_routes_of_the_page(count, target):
    """All blocks lie at one I/O node: requests go there from each other one, replies back."""
    machine = Hypercube(
        dimension=5, io_link_lanes=1, placement=Placement(kind="stride", count=count)
    )
    work = Workload(
        rate="0.02 /ms", io_probability=1.0, hot_io_node=HotSpot(target=target, probability=1.0)
    )
    run = simulate(machine, work, precision="20%", quick=True, seed=1).run
    carriers, servers = placed(5, {"method": "stride", "count": count})
    assert run.machines[0].io_nodes == carriers
    assert run.machines[0].servers == servers
    links = [c for c in run.points[0].channels if c.kind == "io_link" and c.from_ is not None]
    crossed = {(c.from_, c.to) for c in links if c.utilisation > 0}
    others = [node for node in range(count) if node != target]
    expected = {
        link
        for node in others
        for link in (*pairwise(route(count, node, target)), *pairwise(route(count, target, node)))
    }
    assert crossed == expected


def test_the_summary_of_a_machine_with_faults_says_who_does_the_work():
    machine = Hypercube(dimension=5, io_link_lanes=1, faults=Faults(pes=[0, 6], io_nodes=[3]))
    work = Workload(rate="0.1 /ms")
    run = simulate(machine, work, precision="20%", quick=True, seed=1).run
    carriers, servers = codes(5)
    assert run.machines[0].servers == with_faults(5, carriers, servers, {0, 6}, {3})
