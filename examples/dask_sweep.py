"""The largest torques that hold a robot, over more configurations than fit into memory, on several processes.

    pip install ".[engines]"
    python examples/dask_sweep.py [--samples 1000000] [--workers 2]

dask splits the sweep into blocks and gives each to a worker; a worker computes its block with one call of
`mbt.functional`, in SIMD lanes. The same program runs on a cluster of machines: pass its address to `Client`.
"""

from __future__ import annotations

import argparse

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import mbt
from mbt import functional
from mbt.models import model_path

BLOCK = 50_000  # states: about 10 ms of work, and a few MB


def holding_torques(q: np.ndarray, tree: mbt.MultibodyTree) -> np.ndarray:
    """Return the torques against gravity, (..., nv)."""
    return -functional.gravity_generalized_forces(tree, q)


def largest_torques(tree: mbt.MultibodyTree, samples: int) -> da.Array:
    """Return the largest torque of each joint, not yet computed."""
    nq, nv = tree.num_positions, tree.num_velocities
    q = da.random.default_rng(0).uniform(-np.pi, np.pi, (samples, nq), chunks=(BLOCK, nq))
    # The tree is a task of its own: each worker receives it once, not once per block.
    tau = da.apply_gufunc(
        holding_torques,
        "(q)->(v)",
        q,
        tree=dask.delayed(tree),
        output_sizes={"v": nv},
        output_dtypes=float,
    )
    return abs(tau).max(axis=0)


def main() -> None:
    """Run on workers of this machine, one thread each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()

    tree = mbt.load_model(model_path("mbt_arm"))
    cluster = LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster):
        torques = largest_torques(tree, options.samples).compute()
    for joint in tree.joints:
        if joint.num_velocities:
            print(f"{joint.name:20} {torques[joint.velocity_start]:8.2f} Nm")


# Workers are new processes that import this file.
if __name__ == "__main__":
    main()
