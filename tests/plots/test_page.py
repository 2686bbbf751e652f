"""How plots behave in a page: nothing of them is offered to others."""

import json
import subprocess
import sys

import plotly.graph_objects as go

from lab.plots.page import CHARSET, CONFIG, with_policy
from lab.widgets.pages import live

NOTEBOOK = """
import json
import plotly.graph_objects as go
import plotly.io
import lab.plots.page
figure = go.Figure(go.Scatter(y=[1, 2]))
for name in ("plotly_mimetype", "notebook", "colab"):
    bundle = plotly.io.renderers[name].to_mimebundle(figure.to_dict())
    text = json.dumps(bundle)
    print(name, "showSendToCloud" in text and '"showSendToCloud": true' not in text.replace("\\\\", ""))
"""


def test_a_page_that_speaks_of_a_policy_has_one_itself_and_only_once():
    made = with_policy(f"{CHARSET}<p>Content-Security-Policy</p>")
    assert made.count("<meta http-equiv") == 1 and with_policy(made, site=True) == made


def test_no_plot_offers_to_send_its_data_to_a_server():
    """Plotly's own default has a button that uploads the plot to a company's cloud."""
    assert CONFIG["showSendToCloud"] is False
    assert live(go.Figure(), 200)._config["showSendToCloud"] is False
    # a process of its own: plotly remembers settings
    said = subprocess.run([sys.executable, "-c", NOTEBOOK], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["plotly_mimetype", "True", "notebook", "True", "colab", "True"]


def test_figures_as_pages_do_not_offer_it_either(tmp_path):
    import pandas as pd

    from lab.catalogue.figure import Figure

    figure = Figure(go.Figure(go.Scatter(y=[1, 2])), pd.DataFrame({"y": [1]}), {"a": 1}, "caption", "a/b", "smoke")
    page = figure._page()
    assert json.dumps("showSendToCloud") + ": false" in page or '"showSendToCloud":false' in page
