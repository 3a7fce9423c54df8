"""The keys of tables as tables of Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from corank._frames import Library
from corank._key_columns import check_type, held_type


def key_table(library: Library, table: Any, names: Sequence[Any], by_value: bool = False) -> Any:
    """The key columns as a table of Arrow, under the names "0", "1" and so on.

    Args:
        library: the table's.
        table: the table.
        names: the keys.
        by_value: columns as their values rather than as the library sorts them.

    Raises:
        TypeError: a column has no order.
    """
    found = {}
    for at, name in enumerate(names):
        column = library.key(table, name, by_value)
        check_type(str(name), column.type)
        found[str(at)] = column
    return pa.table(found)


def of_one_schema(argument: str, tables: Sequence[Any], names: Sequence[Any]) -> list[Any]:
    """Key tables whose columns have types in common, to which they are converted.

    Raises:
        TypeError: a key is of types that do not compare.
    """
    types = tables[0].schema.types
    if all(each.schema.types == types for each in tables) and all(held_type(type_) == type_ for type_ in types):
        return list(tables)
    schemas = [pa.schema([(field.name, _decoded(field.type)) for field in each.schema]) for each in tables]
    try:
        common = pa.unify_schemas(schemas, promote_options="permissive")
        return [each if each.schema.equals(common) else each.cast(common) for each in tables]
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        for at, name in enumerate(names):
            found = sorted({str(schema.field(at).type) for schema in schemas})
            if len(found) > 1:
                text = (
                    f"{argument}: key {name!r} is of types that do not compare: {', '.join(found)}; convert one of them"
                )
                raise TypeError(text) from None
        raise


def _decoded(type_: Any) -> Any:
    held = held_type(type_)
    return pa.large_string() if pa.types.is_string(held) or pa.types.is_string_view(held) else held
