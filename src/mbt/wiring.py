"""What subpackages use from those above them. Only `mbt` itself imports this module.

Modules are imported at the first use of a name in them: `import mbt` needs none of them.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from mbt._core.above import above
from mbt.math.foreign import bring_numbers


@above.bring("Frame", "MultibodyTree", "RigidBody")
def _tree() -> ModuleType:
    from mbt import tree

    return tree


@above.bring("clone_attributes", "collection_of", "copy_element", "reduce_element")
def _pickling() -> ModuleType:
    from mbt.tree import pickling

    return pickling


@above.bring("calc_servo_efforts")
def _servos() -> ModuleType:
    from mbt.tree import servos

    return servos


@above.bring("read_sensors")
def _sensors() -> ModuleType:
    from mbt.tree.sensors import readings

    return readings


@above.bring("token_of_element")
def _tokens() -> ModuleType:
    from mbt.tree import tokens

    return tokens


@above.bring("describe_element_as_html")
def _element_tables() -> ModuleType:
    from mbt.tree import element_tables

    return element_tables


@above.bring("Context", "MultibodyForces")
def _context() -> ModuleType:
    from mbt import context

    return context


@above.bring(
    "as_points",
    "body_node_index",
    "check_constraints_at",
    "check_outputs",
    "check_tuple",
    "check_with_respect_to",
    "compile_copy",
    "forces_of",
    "frame_index",
    "numbered_frames",
    "raise_concurrent_use",
    "raise_context_mismatch",
    "raise_foreign_cache",
    "raise_frozen",
    "raise_locked",
    "raise_massless_dof",
    "raise_not_copyable",
    "raise_singular_element",
    "raise_singular_map",
    "raise_singular_pivot",
    "raise_singular_position",
    "raise_stale_cache",
)
def _checks() -> ModuleType:
    from mbt.context import checks

    return checks


@above.bring("mask_of_bodies", "mask_of_instances", "raise_no_mass")
def _body_selection() -> ModuleType:
    from mbt.context import body_selection

    return body_selection


@above.bring("check_model_arrays")
def _model_checks() -> ModuleType:
    from mbt.context import model_checks

    return model_checks


@above.bring("calc_energy_report")
def _energy_report() -> ModuleType:
    from mbt.context import energy_report

    return energy_report


@above.bring("add_user_energy", "calc_user_forces", "differentiate_user_forces")
def _user_forces() -> ModuleType:
    from mbt.context import user_forces

    return user_forces


@above.bring("add_user_forces", "calc_single", "differentiate_each", "sum_of_forces")
def _single_states() -> ModuleType:
    from mbt.context import single_states

    return single_states


@above.bring("AutoDiffArray")
def _autodiff() -> ModuleType:
    from mbt import autodiff

    return autodiff


@above.bring("make_batch_context")
def _scalars() -> ModuleType:
    from mbt import scalars

    return scalars


@above.bring("check_digits")
def _digits() -> ModuleType:
    from mbt.scalars import digits

    return digits


@above.bring("clone_to_scalar")
def _cloning() -> ModuleType:
    from mbt.scalars import cloning

    return cloning


@above.bring("stands_in")
def _stand_ins() -> ModuleType:
    from mbt.scalars import stand_ins

    return stand_ins


@above.bring("of_each_state", "steps_of_each_state")
def _functional_of_scalars() -> ModuleType:
    from mbt.scalars import functional

    return functional


@above.bring(
    "centroidal_momentum_bias_of_others",
    "check_goal",
    "constrained_inverse_dynamics_of_others",
    "find_motors",
    "pose_error_of_others",
    "raise_not_driven",
    "raise_violated",
)
def _combined() -> ModuleType:
    from mbt.scalars import combined

    return combined


@above.bring("check_limits", "rollout_context")
def _motion() -> ModuleType:
    from mbt.motion import rollouts

    return rollouts


@above.bring("rollout_with_servos")
def _motion_with_servos() -> ModuleType:
    from mbt.motion import servo_rollouts

    return servo_rollouts


@bring_numbers
def _find_numbers(arguments: Any, present: Any) -> Any:
    from mbt.scalars.foreign import find_numbers

    return find_numbers(arguments, present)


@above.bring("contacts_of_file")
def _surfaces() -> ModuleType:
    from mbt.geometry import surfaces

    return surfaces
