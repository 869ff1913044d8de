"""Functions and classes that a room needs from rooms above it, which it must not import.

`import mbt` registers through `mbt.wiring` where each comes from; it is fetched on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mbt import autodiff, context, scalars, symbolic, tree

__all__ = ["above"]

Function = Callable[..., Any]
Source = Callable[[], ModuleType]


class _Above:
    """Functions and classes by name, all of which `mbt.wiring` must register."""

    # Classes.
    MultibodyTree: type[tree.MultibodyTree]
    Frame: type[tree.Frame]
    RigidBody: type[tree.RigidBody]
    Context: type[context.Context]
    MultibodyForces: type[context.MultibodyForces]
    AutoDiffArray: type[autodiff.AutoDiffArray]

    # Contexts and trees that a tree makes.
    compile_copy: Callable[[tree.MultibodyTree], None]
    make_batch_context: Callable[[tree.MultibodyTree, object], scalars.BatchContext]
    clone_to_scalar: Callable[[tree.MultibodyTree, str | symbolic.ScalarType], tree.MultibodyTree]

    stands_in: Callable[[tree.MultibodyTree], bool]

    # Copies of elements.
    reduce_element: Callable[[tree.MultibodyElement], tuple[Any, ...]]
    copy_element: Function
    clone_attributes: Function
    collection_of: Callable[[tree.MultibodyElement], str]
    token_of_element: Callable[[tree.MultibodyElement], object]

    # Elements in notebooks.
    describe_element_as_html: Callable[[tree.MultibodyElement], str]

    # Arguments that a kernel does not take as they are.
    as_points: Function
    body_node_index: Function
    check_goal: Function
    check_model_arrays: Function
    check_outputs: Function
    check_tuple: Function
    check_with_respect_to: Function
    forces_of: Function
    find_motors: Function
    frame_index: Function
    numbered_frames: Function
    mask_of_bodies: Function
    mask_of_instances: Function

    # Errors whose messages name elements.
    check_constraints_at: Function
    check_digits: Function
    raise_concurrent_use: Function
    raise_context_mismatch: Function
    raise_foreign_cache: Function
    raise_frozen: Function
    raise_locked: Function
    raise_massless_dof: Function
    raise_no_mass: Function
    raise_not_driven: Function
    raise_not_copyable: Function
    raise_singular_element: Function
    raise_singular_map: Function
    raise_singular_pivot: Function
    raise_singular_position: Function
    raise_stale_cache: Function
    raise_violated: Function

    # Computations in Python: elements of users, states one by one, other scalars.
    add_user_energy: Function
    add_user_forces: Function
    calc_energy_report: Function
    calc_single: Function
    calc_user_forces: Function
    centroidal_momentum_bias_of_others: Function
    constrained_inverse_dynamics_of_others: Function
    differentiate_each: Function
    differentiate_user_forces: Function
    of_each_state: Function
    pose_error_of_others: Function
    steps_of_each_state: Function
    sum_of_forces: Function

    # Contacts.
    contacts_of_file: Function

    # Motion.
    check_limits: Function
    rollout_context: Function
    rollout_with_servos: Function

    # Elements of few models.
    calc_servo_efforts: Function
    read_sensors: Function

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}

    def bring(self, *names: str) -> Callable[[Source], Source]:
        """Return a decorator for the function that imports the module of these names."""

        def take(source: Source) -> Source:
            self._sources.update(dict.fromkeys(names, source))
            return source

        return take

    def __getattr__(self, name: str) -> Any:
        """Fetch a function or class on its first use, and keep it."""
        if name.startswith("_") or name not in self._sources:
            raise AttributeError(
                f"{name}: belongs to a room above and is not registered: `import mbt` does so in mbt.wiring"
            )
        thing = getattr(self._sources[name](), name)
        setattr(self, name, thing)
        return thing


above = _Above()
