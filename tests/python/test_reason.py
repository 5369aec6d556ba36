"""What fills first, in words, tables and pictures; titles after overrides."""

import json
from dataclasses import replace

import pytest

from fixtures import rings, synthetic, trees
from isthmus import plots
from isthmus.answer.reason import duration, reason, reasons_sentence, share
from isthmus.plots import channels
from isthmus.report import answer_html, render
from isthmus.results import Results
from isthmus.results.series import view


def results(data):
    return Results.from_json(json.dumps(data))


def disks(data):
    """Disks that are full where b = 0 is saturated."""
    for point in data["points"]:
        if point["machine"] == 0:
            for number, (mean, most) in [
                (None, (0.96, 0.98)),
                (3, (0.98, None)),
                (5, (0.94, None)),
            ]:
                point["channels"].append(
                    {
                        "kind": "disk",
                        "from": number,
                        "to": None,
                        "utilisation": mean,
                        "highest": most,
                        "busy": mean,
                        "busiest": most,
                        "held_us": 12_900.0,
                        "analytic": None,
                    }
                )
            point["bottleneck"] = {
                "kind": "disk",
                "from": 3,
                "to": None,
                "busy": 0.98,
                "held_us": 12_900.0,
                "holder": "request",
                "server": None,
            }
    return data


@pytest.fixture(scope="module")
def loaded():
    return results(disks(synthetic.result()))


@pytest.mark.parametrize(
    ("us", "text"),
    [(12_900, "12.9 ms"), (43.2, "43.2 µs"), (0.084, "84.0 ns"), (2.5e6, "2.50 s")],
)
def test_durations(us, text):
    assert duration(us) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.98, "98%"), (0.9951, "99.5%"), (0.99999, "99.9%"), (1.0, "100%")]
)
def test_what_is_not_full_is_not_called_so(value, text):
    assert share(value) == text


def test_the_answer_says_what_fills_first_and_for_how_long_it_is_held(loaded):
    first = loaded.answer.series[0].reason
    # Sixteen disks of which the mean is nearly as full as the fullest are told together.
    assert first.words == "the disks fill first (98% busy, each held 12.9 ms per request)"
    assert first.short == "disks 98%"
    # It carries every load: at the highest.
    assert first.point.load == max(p.load for p in loaded.answer.series[0].series.points)


def test_the_reason_is_that_of_the_lowest_load_that_is_too_much():
    several = 0
    for each in results(rings.result()).answer.series:
        verdicts = [(p.load, p.verdict.verdict) for p in each.series.points]
        lost = [load for load, verdict in verdicts if verdict == "saturated"]
        several += len(lost) > 1
        assert each.reason.point.load == min(lost)
    assert several


def test_one_full_part_of_many_is_named():
    data = disks(synthetic.result())
    for point in data["points"]:
        for use in point["channels"]:
            if use["kind"] == "disk" and use["from"] is None:
                use["busy"] = 0.4
    first = results(data).answer.series[0].reason
    assert first.words == (
        "the disk of I/O node 3 fills first (98% busy, held 12.9 ms per request)"
    )


def test_nothing_is_called_full_that_is_not(loaded):
    # b = 3 is stable at every load: its busiest part is far from full.
    last = loaded.answer.series[3].reason
    assert not last.full
    assert last.words.startswith("no part is full; the links of the I/O network are busiest (")


def test_variants_without_a_full_part_are_told_together(loaded):
    reasons = [(s.series.label, s.reason) for s in loaded.answer.series]
    disks_full = reasons[0]
    others = [(label, each) for label, each in reasons if not each.full]
    assert len(others) > 1
    told = reasons_sentence([disks_full, *others])
    assert told.count("no part is full") == 1
    assert told.startswith(f"with {disks_full[0]} the disks fill first (98% busy")
    assert all(label.rpartition(" ")[2] in told for label, _ in others)
    # Where nothing is full at all, no variant is named.
    assert reasons_sentence(others).startswith("in every variant no part is full; the links of ")
    others[0] = (others[0][0], replace(others[0][1], part="the disks"))
    assert reasons_sentence(others).startswith("in no variant a part is full (the busiest are ")


def test_servers_and_rings_have_their_own_names():
    jobs = results(trees.alone(trees.result()))
    told = reason(view(jobs.run), jobs.answer.series[0].series)
    assert told.words == (
        "the link into I/O server 7 fills first (98% busy, held 1.10 µs per packet)"
    )
    tori = results(rings.result())
    assert all("ring" in s.reason.part for s in tori.answer.series)


@pytest.mark.parametrize(
    ("busy", "words"),
    [
        (
            1.0,
            "packets wait for space in the buffer behind the link into I/O server 7 "
            "(42% of the bandwidth carried, 42% possible)",
        ),
        (
            0.5,
            "no part is full; the buffer behind the link into I/O server 7 is busiest "
            "(21% of the bandwidth carried, 42% possible)",
        ),
    ],
)
def test_a_link_whose_buffer_is_short_says_what_packets_wait_for(busy, words):
    data = trees.alone(trees.result())
    for point in data["points"]:
        point["bottleneck"] |= {"busy": busy, "let_through": 0.42}
    told = results(data).answer.series[0].reason
    assert told.words == words
    assert told.short == f"buffer behind the link into I/O server 7 {share(busy)}"


def test_first_screens_have_one_headline_and_three_sentences_at_most(loaded):
    for each in (
        loaded,
        results(trees.result()),
        results(trees.alone(trees.result())),
        results(rings.result()),
    ):
        assert 1 <= len(each.answer.sentences) <= 3
        html = render(each)
        first = html[: html.index("<section id=")]
        assert first.count("<li>") == len(each.answer.sentences)
        assert first.count('class="conclusion"') == 1


def test_report_and_table_have_the_reason(loaded):
    html = render(loaded)
    assert "<td>disks 98%</td>" in html
    assert "The disks fill first (98% busy, each held 12.9 ms per request)." in html
    table = loaded.channels
    full = table.filter(table["fills_first"] & (table["kind"] == "disk"))
    assert full.height > 0
    # The kind, and the disk itself.
    assert set(full["from"].to_list()) == {None, 3}
    assert full["busy"].max() <= 1.0
    assert set(full["held [us]"].to_list()) == {12_900.0}


def test_the_picture_of_what_is_busy_ends_at_all_of_the_time_and_has_the_devices(loaded):
    ax = channels.channels(view(loaded.run)).axes[0]
    low, high = ax.get_xlim()
    assert low == 0
    assert 1.0 <= high < 1.05
    assert ax.get_xticks()[-1] == 1.0
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert "disk of an I/O node" in labels
    rings_drawn = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
    assert len(rings_drawn) == len(loaded.answer.series)
    assert all(0 <= x <= 1 for line in ax.lines for x in line.get_xdata())


def test_pictures_of_networks_colour_links_only():
    data = trees.result()
    for point in data["points"]:
        point["channels"].append(
            {
                **point["channels"][0],
                "kind": "interface",
                "utilisation": 0.99,
                "highest": 0.99,
            }
        )
    assert plots.image(plots.draw(results(data).run, "machine"), "svg") == plots.image(
        plots.draw(results(trees.result()).run, "machine"), "svg"
    )


def test_overrides_are_told_beside_the_title():
    data = synthetic.result()
    data["changes"] = [
        {"key": "machine.dimension", "from": "7", "to": "5"},
        {"key": "workload.arrival.burst", "from": "8", "to": None},
    ]
    run = results(data)
    assert run.run.changed == "changed: dimension 7 → 5, arrival.burst 8 → none"
    assert '<p class="changed">changed: dimension 7 → 5' in render(run)
    assert "changed: dimension 7 → 5" in answer_html(run)
    data["changes"] = data["changes"] * 4
    assert results(data).run.changed.endswith(", and 4 more")
    assert 'class="changed"' not in render(results(synthetic.result()))


def test_a_changed_dimension_is_told_by_the_command(isthmus, small, tmp_path):
    out = tmp_path / "out"
    done = isthmus("run", small, "--quick", "--out", out, "machine.dimension=2")
    assert done.returncode == 0, done.stderr
    assert "changed: dimension 3 → 2" in done.stdout
    told = json.loads((out / "result.json").read_text())
    assert told["changes"] == [{"key": "machine.dimension", "from": "3", "to": "2"}]


def test_full_disks_are_found(isthmus, small, tmp_path):
    """Misses that queue for disks of 20 ms: they fill long before any channel."""
    out = tmp_path / "out"
    device = "machine.device"
    overrides = [
        f"{device}.service=queue",
        f"{device}.cache_hit_rate=0.5",
        "sweep.machine.lanes.io_link=[1]",
        'sweep.workload.rate=["4 /ms"]',
        "stop.rule=fixed",
        "stop.messages=20000",
        "stop.warmup=none",
        "stop.replications=2",
    ]
    done = isthmus("run", small, "--out", out, *overrides)
    assert done.returncode == 0, done.stderr
    assert "disks fill first" in done.stdout
    point = json.loads((out / "result.json").read_text())["points"][0]
    assert point["bottleneck"]["kind"] == "disk"
    uses = [u for u in point["channels"] if u["kind"] == "disk"]
    # A row of the kind, one of each of the two I/O nodes; seek 12 ms, half a rotation 8 ms.
    assert len(uses) == 3
    assert 18_000 < uses[0]["held_us"] < 22_000
    assert 0.95 < uses[0]["busy"] <= 1.0
    assert all(u[name] <= 1.0 for u in point["channels"] for name in ("utilisation", "busy"))
