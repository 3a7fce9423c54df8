"""Search by several columns: where rows belong in a sorted table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from corank import _conversion as conversion
from corank._arrow_columns import is_arrow
from corank._columns import KeyColumn, Order, columns_of
from corank._errors import InvalidArgument
from corank._inputs import refuse
from corank._nulls import NanOrder, Nullable, NullOrder, nulls_of
from corank._options import CallOptions, choice
from corank._ordered import SIDES, indices_output
from corank._task import A, Operators, Task, one
from corank._wire import Part
from corank.v1 import operators_pb2 as operators

if TYPE_CHECKING:
    from typing_extensions import Unpack


def _are_strings(column: Any) -> bool:
    return isinstance(column, (list, tuple)) and len(column) > 0 and isinstance(column[0], (str, bytes))


def _values_like(path: str, needles: Any, haystack: Any) -> tuple[Any, Any]:
    """Both columns, without nulls, in the type of the haystack; strings of one width in the wider one of both.

    Raises:
        TypeError: a needle would change.
    """
    if _are_strings(haystack):
        return needles.tolist() if isinstance(needles, np.ndarray) and needles.dtype.kind in "US" else needles, haystack
    held = conversion.remote(haystack)
    if held is not None:
        is_number = held.dtype.kind not in "SV"
        return conversion.like(path, needles, held.dtype) if is_number else needles, haystack
    if isinstance(haystack, (list, tuple)) and len(haystack) == 0 and conversion.remote(needles) is None:
        needles = needles if _are_strings(needles) else conversion.one_dimensional(path, needles)
        return needles, needles[:0]
    haystack = conversion.one_dimensional(path.replace("needle", "haystack"), haystack)
    if isinstance(needles, (list, tuple)) and len(needles) == 0:
        return np.zeros(0, haystack.dtype), haystack
    kind = haystack.dtype.kind
    if kind not in "USV" or haystack.dtype.name == "bfloat16":
        return conversion.like(path, needles, haystack.dtype.newbyteorder("<")), haystack
    if conversion.remote(needles) is None and kind in "US":
        needles = conversion.one_dimensional(path, needles)
        if needles.dtype.kind == kind:
            widest = np.result_type(haystack.dtype, needles.dtype)
            return needles.astype(widest, copy=False), haystack.astype(widest, copy=False)
    return needles, haystack


def _cast(path: str, needles: Any, type_: Any) -> Any:
    """A column of pyarrow in another type.

    Raises:
        TypeError: a needle is not in it.
    """
    import pyarrow as pa

    try:
        return needles if needles.type == type_ else needles.cast(type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TypeError(f"{path}: is {needles.type}, and the haystack is {type_}: {error}") from None


def _like(path: str, needles: Any, haystack: Any) -> tuple[Any, Any]:
    """A column of the needles and one of the haystack, in types that compare."""
    if is_arrow(haystack):
        import pyarrow as pa

        if is_arrow(needles):
            from corank._key_columns import has_strings

            if has_strings(needles.type) and has_strings(haystack.type):  # both travel as bytes
                return needles, haystack
            return _cast(path, needles, haystack.type), haystack
        if isinstance(needles, (list, tuple)) or type(needles) is np.ndarray:
            return pa.array(needles, haystack.type), haystack
    if is_arrow(haystack) or is_arrow(needles):
        return needles, haystack
    needle_values, needle_mask, _ = nulls_of(path, needles)
    haystack_values, haystack_mask, _ = nulls_of(path.replace("needle", "haystack"), haystack)
    needle_values, haystack_values = _values_like(path, needle_values, haystack_values)
    return (
        needle_values if needle_mask is None else Nullable(needle_values, needle_mask),
        haystack_values if haystack_mask is None else Nullable(haystack_values, haystack_mask),
    )


class ColumnSearchOperators(Operators[A]):
    """Search by several columns."""

    def search_columns(
        self,
        haystack: Sequence[KeyColumn],
        needles: Sequence[KeyColumn],
        *,
        side: Literal["left", "right"] = "left",
        descending: bool | Sequence[bool] = False,
        nulls: NullOrder | Sequence[NullOrder] = "last",
        nan: NanOrder | Sequence[NanOrder] = "greatest",
        assume_sorted: bool = False,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> A:
        """Finds where rows belong in a table that is sorted as by `sort_columns`.

        Args:
            haystack: 1 to 32 columns of n rows, as for `sort_columns`, sorted in the order of the options below.
            needles: as many columns of m rows, in any order. The client converts a column to the type of the haystack's
                if that changes no needle.
            side: "left": the first position whose row does not come before the needle; "right": the first position
                whose row comes after it.
            descending: the direction of each column, as for `sort_columns`. Like nulls and nan, it applies to both
                tables.
            nulls: the end of the order at which nulls lie.
            nan: the place of NaNs.
            assume_sorted: skip the check that raises InvalidArgument for an unsorted haystack.
            index_dtype: integer dtype of the positions; None: the server's uint32 or uint64, which saves a conversion.
            **options: see CallOptions.

        Returns:
            Positions from 0 to n, shape (m,).

        Examples:
            >>> client.search_columns([["a", "b", "b"], [3, 1, 2]], [["b", "c"], [2, 0]])
            array([2, 3])
        """
        refuse("haystack", haystack)
        refuse("needles", needles)
        if len(needles) != len(haystack):
            raise InvalidArgument(
                f"needles: {len(needles)} columns, but haystack has {len(haystack)}", field="needle_columns"
            )
        order = Order(descending, nulls, nan)
        alike = [_like(f"needle_columns[{at}]", *both) for at, both in enumerate(zip(needles, haystack))]
        haystack_columns = columns_of("haystack_columns", [each for _, each in alike], order)
        needle_columns = columns_of("needle_columns", [each for each, _ in alike], order)
        request = operators.SearchRequest(bound=choice("side", side, SIDES), assume_sorted=assume_sorted)
        rows, greatest = needle_columns[0].rows, haystack_columns[0].rows
        positions = indices_output("positions", request, "destination", rows, greatest, index_dtype)
        parts: list[Part] = [column.part for column in (*haystack_columns, *needle_columns)]
        return self._array(
            Task("Search", "search", request, parts, [positions], operators.SearchResponse, one), options
        )
