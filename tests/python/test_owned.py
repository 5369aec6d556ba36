"""Folders of results: nothing of the user's is removed or overwritten, nothing is followed."""

import shutil
from pathlib import Path

import pytest

from conftest import SMALL
from isthmus import IsthmusError, Results
from isthmus.execution import Job
from isthmus.files import write_bytes
from isthmus.owned import MARK, Identity, OwnedFolder, read_mark
from isthmus.owned.difference import differences
from isthmus.owned.lock import LOCK
from isthmus.owned.mark import sha256
from isthmus.results.folder import opened_for, write_tables

TINY = SMALL.replace("messages_max = 40000", "messages_max = 4000").replace("[0, 1]", "[1]")
A = Identity("run", "a", "d" * 64, 1, False, "0")
B = Identity("run", "b", "e" * 64, 1, False, "0")


def job(text=TINY, **options):
    return Job(text, "tiny.toml", quick=True, **options)


def page(folder, results, _tell):
    """Stands for tables, pictures and report, which take seconds."""
    with folder.part("page", "k"):
        folder.write("report.html", f"<p>{results.run.name}", "page")
        folder.write("plots/latency.png", b"png", "page")


def numbers_only(folder, results, _tell):
    pass


def files(folder: Path) -> dict[str, bytes]:
    paths = (p for p in folder.rglob("*") if p.is_file() or p.is_symlink())
    return {str(p.relative_to(folder)): p.read_bytes() for p in paths}


@pytest.fixture
def out(tmp_path):
    """A folder of a finished run."""
    job().run_into(tmp_path / "out", write=page)
    return tmp_path / "out"


def refused(call, *parts):
    with pytest.raises(IsthmusError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message
    return message


# The user's files.


@pytest.mark.parametrize("fresh", [False, True])
def test_a_folder_with_the_users_files_is_refused_and_left_alone(tmp_path, fresh):
    mine = {"plots/mine.png": b"a picture", "report.html": b"my report", "thesis.tex": b"years"}
    for name, data in mine.items():
        write_bytes(tmp_path / "out" / name, data)
    call = lambda: job().run_into(tmp_path / "out", fresh=fresh, write=page)  # noqa: E731
    refused(call, "out: holds files that isthmus did not write (plots, report.html, thesis.tex)")
    assert files(tmp_path / "out") == mine


def test_the_command_refuses_it_before_any_work(isthmus, tmp_path, small):
    write_bytes(tmp_path / "out" / "plots" / "mine.png", b"a picture")
    for more in ((), ("--fresh",)):
        done = isthmus("run", small, "--out", "out", *more)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line.startswith("isthmus: out: holds files that isthmus did not write (plots)")
    assert files(tmp_path / "out") == {"plots/mine.png": b"a picture"}


def test_at_most_four_of_the_users_files_are_named(tmp_path):
    for name in "abcdefg":
        write_bytes(tmp_path / "out" / name, b"")
    refused(lambda: job().run_into(tmp_path / "out"), "(a, b, c, d and 3 more)")


def test_results_of_early_builds_are_refused_with_what_to_do(tmp_path):
    write_bytes(tmp_path / "out" / "result.json", b"{}")
    (tmp_path / "out" / "points").mkdir()
    call = lambda: job().run_into(tmp_path / "out", fresh=True)  # noqa: E731
    refused(call, "results of early builds have none; move the folder away, or give another --out")
    assert (tmp_path / "out" / "result.json").read_bytes() == b"{}"


@pytest.mark.parametrize("fresh", [False, True])
def test_files_put_into_our_folder_stay(out, fresh):
    mine = {"notes.txt": b"n", "plots/mine.png": b"p", "points/point-00099.json": b"{}"}
    mine |= {".draft.part": b"d", "plots/.x.1.0123456789abcdef.part": b"x"}
    for name, data in mine.items():
        write_bytes(out / name, data)
    job(SMALL if fresh else TINY).run_into(out, fresh=fresh, write=page)
    left = files(out)
    assert {name: left[name] for name in mine} == mine
    job().run_into(out, fresh=True, write=numbers_only)
    assert {name: files(out)[name] for name in mine} == mine
    assert "report.html" not in files(out)


@pytest.mark.parametrize("name", ["report.html", "result.json", "plots/latency.png"])
def test_a_file_of_ours_that_was_changed_is_refused_without_fresh(out, name):
    (out / name).write_bytes(b"edited")
    before = files(out)
    refused(lambda: job().run_into(out, write=page), f"out/{name}: ", "move it away", "--fresh")
    assert files(out) == before
    job().run_into(out, fresh=True, write=page)
    assert files(out)[name] != b"edited"


def test_a_file_of_the_users_under_a_name_of_ours_is_not_overwritten(out):
    write_bytes(out / "jobs.csv", b"mine")

    def write(folder, _results, _tell):
        folder.write("jobs.csv", b"ours", "tables")

    refused(lambda: job().run_into(out, write=write), "jobs.csv: not written by isthmus")
    assert (out / "jobs.csv").read_bytes() == b"mine"


def test_what_a_part_does_not_write_any_more_is_removed(tmp_path):
    with OwnedFolder.opened(tmp_path / "o", A) as folder:
        with folder.part("plots", "1"):
            folder.write("plots/a.png", b"a", "plots")
            folder.write("plots/b.png", b"b", "plots")
        assert folder.has("plots", "1")
        assert not folder.has("plots", "2")
        with folder.part("plots", "2"):
            folder.write("plots/b.png", b"B", "plots")
    assert {n for n in files(tmp_path / "o") if n.startswith("plots")} == {"plots/b.png"}


# Links.


def test_nothing_is_removed_or_written_through_a_linked_folder(out, tmp_path):
    for name in ("plots", "points"):
        elsewhere = tmp_path / f"elsewhere-{name}"
        (out / name).rename(elsewhere)
        (out / name).symlink_to(elsewhere)
        before = files(elsewhere)
        for fresh in (False, True):
            call = lambda f=fresh: job().run_into(out, fresh=f, write=page)  # noqa: E731
            refused(call, f"out/{name}: a symbolic link, which is not followed, is where a folder")
        assert files(elsewhere) == before
        assert len(before) > 0
        (out / name).unlink()
        elsewhere.rename(out / name)


@pytest.mark.parametrize("name", ["report.html", "result.json", MARK, LOCK])
def test_nothing_is_written_through_a_linked_file(out, tmp_path, name):
    target = tmp_path / "target"
    target.write_bytes(b"theirs")
    (out / name).unlink()
    (out / name).symlink_to(target)
    for fresh in (False, True):
        call = lambda f=fresh: job().run_into(out, fresh=f, write=page)  # noqa: E731
        refused(call, name, "a symbolic link, which is not followed,")
    assert target.read_bytes() == b"theirs"


def test_out_itself_may_be_a_link(tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "out").symlink_to("scratch")
    job().run_into(tmp_path / "out", write=page)
    assert (tmp_path / "out").is_symlink()
    assert read_mark(tmp_path / "scratch") is not None
    (tmp_path / "dangling").symlink_to("nowhere")
    call = lambda: job().run_into(tmp_path / "dangling")  # noqa: E731
    refused(call, "dangling: cannot write here")


def test_pictures_are_not_drawn_through_a_link(isthmus, tmp_path):
    (tmp_path / "net.png").symlink_to("elsewhere.png")
    (tmp_path / "dir.png").mkdir()
    for name, what in (("net.png", "a symbolic link"), ("dir.png", "a folder")):
        done = isthmus("place", "--dimension", "3", "--draw", name)
        assert done.returncode == 2
        assert f"{name}: {what}" in done.stderr
    assert not (tmp_path / "elsewhere.png").exists()
    write_bytes(tmp_path / "old.png", b"old")
    assert isthmus("place", "--dimension", "3", "--draw", "old.png").returncode == 0
    assert (tmp_path / "old.png").read_bytes().startswith(b"\x89PNG")


# Other results.


def test_another_scenario_says_what_differs(out):
    other = TINY.replace("locality = 0.2", "locality = 0.5").replace("dimension = 3", "dimension=4")
    message = refused(lambda: job(other).run_into(out), "holds results of another scenario (small")
    assert "machine.dimension is 3 there and 4 here" in message
    assert "workload.locality is 0.2 there and 0.5 here" in message
    assert message.endswith(
        "give another folder for 'small', or replace them by --fresh (in Python fresh=True)"
    )
    refused(lambda: job(seed=9).run_into(out), "holds results with seed 1, not 9;")
    refused(
        lambda: Job(TINY, "tiny.toml").run_into(out),
        "holds results of a quick run, not a full one;",
    )
    job(seed=1).run_into(out, write=page)  # the scenario's own seed, given by hand


def test_differences_are_few_and_short():
    kept = "\n".join(f"f{n} = {n}" for n in range(9)) + "\ntitle = 'a'\n"
    asked = "\n".join(f"f{n} = {n + 1}" for n in range(9)) + "\ntitle = 'b'\n"
    told = differences(kept, asked)
    assert told.startswith("f0 is 0 there and 1 here; ")
    assert told.endswith("; 6 more")
    assert differences("", asked) == ""
    assert len(differences("a = " + "1" * 10**6, "a = 2")) < 100


def test_another_title_is_the_same_run(out):
    titled = TINY.replace("A small machine", "Another title")
    results = job(titled).run_into(out, write=page)
    assert results.run.title == "Another title"
    assert Results.load(out).run.title == "Another title"


def test_saving_takes_no_folder_of_other_results(tmp_path, load_sweep, locality_sweep):
    with OwnedFolder.opened(tmp_path / "kept", A):
        pass
    refused(lambda: load_sweep.save(tmp_path / "kept"), "kept: holds results of")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("n")
    refused(lambda: load_sweep.save(tmp_path / "mine"), "isthmus did not write (notes)")
    refused(lambda: load_sweep.save(tmp_path / "mine", fresh=True), "(notes)")


# The mark.


def test_the_mark_lists_what_is_there(out):
    mark = read_mark(out)
    written = {n for n in files(out) if n not in (MARK, LOCK) and not n.startswith("points/")}
    assert set(mark.files) == written
    assert mark.writing == {}
    assert {n for n in files(out) if n.startswith("points/")} == {
        f"points/{n}.json" for n in ("journal", "point-00000", "point-00001")
    }


def test_every_flipped_bit_of_a_mark_is_refused(out):
    data = (out / MARK).read_bytes()
    for bit in range(0, 8 * len(data), 5):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        (out / MARK).write_bytes(flipped)
        with pytest.raises(IsthmusError, match=r"\.isthmus\.json: "):
            read_mark(out)


@pytest.mark.parametrize("path", ["../mine", "/etc/mine", "a/../../mine", "", "."])
def test_a_mark_lists_nothing_outside_of_the_folder(tmp_path, path):
    with OwnedFolder.opened(tmp_path / "o", A) as folder:
        folder.mark.files[path] = folder.mark.files.get(path) or _written()
        folder.mark.save(folder.path)
    (tmp_path / "mine").write_bytes(b"mine")
    with pytest.raises(IsthmusError, match="no path below the folder"):
        read_mark(tmp_path / "o")


def _written():
    from isthmus.owned.mark import Written

    return Written("page")


def test_what_a_dead_process_left_is_cleared_away(out):
    leftovers = [
        ".result.json.12345.0123456789abcdef.part",
        f".{MARK}.12345.0123456789abcdef.part",
        "plots/.latency.png.1.0123456789abcdef.part",
        "points/.point-00001.json.77.fedcba9876543210.part",
    ]
    for name in leftovers:
        write_bytes(out / name, b"half")
    job().run_into(out, write=page)
    assert not set(leftovers) & set(files(out))


def test_what_was_killed_while_a_new_file_was_written_is_cleared_away(tmp_path):
    with OwnedFolder.opened(tmp_path / "o", A) as folder:
        folder.mark.writing["plots/new.csv"] = _written()
        folder.mark.save(folder.path)
        write_bytes(tmp_path / "o/plots/.new.csv.1.0123456789abcdef.part", b"half")
    with OwnedFolder.opened(tmp_path / "o", A):
        pass
    assert set(files(tmp_path / "o")) == {MARK, LOCK}


def test_a_process_that_dies_between_file_and_mark_leaves_no_stranger(tmp_path, monkeypatch):
    """At every step of writing a file, as a kill would stop it."""

    class DiedError(BaseException):
        pass

    steps = 0
    for stop in range(1, 20):
        folder = tmp_path / str(stop)
        count = 0
        replace = Path.replace

        def dying(self, target, stop=stop, replace=replace):
            nonlocal count
            count += 1
            if count == stop:
                raise DiedError
            result = replace(self, target)
            count += 1
            if count == stop:
                raise DiedError
            return result

        monkeypatch.setattr(Path, "replace", dying)
        try:
            with OwnedFolder.opened(folder, A) as owned, owned.part("p", "1"):
                owned.write("x", b"1", "p")
                owned.write("x", b"2", "p")
                owned.write("y/z", b"3", "p")
        except DiedError:
            steps += 1
        monkeypatch.undo()
        with OwnedFolder.opened(folder, A) as owned, owned.part("p", "1"):
            owned.write("x", b"2", "p")
            owned.write("y/z", b"3", "p")
        left = files(folder)
        assert {n: left[n] for n in left if n not in (MARK, LOCK)} == {"x": b"2", "y/z": b"3"}
    assert steps >= 10


# The numbers first.


def test_numbers_are_there_before_anything_is_drawn(tmp_path):
    class CutError(Exception):
        pass

    def cut(folder, _results, _tell):
        kept = files(folder.path)
        assert {"result.json", "provenance.json", "scenario.toml"} <= set(kept)
        with folder.part("page", "k"):
            folder.write("plots/latency.png", b"png", "page")
            raise CutError

    with pytest.raises(CutError):
        job().run_into(tmp_path / "out", write=cut)
    numbers = (tmp_path / "out" / "result.json").read_bytes()
    began = (tmp_path / "out" / "provenance.json").read_bytes()
    # The core is not even asked again.
    again = job()
    again.run = None
    again.run_into(tmp_path / "out", write=page)
    assert (tmp_path / "out" / "result.json").read_bytes() == numbers
    assert (tmp_path / "out" / "provenance.json").read_bytes() == began
    job().run_into(tmp_path / "whole", write=page)
    ours, whole = files(tmp_path / "out"), files(tmp_path / "whole")
    del ours["provenance.json"], whole["provenance.json"]
    assert ours == whole


def test_only_what_is_missing_is_drawn(tmp_path, load_sweep, monkeypatch):
    from isthmus import plots, report

    drawn = []

    def counted(name, real):
        def call(*words):
            drawn.append(name)
            return real(*words)

        return call

    def some(run, forms, _tell):
        return real(run, forms)[:1]

    real = plots.pictures
    monkeypatch.setattr(plots, "pictures", counted("plots", some))
    monkeypatch.setattr(report, "render", counted("report", report.render))
    load_sweep.save(tmp_path / "out", plots=("png",))
    assert drawn == ["report", "plots"]
    before = files(tmp_path / "out")
    made = [p for p in (tmp_path / "out").rglob("*") if p.is_file() and p.name not in (MARK, LOCK)]
    times = {p: p.stat().st_mtime_ns for p in made}
    load_sweep.save(tmp_path / "out", plots=("png",))
    load_sweep.save(tmp_path / "out")
    assert drawn == ["report", "plots"]
    assert {p: p.stat().st_mtime_ns for p in made} == times
    (tmp_path / "out" / "report.html").unlink()
    load_sweep.save(tmp_path / "out", plots=("png",))
    assert drawn == ["report", "plots", "report"]
    assert files(tmp_path / "out") == before


def test_report_finishes_an_interrupted_drawing(isthmus, tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    job().run_into(tmp_path / "out", write=numbers_only)
    assert "report.html" not in files(tmp_path / "out")
    done = isthmus("report", "out", "--plots", "png")
    assert done.returncode == 0, done.stderr
    assert {"report.html", "results.csv", "plots/latency.png"} <= set(files(tmp_path / "out"))


def test_report_takes_results_that_lie_alone(isthmus, tmp_path):
    job().run_into(tmp_path / "out", write=numbers_only)
    (tmp_path / "sent").mkdir()
    shutil.copy(tmp_path / "out" / "result.json", tmp_path / "sent")
    (tmp_path / "sent" / "report.html").write_text("mine")
    done = isthmus("report", "sent")
    assert done.returncode == 2
    assert "did not write (report.html)" in done.stderr
    assert set(files(tmp_path / "sent")) == {"result.json", "report.html"}
    (tmp_path / "sent" / "report.html").unlink()
    results = Results.load(tmp_path / "sent")
    with opened_for(tmp_path / "sent", results, adopt=True) as folder:
        write_tables(folder, results)
    assert {"result.json", "results.csv", MARK} <= set(files(tmp_path / "sent"))


@pytest.mark.parametrize("name", ["result.json", "scenario.toml"])
def test_a_changed_file_that_was_taken_over_is_not_called_ours(isthmus, out, tmp_path, name):
    """Isthmus can make it again from nothing: only the user can put it back."""
    sent = tmp_path / "sent"
    sent.mkdir()
    for each in ("result.json", "scenario.toml"):
        shutil.copy(out / each, sent)
    for _ in range(2):
        assert isthmus("report", "sent").returncode == 0
    before = (sent / name).read_text()
    (sent / name).write_text(before.replace("small", "Small"))
    assert (sent / name).read_text() != before
    done = isthmus("report", "sent")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"sent/{name}: changed since `isthmus report` took it over" in line
    assert "put it back as it was, or move it to an empty folder and report there" in line
    (tmp_path / "alone").mkdir()
    shutil.move(sent / name, tmp_path / "alone")
    if name == "result.json":
        assert isthmus("report", "alone").returncode == 0
    (sent / name).write_text(before)
    assert isthmus("report", "sent").returncode == 0


# The report alone.


@pytest.fixture
def whole(tmp_path):
    """A folder of a finished run with its own report and plots."""
    job().run_into(tmp_path / "whole", plots=("svg",))
    return tmp_path / "whole"


def test_the_report_alone_becomes_a_file_of_the_folder_that_it_goes_to(whole):
    """It is listed, so that later runs take it as it is."""
    results = Results.load(whole)
    page = (whole / "report.html").read_bytes()
    (whole / "report.html").unlink()
    for name in ("report.html", "report.html", "for-print.html"):
        assert results.report(whole / name) == whole / name
        assert (whole / name).read_bytes() == page
        assert read_mark(whole).files[name].sha256 == sha256(page)
    before = files(whole)
    job().run_into(whole, plots=("svg",))
    assert files(whole) == before
    job().run_into(whole, fresh=True, write=numbers_only)
    assert not any(name.endswith(".html") for name in files(whole))


def test_the_report_alone_overwrites_nothing_in_a_folder_of_ours(whole):
    results = Results.load(whole)
    (whole / "report.html").write_text("edited")
    (whole / "mine.html").write_text("mine")
    before = files(whole)
    refused(lambda: results.report(whole / "report.html"), "report.html: changed since isthmus")
    assert files(whole) == before
    other = job(TINY.replace("2 /ms", "3 /ms")).run()
    refused(lambda: other.report(whole / "new.html"), "holds results of another scenario")
    assert files(whole) == before
    (whole / "report.html").unlink()
    refused(lambda: results.report(whole / "mine.html"), "mine.html: not written by isthmus")
    for name in ("results.csv", "plots/latency.svg"):
        refused(lambda name=name: results.report(whole / name), f"{name}: there isthmus keeps")
    left = files(whole)
    assert {name for name in before if before[name] != left.get(name)} <= {MARK, "report.html"}
    assert set(before) - set(left) == {"report.html"}


def test_the_report_alone_goes_anywhere_else(out, tmp_path):
    results = Results.load(out)
    for _ in range(2):
        results.report(tmp_path / "mine" / "report.html")
    assert set(files(tmp_path / "mine")) == {"report.html"}
    (tmp_path / "mine" / "link.html").symlink_to(tmp_path / "thesis.html")
    refused(lambda: results.report(tmp_path / "mine" / "link.html"), "symbolic link")
    assert not (tmp_path / "thesis.html").exists()


def test_a_result_that_was_changed_is_not_read(out):
    text = (out / "result.json").read_text()
    (out / "result.json").write_text(text.replace('"seed":1', '"seed":2'))
    assert (out / "result.json").read_text() != text
    refused(lambda: Results.load(out), "out/result.json: damaged result")


def test_refusals_leave_no_lock_behind(out):
    for _ in range(3):
        refused(lambda: job(seed=9).run_into(out), "seed 1")
    assert (out / LOCK).read_bytes() == b""
