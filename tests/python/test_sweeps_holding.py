"""The folder of a run: who may hold it, what stands in it, what is said of what is not."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import SMALL
from isthmus.errors import RunFailedError
from isthmus.owned import mark
from isthmus.owned.lock import LOCK, BusyError, Holder
from isthmus.owned.mark import read_mark
from isthmus.sweeps import Selection, state, state_of
from test_bounds import HOPELESS
from test_sweeps import LIMIT_S, SEARCHED, isthmus, same, started
from test_sweeps_folder import here, one_line

__all__ = ["here"]


def memory_ended(job, out: Path):
    """Results of which memory has ended a point, and what the point got done."""
    results = job.run_into(out)
    assert results.run.short_of_memory == "point 0"
    return results.run.points[0].messages


def test_results_are_not_replaced_by_those_that_are_not_known_to_have_more_memory(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    from isthmus.execution import Job

    out = tmp_path / "o"
    better = memory_ended(Job(HOPELESS, "h.toml", memory="200 MB"), out)
    result = (out / "result.json").read_bytes()
    with ThreadPoolExecutor(1) as executor:
        # What an executor's workers may take is not known; nor is it asked for anything.
        asked = []
        executor.submit = lambda *_: asked.append(1)
        assert memory_ended(Job(HOPELESS, "h.toml", executor=executor), out) == better
        less = Job(HOPELESS, "h.toml", memory="100 MB", executor=executor)
        assert memory_ended(less, out) == better
        assert not asked
    assert (out / "result.json").read_bytes() == result
    # Nor is it known of what an executor has done.
    provenance = out / "provenance.json"
    told = json.loads(provenance.read_text())
    provenance.write_text(json.dumps({**told, "memory_bytes": None}))
    assert memory_ended(Job(HOPELESS, "h.toml", memory="300 MB"), out) == better
    said = isthmus("run", "o", "--memory", "300 MB", cwd=tmp_path).stderr
    assert "move o/result.json away, and `isthmus run o --memory SIZE` with more" in said
    (out / "result.json").unlink()
    more = Job(HOPELESS, "h.toml", memory="300 MB")
    assert memory_ended(more, out) >= better
    assert json.loads(provenance.read_text())["memory_bytes"] == 300_000_000


def test_a_memory_that_makes_no_sense_claims_no_folder(here):
    for memory in ("1 kB", "much", "-4 GB"):
        for more in ((), ("--part", "1/1"), ("--on", "slurm")):
            done = isthmus("run", "small.toml", *more, "--memory", memory, "--out", "o", cwd=here)
            assert "memory: " in one_line(done)
            assert not (here / "o").exists()


def test_collecting_what_is_not_finished_keeps_nobody_out(here, monkeypatch):
    from isthmus.execution import Job
    from isthmus.owned import OwnedFolder
    from isthmus.sweeps import collect

    words = ("run", "small.toml", "--quick", "--out", "o")
    assert isthmus(*words, "--points", "0", cwd=here).returncode == 0
    held = []
    monkeypatch.setattr(OwnedFolder, "opened", lambda *_, **__: held.append(1))
    with pytest.raises(RunFailedError, match=r"3 points \(1:4\) are missing"):
        collect(here / "o", Job(SMALL, "small.toml", quick=True))
    assert not held


def test_a_part_waits_for_who_collects_and_is_refused_beside_who_does_all(here, monkeypatch):
    from isthmus.owned import joining, lock

    words = ("run", "small.toml", "--quick", "--out", "o")
    assert isthmus(*words, "--points", "0", cwd=here).returncode == 0
    with lock.hold(here / "o", work=lock.COLLECTS):
        part = started(*words, "--points", "1", cwd=here)
        assert part.stderr is not None
        assert "waiting for process" in part.stderr.readline()
        assert part.poll() is None
        told = isthmus("collect", "o", cwd=here)
        assert "collects this run: wait until it has ended" in one_line(told, 1)
    _, told = part.communicate(timeout=LIMIT_S)
    assert part.returncode == 0, told
    # However long that takes; who does something else is waited for for a while.
    waits = joining.JoinTimeout(here, lambda _: None)
    monkeypatch.setattr(joining, "JOIN_S", 0.0)
    busy = BusyError(here, Holder(1, "far", "then", lock.COLLECTS))
    for _ in range(3):
        waits.wait(busy)
    with pytest.raises(BusyError):
        waits.wait(BusyError(here, Holder(1, "far", "then")))


def test_a_lock_that_is_looked_at_for_a_moment_is_taken_all_the_same(here, monkeypatch):
    import fcntl

    from isthmus.owned import lock
    from isthmus.owned.lock import TRIES, TRY_S, hold

    with hold(here):
        pass
    with (here / LOCK).open("rb") as looks:
        fcntl.flock(looks, fcntl.LOCK_SH)
        waits = []

        def leaves(seconds):
            waits.append(seconds)
            if len(waits) == TRIES - 1:
                fcntl.flock(looks, fcntl.LOCK_UN)

        # Who looks leaves before the last try, however long that takes.
        monkeypatch.setattr(lock.time, "sleep", leaves)
        with hold(here):
            assert waits == [TRY_S] * (TRIES - 1)
        fcntl.flock(looks, fcntl.LOCK_SH)
        with pytest.raises(BusyError), hold(here):
            pass
        assert waits == [TRY_S] * (TRIES - 1) * 2


def test_what_is_lost_is_told_with_what_makes_it_again(here):
    words = ("run", "small.toml", "--quick", "--out", "my o")
    assert isthmus(*words, "--plots", "svg", cwd=here).returncode == 0
    out = here / "my o"
    (out / "provenance.json").unlink()
    told = isthmus("status", "my o", cwd=here).stdout
    assert "  provenance.json: not there any more, and nothing needs it\nthe results are" in told
    plot = next((out / "plots").glob("*.svg"))
    drawn = plot.read_bytes()
    plot.unlink()
    told = isthmus("status", "my o", cwd=here).stdout
    assert f"  plots/{plot.name}: not there any more\n" in told
    assert "\n`isthmus run 'my o' --plots svg` draws anew what is not there\n" in told
    assert "writes anew" not in told
    assert isthmus("run", "my o", "--plots", "svg", cwd=here).returncode == 0
    assert plot.read_bytes() == drawn


def test_a_file_that_a_killed_process_had_just_written_is_not_called_changed(here):
    words = ("run", "small.toml", "--quick", "--out", "o")
    assert isthmus(*words, cwd=here).returncode == 0
    out = here / "o"
    # As if the table had been another one before.
    mark = read_mark(out)
    mark.writing["results.csv"] = mark.files["results.csv"]
    mark.files["results.csv"] = replace(mark.files["results.csv"], sha256="0" * 64)
    mark.save(out)
    state = state_of(out)
    assert (state.lost, state.changed) == ([], [])
    assert isthmus(*words, cwd=here).returncode == 0
    (out / "results.csv").write_text("mine")
    assert state_of(out).changed == ["results.csv"]


def test_many_missing_points_are_told_in_a_short_line(here):
    rates = [f"{1 + i / 100:g} /ms" for i in range(600)]
    words = ("run", "small.toml", "--quick", f"sweep.workload.rate={json.dumps(rates)}")
    assert isthmus(*words, "--points", "0", "--out", "o", cwd=here).returncode == 0
    points = here / "o/points"
    for at in range(1, 1200, 2):
        (points / f"point-{at:05}.json").write_bytes((points / "point-00000.json").read_bytes())
    said = one_line(isthmus("collect", "o", cwd=here), 1)
    assert "of 1,200 points 599 points (2,4,6,8,10,12,14,16 and 591 more) are missing" in said
    assert said.endswith("missing, `isthmus run o --part 1/1` does so beside other parts")


def test_points_and_searches_are_told_as_far_as_there_are_some():
    assert Selection.whole(1200, 0).words == "1,200 points"
    assert Selection.whole(1, 1).words == "1 point and 1 search"
    assert Selection.whole(0, 2).words == "2 searches"
    assert Selection().words == "0 points"


def test_why_points_failed_is_said_to_who_wants_it_quiet(here):
    (here / "h.toml").write_text(HOPELESS)
    words = ("run", "h.toml", "--part", "1/1", "--memory", "200 MB", "--out", "o", "--quiet")
    said = one_line(isthmus(*words, cwd=here), 1)
    assert "point-00000 failed: its memory was used up; give more by --memory" in said


def test_a_folder_whose_mark_is_lost_goes_on_in_a_new_one(here):
    words = ("run", "small.toml", "--quick", "--out")
    assert isthmus(*words, "o", "--points", "0:3", cwd=here).returncode == 0
    assert isthmus(*words, "whole", cwd=here).returncode == 0
    mark = here / "o/.isthmus.json"
    mark.write_bytes(mark.read_bytes()[:-9])
    way = "move points/ alone to a new folder, and give that and the scenario to go on"
    for damage in (lambda: None, mark.unlink):
        damage()
        for command in ((*words, "o"), (*words, "o", "--part", "1/1")):
            assert way in one_line(isthmus(*command, cwd=here))
    (here / "new").mkdir()
    (here / "o/points").rename(here / "new/points")
    entry = here / "new/points/point-00001.json"
    before = entry.stat().st_mtime_ns
    # That of another run stays nobody's.
    said = one_line(isthmus("run", "small.toml", "--out", "new", cwd=here))
    assert "holds files without a mark of isthmus (points)" in said
    done = isthmus(*words, "new", cwd=here)
    assert done.returncode == 0, done.stderr
    assert entry.stat().st_mtime_ns == before
    same(here / "new", here / "whole")
    # Without a mark, --fresh begins anew all the same.
    (here / "again").mkdir()
    (here / "new/points").rename(here / "again/points")
    assert isthmus(*words, "again", "--fresh", cwd=here).returncode == 0
    assert (here / "again/points/point-00001.json").stat().st_mtime_ns > before


@pytest.mark.parametrize("jobs", [1, 2])
def test_searches_which_take_longest_are_begun_first(here, jobs):
    (here / "s.toml").write_text(SEARCHED)
    words = ("run", "s.toml", "--quick", "--part", "1/1", "--jobs", jobs, "--out", "o")
    assert isthmus(*words, cwd=here).returncode == 0
    (file,) = (here / "o/points").glob("worker-*.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    began = {line["done"]: line["at_s"] - line["took_s"] for line in lines if "done" in line}
    order = sorted(began, key=began.__getitem__)
    assert sorted(order[:2]) == ["search-00000", "search-00001"]
    assert sorted(order[2:]) == [f"point-{at:05}" for at in range(4)]
    if jobs == 1:
        assert order == sorted(order, key=lambda name: (name[0] != "s", name))


def test_status_reads_no_large_file_that_nobody_touched(tmp_path, monkeypatch):
    from isthmus.execution import Job

    monkeypatch.setattr(mark, "LARGE", 0)
    Job(SMALL, "small.toml", quick=True).run_into(tmp_path / "o")
    read = []

    def is_unchanged(place, written):
        read.append(place.name)
        return mark.is_unchanged(place, written)

    monkeypatch.setattr(state, "is_unchanged", is_unchanged)
    out = tmp_path / "o"
    found = state_of(out)
    assert found.collected and not found.changed
    assert "result.json" not in read
    # Another byte, and the times that the file had.
    result, told = out / "result.json", (out / "result.json").stat()
    data = bytearray(result.read_bytes())
    data[len(data) // 2] ^= 1
    result.write_bytes(data)
    os.utime(result, ns=(told.st_atime_ns, told.st_mtime_ns))
    found = state_of(out)
    assert found.changed == ["result.json"] and not found.collected
    assert "result.json" in read
