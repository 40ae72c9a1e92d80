"""The notebook of the examples runs, and what it shows is what is committed."""

import re
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parent.parent / "examples" / "explore.ipynb"


@pytest.mark.thorough
def test_the_notebook_runs_and_shows_what_it_showed(monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    committed = nbformat.read(NOTEBOOK, as_version=4)
    fresh = nbformat.read(NOTEBOOK, as_version=4)
    for cell in fresh.cells:
        cell.outputs = []
    nbclient.NotebookClient(fresh, timeout=120, kernel_name="python3").execute()
    kinds = set()
    for before, after in zip(committed.cells, fresh.cells, strict=True):
        if before.cell_type != "code":
            continue
        assert [_data(o) for o in before.outputs] == [_data(o) for o in after.outputs], before.source
        kinds |= {kind for o in after.outputs for kind in o.get("data", {})}
    assert {"text/markdown", "text/latex", "image/svg+xml", "text/plain"} <= kinds


def _data(output):
    """What an output shows; of a picture its words, since coordinates differ between versions of matplotlib."""
    data = dict(output.get("data", {}))
    if "image/svg+xml" in data:
        data["image/svg+xml"] = re.findall(r"<text[^>]*>([^<]*)</text>", data["image/svg+xml"])
    return data
