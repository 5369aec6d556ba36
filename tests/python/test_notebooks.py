import nbclient
import nbformat
import pytest

from conftest import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "examples").glob("*.ipynb"))
SHORTER = {
    "first-look": {
        'resolution="10%"': 'resolution="40%"',
        'precision="10%"': 'precision="40%"',
    },
}
"""Parts of notebooks that take 10 s, and what takes less."""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_run(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    for part, shorter in SHORTER[path.stem].items():
        (cell,) = (cell for cell in notebook.cells if part in cell.source)
        cell.source = cell.source.replace(part, shorter)
    client = nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    assert any("image/png" in o.get("data", {}) for o in shown)


def test_there_is_a_notebook():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_are_kept_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(not c.get("outputs") for c in notebook.cells if c.cell_type == "code")
