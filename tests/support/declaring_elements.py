"""Elements written in Python that declare parameters, discrete state and cache entries.

They are in a module of their own, so that `pickle` finds them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mbt

__all__ = ["Spring", "Telescope"]


class Spring(mbt.ForceElement):
    """A spring on a joint, with everything that an element can declare."""

    def __init__(self, joint: mbt.Joint) -> None:
        super().__init__(joint.model_instance)
        self.joint = joint
        self.num_calls = 0
        self.default_stiffness = 3.0

    def do_declare_force_element_parameters(self) -> None:
        self.stiffness = self.declare_numeric_parameter([3.0, 0.5])
        self.table = self.declare_abstract_parameter({"gain": 1.0})

    def do_set_default_force_element_parameters(self, parameters: mbt.Parameters) -> None:
        parameters.set_numeric_parameter(self.stiffness, [self.default_stiffness, 0.5])

    def do_declare_discrete_state(self) -> None:
        self.setpoint = self.declare_discrete_state(0.25)

    def do_declare_cache_entries(self) -> None:
        self.force = self.declare_cache_entry(
            "force of the spring", self.calc_force, ["q", "parameters", "discrete_state"]
        )
        self.doubled = self.declare_cache_entry(
            "twice that", lambda context: 2.0 * context.eval_cache_entry(self.force), [self.force, "time"]
        )

    def calc_force(self, context: Any) -> Any:
        self.num_calls += 1
        k, offset = context.get_numeric_parameter(self.stiffness)
        gain = context.get_abstract_parameter(self.table)["gain"]
        q = context.q[..., self.joint.position_start]
        return np.atleast_1d(-gain * k * (q - offset - context.get_discrete_state(self.setpoint)[0]))

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        tau = context.eval_cache_entry(self.force)
        forces.generalized_forces[..., self.joint.velocity_start] += tau[..., 0]


class Boom(mbt.Frame):
    """A frame at a distance along the x axis of its body."""

    def do_declare_parameters(self) -> None:
        self.length = self.declare_numeric_parameter(1.0)

    def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> Any:
        (length,) = parameters.get_numeric_parameter(self.length)
        return mbt.math.make_pose([length, 0.0, 0.0])


class Telescope(mbt.Frame):
    """A frame at a distance along x, turned about z, both parameters."""

    def do_declare_parameters(self) -> None:
        self.place = self.declare_numeric_parameter([0.5, 0.3])

    def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> Any:
        distance, angle = parameters.get_numeric_parameter(self.place)
        return mbt.math.make_pose([distance, 0, 0], rpy=[0, 0, angle])
