from typing import Any, NoReturn

from typing_extensions import disjoint_base

@disjoint_base
class KernelHandle:
    """What `call` computes, at `handle`: a quantity of the default parameters of a tree, with memory of its own.

    `handle` is good as long as this object is; it keeps what it needs of the tree.
    """

    shape: tuple[int, ...]
    def __new__(cls, tree: Any, quantity: int, integers: tuple[int, ...], of_zeros: bool) -> KernelHandle: ...
    @property
    def handle(self) -> int:
        """The address to give to `call`."""

    @property
    def address(self) -> int:
        """The address of `call`."""

    def __reduce__(self) -> NoReturn: ...
