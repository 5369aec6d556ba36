"""What is presented of jobs on fat trees, from a made-up result."""

import json
import math
import re
from collections import Counter

import pytest

import isthmus
from fixtures import trees
from isthmus import plots
from isthmus.answer.lessons import _no_loss, felt_text, percent, slower
from isthmus.machines import FatTreeSummary
from isthmus.report import render
from isthmus.results import Results
from isthmus.results.curves import model_label
from isthmus.results.interference import MARGIN, Change, combined, interference, quotient
from isthmus.results.kinds import KINDS
from isthmus.results.schema import Percentile
from isthmus.results.series import view
from isthmus.wording import measure_label


def results(edit=None):
    data = trees.result()
    if edit:
        edit(data)
    return Results.from_json(json.dumps(trees.replicated(data)))


@pytest.fixture(scope="module")
def jobs():
    return results()


@pytest.fixture(scope="module")
def matrix(jobs):
    return interference(jobs.run)


def words(figure):
    svg = plots.image(figure, "svg").decode()
    return " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def test_trees_have_a_class_of_their_own(jobs):
    (machine,) = jobs.run.machines
    assert isinstance(machine, FatTreeSummary)
    assert machine.title == "2-ary 3-tree: 8 nodes, 12 switches on 3 levels"
    assert dict(machine.facts)["Switches"] == (
        "level 1: 4 with 2 down and 2 up; level 2: 4 with 2 down and 2 up; level 3: 4 with 2 down"
    )
    assert [machine.level(n) for n in (0, 7, 8, 12, 19)] == [0, 0, 1, 2, 3]
    with pytest.raises(ValueError, match="no node and no switch 20"):
        machine.level(20)


def test_made_up_links_are_those_of_the_tree(jobs):
    links = trees.links()
    machine = jobs.run.machines[0]
    assert len(links) == len(set(links)) == machine.links
    for kind, a, b in links:
        up = kind == "inject" or kind.startswith("up")
        assert machine.level(b) - machine.level(a) == (1 if up else -1)


def test_points_tell_jobs_and_servers(jobs):
    point = jobs.run.points[4]
    assert point.active == ("compute", "io")
    assert [job.io for job in point.jobs] == [False, True]
    assert point.servers == [6, 7]
    assert {n.offered for n in point.nodes} == {None}


def test_cells_are_quotients_of_together_and_alone(matrix):
    assert len(matrix.variants) == 4
    assert len(matrix.cells) == 8
    for cell in matrix.cells:
        mapping, servers = cell.variant.at(0), cell.variant.at(2)
        kept = dict(zip(trees.ALONE_MB, trees.KEPT[mapping, servers], strict=True))[cell.job]
        assert cell.accepted.value == pytest.approx(kept)
        # Both values are known to 2%: their quotient to about sqrt(2) times that (Fieller).
        assert cell.accepted.half == pytest.approx(kept * math.sqrt(2) * trees.HALF, rel=1e-3)
        assert cell.mean.value == pytest.approx(1 / kept)
        # The 99th percentile of messages is not resolved, the 90th is.
        assert (cell.percent, cell.tail_of) == (90.0, "messages")
        assert cell.tail.value == pytest.approx(1 / kept)
        assert cell.felt.of == "messages"
        assert cell.felt.mean == cell.mean
        assert cell.felt.tail == cell.tail


def test_packets_tell_the_tail_where_messages_are_too_few():
    def few(data):
        for point in data["points"]:
            for each in point["measures"]:
                if each["name"].endswith(".response"):
                    each["percentiles"] = each["percentiles"][1:]

    cell = interference(results(few).run).cells[-2]
    assert (cell.percent, cell.tail_of) == (99.0, "packets")
    assert cell.tail.value == pytest.approx(1 / 0.85**2)


def test_quotients_without_intervals_or_of_nothing():
    known, unknown = Percentile(50, 2.0, 1.9, 2.1, True), Percentile(50, 4.0, None, None, True)
    assert quotient(known, unknown, 0.95).value == 0.5
    assert quotient(known, unknown, 0.95).half is None
    assert quotient(known, Percentile(50, 0.0, 0.0, 0.0, True), 0.95) is None
    assert not Change(0.5).less
    assert combined([]) is None
    both = combined([Change(0.5, 0.45, 0.55), Change(2.0, 1.9, 2.1)])
    assert both.value == pytest.approx(1.0)
    # Neither has replications: both err as far as they may.
    assert both.low == pytest.approx((0.45 * 1.9) ** 0.5)
    assert both.high == pytest.approx((0.55 * 2.1) ** 0.5)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (Change(0.67, 0.63, 0.71), "−33 ± 4%"),
        (Change(1.012, 1.007, 1.017), "+1.2 ± 0.5%"),
        (Change(0.999, 0.98, 1.018), "0 ± 2%"),
        (Change(1.25), "+25%"),
    ],
)
def test_changes_in_percent(change, text):
    assert percent(change) == text


@pytest.mark.parametrize(
    ("change", "direction"),
    [
        (Change(1.5, 1.06, 1.9), "more"),
        (Change(0.5, 0.1, 0.94), "less"),
        (Change(1.0, 0.96, 1.04), "same"),
        (Change(1.06, 1.03, 1.09), "slightly more"),
        (Change(0.94, 0.91, 0.97), "slightly less"),
        (Change(1.0, 0.94, 1.06), "unknown"),
        (Change(1.0, 0.21, 1.79), "unknown"),
        (Change(1.0), "unknown"),
    ],
)
def test_intervals_decide_the_words(change, direction):
    assert change.direction == direction
    assert (change.more, change.less) == (direction == "more", direction == "less")


def test_a_known_effect_is_not_called_unknown_beside_one_that_is():
    changes = [Change(1.024, 1.014, 1.034), Change(1.03, 0.76, 1.30)]
    said = "as long as alone, unknown in 1 of 2 cases (+2 to +3%, ± 27% at most)"
    assert _no_loss(changes) == said


def test_wide_intervals_read_unknown_and_long_times_as_factors():
    assert slower(Change(1.0, 0.21, 1.79)) == "unknown (0 ± 79%)"
    assert slower(Change(4.1, 3.8, 4.4)) == "× 4.1 ± 0.3"
    assert slower(Change(1.33, 1.29, 1.37)) == "+33 ± 4%"


def test_an_open_loop_that_accepts_all_it_is_offered_still_is_slowed_down():
    """Four times the latency beside the same accepted bandwidth: it does not lose nothing."""

    def slow(data):
        for point in data["points"]:
            together = "+" in point["values"][1]["text"]
            for each in point["measures"]:
                job, _, quantity = each["name"].rpartition(".")
                if job == "io":
                    factor = 4.0 if together and quantity != "accepted" else 1.0
                    if quantity == "accepted":
                        each.update(mean=50.0, low=49.9, high=50.1)
                    for of in [each, *each["percentiles"]]:
                        for end in ("mean", "value", "low", "high"):
                            if end in of:
                                of[end] *= factor

    said = results(slow).answer.lessons
    assert said.conclusion.startswith("beside compute, the messages of io take ")
    assert "times as long" in said.conclusion
    assert "nothing" not in said.conclusion
    assert all(c.accepted.direction == "same" for c in said.matrix.cells if c.job == "io")


def test_phases_are_what_is_felt_where_there_are_any():
    def phased(data):
        for point in data["points"]:
            together = "+" in point["values"][1]["text"]
            if "compute" in point["values"][1]["text"]:
                percentiles = [trees.percentile(99.0, 9000.0 * (3.0 if together else 1.0))]
                mean = 5000.0 * (2.5 if together else 1.0)
                point["measures"].append(
                    trees.measure("compute.phase", "us", mean, percentiles=percentiles)
                )

    said = results(phased).answer.lessons
    (first,) = {c.felt.of for c in said.matrix.cells if c.job == "compute"}
    assert first == "phases"
    assert said.conclusion.startswith(
        "beside io, the phases of compute take 2.5 ± 0.1 times as long with "
    )
    assert "the 99th percentile 3.0 ± 0.1 times as long" in said.conclusion
    alone = results(lambda data: (phased(data), trees.alone(data, "compute")))
    assert alone.answer.measures[0] == "compute.phase"


def test_messages_that_pile_up_are_told_by_their_data():
    """Times of a saturated job only tell how long was measured."""

    def piled(data):
        for point in data["points"]:
            if "+" in point["values"][1]["text"]:
                point["verdict"]["verdict"] = "saturated"

    said = results(piled).answer.lessons
    # The verdict is that of io, the last job of each point: KEPT leaves it 0.8 of its data.
    assert said.conclusion.startswith(
        "beside compute, messages of io pile up with shared mapping and clustered servers: "
        "its data take 25 ± 4% longer"
    )
    cell = next(c for c in said.matrix.cells if c.felt.piles_up and c.accepted.value < 0.85)
    assert felt_text(cell.felt) == "piles up (+25 ± 4%)"

    def unknown_alone(data):
        piled(data)
        for point in data["points"]:
            if "+" not in point["values"][1]["text"]:
                point["verdict"]["verdict"] = "undecided"

    said = results(unknown_alone).answer.lessons
    assert not any(c.felt.piles_up for c in said.matrix.cells)


def test_lessons_say_who_loses_and_what_helps(jobs):
    said = jobs.answer.lessons
    assert said.conclusion == (
        "beside io, the messages of compute take 49 ± 4% longer with shared mapping and clustered "
        "servers, the 90th percentile 49 ± 4% longer; "
        "with dedicated mapping as long as alone (+1 to +2%, ± 3% at most)"
    )
    assert len(said.losses) == 2
    assert said.losses[1].startswith("beside compute, the messages of io take 25 ± 4% longer")
    mapping, servers = said.choices
    assert mapping.startswith("shared mapping rather than dedicated: ")
    # 0.99 / 0.67 and 0.98 / 0.85: geometric mean 1.305.
    # Two quotients of sqrt(2) times 2% each that err apart: 2% times 1.305.
    assert "of compute take 31 ± 3% longer on average (+15 to +48%, ± 4% at most)" in mapping
    # 0.67 / 0.85; 0.99 / 0.98 is within the margin.
    assert servers.startswith("distributed servers rather than clustered: the messages of compute ")
    assert "take 21 ± 2% less long for compute and io with shared mapping (about as" in servers
    assert len(jobs.answer.sentences) == 3


def test_nothing_is_called_nothing_only_if_it_is_known_well():
    def wide(data):
        for point in data["points"]:
            for each in point["measures"]:
                each["low"], each["high"] = 0.5 * each["mean"], 1.5 * each["mean"]

    said = results(wide).answer.lessons
    assert said.conclusion == (
        "beside io, it is unknown whether the messages of compute take longer "
        "(+1 to +49%, ± 132% at most)"
    )
    assert all("unknown for the messages of" in text for text in said.choices)
    assert all(" clear" not in text for text in [*said.losses, *said.choices])


def test_losses_along_a_numeric_axis_are_told():
    def loaded(data):
        data["axes"].append(
            {"key": "workload.jobs.io.load", "label": "offered load of io", "unit": None}
        )
        found = []
        for share, less in ((0.1, 1.0), (0.3, 0.9)):
            for point in json.loads(json.dumps(data["points"])):
                point["values"].append({"text": str(share), "number": share})
                if len(point["values"][1]["text"].split(" + ")) > 1:
                    for each in point["measures"]:
                        for end in ("mean", "low", "high"):
                            each[end] /= less if each["unit"] == "us" else 1 / less
                found.append({**point, "index": len(found)})
        data["points"] = found

    said = results(loaded).answer.lessons
    assert "(+49%, +66% at offered load of io 0.1, 0.3)" in said.losses[0]
    assert all(", at offered load of io 0.3: " in text for text in said.choices)
    figure = plots.draw(results(loaded).run, "interference")
    assert sum(ax.get_visible() for ax in figure.axes) == 8 + 1


def test_the_report_shows_matrix_and_lessons_on_its_first_screen(jobs):
    html = render(jobs)
    first = html[: html.index("<nav")]
    assert re.findall(r'<figure data-chart="([^"]+)"', first) == ["lead-interference"]
    for text in jobs.answer.sentences:
        assert text[1:] in first.replace("&#39;", "'")
    for text in jobs.answer.lessons.rest:
        assert text[1:] in html
    assert first[: first.index("<section id=")].count("<li>") == 3
    assert "<h2>Who slows down whom</h2>" in html
    assert 'class="badge worse">+49 ± 4%<' in html
    assert "interference.csv" in html


def test_the_caption_of_the_matrix_tells_what_its_cells_hold():
    caption = KINDS["interference"].caption
    assert "How much longer the phases of each job, or else its messages, take" in caption
    assert f"beyond {100 * MARGIN:g}%" in caption
    for told in (caption, Results.interference.__doc__):
        assert "left of" not in told
        assert "zero" not in told


def test_the_matrix_is_a_picture(jobs, matrix):
    figure = plots.draw(jobs.run, "interference")
    text = words(figure)
    for cell in matrix.cells:
        assert felt_text(cell.felt) in text
    assert "MB/s alone" in text
    panels = [ax for ax in figure.axes if ax.get_visible() and ax.get_ylabel() == "suffers"]
    assert len(panels) == 2
    first, second = (plots.image(plots.draw(jobs.run, "interference"), "svg") for _ in range(2))
    assert first == second


def test_every_plot_is_drawn(jobs):
    drawn = [name for name, _ in plots.draw_all(jobs.run)]
    assert drawn[:2] == ["interference", "bandwidth"]
    assert {"machine", "nodes", "channels"} <= set(drawn)


def test_only_points_with_all_jobs_are_in_the_picture_of_the_machine(jobs):
    text = words(plots.draw(jobs.run, "machine"))
    assert text.count("compute + io") == 4
    assert text.count("I/O servers (2)") == 4


def test_large_trees_are_drawn_level_by_level():
    def large(data):
        data["machines"] = [trees.machine(4, 4)]

    figure = plots.draw(results(large).run, "machine")
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels[:3] == ["node → leaf switch", "level 1 → 2 (up)", "level 2 → 3 (up)"]
    assert labels[-1] == "leaf switch → node"


def test_servers_without_work_have_no_bar(jobs):
    figure = plots.draw(jobs.run, "bandwidth")
    bars = {ax.get_title(loc="left"): len(ax.patches) for ax in figure.axes}
    # Four variants: io alone and beside compute; of twelve points eight have either job.
    assert bars == {"I/O servers": 8, "io": 8, "compute": 8}
    assert model_label(view(jobs.run)) == "analysis"


def test_without_sets_of_jobs_variants_are_compared_by_what_is_felt():
    plain = results(trees.alone)
    said = plain.answer
    assert said.lessons is None
    assert plain.interference is None
    assert said.measures == ["io.response", "servers.accepted", "io.accepted"]
    # Its messages take as long, whatever more the servers take.
    assert [s.badge for s in said.series] == ["baseline", *["about the same"] * 3]
    assert said.series[1].ratios["servers.accepted"].text == "1.2 × as much"
    assert "I/O servers: accepted bandwidth 1.2 times as much" in said.series[1].sentence
    assert said.head("servers.accepted") == "I/O servers"
    assert 'class="first wide"' in render(plain)


def test_tables_and_files(jobs, tmp_path):
    table = jobs.jobs
    assert table.height == 12 * 3
    row = table.filter((table["point"] == 10) & (table["job"] == "compute")).to_dicts()[0]
    assert row["accepted [MB/s]"] == pytest.approx(150 * 0.67)
    assert row["nodes"] == 3
    losses = jobs.interference
    assert losses.height == 8
    assert losses.columns[:5] == ["workload.mapping", "servers", "job", "beside", "alone [MB/s]"]
    jobs.canonical = "version = 1\n"
    jobs.save(tmp_path)
    assert {"jobs.csv", "interference.csv", "nodes.parquet"} <= {p.name for p in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("io.response", "io: message response time"),
        ("io.accepted", "io: accepted bandwidth"),
        ("read.network", "read: message time in the network"),
        ("servers.accepted", "I/O servers: accepted bandwidth"),
    ],
)
def test_measures_begin_with_the_job(name, label):
    assert measure_label(name, of_jobs=True) == label
    assert measure_label("io.accepted") == "accepted load of I/O demands"


def test_channels_of_trees():
    assert FatTreeSummary.channel_label("up 1") == "level 1 → 2 (up)"
    assert FatTreeSummary.channel_label("down 2") == "level 3 → 2 (down)"
    assert FatTreeSummary.channel_label("inject") == "node → leaf switch"


def test_trees_and_jobs_as_objects_run():
    tree = isthmus.FatTree(arity=2, levels=3, nic=isthmus.Nic(dma_slice=2))
    work = isthmus.Jobs(
        servers=isthmus.Servers(placement="clustered", count=2),
        jobs={
            "compute": isthmus.Job(traffic="uniform", nodes="part 1 of 2"),
            "io": isthmus.Job(traffic="io", nodes="part 2 of 2", message="50 kB"),
        },
        mapping="shared",
    )
    scenario = isthmus.Scenario.of(
        tree,
        work,
        sweep={"active": "pairs", "jobs.io.read_ratio": [0.0, 0.5]},
        precision=isthmus.Precision(rule="fixed", time="3 ms", replications=3),
    )
    assert "nic.dma_slice = 2" in scenario.text
    assert 'jobs.io.message = "50 kB"' in scenario.text
    results = scenario.run(seed=3)
    assert len(results.run.points) == 6
    found = interference(results.run)
    assert found.jobs == ["compute", "io"]
    assert len(found.cells) == 4
    assert all(0 < cell.accepted.value < 2 for cell in found.cells)
    assert all(cell.felt.of == "messages" for cell in found.cells)
    # Every point tells all links of the tree, each from one level to the next.
    machine = results.run.machines[0]
    made_up = Counter((kind, machine.level(a), machine.level(b)) for kind, a, b in trees.links())
    for point in results.run.points:
        single = [c for c in point.channels if c.from_ is not None and c.is_link]
        told = Counter((c.kind, machine.level(c.from_), machine.level(c.to)) for c in single)
        assert told == made_up
    assert results.answer.lessons.losses


def test_jobs_of_no_kind_are_told():
    work = isthmus.Jobs(jobs={"io": isthmus.Job(traffic="io")})
    with pytest.raises(isthmus.IsthmusError, match="servers"):
        isthmus.check(isthmus.FatTree(arity=2, levels=2), work)


def at_loads(saturated, loads=(20, 40, 60)):
    """One job at three loads of its own, saturated at some of them."""

    def edit(data):
        trees.alone(data)
        first = data["points"][0]
        key = {"key": "workload.jobs.io.load", "label": "offered load of io", "unit": "MB/s"}
        data["axes"], data["points"] = [key] if len(loads) > 1 else [], []
        for index, load in enumerate(loads):
            text = {"text": f"{load} MB/s", "number": float(load)}
            each = {**json.loads(json.dumps(first)), "index": index, "values": [text]}
            if len(loads) == 1:
                each["values"] = []
            each["verdict"]["verdict"] = "saturated" if load in saturated else "stable"
            data["points"].append(each)

    return results(edit)


@pytest.mark.parametrize(
    ("saturated", "loads", "words"),
    [
        ([60], (60,), "saturated, so that no times of io are known; "),
        (
            [20, 40, 60],
            (20, 40, 60),
            "saturated at every offered load of io tried, 20 MB/s to 60 MB/s, so that no times of "
            "io are known; ",
        ),
        ([40, 60], (20, 40, 60), "saturated from offered load of io = 40 MB/s, so that no times"),
        ([60], (20, 40, 60), "saturated at offered load of io = 60 MB/s, so that no times"),
    ],
)
def test_a_job_that_saturates_its_machine_is_said_to(saturated, loads, words):
    found = at_loads(saturated, loads)
    said = found.answer
    assert said.conclusion.startswith(words), said.conclusion
    assert "response time" not in said.conclusion
    assert "accepted bandwidth" in said.conclusion
    assert said.series[0].cell("io.response") == "saturated"
    assert said.series[0].cell("io.accepted") != "saturated"
    html = render(found)
    first = html[: html.index("<nav")]
    assert words[1:] in first
    assert ">saturated" in first


def test_a_job_that_is_carried_has_its_times():
    said = at_loads([]).answer
    assert "saturated" not in said.conclusion
    assert "message response time" in said.conclusion
