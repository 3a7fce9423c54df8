"""Sort, merge and move NumPy arrays on a corank server.

    import corank

    corank.sort(x)                                     # the server in CORANK_SERVER, else 127.0.0.1:50051
    with corank.connect("gpu-host:50051") as client:
        client.argsort(x, descending=True)

Every function of this module is the method of that name of `Client`, on a client that all of them share. It connects
at the first call.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from corank._chains import Chain, Pending
from corank._client import Client
from corank._conversion import KEY_TYPES
from corank._errors import (
    Aborted,
    Cancelled,
    CorankError,
    DeadlineExceeded,
    Internal,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unavailable,
    Unimplemented,
)
from corank._first_rows import limited_segments
from corank._kept import Sharded, StoredArray, StoredArrays
from corank._nulls import Nullable
from corank._options import CallOptions, ConnectOptions, connect_options
from corank._progress import Progress
from corank._regions import SharedArray
from corank._results import Groups, LoadBalance, ServerDevice, ServerInfo, ServerLimits, ServerSetting, Stats

if TYPE_CHECKING:
    from typing_extensions import Unpack

__version__ = "0.1.0"

__all__ = [
    "KEY_TYPES",
    "Aborted",
    "CallOptions",
    "Cancelled",
    "Chain",
    "Client",
    "ConnectOptions",
    "CorankError",
    "DeadlineExceeded",
    "Groups",
    "Internal",
    "InvalidArgument",
    "LoadBalance",
    "NotFound",
    "Nullable",
    "Pending",
    "PermissionDenied",
    "Progress",
    "ResourceExhausted",
    "ServerDevice",
    "ServerInfo",
    "ServerLimits",
    "ServerSetting",
    "Sharded",
    "SharedArray",
    "Stats",
    "StoredArray",
    "StoredArrays",
    "Unavailable",
    "Unimplemented",
    "__version__",
    "argselect",
    "argsort",
    "argsort_by",
    "argsort_columns",
    "arrays",
    "chain",
    "combine_sets",
    "connect",
    "count_join",
    "count_sets",
    "delete",
    "empty_shared",
    "expand",
    "gather",
    "group",
    "group_by",
    "health",
    "info",
    "insert",
    "join",
    "join_by",
    "limited_segments",
    "load_balance",
    "merge",
    "merge_by",
    "move",
    "partition",
    "rank",
    "rank_columns",
    "remove",
    "run_length_encode",
    "scatter",
    "search",
    "search_by",
    "search_columns",
    "select",
    "share",
    "sort",
    "sort_by",
    "sort_columns",
    "sort_columns_with_indices",
    "sort_with_indices",
    "store",
    "stored",
    "top_k",
    "unique",
]


@connect_options
def connect(address: str | None = None, **options: Unpack[ConnectOptions]) -> Client:
    """Makes a client of a server. The client connects at its first call.

    Args:
        address: HOST:PORT of the server, or unix:PATH; None: CORANK_SERVER of the environment, else 127.0.0.1:50051.
            Several numeric ones with commas take turns, and so do all addresses of dns:///NAME:PORT.
        **options: see ConnectOptions.

    Returns:
        A Client, which is a context manager.

    Raises:
        InvalidArgument: the address has no port, a file cannot be read, or a token would leave this host without TLS.
    """
    return Client(address, **options)


_default = Client()

sort = _default.sort
argsort = _default.argsort
sort_with_indices = _default.sort_with_indices
sort_columns = _default.sort_columns
sort_columns_with_indices = _default.sort_columns_with_indices
argsort_columns = _default.argsort_columns
rank_columns = _default.rank_columns
merge = _default.merge
expand = _default.expand
move = _default.move
gather = _default.gather
scatter = _default.scatter
load_balance = _default.load_balance
search = _default.search
search_columns = _default.search_columns
group = _default.group
unique = _default.unique
run_length_encode = _default.run_length_encode
combine_sets = _default.combine_sets
count_sets = _default.count_sets
join = _default.join
count_join = _default.count_join
select = _default.select
argselect = _default.argselect
partition = _default.partition
remove = _default.remove
insert = _default.insert
rank = _default.rank
sort_by = _default.sort_by
argsort_by = _default.argsort_by
search_by = _default.search_by
top_k = _default.top_k
merge_by = _default.merge_by
join_by = _default.join_by
group_by = _default.group_by
chain = _default.chain
empty_shared = _default.empty_shared
share = _default.share
store = _default.store
stored = _default.stored
arrays = _default.arrays
delete = _default.delete
info = _default.info
health = _default.health


def __getattr__(name: str) -> Any:
    if name in ("aio", "testing"):
        return importlib.import_module(f"corank.{name}")
    raise AttributeError(f"module 'corank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "aio"])  # not testing, which is for tests of programs, not for programs


for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = "corank"  # the name that tracebacks show
