"""`MultibodyTree`: the model a user builds, finalizes and computes with."""

from __future__ import annotations

import math
import os
from _thread import RLock  # without `threading`, which takes half a millisecond
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast, overload

from mbt._core.above import above
from mbt._core.engines.context import ContextCore
from mbt.errors import (
    AlreadyFinalizedError,
    ArgumentTypeError,
    ConcurrentUseError,
    ForeignElementError,
    NotFinalizedError,
    quote,
)
from mbt.tree.actuator import JointActuator
from mbt.tree.assembling import Assembling
from mbt.tree.body import RigidBody
from mbt.tree.configuration import ConfigurationSpace
from mbt.tree.constraint_equations import ConstraintEquations
from mbt.tree.constraints import Constraint
from mbt.tree.construction import make_element, make_joint_frames
from mbt.tree.context_access import raise_context_mismatch
from mbt.tree.editing import Editing
from mbt.tree.element import MultibodyElement, as_name, check_element
from mbt.tree.factories import Factories
from mbt.tree.force_elements import ForceElement, UniformGravityFieldElement
from mbt.tree.frame import Frame
from mbt.tree.identification import Identification
from mbt.tree.indices import ModelInstanceIndex
from mbt.tree.joint import Joint
from mbt.tree.mobilizer import Mobilizer
from mbt.tree.model_instance import ModelInstance
from mbt.tree.motion import Motion
from mbt.tree.parameters import Declarations, Parameters
from mbt.tree.sensing import Sensing
from mbt.tree.sensors import Sensor
from mbt.tree.tree_reports import TreeReports

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.solvers.implicit_steps import ImplicitCore

__all__ = ["MultibodyTree"]

# One lock for all trees: a copied tree needs it once, to be compiled.
_compile_lock = RLock()

# The trees being finalized, by `id`, and a mark of the call that finalizes each.
_at_work: dict[int, object] = {}

P = ParamSpec("P")
ElementT = TypeVar("ElementT", bound=MultibodyElement)
BodyT = TypeVar("BodyT", bound=RigidBody)
FrameT = TypeVar("FrameT", bound=Frame)
MobilizerT = TypeVar("MobilizerT", bound=Mobilizer)
JointT = TypeVar("JointT", bound=Joint)
ForceElementT = TypeVar("ForceElementT", bound=ForceElement)
ConstraintT = TypeVar("ConstraintT", bound=Constraint)
SensorT = TypeVar("SensorT", bound=Sensor)


class MultibodyTree(
    ConfigurationSpace,
    ConstraintEquations,
    Assembling,
    Motion,
    Sensing,
    Identification,
    TreeReports,
    Editing,
    Factories,
):
    """A tree of rigid bodies, connected by joints, with the forces that act on them.

    A new tree holds the world body and nothing else, not even gravity. Elements are added, then `finalize`
    compiles the tree. From then on it cannot change, and any number of threads may compute with it:
    everything that does change lives in a Context.

    Every ``add_*`` method takes an element, or a class followed by the arguments of its constructor, and
    returns the element. It checks everything before it changes anything, so a call that fails leaves the tree
    as it was.

    Examples
    --------
    >>> import numpy as np
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> pivot = mbt.math.make_pose([0, 0, 0.5])
    >>> hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, pivot, axis=[0, 1, 0])
    >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement())
    >>> tree.finalize()
    >>> tree
    <MultibodyTree: 2 bodies, 1 joint, 1 position, 1 velocity>
    """

    # A clone that computes with derivatives, and what it was made from; see `mbt.context.tangents`.
    _tangent: tuple[MultibodyTree, list[Any]] | None = None
    # Steppers of implicit steps with the default parameters, by the limits that act.
    _implicit_cores: Mapping[tuple[bool, bool], ImplicitCore] = MappingProxyType({})
    # Pairs of bodies whose shapes are not paired for collisions.
    _exclusions: tuple[tuple[RigidBody, RigidBody], ...] = ()

    def __init__(self) -> None:
        if self._plan is not None:
            raise AlreadyFinalizedError("This tree is finalized: it cannot be constructed again.")
        from mbt.tree.registry import ElementRegistry

        super().__init__()
        self._plan = None
        self._elements = ElementRegistry(self)
        # What elements declared; while finalize() runs, what they are declaring.
        self._declarations: Declarations | None = None
        self._declaring: Declarations | None = None
        # Finalized trees that are copies of each other share it.
        self._family: bytes | None = None

    # Additions.

    def add_model_instance(self, name: str) -> ModelInstanceIndex:
        """Add a model instance and return its index.

        Parameters
        ----------
        name : str
            Name, unique in the tree.

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized.
        ArgumentValueError
            When the name is taken already.
        """
        self._check_can_change("add_model_instance")
        instance = ModelInstance(name)
        self._elements.add_model_instance(instance)
        return instance.index

    @overload
    def add_body(self, body: BodyT) -> BodyT: ...
    @overload
    def add_body(self, body: Callable[P, BodyT], *args: P.args, **kwargs: P.kwargs) -> BodyT: ...

    def add_body(self, body: RigidBody | Callable[..., RigidBody], *args: Any, **kwargs: Any) -> RigidBody:
        """Add a body, and with it its body frame.

        Parameters
        ----------
        body : RigidBody, or a class of bodies
            The body, or its class, followed by the arguments of the constructor.

        Returns
        -------
        RigidBody

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized.
        ArgumentValueError
            When the model instance has a body or frame of that name.
        ForeignElementError
            When the body belongs to a tree already.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> M_BBo_B = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
        >>> tree.add_body(mbt.RigidBody("ball", M_BBo_B))
        <RigidBody 'ball' index=1 model_instance=1>
        >>> tree.add_body(mbt.RigidBody, M_BBo_B)
        <RigidBody 'body_2' index=2 model_instance=1>
        """
        self._check_can_change("add_body")
        element: RigidBody = make_element("add_body", RigidBody, body, args, kwargs)
        self._elements.add_body(element)
        return element

    @overload
    def add_frame(self, frame: FrameT) -> FrameT: ...
    @overload
    def add_frame(self, frame: Callable[P, FrameT], *args: P.args, **kwargs: P.kwargs) -> FrameT: ...

    def add_frame(self, frame: Frame | Callable[..., Frame], *args: Any, **kwargs: Any) -> Frame:
        """Add a frame. Its parent frame must have been added before.

        Parameters
        ----------
        frame : FixedOffsetFrame, or its class
            The frame, or its class, followed by the arguments of the constructor.

        Returns
        -------
        FixedOffsetFrame

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized.
        ArgumentValueError
            When the model instance has a frame of that name.
        ForeignElementError
            When the frame belongs to a tree already, or the parent frame does not belong to this one.
        """
        self._check_can_change("add_frame")
        element: Frame = make_element("add_frame", Frame, frame, args, kwargs)
        self._elements.add_frame(element)
        return element

    @overload
    def add_mobilizer(self, mobilizer: MobilizerT) -> MobilizerT: ...
    @overload
    def add_mobilizer(
        self, mobilizer: Callable[P, MobilizerT], *args: P.args, **kwargs: P.kwargs
    ) -> MobilizerT: ...

    def add_mobilizer(
        self, mobilizer: Mobilizer | Callable[..., Mobilizer], *args: Any, **kwargs: Any
    ) -> Mobilizer:
        """Add a mobilizer without a joint. Most models use `add_joint` instead.

        Its inboard body must be the one nearer World: `finalize` raises `TopologyError` otherwise.

        Parameters
        ----------
        mobilizer : Mobilizer, or a class of mobilizers
            The mobilizer, or its class, followed by the arguments of the constructor.

        Returns
        -------
        Mobilizer

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized.
        ForeignElementError
            When the mobilizer belongs to a tree already, or one of its frames does not belong to this one.
        TopologyError
            When its bodies are connected already.
        """
        self._check_can_change("add_mobilizer")
        element: Mobilizer = make_element("add_mobilizer", Mobilizer, mobilizer, args, kwargs)
        self._elements.add_mobilizer(element)
        return element

    @overload
    def add_joint(self, joint: JointT) -> JointT: ...
    @overload
    def add_joint(
        self,
        joint: Callable[Concatenate[str, Frame, Frame, P], JointT],
        name: str,
        parent: Frame | RigidBody | str,
        X_PF: object,
        child: Frame | RigidBody | str,
        X_BM: object,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> JointT: ...

    def add_joint(
        self,
        joint: Joint | Callable[..., Joint],
        name: str | None = None,
        parent: Frame | RigidBody | str | Any = None,
        X_PF: object = None,
        child: Frame | RigidBody | str | Any = None,
        X_BM: object = None,
        *args: Any,
        **kwargs: Any,
    ) -> Joint:
        """Add a joint between two bodies.

        ``add_joint(JointType, name, parent, X_PF, child, X_BM, ...)`` makes the frames of the joint;
        ``add_joint(JointType(name, frame_on_parent, frame_on_child, ...))`` uses frames that were added
        before. Parent and child only define what q and v mean, M in F: either may be nearer World.

        Parameters
        ----------
        joint : Joint, or a class of joints
            The joint, or its class.
        name : str
            Name of the joint, unique among the joints of the child's model instance.
        parent : RigidBody, Frame or str
            The parent body, or a frame on it, or its name; P is that frame, or the body frame.
        X_PF : array_like, shape (4, 4), or None
            Pose of the frame F in P. None: F is P itself; otherwise a frame ``"<name>_parent"`` is added.
        child : RigidBody, Frame or str
            The child body, or a frame on it, or its name; B is that frame, or the body frame.
        X_BM : array_like, shape (4, 4), or None
            Pose of the frame M in B. None: M is B itself; otherwise a frame ``"<name>_child"`` is added.
        *args, **kwargs
            Arguments of the class after ``name, frame_on_parent, frame_on_child``.

        Returns
        -------
        Joint

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized.
        ArgumentValueError
            When the model instance has a joint or frame of that name, or an argument of the joint is invalid.
        ForeignElementError
            When a body or frame does not belong to this tree, or the joint belongs to a tree already.
        TopologyError
            When both bodies are the same, or connected already.
        """
        self._check_can_change("add_joint")
        if not isinstance(joint, type):
            if not (name is parent is X_PF is child is X_BM is None):
                args = (name, *args)
            element: Joint = make_element("add_joint", Joint, joint, args, kwargs)
            self._elements.add_joint(element)
            return element
        name = as_name(name, "add_joint: name")
        if isinstance(parent, str):
            parent = self._elements.frame_named(parent, f"joint {quote(name)}: parent")
        if isinstance(child, str):
            child = self._elements.frame_named(child, f"joint {quote(name)}: child")
        for end, argument in ((parent, "parent"), (child, "child")):
            check_element(end, RigidBody | Frame, f"joint {quote(name)}: {argument}")
            self._elements.check_is_owned(end, f"joint {quote(name)}: {argument}")
        frame_F, frame_M = make_joint_frames(name, parent, X_PF, child, X_BM)
        element = make_element("add_joint", Joint, joint, (name, frame_F, frame_M, *args), kwargs)
        self._elements.add_joint(
            element, [frame for frame in (frame_F, frame_M) if not frame.has_parent_tree]
        )
        return element

    @overload
    def add_force_element(self, force_element: ForceElementT) -> ForceElementT: ...
    @overload
    def add_force_element(
        self, force_element: Callable[P, ForceElementT], *args: P.args, **kwargs: P.kwargs
    ) -> ForceElementT: ...

    def add_force_element(
        self, force_element: ForceElement | Callable[..., ForceElement], *args: Any, **kwargs: Any
    ) -> ForceElement:
        """Add a force element.

        Parameters
        ----------
        force_element : ForceElement, or a class of force elements
            The force element, or its class, followed by the arguments of the constructor.

        Returns
        -------
        ForceElement

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized.
        ArgumentValueError
            When it is a second `UniformGravityFieldElement`.
        ForeignElementError
            When the force element belongs to a tree already, or an element that it refers to does not belong
            to this one.
        ArgumentTypeError
            When it is an instance of a subclass of `ForceElement` without a method for its forces.
        """
        self._check_can_change("add_force_element")
        element: ForceElement = make_element("add_force_element", ForceElement, force_element, args, kwargs)
        self._elements.add_force_element(element)
        return element

    @overload
    def add_joint_actuator(self, name: JointActuator) -> JointActuator: ...
    @overload
    def add_joint_actuator(
        self,
        name: str,
        joint: Joint | str,
        effort_limit: float = math.inf,
        *,
        rotor_inertia: float = 0.0,
        gear_ratio: float = 1.0,
        dof: int | None = None,
        stiffness: float = 0.0,
        damping: float = 0.0,
    ) -> JointActuator: ...
    @overload
    def add_joint_actuator(
        self, name: Callable[P, JointActuator], *args: P.args, **kwargs: P.kwargs
    ) -> JointActuator: ...

    def add_joint_actuator(self, name: str | Any, *args: Any, **kwargs: Any) -> JointActuator:
        """Add an actuator on one degree of freedom of a joint.

        Parameters
        ----------
        name : str, or a JointActuator, or its class
            Name of the actuator, unique among those of the joint's model instance; or the actuator itself; or
            its class, followed by the arguments of the constructor.
        joint : Joint or str
            The joint that it drives, or its name.
        effort_limit : float, optional
            Largest effort [N m, N]. Servos and implicit steps keep to it; functions of one state do not.
        rotor_inertia : float, optional
            Inertia of the rotor [kg m^2, kg].
        gear_ratio : float, optional
            Turns of the rotor per turn of the joint.
        dof : int, optional
            Index, from 0, of the joint's velocity that it drives; required if there are several.
        stiffness, damping : float, optional
            Gains of a servo [N m/rad, N/m] and [N m s/rad, N s/m], see `JointActuator`; 0: a plain motor.

        Returns
        -------
        JointActuator

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized.
        ArgumentValueError
            When the joint has no such degree of freedom, or the model instance has an actuator of that name.
        UnknownNameError
            When no joint has that name; the message lists the nearest names.
        ForeignElementError
            When the joint does not belong to this tree, or the actuator belongs to a tree already.
        """
        self._check_can_change("add_joint_actuator")
        if isinstance(name, str):
            if "joint" in kwargs and not args:
                args = (kwargs.pop("joint"),)
            if args and isinstance(args[0], str):
                joint = self._elements.joint_named(args[0], f"joint actuator {quote(name)}: joint")
                args = (joint, *args[1:])
            name, args = JointActuator, (name, *args)
        actuator: JointActuator = make_element("add_joint_actuator", JointActuator, name, args, kwargs)
        self._elements.add_joint_actuator(actuator)
        return actuator

    @overload
    def add_constraint(self, constraint: ConstraintT) -> ConstraintT: ...
    @overload
    def add_constraint(
        self, constraint: Callable[P, ConstraintT], *args: P.args, **kwargs: P.kwargs
    ) -> ConstraintT: ...

    def add_constraint(
        self, constraint: Constraint | Callable[..., Constraint], *args: Any, **kwargs: Any
    ) -> Constraint:
        """Add a constraint. Forward dynamics, and everything that uses its accelerations, obeys it.

        Parameters
        ----------
        constraint : Constraint, or a class of constraints
            The constraint, or its class, followed by the arguments of the constructor.

        Returns
        -------
        Constraint

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized.
        ArgumentValueError
            When the model instance has a constraint of that name.
        ForeignElementError
            When the constraint belongs to a tree already, or an element that it refers to does not belong to
            this one.
        """
        self._check_can_change("add_constraint")
        element: Constraint = make_element("add_constraint", Constraint, constraint, args, kwargs)
        self._elements.add_constraint(element)
        return element

    @overload
    def add_sensor(self, sensor: SensorT) -> SensorT: ...
    @overload
    def add_sensor(self, sensor: Callable[P, SensorT], *args: P.args, **kwargs: P.kwargs) -> SensorT: ...

    def add_sensor(self, sensor: Sensor | Callable[..., Sensor], *args: Any, **kwargs: Any) -> Sensor:
        """Add a sensor: its columns of `calc_sensors` follow those of earlier sensors.

        Parameters
        ----------
        sensor : Sensor, or a class of sensors
            The sensor, or its class, followed by the arguments of the constructor.

        Returns
        -------
        Sensor

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized.
        ArgumentValueError
            When the model instance has a sensor of that name.
        ForeignElementError
            When the sensor belongs to a tree already, or an element that it refers to does not belong to this
            one.
        """
        self._check_can_change("add_sensor")
        element: Sensor = make_element("add_sensor", Sensor, sensor, args, kwargs)
        self._elements.add_sensor(element)
        return element

    def exclude_collisions(self, first: RigidBody, second: RigidBody) -> None:
        """Exclude collisions of two bodies from every `CollisionModel`, as ``exclude`` of MJCF does.

        Parameters
        ----------
        first, second : RigidBody
            The bodies; World may be one of them.

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized.
        ArgumentTypeError, ForeignElementError
            When one is not a body of this tree.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> inertia = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
        >>> balls = [tree.add_body(mbt.RigidBody(name, inertia)) for name in ("left", "right")]
        >>> for ball in balls:
        ...     _ = ball.add_collision(mbt.Shape("sphere", [0.1]))
        >>> tree.exclude_collisions(*balls)
        >>> tree.finalize()
        >>> mbt.CollisionModel(tree).num_pairs
        0
        """
        self._check_can_change("exclude_collisions")
        for name, body in (("first", first), ("second", second)):
            if not isinstance(body, RigidBody):
                raise ArgumentTypeError(f"{name}: expected a RigidBody, got {quote(body)}")
            self._elements.check_is_owned(body, name)
        self._exclusions = (*self._exclusions, (first, second))

    @property
    def collision_exclusions(self) -> tuple[tuple[RigidBody, RigidBody], ...]:
        """Pairs of bodies whose collisions a `CollisionModel` ignores: see `exclude_collisions`."""
        return self._exclusions

    # The end of building.

    def finalize(self) -> None:
        """Compile the tree: from then on it can compute, but cannot change.

        Bodies are sorted depth first from World, with children in the order of their joints; positions and
        velocities follow the order of the bodies. Each body without a path to World, or the base of a group
        of such bodies, gets a `QuaternionFloatingJoint` named after it. Every body but World then has one
        mobilizer.

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized already.
        TopologyError
            When joints close a loop, or a mobilizer added with `add_mobilizer` points towards World. The tree
            then remains as it was, as it does when an element written in Python raises an error in its
            declarations.
        ForeignElementError
            When an element written in Python refers to an element of another tree, or of none.
        ConcurrentUseError
            When another thread is finalizing it.
        """
        self._check_constructed()
        mine = object()
        # Of several threads one wins: `setdefault` is atomic.
        if _at_work.setdefault(id(self), mine) is not mine:
            self._check_can_change("finalize")  # A hook may have called this.
            raise ConcurrentUseError("finalize: another thread is finalizing this tree. Once is enough.")
        try:
            self._finalize()
        finally:
            del _at_work[id(self)]

    def _finalize(self) -> None:
        if self._plan is not None:
            raise AlreadyFinalizedError(
                "finalize: the tree is finalized already. Call it once, when everything is added."
            )
        self._check_can_change("finalize")
        self._elements.check_user_elements()
        from mbt.tree.finalization import make_arrays, make_plan

        plan = make_plan(self._elements)
        declarations = self._declare()
        self._compile(**make_arrays(self._elements, plan, declarations.default_parameters()))
        plan.carry_out(self._elements)
        self._declarations = declarations
        self._family = os.urandom(16)
        self._plan = plan
        self._mark_massless()

    def _declare(self) -> Declarations:
        """Ask all elements for parameters, discrete state and cache entries. Runs their hooks."""
        declarations = self._declaring = Declarations()
        try:
            declarations.collect(
                self._elements.in_order(),
                self._elements.user_frames(),
            )
        finally:
            self._declaring = None
        return declarations

    def _default_parameters(self) -> Parameters:
        """Return the defaults of everything that the elements of this finalized tree declared."""
        return self._known_declarations().default_parameters()

    def _known_declarations(self) -> Declarations:
        """Return the declarations of the elements of this finalized tree."""
        if not self.is_finalized:
            raise NotFinalizedError(
                "Elements declare parameters when tree.finalize() asks them: call it first."
            )
        self._compile_copy()
        assert self._declarations is not None
        return self._declarations

    def set_default_context(self, context: ContextCore) -> None:
        """Reset time, state, inputs and parameters of a Context to their defaults.

        Raises
        ------
        ContextMismatchError
            When `context` belongs to another tree.
        """
        if not isinstance(context, ContextCore) or context.tree is not self:
            raise_context_mismatch(self, context)
        own: Any = context
        own._reset_declared(super().set_default_context)

    def _compile_copy(self) -> None:
        """Compile a finalized tree that a copy or pickle made, at its first computation.

        Not earlier: user-written elements may refer to objects that `pickle` has not completed by then.
        """
        if self._compiled is not None:
            return
        from mbt.tree.finalization import make_arrays

        assert self._plan is not None
        with _compile_lock:
            if self._compiled is None:
                declarations = self._declare()
                self._declarations = declarations
                self._compile(**make_arrays(self._elements, self._plan, declarations.default_parameters()))
                self._mark_massless()

    def _mark_massless(self) -> None:
        """Tell kernels which dofs axes in series leave massless: pivots alone show only rounding errors."""
        compiled = self._compiled
        if compiled is not None and compiled.has_massless_inboard:
            from mbt.tree.report_massless import calc_inertias_of_massless

            compiled.mark_massless(calc_inertias_of_massless(self))

    # Copies.

    def clone(self) -> Self:
        """Return an independent copy of this tree with new elements, finalized if this one is.

        ``copy.deepcopy(tree)`` and ``copy.copy(tree)`` are the same. Elements are copied with their
        attributes, or by their `do_clone_to_scalar`.

        See Also
        --------
        get_variant : The element of one tree that corresponds to an element of the other.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> tree.finalize()
        >>> twin = tree.clone()
        >>> twin.get_variant(tree.world_body) is twin.world_body
        True
        """
        import copy

        return copy.deepcopy(self)

    def get_variant(self, element: ElementT) -> ElementT:
        """Return the element of this tree that corresponds to an element of a clone, or of the original.

        Parameters
        ----------
        element : MultibodyElement
            A body, frame, joint, mobilizer, force element or actuator of a tree of the same family: trees
            that are clones of each other, or were pickled from one.

        Raises
        ------
        NotFinalizedError
            When this tree, or that of the element, is not finalized: it may still change.
        ForeignElementError
            When the element belongs to a tree that is not of the family, or to none.
        ArgumentTypeError
            When it is not an element.
        """
        check_element(element, MultibodyElement, "get_variant: element")
        other = element.parent_tree
        for tree in (self, other):
            if tree._family is None:
                which = "this tree" if tree is self else f"the tree of {element._label}"
                raise NotFinalizedError(f"get_variant: {which} must be finalized first.")
        if other._family != self._family:
            raise ForeignElementError(
                f"get_variant: {element._label} belongs to a tree that is neither a clone of this one nor "
                "its original"
            )
        variant = getattr(self._elements, above.collection_of(element))._elements[element._index]
        assert isinstance(variant, type(element))
        return variant

    def _relation_to(self, other: MultibodyTree) -> str:
        """Return how messages name another tree, whose Context or element was mistaken for one of this."""
        if self._family is None or other._family != self._family:
            return "another tree"
        return f"a clone of it in {quote(other.scalar_type.name)}"

    def __copy__(self) -> Self:
        """Return a clone: an element belongs to one tree only."""
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> Self:
        """Return a clone."""
        from mbt.tree.pickling import deepcopy_tree

        return cast("Self", deepcopy_tree(self, memo))

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickle the elements, and nothing that is compiled."""
        from mbt.tree.pickling import reduce_tree

        return reduce_tree(self)

    def __setstate__(self, state: object) -> None:
        """Restore the pickled state."""
        from mbt.tree.pickling import set_tree_state

        set_tree_state(self, state)

    def __dask_tokenize__(self) -> object:
        """Return the token that dask uses for this model: the same for every tree that is built alike."""
        from mbt.tree.tokens import token_of_tree

        return token_of_tree(self)

    def __repr__(self) -> str:
        """Return the sizes, and say when there is no gravity."""
        counts = [(self.num_bodies, "body", "bodies"), (self.num_joints, "joint", "joints")]
        if self._plan is not None:
            counts += [
                (self._plan.num_positions, "position", "positions"),
                (self._plan.num_velocities, "velocity", "velocities"),
            ]
        if self.constraints:
            counts.append((len(self.constraints), "constraint", "constraints"))
        if self.sensors:
            counts.append((len(self.sensors), "sensor", "sensors"))
        sizes = ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in counts)
        gravity = any(isinstance(element, UniformGravityFieldElement) for element in self.force_elements)
        state = ("" if gravity else ", no gravity") + ("" if self.is_finalized else ", not finalized")
        return f"<MultibodyTree: {sizes}{state}>"

    def _check_can_change(self, method: str) -> None:
        self._check_constructed()
        if self._declaring is not None:
            raise AlreadyFinalizedError(
                f"{method}: the tree is being finalized and cannot change any more: a hook may only declare."
            )
        if self._plan is not None:
            raise AlreadyFinalizedError(
                f"{method}: the tree is finalized and cannot change any more. Add all elements before "
                "finalize(), or to the copy that tree.edit() returns."
            )
