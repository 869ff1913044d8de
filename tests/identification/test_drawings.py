"""Drawings of a fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import mbt
from mbt.identification import identify

pytest.importorskip("matplotlib", reason="needs the extra `plot`: pip install '.[plot]'")

import matplotlib as mpl
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def _without_windows() -> Iterator[None]:
    with mpl.rc_context({"backend": "Agg"}):
        yield
    pyplot.close("all")


def test_forces_and_parameters_are_drawn(robot, rng):
    q, v, vdot, tau = robot.log(300, rng)
    v[:, 0] = vdot[:, 0] = 0.0
    noise = np.append(robot.noise[:5], np.inf)
    found = identify(robot.tree, q, v, vdot, tau, friction="viscous", noise=noise)
    figure = found.plot()
    assert pyplot.get_fignums() == [figure.number]
    figure.canvas.draw()
    forces, parameters = figure.axes
    assert [label.get_text() for label in forces.get_yticklabels()] == list(robot.tree.velocity_names)
    measured, rest, told = forces.containers
    np.testing.assert_allclose([bar.get_width() for bar in rest], found.residual_rms)
    np.testing.assert_allclose([bar.get_width() for bar in told][:5], robot.noise[:5])
    np.testing.assert_allclose([bar.get_width() for bar in measured], np.sqrt((tau**2).mean(axis=0)))
    assert len(parameters.get_yticklabels()) == found.rank
    errors, crosses = parameters.lines
    seen = np.isfinite(found.base_standard_errors)
    np.testing.assert_array_equal(errors.get_ydata(), np.flatnonzero(seen))
    np.testing.assert_array_equal(crosses.get_ydata(), np.flatnonzero(~seen))
    # Nothing is cut off or covers bars.
    for axes in figure.axes:
        for text in (axes.get_legend(), axes.xaxis.label):
            box = text.get_window_extent()
            assert figure.bbox.x0 <= box.x0
            assert box.x1 <= figure.bbox.x1
        assert axes.get_legend().get_window_extent().y0 >= axes.bbox.y1
    # A change by rounding alone does not squeeze the other bars.
    assert parameters.get_xlim()[0] > 1e-3 * np.min(errors.get_xdata())
    own = mpl.figure.Figure()
    assert found.plot(own) is own
    with pytest.raises(mbt.ArgumentTypeError, match="figure: expected one of matplotlib"):
        found.plot("here")
