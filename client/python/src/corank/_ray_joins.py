"""The tasks of a distributed join: both sides are cut at the same boundaries, and each partition is joined by itself.

Each row of one side, the owner, lies in one partition. A boundary may lie between rows of one key there, so a frequent
key makes no partition large. The other side has the rows of such a key in the partitions on both sides of the boundary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corank import _partitioning as partitioning
from corank import _table_joins as joins
from corank._arrow_rows import take_rows
from corank._errors import InvalidArgument
from corank._key_columns import Order, held_type, order_of
from corank._key_tables import key_table, of_one_schema
from corank._partitioning import Boundaries
from corank._ray_servers import Servers
from corank._ray_tasks import Keys, Sample, StageTime, Watch, joined, merged, sampled, weights_of
from corank._table_libraries import library_of
from corank._table_order import equal_ranges, merge_order, sort_order
from corank._table_sorts import calls_of


class Joining(NamedTuple):
    """A planned join: the keys of both sides, the kind of join, and the columns of its result."""

    left: Keys
    right: Keys
    names: dict[str, str]
    """The columns of the right side that the result has, and their names there."""
    how: str
    nulls_equal: bool
    schema: Any
    """The schema of the result."""
    most_bytes: int
    """About how many bytes the result of a partition may have."""

    @property
    def owner(self) -> Keys:
        """The side whose rows each lie in exactly one partition."""
        return self.right if self.how == "right" else self.left

    @property
    def other(self) -> Keys:
        """The other side."""
        return self.left if self.how == "right" else self.right


def joining(
    left: Any,
    right: Any,
    left_names: Sequence[str],
    right_names: Sequence[str],
    argument: str,
    how: str,
    suffix: str,
    nulls_equal: bool,
    most_bytes: int,
) -> Joining:
    """A join of data sets with these schemas.

    Raises:
        InvalidArgument: two columns of the result would have one name.
        TypeError: keys are of types that do not compare.
    """
    library, of_left = library_of("left", left.empty_table())
    of_right = right.empty_table()
    sides = ((of_left, left_names), (of_right, right_names))
    keys = of_one_schema(argument, [key_table(library, table, names, True) for table, names in sides], right_names)
    of_keys = [Keys(_rising(names), keys[0].rename_columns(list(names)).schema) for _, names in sides]
    if how in joins.OF_LEFT_ONLY:
        return Joining(of_keys[0], of_keys[1], {}, how, nulls_equal, left, most_bytes)
    names = joins.renamed(library, of_left, of_right, list(right_names), suffix)
    fields = []
    for field in left:
        if field.name in left_names and how in ("right", "full"):
            field = _common(field, right.field(right_names[list(left_names).index(field.name)]))
        fields.append(field.with_nullable(True) if how in ("right", "full") else field)
    for name, made in names.items():
        field = right.field(name).with_name(made)
        fields.append(field.with_nullable(True) if how in ("left", "full") else field)
    return Joining(of_keys[0], of_keys[1], names, how, nulls_equal, pa.schema(fields), most_bytes)


def _rising(names: Sequence[str]) -> Order:
    return order_of(names, False, "last")


def _common(left: Any, right: Any) -> Any:
    """The key column of a result that has keys of both sides."""
    if left.type == right.type:
        return left
    both = [pa.schema([(left.name, held_type(each.type))]) for each in (left, right)]
    return pa.unify_schemas(both, promote_options="permissive").field(0)


def join_boundaries(
    owner: Sequence[Sample], other: Sequence[Sample], partitions: int, spec: Joining, servers: Servers
) -> tuple[Boundaries, StageTime]:
    """The rows of the owner, or the keys of the other side, at which the partitions begin. A key has block -1."""
    watch = Watch("plan")
    of_owner, of_other = sampled(owner, spec.owner), sampled(other, spec.other)
    # A key of the other side comes before all rows of the owner that have it.
    keys = pa.concat_tables([spec.owner.named(of_other.keys), of_owner.keys])
    blocks = np.concatenate([np.full(of_other.rows.size, -1), of_owner.blocks]).astype(np.int64)
    rows = np.concatenate([np.full(of_other.rows.size, -1), of_owner.rows])
    weights = np.concatenate([weights_of(each, [sample.nbytes for sample in each]) for each in (other, owner)])
    order = spec.owner.order
    positions = watch.call(servers, lambda client, options: sort_order(client, keys, order, options))
    chosen = partitioning.boundary_places(positions, weights, partitions)
    limits = Boundaries(take_rows(keys, chosen), blocks[chosen], rows[chosen])
    return limits, watch.done(keys.num_rows, keys.nbytes)


def join_partition(
    partition: int, partitions: int, limits: Boundaries, spec: Joining, servers: Servers, of_left: int, *runs: Any
) -> tuple[Any, StageTime]:
    """Joins one partition.

    Args:
        partition: its number.
        partitions: how many there are.
        limits: where they begin.
        spec: the join.
        servers: the servers.
        of_left: how many of `runs` are of the left side; the others are of the right.
        *runs: the sorted rows of the partition.

    Raises:
        InvalidArgument: the result is too large.
    """
    watch = Watch("join")
    left, right = (
        _in_order(watch, tables, keys, servers)
        for tables, keys in ((runs[:of_left], spec.left), (runs[of_left:], spec.right))
    )
    done = left.num_rows + right.num_rows, left.nbytes + right.nbytes
    row_bytes = sum(table.nbytes / max(1, table.num_rows) for table in (left, right))
    most_rows = None if spec.how in joins.OF_LEFT_ONLY else max(1, int(spec.most_bytes / max(1, row_bytes)))
    library, _ = library_of("left", left)
    keys = [_numbered(spec.left.of(left)), _numbered(spec.right.of(right))]
    try:
        rows = watch.call(
            servers,
            lambda client, options: joins.joined_rows(
                calls_of(client, options), library, keys, spec.how, spec.nulls_equal, most_rows
            ),
        )
    except InvalidArgument as error:
        if error.reason != "TOO_MANY_ROWS" or error.rows is None or most_rows is None:
            raise
        wanted = -(-error.rows * partitions // most_rows)
        text = (
            f"join: one of {partitions} partitions has {error.rows:,} rows of the result, and there is room for "
            f"{most_rows:,}; pass partitions={wanted} or more, or join fewer rows of the keys that are frequent"
        )
        raise InvalidArgument(text, field="partitions") from None
    if spec.how in joins.OF_LEFT_ONLY:
        return take_rows(left, rows[0]), watch.done(*done)
    if spec.how == "full":
        rows = _full(watch, keys, rows, partition, limits, servers)
    names = dict(zip(spec.left.order.keys, spec.right.order.keys))
    made = joins.built(library, left, right, names, spec.names, *rows)
    return made.cast(spec.schema).combine_chunks(), watch.done(*done)


def _in_order(watch: Watch, tables: Sequence[Any], keys: Keys, servers: Servers) -> Any:
    if len(tables) == 1:
        return joined(tables)
    return take_rows(*merged(watch, tables, keys, servers))


def _numbered(keys: Any) -> Any:
    return keys.rename_columns([str(at) for at in range(keys.num_columns)])


def _full(
    watch: Watch,
    keys: Sequence[Any],
    rows: tuple[np.ndarray, np.ndarray],
    partition: int,
    limits: Boundaries,
    servers: Servers,
) -> tuple[np.ndarray, np.ndarray]:
    """Sorts the rows of a full join by key, and drops the rows that the next partition returns."""
    of_left, of_right = rows
    is_alone = of_left < 0
    order = _rising(keys[0].column_names)
    if partition < len(limits.blocks) and limits.blocks[partition] >= 0:
        # The next partition begins between left rows of a key, and has all right rows of it too.
        needle = _numbered(limits.keys.slice(partition, 1))
        shared = watch.call(servers, lambda client, options: equal_ranges(client, keys[1], needle, order, options))[0][
            0
        ]
        is_shown = ~is_alone | (of_right < shared)
        of_left, of_right, is_alone = of_left[is_shown], of_right[is_shown], is_alone[is_shown]
    if not is_alone.any():
        return of_left, of_right
    parts = [take_rows(keys[0], of_left[~is_alone]), take_rows(keys[1], of_right[is_alone])]
    positions = watch.call(servers, lambda client, options: merge_order(client, parts, order, options))
    return of_left[positions], of_right[positions]
