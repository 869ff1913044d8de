"""The demonstration's numbers are right."""

import re

import numpy as np
import pytest

from mbt.cli.demo import run_demo
from mbt.models import model_names, model_path
from mbt.parsing import load_model


def test_the_fall_keeps_its_energy():
    lines = run_demo().partition("Motors off")[2].splitlines()[2:8]
    rows = np.array([line.split() for line in lines[:5]], dtype=float)
    time, kinetic, potential, lost, total = rows.T
    np.testing.assert_allclose(time, np.linspace(0, 1, 5))
    np.testing.assert_allclose(kinetic + potential + lost, total, atol=2e-4)
    np.testing.assert_allclose(total, total[0], atol=1e-4)
    assert kinetic[0] == lost[0] == 0.0
    assert (np.diff(lost) > 0.0).all()
    [drift] = re.findall(r"drifted by (\S+) J", lines[5])
    assert float(drift) < 1e-7


@pytest.mark.parametrize("name", model_names())
def test_models_are_free_of_warnings(name):
    tree = load_model(model_path(name), strict=True)
    (report,) = tree.parse_reports
    assert report.warnings == []
    assert report.ignored == {}
    assert all(body.visuals for body in tree.bodies if body.default_mass > 0.0)
    assert all(body.default_spatial_inertia.is_physically_valid() for body in tree.bodies)
    assert tree.num_actuators == tree.num_velocities
