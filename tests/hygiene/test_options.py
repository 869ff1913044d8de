"""Options that are True or False reject everything else: "no" would count as true."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.case import get_case


def test_an_option_is_true_or_false() -> None:
    case = get_case("arm7")
    tree, context = case.tree, case.context(case.state())
    batch = tree.create_default_context((2,))
    sphere = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    for c in (context, batch):
        for call in (tree.calc_inverse_dynamics, tree.calc_inverse_dynamics_derivatives):
            with pytest.raises(
                mbt.ArgumentTypeError, match=r"include_force_elements: expected True or False, got 'no'"
            ):
                call(c, np.zeros(7), include_force_elements="no")
            call(c, np.zeros(7), include_force_elements=np.True_)
    for wrong in ("no", 0, None, 1.0):
        with pytest.raises(mbt.ArgumentTypeError, match="skip_validity_check: expected True or False"):
            mbt.SpatialInertia(1.0, np.zeros(3), sphere.unit_inertia, skip_validity_check=wrong)  # type: ignore[arg-type]
        with pytest.raises(mbt.ArgumentTypeError, match="always_add_suffix: expected True or False"):
            tree.get_position_names(always_add_suffix=wrong)  # type: ignore[arg-type]
