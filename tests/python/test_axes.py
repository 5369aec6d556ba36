"""Plots on axes of the user, on pyplot's terms."""

import matplotlib as mpl
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt

from isthmus import IsthmusError


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize(
    "kind", ["latency", "percentiles", "distribution", "residuals", "channels", "saturation"]
)
def test_a_plot_goes_where_the_user_wants_it(load_sweep, kind):
    figure, (left, right) = plt.subplots(1, 2)
    panels = {"percentiles": 3, "channels": 1, "saturation": 1}.get(kind, 1)
    measure = None if kind in ("channels", "saturation") else "read.network"
    if panels > 1:
        figure, axes = plt.subplots(1, panels)
        assert load_sweep.plot(kind, measure=measure, ax=axes) is axes
        assert all(ax.has_data() for ax in axes)
        return
    assert load_sweep.plot(kind, measure=measure, ax=left) is left
    assert left.has_data()
    assert not right.has_data()
    assert left.get_title()
    assert left.get_legend() is not None
    assert plt.gcf() is figure


def test_the_style_is_the_user_s(load_sweep):
    with plt.style.context({"font.size": 21, "axes.prop_cycle": plt.cycler(color=["#123456"])}):
        before = dict(mpl.rcParams)
        ax = load_sweep.plot("latency", measure="read.network", ax=plt.figure().subplots())
        assert dict(mpl.rcParams) == before
    assert ax.xaxis.label.get_fontsize() == 21
    assert {line.get_color() for line in ax.lines if len(line.get_xdata()) > 1} == {"#123456"}
    # Figures of our own look as ever.
    assert load_sweep.plot("latency").axes[0].xaxis.label.get_fontsize() < 12


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda r, ax: r.plot("latency", ax=ax), "1 axes were given and there are 2 panels"),
        (lambda r, ax: r.plot("latncy", ax=ax), "no plot 'latncy'; did you mean 'latency'"),
        (lambda r, ax: r.plot(measure="read.netwrk", ax=ax), "no measure 'read.netwrk'; did you"),
        (lambda r, ax: r.plot("machine", ax=ax), "makes a figure of its own"),
        (lambda r, ax: r.plot(ax="left"), "ax: 'l'"),
        (
            lambda r, ax: r.plot("accepted", measure="read.network"),
            "nothing to draw for 'accepted'",
        ),
    ],
)
def test_mistakes_are_told(load_sweep, call, told):
    with pytest.raises(IsthmusError) as error:
        call(load_sweep, plt.figure().subplots())
    assert told in str(error.value)
