"""A policy learns to balance a pole on a cart, by the cross-entropy method, on many environments at once.

    pip install ".[gymnasium]"
    python examples/cart_pole_policy.py [--generations 8] [--policies 512]

Each environment tries its own linear policy; the best tenth determines the distribution of the next
generation. The pole's mass and the rail's damping differ in every episode, so the learned policy is robust.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

import mbt
from mbt.interop.gymnasium import VectorEnv

STEPS = 250  # of an episode: 5 s


def build() -> tuple[mbt.MultibodyTree, mbt.RigidBody, mbt.Joint]:
    """Return the model, its pole and the rail of its cart."""
    tree = mbt.MultibodyTree()
    cart = tree.add_body(mbt.RigidBody("cart", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.3, 0.2, 0.1)))
    rod = mbt.SpatialInertia.make_from_central_inertia(0.1, [0, 0, 0.5], np.diag([8e-3, 8e-3, 1e-5]))
    pole = tree.add_body(mbt.RigidBody("pole", rod))
    rail = tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, cart, None, axis=[1, 0, 0])
    tree.add_joint(mbt.RevoluteJoint, "hinge", cart, None, pole, None, axis=[0, 1, 0])
    tree.add_joint_actuator("motor", rail, effort_limit=10.0)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree, pole, rail


def make_envs(count: int) -> VectorEnv:
    """Return environments in which a pole starts nearly upright."""
    tree, pole, rail = build()

    def reset(context: Any, rng: np.random.Generator, samples: np.ndarray) -> None:
        context.q = rng.uniform(-0.1, 0.1, context.q.shape)
        pole.set_mass(context, rng.uniform(0.05, 0.3, samples.size))
        rail.set_damping(context, rng.uniform(0.0, 1.0, samples.size))

    return VectorEnv(
        tree.create_default_context(), count, dt=0.02, max_episode_steps=STEPS, reset=reset,
        reward=lambda context, actions: 1.0 - 0.1 * abs(context.q[:, 0]),
        terminated=lambda context: (abs(context.q) > [2.4, 0.21]).any(axis=-1),
        normalized_actions=True, autoreset_mode=AutoresetMode.DISABLED,
    )  # fmt: skip


def run(envs: VectorEnv, gains: np.ndarray, seed: int) -> np.ndarray:
    """Return the rewards that the policies, one per environment, collect until the pole falls."""
    observations, _ = envs.reset(seed=seed)
    total, stands = np.zeros(envs.num_envs), np.ones(envs.num_envs, dtype=bool)
    for _ in range(STEPS):
        actions = np.tanh((gains * observations).sum(axis=-1, keepdims=True))
        observations, rewards, terminated, _, _ = envs.step(actions)
        total += rewards * stands
        stands &= ~terminated
    return total


def main() -> None:
    """Learn, and print the progress."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--generations", type=int, default=8)
    parser.add_argument("--policies", type=int, default=512)
    options = parser.parse_args()
    envs, rng = make_envs(options.policies), np.random.default_rng(0)
    mean, spread = np.zeros(4), 5.0 * np.ones(4)
    for generation in range(options.generations):
        gains = mean + spread * rng.normal(size=(options.policies, 4))
        total = run(envs, gains, seed=generation)
        best = gains[np.argsort(total)[-options.policies // 10 :]]
        mean, spread = best.mean(axis=0), best.std(axis=0)
        print(f"generation {generation}: {total.mean():5.1f} of {STEPS} on average, best {total.max():.1f}")
    total = run(envs, np.tile(mean, (options.policies, 1)), seed=1000)
    print(
        f"the mean policy {mean.round(1)} balances {np.mean(total > 0.8 * STEPS):.0%} of {len(total)} poles"
    )
    envs.close()


if __name__ == "__main__":
    main()
