"""The demonstration's numbers are right."""

import numpy as np
import pytest

from mbt.cli.demo import simulate_fall
from mbt.models import model_names, model_path
from mbt.parsing import load_model


def fall(step):
    tree = load_model(model_path("mbt_arm"))
    return np.array(list(simulate_fall(tree, np.full(6, 0.4), duration=0.5, step=step, num_samples=6)))


def test_energy_is_conserved_up_to_the_order_of_the_integrator():
    drifts = []
    for step in (0.02, 0.01):
        samples = fall(step)
        total = samples[:, 1:].sum(axis=1)
        drifts.append(np.abs(total - total[0]).max())
    assert drifts[1] < 1e-2
    # Fourth order: half the step, a sixteenth of the error, less what is lost to the next orders.
    assert drifts[0] / drifts[1] > 10


def test_samples_are_evenly_spaced_and_damping_only_takes():
    samples = fall(0.01)
    np.testing.assert_allclose(samples[:, 0], np.linspace(0, 0.5, 6), atol=1e-12)
    assert samples[0, 1] == samples[0, 3] == 0.0
    assert (np.diff(samples[:, 3]) > 0).all()


@pytest.mark.parametrize("name", model_names())
def test_models_are_free_of_warnings(name):
    tree = load_model(model_path(name), strict=True)
    (report,) = tree.parse_reports
    assert report.warnings == []
    assert report.ignored == {}
    assert all(body.visuals for body in tree.bodies if body.default_mass > 0.0)
    assert all(body.default_spatial_inertia.is_physically_valid() for body in tree.bodies)
    assert tree.num_actuators == tree.num_velocities
