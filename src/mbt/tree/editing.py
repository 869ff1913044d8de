"""Changes of a tree beyond additions: copies to edit, removals, new names."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, TypeVar, cast

from mbt._core.above import above
from mbt.tree.element import MultibodyElement, as_name
from mbt.tree.model_instance import ModelInstance

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt.tree.body import RigidBody
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.tree.registry import ElementRegistry

__all__ = ["Editing"]

ElementT = TypeVar("ElementT", bound=MultibodyElement)


class Editing:
    """The part of `MultibodyTree` that changes what was added, before ``finalize()``."""

    _elements: ElementRegistry

    def edit(self) -> Self:
        """Return a copy of this tree that is not finalized, so it can be changed.

        The elements have the same names and indices: ``work.joints[joint.index]`` corresponds to `joint`.
        It lacks the joints and mobilizers that ``finalize()`` made. This tree and its Contexts stay as they
        are; the copy, once finalized, is another model, so `get_variant` does not lead to it. The copy of a
        tree in another scalar computes in doubles.

        Elements are copied with their attributes, or as their `do_clone_to_scalar` says.

        See Also
        --------
        clone : A copy that is finalized if this tree is.
        remove, remove_subtree, rename : Changes besides additions.

        Examples
        --------
        A tool on the last link of an arm:

        >>> import mbt
        >>> arm = mbt.load_model(mbt.models.model_path("mbt_arm"))
        >>> work = arm.edit()
        >>> tool = work.add_body(mbt.RigidBody("tool", mbt.SpatialInertia.solid_sphere_with_mass(0.5, 0.05)))
        >>> flange = work.bodies[arm.bodies[-2].index]
        >>> X_FT = mbt.math.make_pose([0, 0, 0.1])
        >>> mount = work.add_joint(mbt.WeldJoint, "mount", flange, X_FT, tool, None)
        >>> work.finalize()
        >>> work.num_bodies - arm.num_bodies, work.num_positions - arm.num_positions
        (1, 0)
        """
        from mbt.tree.finalization import undo
        from mbt.tree.pickling import copy_tree

        tree = cast("MultibodyTree", self)
        # A clone in another scalar is of a class of its own.
        is_clone = "_scalar_type" in vars(tree)
        work = copy_tree(tree, {}, above.MultibodyTree if is_clone else type(tree))
        if work.is_finalized:
            undo(work._elements)
        work._plan = work._family = work._declarations = work._declaring = None
        return cast("Self", work)

    def remove(self, element: ElementT) -> ElementT:
        """Remove one element that no other element needs, before ``finalize()``; a body with its body frame.

        Elements that come later take smaller indices. The removed element belongs to no tree from then on;
        it can be added again. A body that loses its joint becomes free; frames of a removed joint remain.

        Parameters
        ----------
        element : MultibodyElement
            A body, frame, joint, mobilizer, force element, actuator, constraint or sensor of this tree; or a
            model instance that holds none, ``tree.get_model_instance(index)``.

        Returns
        -------
        MultibodyElement
            The element.

        Raises
        ------
        ArgumentValueError
            When other elements need it: the message names them; when it is World, or a body frame.
        ArgumentTypeError, ForeignElementError
            When it is not an element of this tree.
        AlreadyFinalizedError
            When the tree is finalized.

        See Also
        --------
        remove_subtree : Removes bodies with everything that needs them.

        Examples
        --------
        Another type of joint between the same frames:

        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        >>> hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, [0, 0, 1])
        >>> old = tree.remove(hinge)
        >>> ball = tree.add_joint(mbt.BallRpyJoint("ball", old.frame_on_parent, old.frame_on_child))
        >>> tree.joints
        (<BallRpyJoint 'ball' index=0 model_instance=1 parent='world' child='link'>,)
        """
        from mbt.tree.removal import remove

        self._check_can_change("remove")
        remove(self._elements, element)
        return element

    def remove_subtree(self, body: RigidBody) -> tuple[MultibodyElement, ...]:
        """Remove a body and all that depends on it, before ``finalize()``.

        The bodies outboard of it go too, with their frames, joints, mobilizers, actuators and sensors, and
        all force elements and constraints that act on them, user-written ones included. Elements on other
        bodies stay, such as the frame on which the body was mounted, `frame_on_parent` of its joint. Model
        instances stay, even empty ones; use `remove` for these.

        Parameters
        ----------
        body : RigidBody
            A body of this tree other than World.

        Returns
        -------
        tuple of MultibodyElement
            The removed elements, kind by kind. They belong to no tree from then on.

        Raises
        ------
        ArgumentValueError
            When the body is World; when a frame that depends on a removed element carries a joint between
            other bodies.
        TopologyError
            When the tree has loops, so the subtree is not defined.
        ArgumentTypeError, ForeignElementError
            When it is not a body of this tree.
        AlreadyFinalizedError
            When the tree is finalized.

        Examples
        --------
        >>> import mbt
        >>> work = mbt.load_model(mbt.models.model_path("mbt_arm")).edit()
        >>> wrist = work.bodies[-2]
        >>> mount = work.joints[-2].frame_on_parent
        >>> removed = work.remove_subtree(wrist)
        >>> wrist in removed, mount in work.frames
        (True, True)
        """
        from mbt.tree.removal import remove_subtree

        self._check_can_change("remove_subtree")
        return remove_subtree(self._elements, body)

    def rename(self, element: ElementT, name: str) -> ElementT:
        """Give an element another name, before ``finalize()``; a body frame has the name of its body.

        Parameters
        ----------
        element : MultibodyElement
            An element of this tree other than World.
        name : str
            The new name, unique as the old one was.

        Returns
        -------
        MultibodyElement
            The element.

        Raises
        ------
        ArgumentValueError
            When another element has the name; when the element is World, or a body frame.
        ArgumentTypeError, ForeignElementError
            When it is not an element of this tree.
        AlreadyFinalizedError
            When the tree is finalized.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        >>> tree.rename(ball, "planet")
        <RigidBody 'planet' index=1 model_instance=1>
        """
        from mbt.tree.removal import check_can_change

        self._check_can_change("rename")
        check_can_change(self._elements, element, "rename")
        name = as_name(name, "rename: name")
        if isinstance(element, ModelInstance):
            self._elements.rename_model_instance(element, name)
        else:
            self._elements.rename(element, name)
        return element

    def rename_model_instance(self, model_instance: int | str, name: str) -> None:
        """Rename a model instance, before `finalize`.

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized.
        ArgumentValueError
            When another one has that name.
        """
        self._check_can_change("rename_model_instance")
        instance = self._elements.instance_at(model_instance, "model_instance")
        self._elements.rename_model_instance(instance, as_name(name, "rename_model_instance: name"))

    @abstractmethod
    def _check_can_change(self, method: str) -> None:
        """Check that the tree is not finalized."""
