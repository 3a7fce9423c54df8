"""The Flight gateway as pyarrow's own client sees it: operators, kept tables, and wrong commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import corank

pa = pytest.importorskip("pyarrow")
flight = pytest.importorskip("pyarrow.flight")

from flight_cases import all_free, command, connected, exchange, put, served, status  # noqa: E402
from table_cases import RUNS, TYPES, column  # noqa: E402

from corank._flight_commands import batches, table_result  # noqa: E402
from corank._flight_memory import KeptTables  # noqa: E402
from corank._flight_server import Gateway, Limits  # noqa: E402

SALES = pa.table(
    {
        "day": [2, 1, None, 1, 2],
        "city": ["Oslo", "Århus", "Oslo", "Bergen", None],
        "amount": [10.0, 25.5, 7.0, 2.0, 3.5],
    }
)
CITIES = pa.table({"city": ["Oslo", "Bodø", "Bergen"], "county": ["Oslo", "Nordland", "Vestland"]})


@pytest.fixture
def gateway(any_client: corank.Client) -> Iterator[Gateway]:
    """A gateway with small batches."""
    with served(any_client.address, Limits(batch_bytes=64)) as made:
        yield made


@pytest.fixture
def client(gateway: Gateway) -> Iterator[Any]:
    """A Flight client of it."""
    with connected(gateway) as made:
        yield made


def test_streamed_tables_come_back_as_the_methods_return_them(
    gateway: Gateway, client: Any, any_client: corank.Client
) -> None:
    rng = np.random.default_rng(7)
    for rows in (0, 1, 90):
        columns = {f"c{at}": column(rng, type_, rows, True) for at, type_ in enumerate(TYPES)}
        table = pa.table({**columns, "row": np.arange(rows)})
        keys = [f"c{int(at)}" for at in rng.choice(len(TYPES), 3, replace=False)]
        for descending in (False, [True, False, True]):
            found = exchange(client, command("sort_by", keys=keys, descending=descending), [table], rows=13)
            assert found["row"].equals(any_client.sort_by(table, keys, descending=descending)["row"])
            assert found.schema.equals(table.schema)
    expected = any_client.sort_by(table, "c1", nulls="first", limit=7, columns=["row"])
    assert exchange(client, command("sort_by", keys="c1", nulls="first", limit=7, columns=["row"]), [table]) == expected
    expected = any_client.sort_by(table, "c1", nulls="first", limit=9, columns=["row"]).slice(2)
    given = {"keys": "c1", "nulls": "first", "limit": 7, "offset": 2}
    assert exchange(client, command("sort_by", columns=["row"], **given), [table]) == expected
    expected = any_client.top_k(table, 9, ["c2", "c8"])
    assert exchange(client, command("top_k", keys=["c2", "c8"], k=9), [table])["row"].equals(expected["row"])
    all_free(gateway)


def test_streamed_tables_merge_by_their_numbers(gateway: Gateway, client: Any) -> None:
    parts = [SALES.sort_by("amount").slice(0, 2), SALES.slice(0, 0), SALES.sort_by("amount").slice(2)]
    assert exchange(client, command("merge_by", keys="amount"), [parts[2], parts[0]]) == SALES.sort_by("amount")
    put(client, "first", parts[0])
    found = exchange(client, command("merge_by", keys="amount", tables=["first"], columns="day"), [parts[2]])
    assert found == SALES.sort_by("amount").select(["day"])
    found = client.do_get(flight.Ticket(command("merge_by", keys="amount", tables=["first", "first"]))).read_all()
    assert found["amount"].to_pylist() == [2.0, 2.0, 3.5, 3.5]
    with pytest.raises(pa.ArrowInvalid, match=r"^tables\[0\]: not sorted by 'amount'; sort_by\(tables\[0\], ...\)"):
        exchange(client, command("merge_by", keys="amount"), [SALES, parts[0]])
    all_free(gateway, status(client)["kept"])


def test_streamed_tables_join_kept_ones(gateway: Gateway, client: Any, any_client: corank.Client) -> None:
    put(client, "cities", CITIES)
    for how in ("inner", "left", "right", "full", "semi", "anti"):
        found = exchange(client, command("join_by", on="city", right="cities", how=how), [SALES])
        assert found == any_client.join_by(SALES, CITIES, "city", how=how)
        found = exchange(client, command("join_by", on="city", left="cities", how=how, suffix="_2"), [SALES])
        assert found == any_client.join_by(CITIES, SALES, "city", how=how, suffix="_2")
    put(client, "sales", SALES)
    both = command("join_by", left="sales", right="cities", left_on="city", right_on=["city"], nulls_equal=True)
    assert client.do_get(flight.Ticket(both)).read_all() == any_client.join_by(SALES, CITIES, "city", nulls_equal=True)
    all_free(gateway, status(client)["kept"])


def test_streamed_tables_are_grouped(gateway: Gateway, client: Any) -> None:
    agg = {"total": ["amount", "sum"], "rows": "count"}
    found = exchange(client, command("group_by", keys="city", agg=agg), [SALES])
    assert found.to_pydict() == {
        "city": ["Bergen", "Oslo", "Århus", None],
        "total": [2.0, 17.0, 25.5, 3.5],
        "rows": [1, 2, 1, 1],
    }
    found = exchange(client, command("group_by", keys="day", drop_nulls=True, descending=True), [SALES])
    assert found["amount"].to_pylist() == [10.0, 25.5]
    all_free(gateway)


@pytest.mark.parametrize("type_", [*TYPES, *RUNS], ids=str)
def test_keys_of_every_type_come_back_as_the_methods_return_them(
    gateway: Gateway, client: Any, any_client: corank.Client, type_: Any
) -> None:
    table = pa.table({"k": column(np.random.default_rng(8), type_, 40, True), "n": range(40)})
    ordered = any_client.sort_by(table, "k")
    put(client, "kept", ordered)
    for text, streamed, expected in [
        (command("top_k", keys="k", k=7), table, any_client.top_k(table, 7, "k")),
        (command("join_by", on="k", right="kept"), table, any_client.join_by(table, ordered, "k")),
        (command("merge_by", keys="k", tables=["kept"]), ordered, any_client.merge_by([ordered, ordered], "k")),
        (
            command("group_by", keys="k", agg={"low": ["k", "min"], "n": ["n", "sum"]}),
            table,
            any_client.group_by(table, "k").agg(low=("k", "min"), n=("n", "sum")),
        ),
    ]:
        found = exchange(client, text, [streamed], rows=13)
        assert found.schema == expected.schema, text
        assert str(found.to_pylist()) == str(expected.to_pylist()), text  # NaNs too
    all_free(gateway, status(client)["kept"])


def test_tables_are_kept_listed_streamed_and_dropped(gateway: Gateway, client: Any) -> None:
    told = put(client, "sales", SALES)
    assert told == {"name": "sales", "rows": 5, "bytes": gateway.budget.used}
    assert put(client, "cities", CITIES)["rows"] == 3
    cities, sales = client.list_flights()
    assert [each.descriptor.path for each in (cities, sales)] == [[b"cities"], [b"sales"]]
    assert (sales.schema, sales.total_records, sales.total_bytes) == (SALES.schema, 5, told["bytes"])
    assert 3500 < json.loads(sales.app_metadata)["expires_in"] <= 3600
    assert [each.descriptor.path for each in client.list_flights(b"sal")] == [[b"sales"]]
    path = flight.FlightDescriptor.for_path("sales")
    assert client.get_flight_info(path).total_records == 5
    assert client.get_schema(path).schema == SALES.schema
    for endpoint in sales.endpoints:
        assert client.do_get(endpoint.ticket).read_all() == SALES
    put(client, "sales", SALES.slice(0, 1))
    assert client.do_get(flight.Ticket(b"sales")).read_all() == SALES.slice(0, 1)
    for name in (b"sales", b"cities"):
        assert list(client.do_action(flight.Action("drop", name)))
    assert list(client.list_flights()) == []
    for call in (
        lambda: client.do_get(flight.Ticket(b"sales")),
        lambda: client.get_flight_info(path),
        lambda: list(client.do_action(flight.Action("drop", b"sales"))),
        lambda: exchange(client, command("join_by", on="city", right="sales"), [SALES]),
    ):
        with pytest.raises(pa.ArrowKeyError, match=r"^sales: no table of this name is kept; put it, or list"):
            call()
    assert [each.type for each in client.list_actions()] == ["drop", "status"]
    all_free(gateway)


def test_a_command_tells_its_schema_before_it_runs(gateway: Gateway, client: Any) -> None:
    put(client, "sales", SALES)
    put(client, "cities", CITIES)
    for text in (
        command("sort_by", table="sales", keys="day", columns=["city", "day"]),
        command("join_by", left="sales", right="cities", on="city"),
        command("join_by", left="cities", right="sales", on="city", how="full"),
        command("group_by", table="sales", keys="day", agg={"most": ["city", "max"], "mean": ["amount", "mean"]}),
        command("merge_by", tables=["sales", "sales"], keys="day", columns="amount"),
    ):
        descriptor = flight.FlightDescriptor.for_command(text)
        info = client.get_flight_info(descriptor)
        assert info.total_records == -1
        assert client.get_schema(descriptor).schema == info.schema
        if b"merge" not in text:  # the table is not sorted
            assert client.do_get(info.endpoints[0].ticket).read_all().schema == info.schema
    with pytest.raises(pa.ArrowInvalid, match=r"^keys: no column 'dya'; did you mean 'day'\?"):
        client.get_flight_info(flight.FlightDescriptor.for_command(command("sort_by", table="sales", keys="dya")))
    all_free(gateway, status(client)["kept"])


WRONG: list[tuple[bytes, str]] = [
    (b"", "command: is no JSON: "),
    (b"[1]", 'command: is no JSON object, such as {"operator": "sort_by", "keys": ["day"]}'),
    (b"[" * 5000, "command: is no JSON"),
    (b" " * 70000, "command: has 70,000 bytes; at most 65,536 are allowed"),
    (command("sort"), "operator: 'sort' is none; did you mean 'sort_by'?"),
    (b'{"operator": ["sort_by"]}', "operator: ['sort_by'] is none; did you mean 'sort_by'?"),
    (command("sort_by"), "keys: missing; sort_by needs it"),
    (command("top_k", keys="day"), "k: missing; top_k needs it"),
    (command("top_k", keys="day", k=-1), "k: -1 is less than 0"),
    (command("top_k", keys="day", k=None), "k: "),
    (command("sort_by", keys="day", limmit=1), "limmit: sort_by has no such argument; did you mean 'limit'?"),
    (command("sort_by", keys="dya"), "keys: no column 'dya'; did you mean 'day'?"),
    (command("sort_by", keys=[]), "keys: is empty; name one column or more"),
    (command("sort_by", keys={"day": 1}), "keys: is of type dict; pass the name of a column, or a list of names"),
    (command("sort_by", keys="day", descending=[True, False]), "descending: 2 values for 1 keys"),
    (command("sort_by", keys="day", descending=3), "descending: is of type int; pass one value"),
    (command("sort_by", keys="day", nulls="middle"), "nulls: 'middle' is none of 'first', 'last'"),
    (command("sort_by", keys="day", nan=[1]), "nan: 1 is none of"),
    (command("sort_by", keys="day", limit="3"), "limit: "),
    (command("sort_by", keys="day", columns="x"), "columns: no column 'x'"),
    (command("sort_by", keys="day", deadline=-1), "deadline: -1 is not a number of seconds of more than 0"),
    (command("sort_by", keys="day", deadline="soon"), "deadline: 'soon' is not a number"),
    (command("sort_by", keys="day", priority="urgent"), "priority: 'urgent' is none of"),
    (
        command("sort_by", keys="day", table="sales"),
        "command: all tables of this sort_by are kept ones; ask for it by ",
    ),
    (command("sort_by", keys="day", table=""), "table: '' is no name of a table; give 1 to 128 bytes of printable"),
    (command("merge_by", keys="day", tables="x"), "tables: is no list of names of kept tables"),
    (command("join_by", on="day"), "left, right: one call streams one table; put the other first (DoPut), and name"),
    (command("join_by", on="x", right="sales"), "on: no column 'x'"),
    (command("join_by", right="sales"), "on: missing; give on=, or left_on= and right_on="),
    (command("join_by", on="day", right="sales", how="outer"), "how: 'outer' is called 'full' here"),
    (command("join_by", on="day", right="sales", suffix=""), "suffix: both sides have a column 'city'; choose another"),
    (command("group_by", keys="day", agg=[1]), 'agg: is no object, such as {"total": ["amount", "sum"], "rows": '),
    (command("group_by", keys="day", agg={"x": "sum"}), "agg: x: 'sum' is neither 'count' nor a pair"),
    (command("group_by", keys="day", agg={"x": ["city", "sum"]}), "agg: column 'city' is"),
    (command("group_by", keys="day", agg={"x": [["city"], "sum"]}), "agg: is of type list; pass the name of a column"),
    (command("group_by", keys="day", agg={}), "agg: is empty; pass total="),
]


def test_wrong_commands_say_what_to_change(gateway: Gateway, client: Any) -> None:
    put(client, "sales", SALES)
    for text, message in WRONG:
        with pytest.raises((pa.ArrowInvalid, flight.FlightError)) as failed:
            exchange(client, text, [SALES])
        assert isinstance(failed.value, pa.ArrowInvalid), (text, failed.value)
        assert str(failed.value).startswith(message), (text, str(failed.value))
        assert ".py" not in str(failed.value), "no traceback leaves the gateway"
    wrong: Any = (
        (lambda: exchange(client, command("sort_by", keys="day"), [SALES, SALES]), "app_metadata: 2 tables; sort_by"),
        (lambda: client.do_get(flight.Ticket(b"{}")), "operator: None is none"),
        (
            lambda: client.do_get(flight.Ticket(command("top_k", keys="a", k=1))),
            "table: missing; name a kept table, or",
        ),
        (lambda: client.do_get(flight.Ticket(b"a\nb")), "ticket: 'a\\nb' is no name of a table"),
        (lambda: put(client, "{}", SALES), "path: '{}' is no name of a table"),
        (lambda: put(client, "n" * 129, SALES), "path: 'nnn"),
        (lambda: client.get_flight_info(flight.FlightDescriptor.for_path("a", "b")), "descriptor: is no path of one"),
    )
    for call, message in wrong:
        with pytest.raises(pa.ArrowInvalid) as failed:
            call()
        assert str(failed.value).startswith(message)
    for number in (b"2", b"-1", b"x"):
        writer, _ = client.do_put(flight.FlightDescriptor.for_path("x"), SALES.schema)
        writer.write_with_metadata(SALES.to_batches()[0], number)
        with pytest.raises(
            pa.ArrowInvalid, match=r"app_metadata: (table 2 before table 0; count from 0|b'.*' is no num)"
        ):
            writer.close()
    writer, reader = client.do_exchange(flight.FlightDescriptor.for_path("x"))
    with pytest.raises(pa.ArrowInvalid, match="descriptor: is no command, such as"):
        reader.read_all()
    with pytest.raises(pa.ArrowNotImplementedError, match=r"^dorp: no such action; there are drop, status"):
        list(client.do_action("dorp"))
    all_free(gateway, status(client)["kept"])


def test_results_come_in_batches_of_the_size_that_the_gateway_has(any_client: corank.Client) -> None:
    table = pa.table({"k": np.arange(100_000)[::-1].copy(), "s": ["x" * 100] * 100_000})
    with served(any_client.address, Limits(batch_bytes=1 << 16)) as gateway, connected(gateway) as client:
        writer, reader = client.do_exchange(flight.FlightDescriptor.for_command(command("sort_by", keys="k")))
        with writer:
            writer.begin(table.schema)
            writer.write_table(table)
            writer.done_writing()
            found = [chunk.data for chunk in reader]
        assert max(batch.nbytes for batch in found) < 3 << 16
        assert pa.Table.from_batches(found)["k"].to_pylist() == list(range(100_000))
    uneven = pa.table({"s": ["x"] * 5000 + ["y" * 1000] * 5000})
    pieces = list(batches(table_result(uneven), 10_000))
    assert max(piece.nbytes for piece in pieces) <= 20_000
    assert pa.Table.from_batches(pieces) == uneven.combine_chunks()


def test_memory_has_a_budget_and_callers_a_quota(any_client: corank.Client) -> None:
    table = pa.table({"k": np.arange(1000)})
    with served(any_client.address, Limits(memory=40_000, quota=20_000)) as gateway, connected(gateway) as client:
        put(client, "a", table)
        put(client, "b", table)
        with pytest.raises(
            flight.FlightUnavailableError, match=r"^c: has 8,000 bytes, and your other tables have 16,0"
        ):
            put(client, "c", table)
        put(client, "b", table)  # replaces one of its size
        with pytest.raises(flight.FlightUnavailableError, match=r"^sort_by: needs 24,000 bytes, and 21,000 of 40,000 "):
            exchange(client, command("sort_by", keys="k"), [table.slice(0, 375)], rows=1000)
        with pytest.raises(
            pa.ArrowInvalid, match="needs 64,000 bytes, and the gateway has 40,000; send smaller tables"
        ):
            client.do_get(flight.Ticket(command("sort_by", keys="k", table="a")))
        all_free(gateway, 16_000)
    one = pa.table({"k": np.zeros(2000, np.int64)})
    with served(any_client.address, Limits(memory=1 << 20)) as gateway, connected(gateway) as client:
        put(client, "ones", one)
        with pytest.raises(
            pa.ArrowInvalid, match=r"^join_by: the result has 4,000,000 rows, and there is room for [0-9]"
        ):
            exchange(client, command("join_by", on="k", right="ones"), [one], rows=2000)
        all_free(gateway, 16_000)


def test_tables_that_nobody_uses_expire() -> None:
    now = [0.0]
    kept = KeptTables(100, 10.0, lambda: now[0])
    from corank._flight_memory import Budget, Held, Hold

    budget = Budget(100)
    for name in ("a", "b"):
        hold = Hold(budget)
        hold.resize(10, name)
        kept.put("me", name, Held(SALES, hold))
        del hold
    now[0] = 9.0
    assert kept.get("me", "a").table is SALES
    assert [each.seconds for each in kept.listed("me")] == [10.0, 1.0]
    assert kept.listed("you") == []
    with pytest.raises(corank.NotFound):
        kept.get("you", "a")
    now[0] = 11.0
    assert [each.name for each in kept.listed("me")] == ["a"]
    with pytest.raises(corank.NotFound):
        kept.get("me", "b")
    kept.expire()
    assert budget.used == 10
    now[0] = 19.0
    kept.expire()
    assert budget.used == 0
    assert kept.listed("me") == []
