"""Time of every public call on one state of an arm: this measures doors, not arithmetic.

    python benchmarks/doors.py [--above 3.0] [--rounds 20] [--match TEXT]

Every method of a tree, a Context, forces, bodies, frames, joints, actuators, force elements and constraints,
and every function of `mbt.functional`. Arguments are found by their names, or in the tests' table of calls.
Each line gives microseconds of CPU time, the minimum of many rounds, with an empty loop subtracted; slowest
first. Calls that build, edit, draw or save a tree, and reports, are left out; calls without known arguments
are listed. Calls find the caches of the Context as earlier ones left them.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import thread_time_ns
from typing import Any

import numpy as np

import mbt
from mbt import functional
from models import seven_joint_arm

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support import calls

#: For trees that are being built, written or drawn; for subclasses to override; reports.
LEFT_OUT = (
    "add_", "set_default", "do_", "declare_", "finalize", "parse", "remove", "rename", "to_", "save",
    "draw", "clone_to_scalar", "equals", "weld", "get_topology", "create_", "plot", "register", "write",
    "simulate", "merge", "replace", "assemble", "construct", "calc_base_parameters",
    "set_inertial_parameters", "validate", "explain", "from_", "freeze", "thaw", "calc_and_add", "check_",
    "set_position_limits", "set_velocity_limits", "set_acceleration_limits", "set_effort_limit",
    "set_enabled", "exclude_collisions",
)  # fmt: skip
KEPT = ("add_in_", "set_enabled_in")
REPORTS = ("_report",)

Door = Callable[[], Any]

POINT = np.array([0.1, 0.2, 0.3])


class Probe(mbt.FixedOffsetFrame):
    """A frame that declares one of everything that an element can declare."""

    def do_declare_parameters(self) -> None:
        """Declare a vector and an object."""
        self.declare_numeric_parameter(0.5)
        self.declare_abstract_parameter("note")

    def do_declare_discrete_state(self) -> None:
        """Declare a vector."""
        self.declare_discrete_state([0.0, 0.0])

    def do_declare_cache_entries(self) -> None:
        """Declare an entry that depends on the positions."""
        self.entry = self.declare_cache_entry("sum of q", lambda context: context.q.sum(), ("q",))


def build(with_elements: bool) -> Any:
    """Return the arm, or an arm with a force element of each kind, a rod, a servo, a sensor and a `Probe`."""
    tree = mbt.MultibodyTree()
    mbt.parsing.add_model(tree, seven_joint_arm().urdf)
    joints, body, world = tree.joints, tree.bodies[-1], tree.world_frame
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", body, mbt.math.make_pose([0.0, 0.0, 0.1])))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    if with_elements:
        tree.add_force_element(mbt.RevoluteSpring, joints[-1], 0.1, 2.0)
        tree.add_force_element(mbt.JointFriction, joints[-2], 0.1)
        tree.add_force_element(mbt.DoorHinge, joints[-3], mbt.DoorHingeConfig(spring_constant=1.0))
        tree.add_force_element(mbt.LinearSpringDamper, tree.world_body, POINT, body, POINT, 1.0, 1.0, 1.0)
        tree.add_force_element(mbt.LinearBushingRollPitchYaw, world, tip, *np.ones((4, 3)))
        tree.add_force_element(
            mbt.PointContact(body, POINT[None], stiffness=1e3, dissipation=1.0, static_friction=0.5)
        )
        tree.add_constraint(mbt.DistanceConstraint, "rod", world, POINT, body, POINT, 1.0)
        tree.add_joint_actuator("servo", joints[-1], stiffness=10.0, damping=1.0)
        tree.add_sensor(mbt.Imu(body, "imu"))
        tree.add_frame(Probe("probe", body))
    tree.finalize()
    return tree


class Survey:
    """The doors of one tree."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        rng = np.random.default_rng(0)
        nq, nv = tree.num_positions, tree.num_velocities
        self.context = tree.create_default_context()
        self.forces = mbt.MultibodyForces(tree)
        self.q, self.v, vdot, tau = (rng.normal(size=n) for n in (nq, nv, nv, nv))
        self.context.q, self.context.v = self.q, self.v
        body, world = tree.bodies[-1], tree.world_frame
        X = mbt.math.exp_se3(np.linspace(-0.3, 0.4, 6))
        #: Argument values, by name.
        self.values: dict[str, Any] = {
            "tree": tree, "context": self.context, "forces": self.forces, "q": self.q, "v": self.v,
            "vdot": vdot, "tau": tau, "known_vdot": vdot, "tau_applied": tau, "qdot": self.v, "qddot": vdot,
            "q0": self.q, "q1": self.q + 0.1, "dt": 1e-3, "frame": body.body_frame,
            "frame_B": body.body_frame, "frame_F": body.body_frame, "frame_A": world, "frame_E": world,
            "frame_M": world, "frame_W": world, "with_respect_to": "v", "p_BoBp_B": POINT,
            "p_BoBi_B": POINT, "p_BQi": POINT, "p_WoP_W": POINT, "p_BP": POINT, "p_BQ_B": POINT,
            "p_AP": POINT, "p_BQ": POINT, "p_FC": POINT[None], "body": body, "p_BoFo_B": POINT,
            "p_BP_E": POINT, "F_Bp_E": np.ones(6), "F_Bo_W": np.ones(6), "body_indexes": [1],
            "body_indices": [1], "angle": 0.1, "rate": 0.1, "translation": 0.1, "mass": 1.5,
            "com": 0.1 * POINT, "damping": 0.2, "values": {}, "X_BF": X, "X_FB": X, "X_PF": X,
            "position": 0.1, "state": {}, "frame_C": tree.bodies[1].body_frame,
            "frame_D": tree.bodies[1].body_frame, "positions": self.q, "velocities": self.v, "name": "q",
            "stiffness": 2.0, "random": rng, "q_v": np.concatenate([self.q, self.v]),
            "model_instance": 2, "index": 0, "joint_dof": 0,
            "joint_tau": 1.0, "element": body, "addend": self.forces, "measured_in_frame": world,
            "expressed_in_frame": world, "other_frame": tree.bodies[1].body_frame, "X_FQ": X,
            "R_FQ": X[:3, :3].copy(), "u": np.zeros(0), "u_instance": np.zeros(0), "q_instance": self.q,
            "v_instance": self.v, "theta_dot": 0.1, "is_enabled": True, "g_W": [0.0, 0.0, -9.81],
            "velocity": 0.1, "nominal_angle": 0.1, "coulomb_friction": 0.1, "stribeck_velocity": 0.1,
            "transition_velocity": 0.1, "angular_rate": 0.1,
            "config": mbt.DoorHingeConfig(spring_constant=2.0), "free_length": 1.0, "dissipation": 1.0,
            "static_friction": 0.5, "stiction_speed": 0.1, "distance": 1.0, "stabilization": (10.0, 10.0),
            "vdot_array": vdot, "tau_array": tau, "q_array": self.q, "v_array": self.v,
            "M_BBo_B": mbt.SpatialInertia(1.0, 0.1 * POINT, np.eye(3)), "damping_vector": [0.2],
            "frame_body_poses": tree.eval_frame_body_poses(self.context),
            "torque_stiffness_constants": np.ones(3), "torque_damping_constants": np.ones(3),
            "enabled": True, "force_stiffness_constants": np.ones(3), "force_damping_constants": np.ones(3),
            "lower_limits": [-2.0], "upper_limits": [2.0], "effort_limit": 100.0,
            "A_WB_array": np.ones((tree.num_bodies, 6)), "generator": rng, "other": self.forces,
            "value": "note", "entry": next((f.entry for f in tree.frames if isinstance(f, Probe)), None),
            "X_WG": functional.frame_pose(tree, tree.default_positions + 0.1, body.body_frame),
            "gear_ratio": 2.0, "rotor_inertia": 0.1, "F_Mo_F": np.ones(6),
        }  # fmt: skip
        self.untimed: list[str] = []

    def owners(self) -> dict[str, Any]:
        """Return one object of every kind."""
        tree = self.tree
        found = {"tree": tree, "context": self.context, "forces": self.forces, "body": tree.bodies[-1]}
        found |= {"frame": tree.bodies[-1].body_frame, "joint": tree.joints[-1]}
        for elements in (tree.frames, tree.joint_actuators, tree.model_instances):
            found |= {type(element).__name__: element for element in elements}
        return found

    def doors(self) -> Iterator[tuple[str, Door]]:
        """Yield the calls."""
        for name, function in inspect.getmembers(functional, callable):
            if name in functional.__all__:
                yield from self.door(f"F.{name}", function)
        yield from self.doors_of(self.owners())
        context = self.context
        for name in ("q", "v", "actuation", "time"):
            value = getattr(context, name)
            yield f"context.{name} =", lambda name=name, value=value: setattr(context, name, value)

    def doors_of_elements(self) -> Iterator[tuple[str, Door]]:
        """Yield the doors of elements that the arm lacks or that are rarely used."""
        tree = self.tree
        elements = (*tree.force_elements, *tree.constraints, *tree.joint_actuators, *tree.sensors)
        others = (tree.mobilizers[-1], tree.get_frame_by_name("probe"))
        yield from self.doors_of({type(x).__name__: x for x in (*elements, *others)})

    def doors_of(self, owners: dict[str, Any]) -> Iterator[tuple[str, Door]]:
        """Yield the methods and properties of some objects."""
        for name, owner in owners.items():
            for attribute in dir(type(owner)):
                member = getattr(type(owner), attribute)
                if attribute.startswith("_") or attribute.endswith(REPORTS):
                    continue
                if attribute.startswith(LEFT_OUT) and not attribute.startswith(KEPT):
                    continue
                if callable(member):
                    yield from self.door(f"{name}.{attribute}", getattr(owner, attribute))
                elif inspect.isdatadescriptor(member):
                    yield (
                        f"{name}.{attribute}",
                        lambda owner=owner, attribute=attribute: getattr(owner, attribute),
                    )

    def door(self, name: str, function: Callable[..., Any]) -> Iterator[tuple[str, Door]]:
        """Yield a call with arguments that fit the names, or that the tests' table has."""
        arguments = self.arguments_of(name, function)
        if arguments is None:
            self.untimed.append(name)
        else:
            yield name, lambda: function(*arguments)

    def restore(self) -> None:
        """Undo the changes that a door made to the state."""
        for joint in self.tree.joints:
            joint.unlock(self.context)
        self.context.q, self.context.v = self.q, self.v

    def arguments_of(self, name: str, function: Callable[..., Any]) -> tuple[Any, ...] | None:
        """Return the arguments for a function, or None if its names do not tell them."""
        if name in OVERLOADED:
            return self.context, self.values[OVERLOADED[name]]
        known = calls.CALLS | calls.ROLLOUTS
        call = known.get(name) or known.get(name.removeprefix("F.").removeprefix("tree."))
        # The table's call of this one makes arrays each time.
        if call is not None and name.startswith(("F.", "tree.")) and name != "F.constrained_inverse_dynamics":
            return call.positional(self.tree, self.context, *call.values(self.tree))
        try:
            needed = [
                parameter.name
                for parameter in inspect.signature(function).parameters.values()
                if parameter.default is parameter.empty and parameter.kind <= parameter.VAR_POSITIONAL
            ]
        except ValueError:
            return None
        special = SPECIAL.get(name.partition(".")[2], {}) | SPECIAL.get(name, {})
        indices = {argument: 0 for argument in needed if argument.endswith("_index")}
        values = self.values | indices | special
        found = [values.get(argument) for argument in needed]
        return None if any(value is None for value in found) else tuple(found)


#: The argument after the Context, for methods that take a model instance before it, or none.
OVERLOADED = {
    "tree.set_positions": "q",
    "tree.set_velocities": "v",
    "tree.set_actuation": "u",
    "tree.set_positions_and_velocities": "q_v",
}
#: Arguments whose meaning differs from that of other arguments of the same name.
SPECIAL: dict[str, dict[str, Any]] = {
    "set_positions": {"q": [0.1]},
    "set_velocities": {"v": [0.1]},
    "set_damping_vector": {"damping": [0.2]},
    "get_body_by_name": {"name": "link_3"},
    "get_frame_by_name": {"name": "link_3"},
    "get_joint_by_name": {"name": "joint_3"},
    "get_model_instance_by_name": {"name": "WorldModelInstance"},
    "get_constraint_by_name": {"name": "rod"},
    "get_joint_actuator_by_name": {"name": "servo"},
    "get_sensor_by_name": {"name": "imu"},
    "set_numeric_parameter": {"values": np.array([0.5])},
    "set_discrete_state": {"values": np.array([0.0, 1.0])},
    "get_actuation_vector": {"u": np.zeros(1)},
    "set_actuation_vector": {"u": np.zeros(1), "u_actuator": 0.5},
}
_ONE = np.array([0.5])
SPECIAL |= {
    f"RevoluteMobilizer.{method}": dict.fromkeys(("q", "v", "vdot", "qdot", "qddot"), _ONE)
    for method in (
        "calc_across_mobilizer_spatial_acceleration",
        "calc_across_mobilizer_spatial_velocity",
        "map_acceleration_to_qddot",
        "map_qddot_to_acceleration",
        "map_qdot_to_velocity",
        "map_velocity_to_qdot",
    )
}


def microseconds(door: Door, rounds: int) -> float:
    """Return the minimum time of a call, which leaves the state as it was."""
    door()
    number = 1
    while spent(door, number) < 2e5:
        number *= 4
    loop = min(spent(nothing, number) for _ in range(3))
    return max(0.0, min(spent(door, number) for _ in range(rounds)) - loop) / number / 1e3


def nothing() -> None:
    """Do nothing."""


def spent(door: Door, number: int) -> float:
    """Return the time of `number` calls [ns]."""
    start = thread_time_ns()
    for _ in range(number):
        door()
    return thread_time_ns() - start


def main() -> None:
    """Print a line for each slow call, and the calls that were not made."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--above", type=float, default=3.0, help="microseconds; quicker calls are only counted"
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--match", default="", help="text in the name of a call")
    arguments = parser.parse_args()
    mbt.set_num_threads(1)
    survey, of_elements = Survey(build(False)), Survey(build(True))
    times: dict[str, float] = {}
    # Calls for elements that the arm alone lacks are made on the other tree.
    on_the_other = dict(of_elements.doors())
    alone_or_not = on_the_other | dict(survey.doors())
    for name, door in itertools.chain(alone_or_not.items(), of_elements.doors_of_elements()):
        if arguments.match in name:
            survey.restore()
            of_elements.restore()
            try:
                times[name] = microseconds(door, arguments.rounds)
            except (mbt.MbtError, TypeError):
                try:
                    times[name] = microseconds(on_the_other.get(name, door), arguments.rounds)
                except (mbt.MbtError, TypeError) as error:
                    survey.untimed.append(f"{name} ({type(error).__name__}: {str(error)[:100]})")
    slow = {name: t for name, t in times.items() if t > arguments.above}
    for name, t in sorted(slow.items(), key=lambda item: -item[1]):
        print(f"{name:60} {t:8.2f}")
    print(f"{len(times)} calls, {len(slow)} of them above {arguments.above} us")
    if "F.forward_dynamics" in times:
        print(f"to compare runs: F.forward_dynamics took {times['F.forward_dynamics']:.2f}")
    print("not called:")
    for name in dict.fromkeys(survey.untimed + of_elements.untimed):
        if name.partition(" ")[0] not in times:
            print("  ", name)


if __name__ == "__main__":
    main()
