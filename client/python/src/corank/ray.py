"""Sorts, merges, groups and joins data sets of Ray by corank servers.

    import corank.ray

    ordered = corank.ray.sort(ds, key="time")
    totals = corank.ray.group_by(ds, "city").agg(("amount", "sum"))
    both = corank.ray.join(sales, cities, on="city")

Ray carries the rows between tasks, keeps them in its object store and spills them; the servers compare keys. Needs
ray[data] 2.60 or newer.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Callable, Literal

import pyarrow as pa
import ray
import ray.data

from corank import _ray_groups as groups
from corank import _ray_joins as joins
from corank import _ray_tasks as tasks
from corank import _table_joins as table_joins
from corank._column_names import check_columns
from corank._errors import InvalidArgument
from corank._key_columns import Order, order_of
from corank._partials import Aggregates
from corank._partitioning import Plan
from corank._ray_run import Call, Run
from corank._ray_servers import servers_of
from corank._ray_tasks import Keys, StageTime
from corank._table_groups import Reduction, reductions

__all__ = ["Groups", "StageTime", "group_by", "join", "merge", "sort"]

JoinHow = Literal["inner", "left", "right", "full", "semi", "anti"]
OnStats = Callable[[list[StageTime]], object]
_RESULT_SHARES = 4
"""The result of one join may have this many times the bytes that a merge takes."""


def sort(
    ds: ray.data.Dataset,
    key: str | Sequence[str],
    descending: bool | Sequence[bool] = False,
    nulls: Literal["first", "last"] = "last",
    partitions: int | None = None,
    servers: str | Sequence[str] = "local",
    deadline: float | None = None,
    on_stats: OnStats | None = None,
) -> ray.data.Dataset:
    """Sorts the rows of a data set by one or more columns. Stable in both directions.

    The order is that of pyarrow's sort: NaN comes next to the nulls, and -0.0 equals +0.0. The call returns when all
    rows are sorted. Partitions are alike in size even where many rows share a key.

    Args:
        ds: the data set.
        key: the column or columns to compare, the most significant first: numbers, bools, dates, times, strings or
            binaries.
        descending: greatest first, in all columns or, as a sequence, in each.
        nulls: "last" or "first": where rows go whose key is null, in both directions.
        partitions: the number of blocks of the result; None: as many as `ds` has.
        servers: "local": the server in CORANK_SERVER of each node, or else a corankd that an actor starts there, from
            CORANKD or PATH, until the sort has ended. Or the address of a server, or several, which take turns.
        deadline: seconds until the sort raises DeadlineExceeded, more than 0; None: no limit.
        on_stats: a function that is called once with what each task took.

    Returns:
        A materialized data set.

    Raises:
        ValueError: a key is no column, or an option does not fit the others.
        TypeError: a column has no order.
        CorankError: a server failed, and went on to fail when Ray tried again.
    """
    order = order_of(key, descending, nulls)
    options = _Options(partitions, servers, deadline, on_stats)
    return options.run(lambda run: _sorted(run, ds.to_arrow_refs(), order, options, False)) or ds.materialize()


def merge(
    datasets: Sequence[ray.data.Dataset],
    key: str | Sequence[str],
    descending: bool | Sequence[bool] = False,
    nulls: Literal["first", "last"] = "last",
    partitions: int | None = None,
    servers: str | Sequence[str] = "local",
    deadline: float | None = None,
    on_stats: OnStats | None = None,
) -> ray.data.Dataset:
    """Merges data sets that are sorted, without sorting them again. Rows of an earlier one come first among equals.

    Args:
        datasets: one data set or more. Each block of each must be sorted in the order that the other arguments name.
        key: as for `sort`.
        descending: as for `sort`.
        nulls: as for `sort`.
        partitions: the number of blocks of the result; None: as many as all of `datasets` have.
        servers: as for `sort`.
        deadline: as for `sort`.
        on_stats: as for `sort`.

    Returns:
        A materialized data set.

    Raises:
        InvalidArgument: a block is not sorted.
    """
    order = order_of(key, descending, nulls)
    given = list(datasets)
    if not given:
        raise ValueError("datasets: needs one or more to merge")
    options = _Options(partitions, servers, deadline, on_stats)
    refs = [ref for ds in given for ref in ds.to_arrow_refs()]
    return options.run(lambda run: _sorted(run, refs, order, options, True)) or given[0].materialize()


def group_by(
    ds: ray.data.Dataset,
    key: str | Sequence[str],
    descending: bool | Sequence[bool] = False,
    nulls: Literal["first", "last"] = "last",
    drop_nulls: bool = False,
    partitions: int | None = None,
    servers: str | Sequence[str] = "local",
    deadline: float | None = None,
    on_stats: OnStats | None = None,
) -> Groups:
    """Groups the rows of a data set by equal keys. The work comes with `agg` of what it returns.

    Null keys equal each other, and so do NaNs. Each block is reduced before its rows travel.

    Args:
        ds: the data set.
        key: as for `sort`.
        descending: the order of the groups, as for `sort`.
        nulls: as for `sort`.
        drop_nulls: leave out rows with a null key.
        partitions: the number of blocks of the result, fewer if there are fewer groups. None: as many as `ds` has, but
            fewer where a sample of the rows has few keys.
        servers: as for `sort`.
        deadline: as for `sort`, for each call of `agg`.
        on_stats: as for `sort`.

    Returns:
        Groups, whose `agg` reduces each of them to a row.

    Examples:
        >>> corank.ray.group_by(ds, "city").agg(("amount", "sum"), rows="count")  # doctest: +SKIP
    """
    return Groups(ds, order_of(key, descending, nulls), drop_nulls, _Options(partitions, servers, deadline, on_stats))


class Groups:
    """Rows of a data set with equal keys; `agg` reduces them. Made by `group_by`."""

    def __init__(self, ds: ray.data.Dataset, order: Order, drop_nulls: bool, options: _Options) -> None:
        self._ds, self._order, self._drops, self._options = ds, order, bool(drop_nulls), options

    def __repr__(self) -> str:
        return f"Groups({', '.join(map(repr, self._order.keys))})"

    def agg(self, *reduced: Any, **named: Any) -> ray.data.Dataset:
        """Reduces each group to one row.

        Args:
            *reduced: pairs (column, function), whose results are called COLUMN_FUNCTION, or "count".
            **named: the same, with the name of the result: `total=("amount", "sum")`, `rows="count"`.

        A function is "count", "sum", "mean", "min", "max", "first" or "last", as in `Client.group_by`. Functions of a
        column ignore nulls; "count" without a column counts rows. "first" and "last" follow the order of the data set.

        Returns:
            A materialized data set with the key columns and one column for each function, a row for each group, in the
            order of the keys.

        Raises:
            InvalidArgument: a column or a function is not known, two results have one name, or a sum of integers does
                not fit in 64 bits.
            TypeError: a column has no sum or no order.
        """
        asked = reductions(reduced, named)
        made = self._options.run(lambda run: _grouped(run, self._ds, self._order, self._drops, asked, self._options))
        return made or self._ds.materialize()


def join(
    left: ray.data.Dataset,
    right: ray.data.Dataset,
    on: str | Sequence[str] | None = None,
    how: JoinHow = "inner",
    left_on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    suffix: str = "_right",
    nulls_equal: bool = False,
    partitions: int | None = None,
    servers: str | Sequence[str] = "local",
    deadline: float | None = None,
    on_stats: OnStats | None = None,
) -> ray.data.Dataset:
    """Joins two data sets by equal keys.

    Args:
        left: a data set.
        right: another one.
        on: the key column or columns, of the types that `sort` takes, if their names are the same on both sides.
        how: "inner": pairs of rows with equal keys; "left": also rows of the left without a match, with nulls for the
            right; "right": the reverse; "full": both; "semi": rows of the left that have a match, once each; "anti":
            rows of the left that have none.
        left_on: the keys of the left side, in place of `on`.
        right_on: the keys of the right side, as many.
        suffix: what the names of columns of the right get that are also names of the left.
        nulls_equal: whether null keys equal each other. NaN equals NaN.
        partitions: the number of blocks of the result; None: as many as the side with more blocks has.
        servers: as for `sort`.
        deadline: as for `sort`.
        on_stats: as for `sort`.

    Returns:
        A materialized data set. It has all columns of the left side, then the columns of the right side except its
        keys. Rows are sorted by key, nulls last. Left rows with equal keys keep the order of their data set, and so do
        the right rows that match one left row. With "right" the sides change roles.

    Raises:
        InvalidArgument: a key is no column, two columns of the result would have one name, or a partition of the result
            has too many rows.
        TypeError: keys are of types that do not compare.
        ValueError: a data set has no columns.

    Examples:
        >>> corank.ray.join(sales, cities, on="city", how="left")  # doctest: +SKIP
    """
    if how not in table_joins.HOWS:
        raise InvalidArgument(f"how: {how!r} is none of {', '.join(map(repr, table_joins.HOWS))}", field="how")
    names = table_joins.key_names(on, left_on, right_on)
    orders = [order_of(each, False, "last") for each in names]
    arguments = ("on", "on") if on is not None else ("left_on", "right_on")
    options = _Options(partitions, servers, deadline, on_stats)

    return options.run(
        lambda run: _joined(run, left, right, orders, arguments, how, suffix, bool(nulls_equal), options)
    )


class _Options:
    """The options that all operations have."""

    def __init__(
        self,
        partitions: int | None,
        servers: str | Sequence[str],
        deadline: float | None,
        on_stats: OnStats | None,
    ) -> None:
        if partitions is not None and (isinstance(partitions, bool) or int(partitions) < 1):
            raise ValueError(f"partitions: {partitions!r}; pass 1 or more, or None")
        self._partitions = None if partitions is None else int(partitions)
        self._servers, self._deadline, self._on_stats = servers, deadline, on_stats
        servers_of(servers, "", deadline)  # refuses what is wrong before there is work

    @property
    def is_default(self) -> bool:
        """Whether the caller left the number of partitions open."""
        return self._partitions is None

    def partitions(self, blocks: int) -> int:
        """The partitions that the caller asked for; by default, as many as there are blocks."""
        return max(1, blocks) if self._partitions is None else self._partitions

    def run(self, work: Callable[[Run], ray.data.Dataset | None]) -> Any:
        """The result of `work`, which has servers to call; None: what it returned."""
        servers = servers_of(self._servers, f"corank-server-{uuid.uuid4().hex[:12]}", self._deadline)
        run = Run(servers)
        handles = servers.start()
        try:
            made = work(run)
            if made is not None and self._on_stats is not None:
                self._on_stats(run.times)
            return made
        except ray.exceptions.RayTaskError as error:
            run.cancel()
            raise error.cause if isinstance(error.cause, Exception) else error from error
        except BaseException:
            run.cancel()
            raise
        finally:
            for handle in handles:
                ray.kill(handle)


def _schema_of(samples: Sequence[tasks.Sample]) -> Any:
    """The schema that all blocks have in common; None: no block has columns."""
    schemas = [each.schema for each in samples if each.schema is not None]
    return pa.unify_schemas(schemas, promote_options="permissive") if schemas else None


def _key_schema(schema: Any, order: Order) -> Any:
    return pa.schema([schema.field(name) for name in order.keys])


def _sorted(run: Run, refs: list[Any], order: Order, options: _Options, is_sorted: bool) -> ray.data.Dataset | None:
    """The rows in order; None: there are none."""
    partitions = options.partitions(len(refs))
    samples = run.samples(refs, partitions, order)
    schema = _schema_of(samples)
    if schema is None or not any(each.block_rows for each in samples):
        return None
    keys = Keys(order, _key_schema(schema, order))
    limits = run.result(tasks.boundaries, [samples, keys, partitions, run.servers])
    nbytes = sum(each.nbytes for each in samples)
    plan = run.plan(len(refs), partitions, nbytes, run.reaches(nbytes))
    runs = _runs(run, refs, samples, schema, keys, limits, plan, is_sorted, True)
    return ray.data.from_arrow_refs([each for (each,) in run.reduced(runs, nbytes, _merging(run, keys))])


def _runs(
    run: Run,
    refs: Sequence[Any],
    samples: Sequence[tasks.Sample],
    schema: Any,
    keys: Keys,
    limits: Any,
    plan: Plan,
    is_sorted: bool,
    is_split: bool,
) -> list[list[Any]]:
    """The sorted runs of each partition; `is_sorted` and `is_split` as for `cut_block`."""
    return run.rounds(
        refs,
        plan,
        [each.nbytes for each in samples],
        lambda ref, number: (
            tasks.cut_block,
            [ref, number, schema, limits, plan.groups, keys, is_sorted, is_split, not plan.gathers, run.servers],
        ),
        lambda group, pieces, blocks: (
            (tasks.gather_group, [keys, schema, run.servers, *pieces, *blocks])
            if plan.gathers
            else (tasks.merge_group, [keys, run.servers, *pieces])
        ),
    )


def _merging(run: Run, keys: Keys) -> Callable[[Sequence[Any], bool], Call]:
    return lambda runs, is_last: (tasks.merge_runs, [keys, run.servers, *runs])


def _grouped(
    run: Run, ds: ray.data.Dataset, order: Order, drops_nulls: bool, asked: Sequence[Reduction], options: _Options
) -> ray.data.Dataset | None:
    """A row for each group; None: the data set has no columns."""
    refs = ds.to_arrow_refs()
    wanted = options.partitions(len(refs))
    samples = run.samples(refs, wanted, order)
    schema = _schema_of(samples)
    if schema is None:
        return None
    aggregates = Aggregates(schema, order, drops_nulls, asked)
    rows = sum(each.block_rows for each in samples)
    if rows == 0:
        return ray.data.from_arrow(aggregates.result_schema.empty_table())
    keys = Keys(order, _key_schema(schema, order))
    limits = run.result(groups.group_boundaries, [samples, keys, wanted, options.is_default, run.servers])
    partitions = len(run.get(limits).rows) + 1
    # A partial result may be larger than a row.
    nbytes = sum(each.nbytes for each in samples) + rows * aggregates.row_bytes
    plan = run.plan(len(refs), partitions, nbytes, gathers=False)
    is_last = len(plan.rounds) == 1
    runs = run.rounds(
        refs,
        plan,
        [each.nbytes for each in samples],
        lambda ref, number: (groups.group_block, [ref, schema, limits, plan.groups, aggregates, run.servers]),
        lambda group, pieces, _: (groups.combine_group, [group, limits, aggregates, run.servers, is_last, *pieces]),
    )
    blocks = run.reduced(
        runs, nbytes, lambda runs, is_last: (groups.combine_runs, [aggregates, run.servers, is_last, *runs])
    )
    return ray.data.from_arrow_refs([each for (each,) in blocks])


def _joined(
    run: Run,
    left: ray.data.Dataset,
    right: ray.data.Dataset,
    orders: Sequence[Order],
    arguments: Sequence[str],
    how: str,
    suffix: str,
    nulls_equal: bool,
    options: _Options,
) -> ray.data.Dataset:
    """The rows of the result; `arguments` name the keys of each side."""
    refs = [ds.to_arrow_refs() for ds in (left, right)]
    partitions = options.partitions(max(map(len, refs)))
    samples = [run.samples(each, partitions, order) for each, order in zip(refs, orders)]
    schemas = [_schema_of(each) for each in samples]
    for name, schema, argument, order in zip(("left", "right"), schemas, arguments, orders):
        if schema is None:
            raise ValueError(f"{name}: the data set has no columns; make it from a table with a schema")
        check_columns(argument, order.keys, schema.names)
    most_bytes = run.merge_bytes * _RESULT_SHARES
    keys = orders[0].keys, orders[1].keys
    spec = joins.joining(schemas[0], schemas[1], *keys, arguments[1], how, suffix, nulls_equal, most_bytes)
    if not any(each.block_rows for of_side in samples for each in of_side):
        return ray.data.from_arrow(spec.schema.empty_table())
    nbytes = [sum(each.nbytes for each in of_side) for of_side in samples]
    by_owner = (1, 0) if how == "right" else (0, 1)
    limits = run.result(joins.join_boundaries, [*(samples[side] for side in by_owner), partitions, spec, run.servers])
    runs = []
    for side, of_keys in enumerate((spec.left, spec.right)):
        plan = run.plan(len(refs[side]), partitions, nbytes[side], run.reaches(sum(nbytes)))
        runs.append(
            _runs(run, refs[side], samples[side], schemas[side], of_keys, limits, plan, False, side == by_owner[0])
        )
        runs[side] = run.reduced(runs[side], nbytes[side], _merging(run, of_keys), leaves_last=True)
    started = [
        run.start(
            joins.join_partition,
            [at, partitions, limits, spec, run.servers, len(of_left), *of_left, *of_right],
            1,
            nbytes=2 * sum(nbytes) / partitions,
        )
        for at, (of_left, of_right) in enumerate(zip(*runs))
    ]
    run.wait([ended for _, ended in started])
    return ray.data.from_arrow_refs([block for block, _ in started])
