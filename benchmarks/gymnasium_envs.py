"""Steps of environments per second: many environments of one model in an `mbt.interop.gymnasium.VectorEnv`.

    python benchmarks/gymnasium_envs.py [--threads 2] [--rounds 7] [--seconds 0.3]

A cart-pole whose pole falls all the time, so that episodes begin in every step; and a quadruped of 18 dofs
with twelve motors and four feet on the ground, with one or five steps of 2 ms per action, or with spheres for
feet in implicit steps. Each episode begins at a different state, with its own masses. Rounds take turns; the
best and the median of all are printed, and the load of the machine. Beside them is the cart-pole that comes
with Gymnasium, in NumPy, which has a single model.
"""

from __future__ import annotations

import argparse
import os
from time import perf_counter
from typing import Any

import gymnasium
import numpy as np

import mbt
from mbt.interop.gymnasium import Env, VectorEnv

LINK = 0.16
GROUND = {"stiffness": 5e3, "dissipation": 1.0, "static_friction": 0.8, "stiction_speed": 0.1}
CROUCH = np.tile([0.0, 0.8, -1.6], 4)


def make_cart_pole() -> mbt.MultibodyTree:
    """Return the cart of the example, with its pole."""
    tree = mbt.MultibodyTree()
    cart = tree.add_body(mbt.RigidBody("cart", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.3, 0.2, 0.1)))
    rod = mbt.SpatialInertia.make_from_central_inertia(0.1, [0, 0, 0.5], np.diag([8e-3, 8e-3, 1e-5]))
    pole = tree.add_body(mbt.RigidBody("pole", rod))
    slider = tree.add_joint(mbt.PrismaticJoint, "slider", tree.world_body, None, cart, None, axis=[1, 0, 0])
    tree.add_joint(mbt.RevoluteJoint, "hinge", cart, None, pole, None, axis=[0, 1, 0])
    tree.add_joint_actuator("motor", slider, effort_limit=10.0)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def make_quadruped(*, shapes: bool = False) -> mbt.MultibodyTree:
    """Return a trunk of 1.5 kg on four legs of three joints each, the size of Solo 12.

    Its feet are points on the ground, or spheres for an `mbt.CollisionModel`.
    """
    tree = mbt.MultibodyTree()
    trunk = tree.add_body(mbt.RigidBody("trunk", mbt.SpatialInertia.solid_box_with_mass(1.5, 0.4, 0.2, 0.08)))
    for end, x in (("front", 0.19), ("hind", -0.19)):
        for side, y in (("left", 0.1), ("right", -0.1)):
            parent, place = trunk, [x, y, 0.0]
            for joint, mass, axis, length in (
                ("hip", 0.14, [1, 0, 0], 0.02),
                ("thigh", 0.14, [0, 1, 0], LINK),
                ("shin", 0.05, [0, 1, 0], LINK),
            ):
                name = f"{end}_{side}_{joint}"
                rod = mbt.SpatialInertia.solid_box_with_mass(mass, 0.03, 0.03, length)
                link = tree.add_body(mbt.RigidBody(name, rod.shift([0, 0, length / 2])))
                X_PF = mbt.math.make_pose(place)
                hinge = tree.add_joint(
                    mbt.RevoluteJoint, name, parent, X_PF, link, None, axis=axis, damping=0.01
                )
                tree.add_joint_actuator(name, hinge, effort_limit=2.7)
                parent, place = link, [0, 0, -length if joint != "hip" else 0.0]
            if shapes:
                parent.add_collision(mbt.Shape("sphere", [0.01], mbt.math.make_pose([0, 0, 0.01 - LINK])))
            else:
                tree.add_force_element(mbt.PointContact(parent, [0, 0, -LINK], **GROUND))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def make_cart_pole_envs(count: int) -> Any:
    """Return cart-poles that end as Gymnasium's do."""
    tree = make_cart_pole()
    pole = tree.get_body_by_name("pole")

    def reset(context: Any, rng: np.random.Generator, samples: Any) -> None:
        context.q = rng.uniform(-0.05, 0.05, context.q.shape)
        context.v = rng.uniform(-0.05, 0.05, context.v.shape)
        pole.set_mass(context, rng.uniform(0.05, 0.2, samples.size))

    return VectorEnv(
        tree.create_default_context(), count, dt=0.02, max_episode_steps=500, reset=reset,
        reward=lambda context, actions: 1.0,
        terminated=lambda context: (abs(context.q) > [2.4, 0.21]).any(axis=-1),
    )  # fmt: skip


def make_quadruped_envs(count: int, steps: int, *, shapes: bool = False) -> Any:
    """Return quadrupeds, rewarded for walking; their actions are joint angles."""
    tree = make_quadruped(shapes=shapes)
    how: dict[str, Any] = {"dt": 2e-3, "steps": steps, "method": "semi_implicit_euler"}
    if shapes:
        scene = mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane", name="floor")])
        how |= {"method": "implicit", "contacts": mbt.ShapeContact(scene, friction=0.8)}
    trunk = tree.get_body_by_name("trunk")
    start = tree.create_default_context()
    start.q = [1, 0, 0, 0, 0, 0, 2 * LINK * np.cos(0.8), *CROUCH]

    def reset(context: Any, rng: np.random.Generator, samples: Any) -> None:
        context.v = 0.1 * rng.normal(size=context.v.shape)
        trunk.set_mass(context, rng.uniform(1.2, 1.8, samples.size))

    def control(context: Any, actions: Any) -> Any:
        tau = np.zeros(context.v.shape)
        tau[:, 6:] = 3.0 * (CROUCH + 0.3 * actions - context.q[:, 7:]) - 0.1 * context.v[:, 6:]
        return tau

    return VectorEnv(
        start, count, **how, max_episode_steps=1000, reset=reset, control=control,
        action_space=gymnasium.spaces.Box(-1, 1, (12,)),
        reward=lambda context, actions: context.v[:, 3] - 0.01 * (actions**2).sum(axis=-1),
        terminated=lambda context: context.q[:, 6] < 0.1,
    )  # fmt: skip


def measure(envs: Any, seconds: float) -> float:
    """Return the number of steps of environments per second."""
    actions = [envs.action_space.sample() for _ in range(16)]
    envs.reset(seed=0)
    count, start = 0, perf_counter()
    while perf_counter() - start < seconds:
        envs.step(actions[count % 16])
        count += 1
    return count * getattr(envs, "num_envs", 1) / (perf_counter() - start)


class Single:
    """One environment, which is reset when it ends."""

    def __init__(self, env: Any) -> None:
        self.env, self.action_space, self.reset = env, env.action_space, env.reset

    def step(self, action: Any) -> None:
        """Take a step."""
        _, _, terminated, truncated, _ = self.env.step(action)
        if terminated or truncated:
            self.env.reset()


def main() -> None:
    """Print a line for each environment."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3)
    options = parser.parse_args()
    mbt.set_num_threads(options.threads)
    tree = make_cart_pole()
    envs: dict[str, Any] = {
        f"cart-pole, {n} at once": make_cart_pole_envs(n) for n in (64, 1024, 4096, 16384)
    }
    envs["cart-pole, Env, one after the other"] = Single(
        Env(tree.create_default_context(), reward=lambda context, actions: 1.0, max_episode_steps=500)
    )
    for n in (256, 1024, 4096):
        for steps in (1, 5):
            envs[f"quadruped, {n} at once, {steps} steps of 2 ms"] = make_quadruped_envs(n, steps)
        envs[f"with spheres, {n} at once, implicit"] = make_quadruped_envs(n, 1, shapes=True)
    for n in (1024, 4096):
        envs[f"gymnasium's CartPole-v1, {n} at once"] = gymnasium.make_vec("CartPole-v1", n)
    rates: dict[str, list[float]] = {name: [] for name in envs}
    for _ in range(options.rounds):
        for name, env in envs.items():
            rates[name].append(measure(env, options.seconds))
    print(f"{options.threads} threads, load {os.getloadavg()[0]:.1f}; thousands of steps a second")
    print(f"{'':44} {'best':>8} {'median':>8}")
    for name, values in rates.items():
        print(f"{name:44} {max(values) / 1e3:8.0f} {float(np.median(values)) / 1e3:8.0f}")


if __name__ == "__main__":
    main()
