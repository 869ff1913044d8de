"""A pole on a cart is swung up by trying hundreds of forces at each instant: MPPI, with batches of rollouts.

    python examples/sampling_mpc.py [--seconds 4] [--samples 512]

At each instant the planned forces are perturbed at random for each sample; one call rolls out all samples;
the new plan is their mean, with weights that decrease exponentially with cost.
[Williams, Aldrich & Theodorou 2017]
"""

from __future__ import annotations

import argparse

import numpy as np
from ilqr import make_cart_pole

import mbt

DT, HORIZON, NOISE, TEMPERATURE = 0.02, 60, 8.0, 1.0


def main() -> None:
    """Swing up, and stay upright."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--samples", type=int, default=512)
    arguments = parser.parse_args()
    tree, rng = make_cart_pole(), np.random.default_rng(0)
    q, v, plan = np.zeros(2), np.zeros(2), np.zeros(HORIZON)
    for _ in range(round(arguments.seconds / DT)):
        # Forces on the cart; the pole is unactuated.
        tau = np.zeros((arguments.samples, HORIZON, 2))
        tau[:, :, 0] = plan + NOISE * np.repeat(rng.normal(size=(arguments.samples, HORIZON // 5)), 5, axis=1)
        qs, vs = mbt.functional.rollout(tree, q, v, tau, DT)
        costs = np.mean(
            2.0 * qs[:, 1:, 0] ** 2
            + 20.0 * (1.0 + np.cos(qs[:, 1:, 1]))
            + 0.1 * vs[:, 1:, 0] ** 2
            + 0.2 * vs[:, 1:, 1] ** 2
            + 1e-3 * tau[:, :, 0] ** 2,
            axis=1,
        )
        weights = np.exp((costs.min() - costs) / TEMPERATURE)
        plan = weights @ tau[:, :, 0] / weights.sum()
        q, v = mbt.functional.step(tree, q, v, np.array([plan[0], 0.0]), DT, method="rk4")
        plan = np.append(plan[1:], 0.0)
    print(f"after {arguments.seconds:g} s: cart {q[0]:.2f} m, pole {np.degrees(q[1]):.0f} deg from hanging")


if __name__ == "__main__":
    main()
