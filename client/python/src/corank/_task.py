"""A call of an operator as data: what goes in, what comes out. It does not know where arrays travel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Any, Callable, Generic, NamedTuple, TypeVar

import numpy as np
from google.protobuf.message import Message

from corank._elements import TYPES, check_positions, name_of
from corank._errors import CorankError
from corank._options import CallOptions, options_of
from corank._wire import OutgoingArray, OutgoingMessage, Part
from corank.v1 import array_pb2


@dataclass(eq=False)  # one per result, told apart by identity
class Output:
    """A result of an operator."""

    field: str
    """Its field in the response, such as "keys" or "key_columns[1].data"."""
    holder: Message
    """The message with its Destination, ..."""
    destination: str
    """... in the field of this name."""
    dtype: np.dtype[Any]
    """The dtype of its elements as they travel."""
    count: int | None
    """Number of elements; None: not known before the answer."""
    indices: bool = False
    """It is UINT32 or UINT64, ..."""
    as_dtype: np.dtype[Any] | None = None
    """... to be converted to this; None: not converted."""
    greatest: int | None = None
    """The greatest index that it may hold; None: not known before the answer."""
    element_type: int = 0
    """ELEMENT_TYPE, where `dtype` alone does not say it: of keys such as bfloat16."""
    most: int | None = None
    """The most elements, for which the server wants room, if `count` is not known; None: not known either."""
    room: int | None = attribute(init=False)
    """The elements for which it needs room; None: not known before the answer."""
    nbytes: int | None = attribute(init=False)
    """Bytes of that room."""

    def __post_init__(self) -> None:
        if self.as_dtype is not None:
            check_positions("index_dtype", self.as_dtype, self.greatest)
        self.room = self.most if self.count is None else self.count
        self.nbytes = None if self.room is None else self.room * self.dtype.itemsize

    @property
    def type(self) -> int:
        """Its ELEMENT_TYPE."""
        return self.element_type or TYPES.get(name_of(self.dtype), array_pb2.ELEMENT_TYPE_RECORD)

    @property
    def result_dtype(self) -> np.dtype[Any]:
        """The dtype of the elements that the caller gets."""
        return self.dtype if self.as_dtype is None else self.as_dtype


class Task(NamedTuple):
    """One operator with its arrays."""

    method: str
    """The method of the service, such as "Sort"."""
    operation: str
    """Its field in Operation and OperationResult, such as "sort"."""
    request: Any
    """The message, without arrays and destinations."""
    parts: Sequence[Part]
    """The request's arrays."""
    outputs: Sequence[Output]
    response: type[Any]
    """The response's message type."""
    finish: Callable[[Sequence[Any]], Any]
    """Makes what the caller gets of the results, in the order of `outputs`."""
    is_shifted: bool = False
    """Whether the results are of keys that travel less 1, which only `finish` restores."""
    again: Callable[[CorankError], Task | None] | None = None
    """Makes the call that follows one which failed so; None: none does."""


A = TypeVar("A")


class Operators(ABC, Generic[A]):
    """The base of all operators, whose results are of type A.

    A class that users see says which options its operators take (a TypedDict) and what their results are called; its
    operators then show these options in their signatures and their help.
    """

    def __init_subclass__(cls, options: Any = None, result: str = "A") -> None:
        super().__init_subclass__()
        if options is None:
            return
        decorate = options_of(options, result)
        for base in cls.__mro__[1:]:
            for name, function in vars(base).items():
                if issubclass(base, Operators) and not name.startswith("_") and name not in vars(cls):
                    made = decorate(function)
                    made.__module__, made.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"
                    setattr(cls, name, made)

    @abstractmethod
    def _perform(self, task: Task, options: CallOptions) -> Any:
        """Does `task`, now or later, and returns what task.finish() makes of its results."""

    def _array(self, task: Task, options: CallOptions) -> A:
        result: A = self._perform(task, options)
        return result

    def _pair(self, task: Task, options: CallOptions) -> tuple[A, A]:
        result: tuple[A, A] = self._perform(task, options)
        return result


def leaves(parts: Iterable[Part]) -> Iterator[OutgoingArray]:
    """The arrays of a request, those inside of messages too."""
    for part in parts:
        if isinstance(part, OutgoingMessage):
            yield from part.arrays
        else:
            yield part


def one(results: Sequence[Any]) -> Any:
    """The only result."""
    return results[0]


def pair(results: Sequence[Any]) -> Any:
    """Both results."""
    return results[0], results[1]
