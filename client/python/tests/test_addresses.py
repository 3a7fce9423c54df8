"""Several addresses, which take turns; and the health of a server."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import Iterator

import numpy as np
import pytest
from fake_server import FakeServer

import corank
import corank.aio
from corank import _channels as channels
from corank.testing import LocalServer

X = np.array([3, 1, 2], np.int32)


@pytest.fixture
def pair() -> Iterator[tuple[FakeServer, FakeServer]]:
    """Two test doubles."""
    servers = FakeServer(), FakeServer()
    yield servers
    for server in servers:
        server.stop()


def test_calls_of_a_client_take_turns(pair: tuple[FakeServer, FakeServer]) -> None:
    with corank.connect(",".join(each.address for each in pair), deadline=30) as client:
        client.sort(X)
        # The second connection may come up after the first calls.
        for _ in range(1000):
            if all(each.requests for each in pair):
                break
            np.testing.assert_array_equal(client.sort(X), [1, 2, 3])
        assert all(each.requests for each in pair)


def test_calls_of_an_asyncio_client_take_turns(pair: tuple[FakeServer, FakeServer]) -> None:
    async def main() -> None:
        async with corank.aio.connect(",".join(each.address for each in pair), deadline=30) as client:
            for _ in range(1000):
                np.testing.assert_array_equal(await client.sort(X), [1, 2, 3])
                if all(each.requests for each in pair):
                    return

    asyncio.run(main())
    assert all(each.requests for each in pair)


def test_a_job_goes_to_one_of_several_servers_with_all_its_parts(pair: tuple[FakeServer, FakeServer]) -> None:
    keys = np.arange(300_000, dtype=np.int32)[::-1]
    with corank.connect(",".join(each.address for each in pair), deadline=30) as client:
        for _ in range(4):
            found = client.sort(keys, place="stream", connections=4)  # parts at two servers would wait for each other
            np.testing.assert_array_equal(found, keys[::-1])


def test_arrays_for_several_servers_travel_outside_shared_memory(pair: tuple[FakeServer, FakeServer]) -> None:
    keys = np.arange(1_000_000, dtype=np.int32)[::-1]
    stats: list[corank.Stats] = []
    with corank.connect(pair[0].address, deadline=30) as alone:
        alone.sort(keys, on_stats=stats.append)
    with corank.connect(",".join(each.address for each in pair), deadline=30) as client:
        client.sort(keys, on_stats=stats.append)
    assert [each.place == "shared_memory" for each in stats] == [True, False]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("a:1,b:2", "must be numeric and of one family.*dns:///NAME"),
        ("localhost:1,127.0.0.1:2", "must be numeric"),
        ("127.0.0.1:1,[::1]:2", "of one family"),
        ("127.0.0.1:1,127.0.0.2", "'127.0.0.2' has no port"),
        ("127.0.0.1:1,", "has no port"),
    ],
)
def test_several_addresses_that_cannot_take_turns_are_refused(address: str, message: str) -> None:
    with pytest.raises(corank.InvalidArgument, match=message):
        corank.connect(address)


def test_several_addresses_with_tls_need_the_name_of_the_certificate(tmp_path: pathlib.Path) -> None:
    with pytest.raises(corank.InvalidArgument, match="tls_server_name: several addresses"):
        corank.connect("127.0.0.1:1,127.0.0.2:1", tls=True)
    corank.connect("127.0.0.1:1,127.0.0.2:1", tls=True, tls_server_name="gpu.example").close()


def test_health_of_a_server(corankd: LocalServer) -> None:
    with corank.connect(corankd.address, deadline=30) as client:
        assert [client.health(name) for name in ("", "live", "ready")] == ["SERVING"] * 3
        assert client.health("nonsense") == "UNKNOWN"
        with pytest.raises(corank.InvalidArgument, match="service: a name of 128 bytes"):
            client.health("x" * 128)

    async def main() -> str:
        async with corank.aio.connect(corankd.address, deadline=30) as client:
            return await client.health()

    assert asyncio.run(main()) == "SERVING"


@pytest.mark.parametrize(
    ("answer", "state"),
    [(b"", "UNKNOWN"), (b"\x08\x00", "UNKNOWN"), (b"\x08\x01", "SERVING"), (b"\x08\x02", "NOT_SERVING")],
)
def test_states_are_those_of_grpcs_health_protocol(answer: bytes, state: str) -> None:
    assert channels._health_status(answer) == state


def test_an_answer_that_is_no_state_is_the_servers_fault() -> None:
    with pytest.raises(corank.CorankError, match="is no state"):
        channels._health_status(b"\x08\x07")


def test_sorted_columns_and_their_rows_come_in_one_call(corankd: LocalServer) -> None:
    generator = np.random.default_rng(3)
    cities = generator.choice(["Rome", "Oslo", "Lima"], 1000).tolist()
    years = generator.integers(2000, 2010, 1000).astype(np.int16)
    rows = sorted(range(1000), key=lambda row: (cities[row], -int(years[row])))
    with corank.connect(corankd.address, deadline=60) as client:
        (found, when), order = client.sort_columns_with_indices([cities, years], descending=[False, True])
        assert found == [cities[row] for row in rows]
        np.testing.assert_array_equal(when, years[rows])
        np.testing.assert_array_equal(order, rows)
        (first, _), order = client.sort_columns_with_indices([cities, years], limit=5, index_dtype=None)
        assert (len(first), order.dtype, len(order)) == (5, np.dtype(np.uint32), 5)
