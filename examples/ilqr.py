"""A pole on a cart is swung up by iLQR, with the derivatives of steps.

    python examples/ilqr.py

Each iteration computes the derivatives of all steps in one call, feedback gains in a backward pass, and
rollouts with that feedback, with smaller and smaller changes until the cost decreases.
[Tassa, Erez & Todorov 2012], without the second derivatives of the dynamics.
"""

from __future__ import annotations

import numpy as np

import mbt

DT, STEPS, ITERATIONS = 0.02, 150, 60
GOAL = np.array([0.0, np.pi, 0.0, 0.0])  # cart, pole, and their velocities
Q, R, Q_END = np.diag([0.1, 0.1, 0.01, 0.01]) * DT, np.diag([0.01]) * DT, np.diag([100.0, 100.0, 10.0, 10.0])


def make_cart_pole() -> mbt.MultibodyTree:
    """Return a cart of 1 kg on a rail, and a pole of 0.3 kg that hangs from it where its angle is 0."""
    tree = mbt.MultibodyTree()
    cart = tree.add_body(mbt.RigidBody("cart", mbt.SpatialInertia.point_mass(1.0, [0, 0, 0])))
    pole = tree.add_body(mbt.RigidBody("pole", mbt.SpatialInertia.point_mass(0.3, [0, 0, -0.5])))
    tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, cart, None, axis=[1, 0, 0])
    tree.add_joint(mbt.RevoluteJoint, "pivot", cart, None, pole, None, axis=[0, 1, 0])
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def cost(x: np.ndarray, u: np.ndarray) -> float:
    """Return the cost of a trajectory."""
    e = x - GOAL
    return float(np.sum(e[:-1] @ Q * e[:-1]) + np.sum(u @ R * u) + e[-1] @ Q_END @ e[-1]) / 2


def backward(x: np.ndarray, u: np.ndarray, A: np.ndarray, B: np.ndarray, damping: float) -> tuple:
    """Return changes k of the forces, and feedback gains K, from the quadratic model of the cost to go."""
    k, K = np.zeros_like(u), np.zeros((STEPS, 1, 4))
    s, S = Q_END @ (x[-1] - GOAL), Q_END
    for t in reversed(range(STEPS)):
        H = R + B[t].T @ S @ B[t] + damping * np.eye(1)
        k[t] = -np.linalg.solve(H, R @ u[t] + B[t].T @ s)
        K[t] = -np.linalg.solve(H, B[t].T @ S @ A[t])
        closed = A[t] + B[t] @ K[t]
        s = Q @ (x[t] - GOAL) + K[t].T @ R @ (u[t] + k[t]) + closed.T @ (s + S @ B[t] @ k[t])
        S = Q + K[t].T @ R @ K[t] + closed.T @ S @ closed
    return k, K


def roll_out(tree: mbt.MultibodyTree, x: np.ndarray, u: np.ndarray, k: np.ndarray, K: np.ndarray) -> tuple:
    """Return the trajectory that results from the feedback."""
    new_x, new_u = x.copy(), u.copy()
    for t in range(STEPS):
        new_u[t] += k[t] + K[t] @ (new_x[t] - x[t])
        force = np.array([new_u[t, 0], 0.0])
        new_x[t + 1] = np.concatenate(mbt.functional.step(tree, new_x[t, :2], new_x[t, 2:], force, DT))
    return new_x, new_u


def main() -> None:
    """Swing up."""
    tree, damping = make_cart_pole(), 1.0
    u, zero = np.zeros((STEPS, 1)), np.zeros((STEPS, 1, 4))
    x, u = roll_out(tree, np.zeros((STEPS + 1, 4)), u, u, zero)
    first = best = cost(x, u)
    for _ in range(ITERATIONS):
        tau = np.pad(u, ((0, 0), (0, 1)))
        A, B = mbt.functional.step_derivatives(tree, x[:-1, :2], x[:-1, 2:], tau, DT)
        k, K = backward(x, u, A, B[:, :, :1], damping)
        for length in 0.5 ** np.arange(8):
            new_x, new_u = roll_out(tree, x, u, length * k, K)
            if cost(new_x, new_u) < best:
                x, u, best, damping = new_x, new_u, cost(new_x, new_u), max(1e-6, damping / 3)
                break
        else:
            damping *= 10.0
    print(f"cost {first:.2f} -> {best:.2f}, ends at {x[-1].round(2)}")


if __name__ == "__main__":
    main()
