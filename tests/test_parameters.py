"""Setting the parameters of a notebook before it is run."""

import nbformat
import pytest

from tests import notebooks


def test_a_parameter_changes_its_value_alone():
    source = 'scale = "laptop"  # smoke, laptop or paper\nseeds = 6\nrescale = 1'
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": ["parameters"]})
    notebook = notebooks.set_parameters(nbformat.v4.new_notebook(cells=[cell]), scale="smoke", seeds=2)
    assert notebook.cells[0].source == "scale = 'smoke'  # smoke, laptop or paper\nseeds = 2\nrescale = 1"
    with pytest.raises(AssertionError, match="absent"):
        notebooks.set_parameters(notebook, absent=1)
