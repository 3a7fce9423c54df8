"""The names of the package and of its objects, their help, and how they print."""

from __future__ import annotations

import doctest
import inspect
import os
import pickle
import pydoc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fake_server import FakeServer

import corank
from corank._options import CallOptions, LinkOptions
from corank.testing import LocalServer

OPERATORS = [
    "argselect",
    "argsort",
    "argsort_columns",
    "combine_sets",
    "count_join",
    "count_sets",
    "expand",
    "gather",
    "group",
    "insert",
    "join",
    "load_balance",
    "merge",
    "move",
    "partition",
]
OPERATORS += ["rank", "rank_columns", "remove", "run_length_encode", "scatter", "search", "search_columns", "select"]
OPERATORS += ["sort", "sort_columns", "sort_columns_with_indices", "sort_with_indices", "unique"]
TABLES = ["argsort_by", "group_by", "join_by", "merge_by", "search_by", "sort_by", "top_k"]
NOT_IN_CHAINS = {"sort_columns", "sort_columns_with_indices"}
OTHERS = ["address", "arrays", "chain", "close", "delete", "empty_shared", "health", "info", "share", "store"]
OTHERS += ["stored", "submit"]
X = np.array([3, 1, 2], np.int32)


def public(thing: object) -> list[str]:
    """The names that completion offers."""
    return [name for name in dir(thing) if not name.startswith("_")]


def test_completion_shows_what_users_call(fake_client: corank.Client) -> None:
    assert set(dir(corank)) == {*corank.__all__, "aio"}
    assert public(fake_client) == sorted([*OPERATORS, *TABLES, *OTHERS])
    assert public(fake_client.chain()) == [name for name in OPERATORS if name not in NOT_IN_CHAINS]
    handle = fake_client.store("x", X)
    assert public(handle) == ["count", "delete", "dtype", "fetch", "name", "nbytes", "sharded"]
    with fake_client.chain() as chain:
        assert public(chain.sort(X)) == ["count", "delete", "dtype", "fetch", "name", "nbytes", "result", "sharded"]
    assert set(public(corank.CorankError("x"))) - set(public(Exception("x"))) == {
        "attempts",
        "code",
        "grpc_error",
        "message",
        "reason",
        "request_id",
        "rows",
        "trace_id",
    }


@pytest.mark.parametrize(
    ("owner", "options"), [(corank.Client, CallOptions), (corank.Chain, LinkOptions), (corank, CallOptions)]
)
@pytest.mark.parametrize("name", OPERATORS)
def test_help_of_operators_shows_every_option(owner: Any, options: Any, name: str) -> None:
    if owner is corank.Chain and name in NOT_IN_CHAINS:
        return
    parameters = inspect.signature(getattr(owner, name)).parameters
    assert options.__annotations__.keys() <= parameters.keys()
    assert not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    text = pydoc.plain(pydoc.render_doc(getattr(owner, name)))
    for parameter in parameters:
        if parameter != "self":
            assert f"\n        {parameter}: " in text, parameter
    assert "Returns:" in text


@pytest.mark.parametrize("name", [*TABLES, *OTHERS])
def test_help_of_other_methods_shows_their_arguments(name: str) -> None:
    method = getattr(corank.Client, name)
    assert method.__doc__
    if callable(method):
        for parameter in list(inspect.signature(method).parameters)[1:]:
            assert f"{parameter}: " in method.__doc__, parameter


def test_help_of_connect_shows_its_options() -> None:
    for function in (corank.connect, corank.Client.__init__):
        parameters = inspect.signature(function).parameters
        assert {"address", "deadline", "tls_ca", "token", "max_message_bytes"} <= parameters.keys()
    assert "tls_ca: a PEM file" in (corank.connect.__doc__ or "")


def test_wrong_names_of_options_are_one_line(fake: FakeServer, fake_client: corank.Client) -> None:
    calls: list[tuple[Any, str]] = [
        (lambda: fake_client.sort(X, descendng=True), "sort() takes no option 'descendng'; did you mean 'descending'?"),  # type: ignore[call-overload]
        (lambda: fake_client.sort(X, dead_line=1), "sort() takes no option 'dead_line'; did you mean 'deadline'?"),  # type: ignore[call-overload]
        (lambda: corank.connect(tsl=True), "connect() takes no option 'tsl'; did you mean 'tls'?"),  # type: ignore[call-arg]
        (lambda: fake_client.sort(X, timeout=1), "sort() takes no option 'timeout'; did you mean 'deadline'?"),  # type: ignore[call-overload]
        (lambda: corank.connect(host="h"), "connect() takes no option 'host'; did you mean 'address'?"),  # type: ignore[call-arg]
        (lambda: fake_client.info(retry=1), "info() takes no option 'retry'; did you mean 'retries'?"),  # type: ignore[call-arg]
    ]
    for call, text in calls:
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == text
    with pytest.raises(TypeError, match=r"^delete\(\) takes no option 'arry'; did you mean 'array'\?$"):
        fake_client.delete(arry="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^search\(\) missing 1 required positional argument: 'needles'$"):
        fake_client.search(X)  # type: ignore[call-overload]
    for name, arguments, text in [
        ("sort", [X, X], "sort() takes only keys by position; give what follows by name"),
        ("merge", [X, X], "merge() takes only keys by position, as one list; give what follows by name"),
        ("search", [X, X, X], "search() takes only haystack and needles by position; give what follows by name"),
        ("arrays", [X], "arrays() takes no argument without a name"),
    ]:
        with pytest.raises(TypeError) as caught:
            getattr(fake_client, name)(*arguments)
        assert str(caught.value) == text
    with pytest.raises(TypeError, match=r"info\(\) takes no option 'zzz'; it takes deadline, retries, traceparent"):
        fake_client.info(zzz=1)  # type: ignore[call-arg]
    assert fake.requests == []


def test_public_classes_say_that_they_are_of_the_package() -> None:
    for name in corank.__all__:
        if inspect.isclass(getattr(corank, name)):
            assert getattr(corank, name).__module__ == "corank", name
    error = corank.InvalidArgument("no", field="keys")
    assert (f"{type(error).__module__}.{type(error).__qualname__}") == "corank.InvalidArgument"
    assert pickle.loads(pickle.dumps(corank.InvalidArgument)) is corank.InvalidArgument


def test_objects_print_what_they_are(fake: FakeServer) -> None:
    client = corank.connect(fake.address)
    assert repr(client) == f"corank.Client('{fake.address}')"
    stats: list[corank.Stats] = []
    client.sort(X, on_stats=stats.append)
    assert repr(stats[0]).startswith("Stats(Sort by mergesort on cpu, ")
    assert repr(stats[0]).endswith("queue 1 ns, copy in 0 ns, kernels 2 ns, copy out 0 ns; inline)")
    assert "device     NumPy (0)" in str(stats[0])
    info = client.info()
    lines = repr(info).splitlines()
    assert lines[0].startswith("corankd 0.1.0 on cpu, up ")
    assert 5 < len(lines) < 40
    assert max(map(len, lines)) <= 120
    for shown in (stats[0], info, client.arrays()):
        assert shown._repr_html_().startswith("<table><caption")
    with client.chain() as chain:
        pending = chain.sort(X)
        assert repr(chain) == "Chain(sort; not run)"
        assert repr(pending) == "Pending(keys of sort, 3 x int32; not run)"
        with pytest.raises(RuntimeError, match="leave the `with` block first"):
            pending.result()
        first = chain.gather(pending, [0], [1])
    assert repr(chain) == "Chain(sort, gather_intervals; done)"
    assert repr(pending).endswith("; stayed on the server)")
    with pytest.raises(RuntimeError, match="a later operator took this result"):
        pending.result()
    assert repr(first).endswith("; ready)")
    assert repr(client.store("x", X)) == "StoredArray('x', 3 x int32)"
    assert repr(client.arrays()).splitlines()[1] == "  x  3 x int32, 12 B"
    assert repr(client.share(X)) == "SharedArray(3 x int32)"
    client.close()
    assert repr(client) == f"corank.Client('{fake.address}', closed)"


def test_tables_for_notebooks_escape_what_they_show() -> None:
    table = corank.StoredArrays([], 0, 1 << 20)._repr_html_()
    assert "0 arrays, 0 B of 1.0 MiB" in table
    from corank._text import html_table

    assert "<td style='text-align:left'>&lt;b&gt;</td>" in html_table("t", {"a": "<b>"})


@pytest.fixture(scope="module")
def example_client() -> Iterator[corank.Client]:
    """A client of a server that has everything switched on, if there is a corankd; else of the double."""
    binary = os.environ.get("CORANKD")
    if binary:
        with LocalServer(binary, ["--shared-memory=/corank-names-", "--kept-bytes=1000000"]) as server:
            yield server.connect()
    else:
        double = FakeServer()
        yield corank.connect(double.address)
        double.stop()


@pytest.mark.parametrize("name", [*OPERATORS, *TABLES, *OTHERS])
def test_examples_in_the_help_run_as_printed(example_client: corank.Client, name: str) -> None:
    if ("columns" in name or name == "health") and not os.environ.get("CORANKD"):
        pytest.skip("CORANKD is not set, and the double neither sorts columns nor has a health service")
    if name in TABLES:
        pytest.importorskip("pyarrow")
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    for example in finder.find(getattr(corank.Client, name), name, globs={"client": example_client, "np": np}):
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0
    assert name not in [*OPERATORS, *TABLES] or runner.tries > 0
