"""Tables, pictures and pages are made again when what they are made from has changed."""

import shutil
from pathlib import Path

import isthmus
from isthmus import plots, report, sources
from isthmus.owned import read_mark
from isthmus.results import folder as folders
from isthmus.sources import FOLDERS, MODULES, source_digest

PARTS = ("tables", "report", "plots")


def test_tables_plots_and_report_are_made_again_after_a_change_of_code(
    tmp_path, load_sweep, monkeypatch
):
    made = []

    def counted(home, name, result):
        def call(*_words):
            made.append(name)
            return result

        monkeypatch.setattr(home, name, call)

    counted(folders, "_tables", [("results.csv", "a,b\n")])
    counted(report, "render", "<p>")
    counted(plots, "pictures", [])
    load_sweep.save(tmp_path / "out", plots=("png",))
    assert made == ["_tables", "render", "pictures"]
    load_sweep.save(tmp_path / "out", plots=("png",))
    assert len(made) == 3
    # The numbers have one key for all three; that of the plots has their forms, too.
    keys = read_mark(tmp_path / "out").parts
    assert keys["tables"] == keys["report"] != keys["plots"]
    monkeypatch.setattr(sources, "source_digest", lambda: "another")
    load_sweep.save(tmp_path / "out", plots=("png",))
    assert made[3:] == ["_tables", "render", "pictures"]


def test_the_key_knows_all_code_that_presents(tmp_path, monkeypatch):
    package = Path(isthmus.__file__).parent
    for name in FOLDERS:
        shutil.copytree(package / name, tmp_path / name)
    for name in MODULES:
        shutil.copy(package / name, tmp_path / name)
    monkeypatch.setattr(sources, "files", lambda _package: tmp_path)
    known = {source_digest.__wrapped__()}
    for name in ("columns.py", "wording.py", "results/tables.py", "plots/style.py"):
        with (tmp_path / name).open("a") as file:
            file.write("\n# changed\n")
        known.add(source_digest.__wrapped__())
    assert len(known) == 5
    (tmp_path / "plots/__pycache__").mkdir(exist_ok=True)
    (tmp_path / "plots/__pycache__/x.pyc").write_bytes(b"")
    assert source_digest.__wrapped__() in known
