"""Unions, intersections and differences of sorted arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import DTypeLike

from corank import _conversion as conversion
from corank._elements import Input, flag
from corank._errors import InvalidArgument
from corank._options import CallOptions, choice
from corank._ordered import of_one_dtype, of_one_order, restored_one, restored_pair
from corank._task import A, Operators, Output, Task, one, pair
from corank._wire import Part
from corank.v1 import operators_pb2 as operators
from corank.v1 import sets_pb2 as sets

if TYPE_CHECKING:
    from typing_extensions import Unpack

SetOperation = Literal["union", "intersection", "difference", "symmetric_difference"]
_OPERATIONS = {
    "union": sets.SET_OPERATION_UNION,
    "intersection": sets.SET_OPERATION_INTERSECTION,
    "difference": sets.SET_OPERATION_DIFFERENCE,
    "symmetric_difference": sets.SET_OPERATION_SYMMETRIC_DIFFERENCE,
}
_OF_LEFT_ONLY = ("intersection", "difference")


def _most(operation: str, left: int | None, right: int | None) -> int | None:
    """The length of the longest result; None: not known before the answer."""
    if operation == "difference":
        return left
    if left is None or right is None:
        return (right if left is None else left) if operation == "intersection" else None
    return min(left, right) if operation == "intersection" else left + right


class _Combination:
    """A CombineSets request and its arrays."""

    def __init__(
        self, left: Input, right: Input, operation: str, descending: bool, dtype: DTypeLike | None, count_only: bool
    ) -> None:
        self.operation = operation
        self.request = sets.CombineSetsRequest(
            operation=choice("operation", operation, _OPERATIONS), count_only=count_only
        )
        if flag("descending", descending):
            self.request.order = operators.SORT_ORDER_DESCENDING
        found = of_one_order([("left", left, dtype), ("right", right, dtype)])
        of_one_dtype(("left", "right"), [each.dtype for each in found])
        self.keys = found[0]
        self.parts: list[Part] = [each.part for each in found]
        self._most = _most(operation, found[0].part.most, found[1].part.most)

    def add_values(self, left_values: Input | None, right_values: Input | None) -> np.dtype[Any] | None:
        """Adds the values that travel with the keys. Returns their dtype; None: there are none.

        Raises:
            InvalidArgument: one side lacks values, or the right side has values that no key of the result needs.
            TypeError: they are of two dtypes.
        """
        if right_values is not None and self.operation in _OF_LEFT_ONLY:
            raise InvalidArgument(
                f"right_values: not for {self.operation!r}, whose result is all from the left", field="right_values"
            )
        if left_values is None and right_values is None:
            return None
        if left_values is None:
            raise InvalidArgument("left_values: missing, because there are right_values", field="left_values")
        given = {"left_values": left_values}
        if self.operation not in _OF_LEFT_ONLY:
            if right_values is None:
                raise InvalidArgument("right_values: missing, because there are left_values", field="right_values")
            given["right_values"] = right_values
        moved = [conversion.values(name, array) for name, array in given.items()]
        of_one_dtype(tuple(given), [dtype for _, dtype in moved])
        self.parts += [part for part, _ in moved]
        self._value_type = moved[0][0].header.type
        return moved[0][1]

    def _output(self, name: str, dtype: np.dtype[Any], element_type: int) -> Output:
        return Output(
            name, self.request, f"{name}_destination", dtype, None, element_type=element_type, most=self._most
        )

    def task(self, value_dtype: np.dtype[Any] | None) -> Task:
        """The call; its result is the keys, or the pair of keys and values."""
        outputs = [self._output("keys", self.keys.dtype, self.keys.part.header.type)]
        is_shifted = self.keys.is_shifted
        finish = restored_one if is_shifted else one
        if value_dtype is not None:
            outputs.append(self._output("values", value_dtype, self._value_type))
            finish = restored_pair if is_shifted else pair
        return self._task(outputs, finish, is_shifted)

    def count_task(self) -> Task:
        """The call; its result is the number of keys."""
        output = Output("count", self.request, "count_destination", np.dtype("<i8"), 1)
        return self._task([output], lambda results: number(results[0]), False)

    def _task(self, outputs: list[Output], finish: Any, is_shifted: bool) -> Task:
        response = sets.CombineSetsResponse
        return Task("CombineSets", "combine_sets", self.request, self.parts, outputs, response, finish, is_shifted)


def number(result: Any) -> Any:
    """The number that a result of one element holds; the handle of one that is kept."""
    return int(result[0]) if isinstance(result, np.ndarray) else result


class SetOperators(Operators[A]):
    """Operators on sorted arrays as multisets. Only the answer tells how many keys the result has."""

    def combine_sets(
        self,
        left: Input,
        right: Input,
        operation: SetOperation,
        *,
        left_values: Input | None = None,
        right_values: Input | None = None,
        descending: bool = False,
        dtype: DTypeLike | None = None,
        **options: Unpack[CallOptions],
    ) -> A | tuple[A, A]:
        """Combines two sorted arrays as multisets, into a sorted array.

        Where a key occurs m times on the left and n times on the right, the first min(m, n) of them on each side are
        partners. All NaNs are one key, and -0.0 equals 0.0. For sets as NumPy has them, pass `unique` arrays.

        Args:
            left: shape (m,), sorted in the direction of `descending`, which the server checks.
            right: shape (n,), sorted likewise, of the dtype of `left`.
            operation: "union": all of the left, and of the right what has no partner; "intersection": what of the left
                has a partner; "difference": what of the left has none; "symmetric_difference": what has none on both
                sides.
            left_values: one value for each key of the left, which travels with it.
            right_values: the same for the right, with "union" and "symmetric_difference" alone.
            descending: both sides are sorted, and the result is, greatest first.
            dtype: read the keys' bits as this type of the same width, such as "bfloat16" for uint16 arrays.
            **options: see CallOptions.

        Returns:
            The keys, or a pair (keys, values).

        Raises:
            InvalidArgument: a side is not sorted.

        Examples:
            >>> client.combine_sets([1, 3, 3], [3, 4], "union")
            array([1, 3, 3, 4])
        """
        plan = _Combination(left, right, operation, descending, dtype, count_only=False)
        value_dtype = plan.add_values(left_values, right_values)
        if value_dtype is None:
            return self._array(plan.task(None), options)
        return self._pair(plan.task(value_dtype), options)

    def count_sets(
        self,
        left: Input,
        right: Input,
        operation: SetOperation,
        *,
        descending: bool = False,
        dtype: DTypeLike | None = None,
        **options: Unpack[CallOptions],
    ) -> int:
        """Counts the keys that `combine_sets` would return, and returns none of them.

        Args:
            left: as for `combine_sets`.
            right: as for `combine_sets`.
            operation: as for `combine_sets`.
            descending: both sides are sorted greatest first.
            dtype: as for `combine_sets`.
            **options: see CallOptions. With keep=, the number stays on the server, as one int64.

        Returns:
            The number of keys.

        Examples:
            >>> client.count_sets([1, 3, 3], [3, 4], "intersection")
            1
        """
        plan = _Combination(left, right, operation, descending, dtype, count_only=True)
        return cast(int, self._perform(plan.count_task(), options))
