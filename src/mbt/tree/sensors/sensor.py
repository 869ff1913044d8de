"""Sensors: named measurements of a tree, as columns of one array."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.tree.element import MultibodyElement
from mbt.tree.indices import SensorIndex

if TYPE_CHECKING:
    from mbt.tree.sensors.readings import Readings

__all__ = ["Sensor"]


class Sensor(MultibodyElement):
    """A sensor without noise or delay. This is the base class of mbt's sensors.

    It belongs to the model instance of the element it is on.

    Parameters
    ----------
    name : str
        Name, unique among the sensors of the model instance. If a name that mbt chose is taken, an underscore
        is appended.
    model_instance : ModelInstanceIndex
        The model instance.
    quantities : sequence of str
        The measured quantities, in the order of its columns.
    """

    kind: ClassVar[str] = "sensor"
    _adder: ClassVar[str] = "add_sensor"

    #: Quantities that sensors of this type can measure.
    known_quantities: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, name: str | None, default_name: str, model_instance: int, quantities: Iterable[str]
    ) -> None:
        if not self.known_quantities:
            raise ArgumentTypeError(f"{type(self).__name__}: use one of mbt's sensors")
        super().__init__(name, model_instance)
        self._default_name = default_name
        self._quantities = self._checked_quantities(quantities)

    @property
    def index(self) -> SensorIndex:
        """Index of this sensor in its tree."""
        return SensorIndex(self._checked_index())

    @property
    def quantities(self) -> tuple[str, ...]:
        """The measured quantities, in the order of its columns."""
        return self._quantities

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of its column names, after the name of the sensor: ``"gyro_x"``."""
        return tuple(
            f"{quantity}_{suffix}" if suffix else quantity
            for quantity in self._quantities
            for suffix in self._suffixes_of(quantity)
        )

    @property
    def num_values(self) -> int:
        """Number of its columns."""
        return sum(len(self._suffixes_of(quantity)) for quantity in self._quantities)

    @property
    def columns(self) -> slice:
        """Its columns in ``tree.calc_sensors(context)``: those of all sensors are in index order."""
        before = self.parent_tree.sensors[: self.index]
        start = sum(sensor.num_values for sensor in before)
        return slice(start, start + self.num_values)

    @abstractmethod
    def _suffixes_of(self, quantity: str) -> tuple[str, ...]:
        """Return one suffix for each column of a quantity, empty where it has one column."""

    @abstractmethod
    def _read(self, quantity: str, readings: Readings) -> Any:
        """Return the values of a quantity, (..., number of columns), which may be read-only."""

    @abstractmethod
    def _needs(self) -> Iterable[tuple[MultibodyElement, str]]:
        """Return the elements that it refers to, with the names of its arguments."""

    def _generated_name(self, index: int) -> str:
        return self._default_name

    def _checked_quantities(self, quantities: object) -> tuple[str, ...]:
        what, known = f"{type(self).__name__}: quantities", ", ".join(map(repr, self.known_quantities))
        if isinstance(quantities, str) or not isinstance(quantities, Iterable):
            raise ArgumentTypeError(
                f"{what}: expected a sequence of some of {known}, got {quote(quantities)}"
            )
        chosen = tuple(quantities)
        for quantity in chosen:
            if quantity not in self.known_quantities:
                raise ArgumentValueError(f"{what}: expected some of {known}, got {quote(quantity)}")
        if not chosen or len(set(chosen)) < len(chosen):
            raise ArgumentValueError(f"{what}: expected some of {known}, each once, got {quote(chosen)}")
        return chosen

    def _repr_details(self) -> str:
        """Return what the representation shows besides the name."""
        names = "".join(f" {argument}={quote(element.name)}" for element, argument in self._needs())
        return f"{names} quantities={self._quantities}"
