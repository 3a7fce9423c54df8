"""What operators return, for type checkers; see _typed.py.

The order of the overloads of an operator: NumPy arrays, arrays on the GPU, lists and other inputs, out=, keep=.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import Unpack

from corank._chains import Pending
from corank._columns import KeyColumn
from corank._elements import Dlpack, Input, OnGpu, RemoteArray
from corank._groups import GroupArrangement, GroupResult
from corank._join import JoinKind, LeftJoin, PairJoin
from corank._kept import StoredArray
from corank._key_ranks import PositionRank, RankMethod
from corank._nulls import NanOrder, NullOrder
from corank._options import CallOptions, ChainOptions
from corank._ordered import MergeAlgorithm, SortAlgorithm
from corank._results import Groups, LoadBalance
from corank._select import Comparison
from corank._sets import SetOperation
from corank._task import Operators, Task

Host = ArrayLike | RemoteArray | Dlpack
"""Inputs that are not on the GPU."""
K = TypeVar("K", bound=np.generic)
V = TypeVar("V", bound=np.generic)
W = TypeVar("W", bound=np.generic)
I = TypeVar("I", bound=np.integer[Any])
G = TypeVar("G", bound=OnGpu)
T = TypeVar("T", bound=NDArray[Any] | OnGpu)
U = TypeVar("U", bound=NDArray[Any] | OnGpu)

class SortOptions(ChainOptions, total=False):
    descending: bool
    algorithm: SortAlgorithm
    segments: Input | None
    limit: int | None
    offset: int
    dtype: DTypeLike | None

class RowOptions(ChainOptions, total=False):
    descending: bool | Sequence[bool]
    nulls: NullOrder | Sequence[NullOrder]
    nan: NanOrder | Sequence[NanOrder]
    algorithm: SortAlgorithm
    segments: Input | None
    limit: int | None
    offset: int
    runs: Input | None

class RankOptions(ChainOptions, total=False):
    descending: bool | Sequence[bool]
    nulls: NullOrder | Sequence[NullOrder]
    nan: NanOrder | Sequence[NanOrder]
    algorithm: SortAlgorithm
    runs: Input | None

class MergeOptions(ChainOptions, total=False):
    descending: bool
    algorithm: MergeAlgorithm
    assume_sorted: bool
    dtype: DTypeLike | None

class SearchOptions(ChainOptions, total=False):
    side: Literal["left", "right"]
    descending: bool
    assume_sorted: bool
    dtype: DTypeLike | None

class ColumnSearchOptions(ChainOptions, total=False):
    side: Literal["left", "right"]
    descending: bool | Sequence[bool]
    nulls: NullOrder | Sequence[NullOrder]
    nan: NanOrder | Sequence[NanOrder]
    assume_sorted: bool

class CountOptions(ChainOptions, total=False):
    index_dtype: DTypeLike | None

class DistinctOptions(ChainOptions, total=False):
    descending: bool
    dtype: DTypeLike | None

class RunOptions(ChainOptions, total=False):
    dtype: DTypeLike | None

class SelectOptions(ChainOptions, total=False):
    bitmap: Input | None
    positions: Input | None
    comparison: Comparison | None
    threshold: Any
    negate: bool
    dtype: DTypeLike | None

class KeyRankOptions(ChainOptions, total=False):
    descending: bool
    keys_sorted: bool
    segments: Input | None
    dtype: DTypeLike | None

class ArrayOperators(Operators[NDArray[Any]]):
    def __init_subclass__(cls, options: Any = None, result: str = "A") -> None: ...
    @abstractmethod
    def _perform(self, task: Task, options: CallOptions) -> Any: ...
    @overload
    def sort(
        self,
        keys: NDArray[K],
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> NDArray[K]: ...
    @overload
    def sort(
        self,
        keys: NDArray[K],
        *,
        values: NDArray[V],
        out: None = None,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> tuple[NDArray[K], NDArray[V]]: ...
    @overload
    def sort(
        self,
        keys: G,
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> G: ...
    @overload
    def sort(
        self,
        keys: G,
        *,
        values: Input,
        out: None = None,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> tuple[G, G]: ...
    @overload
    def sort(
        self,
        keys: Host,
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> NDArray[Any]: ...
    @overload
    def sort(
        self,
        keys: Host,
        *,
        values: Input,
        out: None = None,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def sort(
        self,
        keys: Input,
        *,
        values: None = None,
        out: T,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> T: ...
    @overload
    def sort(
        self,
        keys: Input,
        *,
        values: Input,
        out: tuple[T, U],
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> tuple[T, U]: ...
    @overload
    def sort(
        self,
        keys: Input,
        *,
        values: None = None,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[SortOptions],
    ) -> StoredArray: ...
    @overload
    def sort(
        self,
        keys: Input,
        *,
        values: Input,
        out: None = None,
        keep: Sequence[str],
        **options: Unpack[SortOptions],
    ) -> tuple[StoredArray, StoredArray]: ...
    @overload
    def argsort(
        self,
        keys: G,
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> G: ...
    @overload
    def argsort(
        self,
        keys: Host,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> NDArray[np.intp]: ...
    @overload
    def argsort(
        self,
        keys: Host,
        *,
        index_dtype: type[I],
        out: None = None,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> NDArray[I]: ...
    @overload
    def argsort(
        self,
        keys: Host,
        *,
        index_dtype: DTypeLike | None,
        out: None = None,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> NDArray[Any]: ...
    @overload
    def argsort(
        self,
        keys: Input,
        *,
        index_dtype: DTypeLike | None = ...,
        out: T,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> T: ...
    @overload
    def argsort(
        self,
        keys: Input,
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[SortOptions],
    ) -> StoredArray: ...
    @overload
    def sort_with_indices(
        self,
        keys: NDArray[K],
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> tuple[NDArray[K], NDArray[np.intp]]: ...
    @overload
    def sort_with_indices(
        self,
        keys: NDArray[K],
        *,
        index_dtype: DTypeLike | None,
        out: None = None,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> tuple[NDArray[K], NDArray[Any]]: ...
    @overload
    def sort_with_indices(
        self,
        keys: G,
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> tuple[G, G]: ...
    @overload
    def sort_with_indices(
        self,
        keys: Host,
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def sort_with_indices(
        self,
        keys: Input,
        *,
        index_dtype: DTypeLike | None = ...,
        out: tuple[T, U],
        keep: None = None,
        **options: Unpack[SortOptions],
    ) -> tuple[T, U]: ...
    @overload
    def sort_with_indices(
        self,
        keys: Input,
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: Sequence[str],
        **options: Unpack[SortOptions],
    ) -> tuple[StoredArray, StoredArray]: ...
    @overload
    def merge(
        self,
        keys: Sequence[NDArray[K]],
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[MergeOptions],
    ) -> NDArray[K]: ...
    @overload
    def merge(
        self,
        keys: Sequence[NDArray[K]],
        *,
        values: Sequence[NDArray[V]],
        out: None = None,
        keep: None = None,
        **options: Unpack[MergeOptions],
    ) -> tuple[NDArray[K], NDArray[V]]: ...
    @overload
    def merge(
        self,
        keys: Sequence[G],
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[MergeOptions],
    ) -> G: ...
    @overload
    def merge(
        self,
        keys: Sequence[G],
        *,
        values: Sequence[Input],
        out: None = None,
        keep: None = None,
        **options: Unpack[MergeOptions],
    ) -> tuple[G, G]: ...
    @overload
    def merge(
        self,
        keys: Sequence[Host],
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[MergeOptions],
    ) -> NDArray[Any]: ...
    @overload
    def merge(
        self,
        keys: Sequence[Host],
        *,
        values: Sequence[Input],
        out: None = None,
        keep: None = None,
        **options: Unpack[MergeOptions],
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def merge(
        self,
        keys: Sequence[Input],
        *,
        values: None = None,
        out: T,
        keep: None = None,
        **options: Unpack[MergeOptions],
    ) -> T: ...
    @overload
    def merge(
        self,
        keys: Sequence[Input],
        *,
        values: Sequence[Input],
        out: tuple[T, U],
        keep: None = None,
        **options: Unpack[MergeOptions],
    ) -> tuple[T, U]: ...
    @overload
    def merge(
        self,
        keys: Sequence[Input],
        *,
        values: None = None,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[MergeOptions],
    ) -> StoredArray: ...
    @overload
    def merge(
        self,
        keys: Sequence[Input],
        *,
        values: Sequence[Input],
        out: None = None,
        keep: Sequence[str],
        **options: Unpack[MergeOptions],
    ) -> tuple[StoredArray, StoredArray]: ...
    @overload
    def sort_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        values: None = None,
        out: Any = None,
        keep: Sequence[str] | None = None,
        **options: Unpack[RowOptions],
    ) -> list[Any]: ...
    @overload
    def sort_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        values: Input,
        out: Any = None,
        keep: Sequence[str] | None = None,
        **options: Unpack[RowOptions],
    ) -> tuple[list[Any], Any]: ...
    def sort_columns_with_indices(
        self,
        columns: Sequence[KeyColumn],
        *,
        index_dtype: DTypeLike | None = ...,
        out: Any = None,
        keep: Sequence[str] | None = None,
        **options: Unpack[RowOptions],
    ) -> tuple[list[Any], Any]: ...
    @overload
    def argsort_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[RowOptions],
    ) -> NDArray[np.intp]: ...
    @overload
    def argsort_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        index_dtype: type[I],
        out: None = None,
        keep: None = None,
        **options: Unpack[RowOptions],
    ) -> NDArray[I]: ...
    @overload
    def argsort_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        index_dtype: DTypeLike | None,
        out: None = None,
        keep: None = None,
        **options: Unpack[RowOptions],
    ) -> NDArray[Any]: ...
    @overload
    def argsort_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        index_dtype: DTypeLike | None = ...,
        out: T,
        keep: None = None,
        **options: Unpack[RowOptions],
    ) -> T: ...
    @overload
    def argsort_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[RowOptions],
    ) -> StoredArray: ...
    @overload
    def rank_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[RankOptions],
    ) -> NDArray[np.intp]: ...
    @overload
    def rank_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        index_dtype: type[I],
        out: None = None,
        keep: None = None,
        **options: Unpack[RankOptions],
    ) -> NDArray[I]: ...
    @overload
    def rank_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        index_dtype: DTypeLike | None,
        out: None = None,
        keep: None = None,
        **options: Unpack[RankOptions],
    ) -> NDArray[Any]: ...
    @overload
    def rank_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        index_dtype: DTypeLike | None = ...,
        out: T,
        keep: None = None,
        **options: Unpack[RankOptions],
    ) -> T: ...
    @overload
    def rank_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[RankOptions],
    ) -> StoredArray: ...
    @overload
    def search(
        self,
        haystack: Host,
        needles: float | np.generic,
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: None = None,
        **options: Unpack[SearchOptions],
    ) -> np.integer[Any]: ...
    @overload
    def search(
        self,
        haystack: G,
        needles: G,
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: None = None,
        **options: Unpack[SearchOptions],
    ) -> G: ...
    @overload
    def search(
        self,
        haystack: Host,
        needles: Input,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[SearchOptions],
    ) -> NDArray[np.intp]: ...
    @overload
    def search(
        self,
        haystack: Host,
        needles: Input,
        *,
        index_dtype: type[I],
        out: None = None,
        keep: None = None,
        **options: Unpack[SearchOptions],
    ) -> NDArray[I]: ...
    @overload
    def search(
        self,
        haystack: Host,
        needles: Input,
        *,
        index_dtype: DTypeLike | None,
        out: None = None,
        keep: None = None,
        **options: Unpack[SearchOptions],
    ) -> NDArray[Any]: ...
    @overload
    def search(
        self,
        haystack: Input,
        needles: Input,
        *,
        index_dtype: DTypeLike | None = ...,
        out: T,
        keep: None = None,
        **options: Unpack[SearchOptions],
    ) -> T: ...
    @overload
    def search(
        self,
        haystack: Input,
        needles: Input,
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[SearchOptions],
    ) -> StoredArray: ...
    @overload
    def search_columns(
        self,
        haystack: Sequence[KeyColumn],
        needles: Sequence[KeyColumn],
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[ColumnSearchOptions],
    ) -> NDArray[np.intp]: ...
    @overload
    def search_columns(
        self,
        haystack: Sequence[KeyColumn],
        needles: Sequence[KeyColumn],
        *,
        index_dtype: type[I],
        out: None = None,
        keep: None = None,
        **options: Unpack[ColumnSearchOptions],
    ) -> NDArray[I]: ...
    @overload
    def search_columns(
        self,
        haystack: Sequence[KeyColumn],
        needles: Sequence[KeyColumn],
        *,
        index_dtype: DTypeLike | None,
        out: None = None,
        keep: None = None,
        **options: Unpack[ColumnSearchOptions],
    ) -> NDArray[Any]: ...
    @overload
    def search_columns(
        self,
        haystack: Sequence[KeyColumn],
        needles: Sequence[KeyColumn],
        *,
        index_dtype: DTypeLike | None = ...,
        out: T,
        keep: None = None,
        **options: Unpack[ColumnSearchOptions],
    ) -> T: ...
    @overload
    def search_columns(
        self,
        haystack: Sequence[KeyColumn],
        needles: Sequence[KeyColumn],
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[ColumnSearchOptions],
    ) -> StoredArray: ...
    @overload
    def expand(
        self,
        values: NDArray[V],
        counts: Input,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> NDArray[V]: ...
    @overload
    def expand(
        self,
        values: G,
        counts: Input,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> G: ...
    @overload
    def expand(
        self,
        values: Host,
        counts: Input,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> NDArray[Any]: ...
    @overload
    def expand(
        self,
        values: Input,
        counts: Input,
        *,
        out: T,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> T: ...
    @overload
    def expand(
        self,
        values: Input,
        counts: Input,
        *,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[ChainOptions],
    ) -> StoredArray: ...
    @overload
    def move(
        self,
        source: NDArray[V],
        source_offsets: Input,
        destination_offsets: Input,
        counts: Input,
        *,
        destination: int | Input,
        allow_overlap: bool = False,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> NDArray[V]: ...
    @overload
    def move(
        self,
        source: G,
        source_offsets: Input,
        destination_offsets: Input,
        counts: Input,
        *,
        destination: int | Input,
        allow_overlap: bool = False,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> G: ...
    @overload
    def move(
        self,
        source: Host,
        source_offsets: Input,
        destination_offsets: Input,
        counts: Input,
        *,
        destination: int | Input,
        allow_overlap: bool = False,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> NDArray[Any]: ...
    @overload
    def move(
        self,
        source: Input,
        source_offsets: Input,
        destination_offsets: Input,
        counts: Input,
        *,
        destination: int | Input,
        allow_overlap: bool = False,
        out: T,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> T: ...
    @overload
    def move(
        self,
        source: Input,
        source_offsets: Input,
        destination_offsets: Input,
        counts: Input,
        *,
        destination: int | Input,
        allow_overlap: bool = False,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[ChainOptions],
    ) -> StoredArray: ...
    @overload
    def gather(
        self,
        source: NDArray[V],
        source_offsets: Input,
        counts: Input,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> NDArray[V]: ...
    @overload
    def gather(
        self,
        source: G,
        source_offsets: Input,
        counts: Input,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> G: ...
    @overload
    def gather(
        self,
        source: Host,
        source_offsets: Input,
        counts: Input,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> NDArray[Any]: ...
    @overload
    def gather(
        self,
        source: Input,
        source_offsets: Input,
        counts: Input,
        *,
        out: T,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> T: ...
    @overload
    def gather(
        self,
        source: Input,
        source_offsets: Input,
        counts: Input,
        *,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[ChainOptions],
    ) -> StoredArray: ...
    @overload
    def scatter(
        self,
        source: NDArray[V],
        destination_offsets: Input,
        counts: Input,
        *,
        destination: int | Input,
        allow_overlap: bool = False,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> NDArray[V]: ...
    @overload
    def scatter(
        self,
        source: G,
        destination_offsets: Input,
        counts: Input,
        *,
        destination: int | Input,
        allow_overlap: bool = False,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> G: ...
    @overload
    def scatter(
        self,
        source: Host,
        destination_offsets: Input,
        counts: Input,
        *,
        destination: int | Input,
        allow_overlap: bool = False,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> NDArray[Any]: ...
    @overload
    def scatter(
        self,
        source: Input,
        destination_offsets: Input,
        counts: Input,
        *,
        destination: int | Input,
        allow_overlap: bool = False,
        out: T,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> T: ...
    @overload
    def scatter(
        self,
        source: Input,
        destination_offsets: Input,
        counts: Input,
        *,
        destination: int | Input,
        allow_overlap: bool = False,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[ChainOptions],
    ) -> StoredArray: ...
    @overload
    def load_balance(
        self,
        counts: Input,
        *,
        out: tuple[Any, Any] | None = None,
        keep: None = None,
        **options: Unpack[CountOptions],
    ) -> LoadBalance: ...
    @overload
    def load_balance(
        self,
        counts: Input,
        *,
        out: None = None,
        keep: Sequence[str],
        **options: Unpack[CountOptions],
    ) -> tuple[StoredArray, StoredArray]: ...
    def group(
        self,
        keys: Input,
        *,
        values: Input | None = None,
        values_validity: Input | None = None,
        results: Sequence[GroupResult] = ...,
        arrangement: GroupArrangement = ...,
        value_dtype: DTypeLike | None = None,
        index_dtype: DTypeLike | None = ...,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
        **options: Unpack[DistinctOptions],
    ) -> Groups: ...
    @overload
    def unique(
        self,
        keys: NDArray[K],
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[DistinctOptions],
    ) -> NDArray[K]: ...
    @overload
    def unique(
        self,
        keys: G,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[DistinctOptions],
    ) -> G: ...
    @overload
    def unique(
        self,
        keys: Host,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[DistinctOptions],
    ) -> NDArray[Any]: ...
    @overload
    def unique(
        self,
        keys: Input,
        *,
        out: T,
        keep: None = None,
        **options: Unpack[DistinctOptions],
    ) -> T: ...
    @overload
    def unique(
        self,
        keys: Input,
        *,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[DistinctOptions],
    ) -> StoredArray: ...
    @overload
    def run_length_encode(
        self,
        keys: NDArray[K],
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[RunOptions],
    ) -> tuple[NDArray[K], NDArray[np.int64]]: ...
    @overload
    def run_length_encode(
        self,
        keys: G,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[RunOptions],
    ) -> tuple[G, G]: ...
    @overload
    def run_length_encode(
        self,
        keys: Host,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[RunOptions],
    ) -> tuple[NDArray[Any], NDArray[np.int64]]: ...
    @overload
    def run_length_encode(
        self,
        keys: Input,
        *,
        out: tuple[T, U],
        keep: None = None,
        **options: Unpack[RunOptions],
    ) -> tuple[T, U]: ...
    @overload
    def run_length_encode(
        self,
        keys: Input,
        *,
        out: None = None,
        keep: Sequence[str],
        **options: Unpack[RunOptions],
    ) -> tuple[StoredArray, StoredArray]: ...
    @overload
    def combine_sets(
        self,
        left: NDArray[K],
        right: Input,
        operation: SetOperation,
        *,
        left_values: None = None,
        right_values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[DistinctOptions],
    ) -> NDArray[K]: ...
    @overload
    def combine_sets(
        self,
        left: NDArray[K],
        right: Input,
        operation: SetOperation,
        *,
        left_values: NDArray[V],
        right_values: Input | None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[DistinctOptions],
    ) -> tuple[NDArray[K], NDArray[V]]: ...
    @overload
    def combine_sets(
        self,
        left: G,
        right: Input,
        operation: SetOperation,
        *,
        left_values: None = None,
        right_values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[DistinctOptions],
    ) -> G: ...
    @overload
    def combine_sets(
        self,
        left: G,
        right: Input,
        operation: SetOperation,
        *,
        left_values: Input,
        right_values: Input | None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[DistinctOptions],
    ) -> tuple[G, G]: ...
    @overload
    def combine_sets(
        self,
        left: Host,
        right: Input,
        operation: SetOperation,
        *,
        left_values: None = None,
        right_values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[DistinctOptions],
    ) -> NDArray[Any]: ...
    @overload
    def combine_sets(
        self,
        left: Host,
        right: Input,
        operation: SetOperation,
        *,
        left_values: Input,
        right_values: Input | None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[DistinctOptions],
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def combine_sets(
        self,
        left: Input,
        right: Input,
        operation: SetOperation,
        *,
        left_values: None = None,
        right_values: None = None,
        out: T,
        keep: None = None,
        **options: Unpack[DistinctOptions],
    ) -> T: ...
    @overload
    def combine_sets(
        self,
        left: Input,
        right: Input,
        operation: SetOperation,
        *,
        left_values: Input,
        right_values: Input | None = None,
        out: tuple[T, U],
        keep: None = None,
        **options: Unpack[DistinctOptions],
    ) -> tuple[T, U]: ...
    @overload
    def combine_sets(
        self,
        left: Input,
        right: Input,
        operation: SetOperation,
        *,
        left_values: None = None,
        right_values: None = None,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[DistinctOptions],
    ) -> StoredArray: ...
    @overload
    def combine_sets(
        self,
        left: Input,
        right: Input,
        operation: SetOperation,
        *,
        left_values: Input,
        right_values: Input | None = None,
        out: None = None,
        keep: Sequence[str],
        **options: Unpack[DistinctOptions],
    ) -> tuple[StoredArray, StoredArray]: ...
    @overload
    def count_sets(
        self,
        left: Input,
        right: Input,
        operation: SetOperation,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[DistinctOptions],
    ) -> int: ...
    @overload
    def count_sets(
        self,
        left: Input,
        right: Input,
        operation: SetOperation,
        *,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[DistinctOptions],
    ) -> StoredArray: ...
    @overload
    def join(
        self,
        left: G,
        right: Input,
        how: PairJoin = "inner",
        *,
        right_sorted: bool = False,
        max_rows: int | None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[RunOptions],
    ) -> tuple[G, G]: ...
    @overload
    def join(
        self,
        left: G,
        right: Input,
        how: LeftJoin,
        *,
        right_sorted: bool = False,
        max_rows: int | None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[RunOptions],
    ) -> G: ...
    @overload
    def join(
        self,
        left: Host,
        right: Input,
        how: PairJoin = "inner",
        *,
        right_sorted: bool = False,
        max_rows: int | None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[RunOptions],
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def join(
        self,
        left: Host,
        right: Input,
        how: LeftJoin,
        *,
        right_sorted: bool = False,
        max_rows: int | None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[RunOptions],
    ) -> NDArray[Any]: ...
    @overload
    def join(
        self,
        left: Input,
        right: Input,
        how: PairJoin = "inner",
        *,
        right_sorted: bool = False,
        max_rows: int | None = None,
        out: tuple[T, U],
        keep: None = None,
        **options: Unpack[RunOptions],
    ) -> tuple[T, U]: ...
    @overload
    def join(
        self,
        left: Input,
        right: Input,
        how: LeftJoin,
        *,
        right_sorted: bool = False,
        max_rows: int | None = None,
        out: T,
        keep: None = None,
        **options: Unpack[RunOptions],
    ) -> T: ...
    @overload
    def join(
        self,
        left: Input,
        right: Input,
        how: PairJoin = "inner",
        *,
        right_sorted: bool = False,
        max_rows: int | None = None,
        out: None = None,
        keep: Sequence[str],
        **options: Unpack[RunOptions],
    ) -> tuple[StoredArray, StoredArray]: ...
    @overload
    def join(
        self,
        left: Input,
        right: Input,
        how: LeftJoin,
        *,
        right_sorted: bool = False,
        max_rows: int | None = None,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[RunOptions],
    ) -> StoredArray: ...
    @overload
    def count_join(
        self,
        left: Input,
        right: Input,
        how: JoinKind = "inner",
        *,
        right_sorted: bool = False,
        out: None = None,
        keep: None = None,
        **options: Unpack[RunOptions],
    ) -> int: ...
    @overload
    def count_join(
        self,
        left: Input,
        right: Input,
        how: JoinKind = "inner",
        *,
        right_sorted: bool = False,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[RunOptions],
    ) -> StoredArray: ...
    @overload
    def select(
        self,
        elements: NDArray[V],
        flags: Input | None = None,
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> NDArray[V]: ...
    @overload
    def select(
        self,
        elements: NDArray[V],
        flags: Input | None = None,
        *,
        values: NDArray[W],
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> tuple[NDArray[V], NDArray[W]]: ...
    @overload
    def select(
        self,
        elements: G,
        flags: Input | None = None,
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> G: ...
    @overload
    def select(
        self,
        elements: G,
        flags: Input | None = None,
        *,
        values: Input,
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> tuple[G, G]: ...
    @overload
    def select(
        self,
        elements: Host,
        flags: Input | None = None,
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> NDArray[Any]: ...
    @overload
    def select(
        self,
        elements: Host,
        flags: Input | None = None,
        *,
        values: Input,
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def select(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        values: None = None,
        out: T,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> T: ...
    @overload
    def select(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        values: Input,
        out: tuple[T, U],
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> tuple[T, U]: ...
    @overload
    def select(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        values: None = None,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[SelectOptions],
    ) -> StoredArray: ...
    @overload
    def select(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        values: Input,
        out: None = None,
        keep: Sequence[str],
        **options: Unpack[SelectOptions],
    ) -> tuple[StoredArray, StoredArray]: ...
    @overload
    def argselect(
        self,
        elements: G,
        flags: Input | None = None,
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> G: ...
    @overload
    def argselect(
        self,
        elements: Host,
        flags: Input | None = None,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> NDArray[np.intp]: ...
    @overload
    def argselect(
        self,
        elements: Host,
        flags: Input | None = None,
        *,
        index_dtype: type[I],
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> NDArray[I]: ...
    @overload
    def argselect(
        self,
        elements: Host,
        flags: Input | None = None,
        *,
        index_dtype: DTypeLike | None,
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> NDArray[Any]: ...
    @overload
    def argselect(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        index_dtype: DTypeLike | None = ...,
        out: T,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> T: ...
    @overload
    def argselect(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[SelectOptions],
    ) -> StoredArray: ...
    @overload
    def partition(
        self,
        elements: NDArray[V],
        flags: Input | None = None,
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> tuple[NDArray[V], int]: ...
    @overload
    def partition(
        self,
        elements: NDArray[V],
        flags: Input | None = None,
        *,
        values: NDArray[W],
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> tuple[NDArray[V], NDArray[W], int]: ...
    @overload
    def partition(
        self,
        elements: G,
        flags: Input | None = None,
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> tuple[G, int]: ...
    @overload
    def partition(
        self,
        elements: G,
        flags: Input | None = None,
        *,
        values: Input,
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> tuple[G, G, int]: ...
    @overload
    def partition(
        self,
        elements: Host,
        flags: Input | None = None,
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> tuple[NDArray[Any], int]: ...
    @overload
    def partition(
        self,
        elements: Host,
        flags: Input | None = None,
        *,
        values: Input,
        out: None = None,
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> tuple[NDArray[Any], NDArray[Any], int]: ...
    @overload
    def partition(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        values: None = None,
        out: tuple[T, U],
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> tuple[T, int]: ...
    @overload
    def partition(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        values: Input,
        out: tuple[Any, Any, Any],
        keep: None = None,
        **options: Unpack[SelectOptions],
    ) -> tuple[Any, Any, int]: ...
    @overload
    def partition(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        values: None = None,
        out: None = None,
        keep: Sequence[str],
        **options: Unpack[SelectOptions],
    ) -> tuple[StoredArray, StoredArray]: ...
    @overload
    def partition(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        values: Input,
        out: None = None,
        keep: Sequence[str],
        **options: Unpack[SelectOptions],
    ) -> tuple[StoredArray, StoredArray, StoredArray]: ...
    @overload
    def remove(
        self,
        elements: NDArray[V],
        positions: Input,
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> NDArray[V]: ...
    @overload
    def remove(
        self,
        elements: NDArray[V],
        positions: Input,
        *,
        values: NDArray[W],
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> tuple[NDArray[V], NDArray[W]]: ...
    @overload
    def remove(
        self,
        elements: G,
        positions: Input,
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> G: ...
    @overload
    def remove(
        self,
        elements: G,
        positions: Input,
        *,
        values: Input,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> tuple[G, G]: ...
    @overload
    def remove(
        self,
        elements: Host,
        positions: Input,
        *,
        values: None = None,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> NDArray[Any]: ...
    @overload
    def remove(
        self,
        elements: Host,
        positions: Input,
        *,
        values: Input,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def remove(
        self,
        elements: Input,
        positions: Input,
        *,
        values: None = None,
        out: T,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> T: ...
    @overload
    def remove(
        self,
        elements: Input,
        positions: Input,
        *,
        values: Input,
        out: tuple[T, U],
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> tuple[T, U]: ...
    @overload
    def remove(
        self,
        elements: Input,
        positions: Input,
        *,
        values: None = None,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[ChainOptions],
    ) -> StoredArray: ...
    @overload
    def remove(
        self,
        elements: Input,
        positions: Input,
        *,
        values: Input,
        out: None = None,
        keep: Sequence[str],
        **options: Unpack[ChainOptions],
    ) -> tuple[StoredArray, StoredArray]: ...
    @overload
    def insert(
        self,
        elements: NDArray[V],
        positions: Input,
        inserted: Input,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> NDArray[V]: ...
    @overload
    def insert(
        self,
        elements: Host,
        positions: Input,
        inserted: Input,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> NDArray[Any]: ...
    @overload
    def insert(
        self,
        elements: Input,
        positions: Input,
        inserted: Input,
        *,
        out: T,
        keep: None = None,
        **options: Unpack[ChainOptions],
    ) -> T: ...
    @overload
    def insert(
        self,
        elements: Input,
        positions: Input,
        inserted: Input,
        *,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[ChainOptions],
    ) -> StoredArray: ...
    @overload
    def rank(
        self,
        keys: G,
        method: RankMethod = "average",
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: None = None,
        **options: Unpack[KeyRankOptions],
    ) -> G: ...
    @overload
    def rank(
        self,
        keys: Host,
        method: Literal["average"] = "average",
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: None = None,
        **options: Unpack[KeyRankOptions],
    ) -> NDArray[np.float64]: ...
    @overload
    def rank(
        self,
        keys: Host,
        method: PositionRank,
        *,
        out: None = None,
        keep: None = None,
        **options: Unpack[KeyRankOptions],
    ) -> NDArray[np.intp]: ...
    @overload
    def rank(
        self,
        keys: Host,
        method: PositionRank,
        *,
        index_dtype: type[I],
        out: None = None,
        keep: None = None,
        **options: Unpack[KeyRankOptions],
    ) -> NDArray[I]: ...
    @overload
    def rank(
        self,
        keys: Host,
        method: PositionRank,
        *,
        index_dtype: DTypeLike | None,
        out: None = None,
        keep: None = None,
        **options: Unpack[KeyRankOptions],
    ) -> NDArray[Any]: ...
    @overload
    def rank(
        self,
        keys: Input,
        method: RankMethod = "average",
        *,
        index_dtype: DTypeLike | None = ...,
        out: T,
        keep: None = None,
        **options: Unpack[KeyRankOptions],
    ) -> T: ...
    @overload
    def rank(
        self,
        keys: Input,
        method: RankMethod = "average",
        *,
        index_dtype: DTypeLike | None = ...,
        out: None = None,
        keep: str | Sequence[str],
        **options: Unpack[KeyRankOptions],
    ) -> StoredArray: ...

class PendingOperators(Operators[Pending]):
    def __init_subclass__(cls, options: Any = None, result: str = "A") -> None: ...
    @abstractmethod
    def _perform(self, task: Task, options: CallOptions) -> Any: ...
    @overload
    def sort(
        self,
        keys: Input,
        *,
        values: None = None,
        descending: bool = False,
        algorithm: SortAlgorithm = ...,
        segments: Input | None = None,
        limit: int | None = None,
        offset: int = 0,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    @overload
    def sort(
        self,
        keys: Input,
        *,
        values: Input,
        descending: bool = False,
        algorithm: SortAlgorithm = ...,
        segments: Input | None = None,
        limit: int | None = None,
        offset: int = 0,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> tuple[Pending, Pending]: ...
    def argsort(
        self,
        keys: Input,
        *,
        descending: bool = False,
        algorithm: SortAlgorithm = ...,
        segments: Input | None = None,
        limit: int | None = None,
        offset: int = 0,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike | None = ...,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    def sort_with_indices(
        self,
        keys: Input,
        *,
        descending: bool = False,
        algorithm: SortAlgorithm = ...,
        segments: Input | None = None,
        limit: int | None = None,
        offset: int = 0,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike | None = ...,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> tuple[Pending, Pending]: ...
    @overload
    def merge(
        self,
        keys: Sequence[Input],
        *,
        values: None = None,
        descending: bool = False,
        algorithm: MergeAlgorithm = ...,
        assume_sorted: bool = False,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    @overload
    def merge(
        self,
        keys: Sequence[Input],
        *,
        values: Sequence[Input],
        descending: bool = False,
        algorithm: MergeAlgorithm = ...,
        assume_sorted: bool = False,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> tuple[Pending, Pending]: ...
    def argsort_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        descending: bool | Sequence[bool] = False,
        nulls: NullOrder | Sequence[NullOrder] = ...,
        nan: NanOrder | Sequence[NanOrder] = ...,
        algorithm: SortAlgorithm = ...,
        segments: Input | None = None,
        limit: int | None = None,
        offset: int = 0,
        runs: Input | None = None,
        index_dtype: DTypeLike | None = ...,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    def rank_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        descending: bool | Sequence[bool] = False,
        nulls: NullOrder | Sequence[NullOrder] = ...,
        nan: NanOrder | Sequence[NanOrder] = ...,
        algorithm: SortAlgorithm = ...,
        runs: Input | None = None,
        index_dtype: DTypeLike | None = ...,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    def search(
        self,
        haystack: Input,
        needles: Input,
        *,
        side: Literal["left", "right"] = ...,
        descending: bool = False,
        assume_sorted: bool = False,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike | None = ...,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    def search_columns(
        self,
        haystack: Sequence[KeyColumn],
        needles: Sequence[KeyColumn],
        *,
        side: Literal["left", "right"] = ...,
        descending: bool | Sequence[bool] = False,
        nulls: NullOrder | Sequence[NullOrder] = ...,
        nan: NanOrder | Sequence[NanOrder] = ...,
        assume_sorted: bool = False,
        index_dtype: DTypeLike | None = ...,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    def expand(
        self,
        values: Input,
        counts: Input,
        *,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    def move(
        self,
        source: Input,
        source_offsets: Input,
        destination_offsets: Input,
        counts: Input,
        *,
        destination: int | Input,
        allow_overlap: bool = False,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    def gather(
        self,
        source: Input,
        source_offsets: Input,
        counts: Input,
        *,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    def scatter(
        self,
        source: Input,
        destination_offsets: Input,
        counts: Input,
        *,
        destination: int | Input,
        allow_overlap: bool = False,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    def load_balance(
        self,
        counts: Input,
        *,
        index_dtype: DTypeLike | None = ...,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> LoadBalance: ...
    def group(
        self,
        keys: Input,
        *,
        values: Input | None = None,
        values_validity: Input | None = None,
        results: Sequence[GroupResult] = ...,
        arrangement: GroupArrangement = ...,
        descending: bool = False,
        dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        index_dtype: DTypeLike | None = ...,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> _PendingGroups: ...
    def unique(
        self,
        keys: Input,
        *,
        descending: bool = False,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    def run_length_encode(
        self,
        keys: Input,
        *,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> tuple[Pending, Pending]: ...
    @overload
    def combine_sets(
        self,
        left: Input,
        right: Input,
        operation: SetOperation,
        *,
        left_values: None = None,
        right_values: None = None,
        descending: bool = False,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    @overload
    def combine_sets(
        self,
        left: Input,
        right: Input,
        operation: SetOperation,
        *,
        left_values: Input,
        right_values: Input | None = None,
        descending: bool = False,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> tuple[Pending, Pending]: ...
    def count_sets(
        self,
        left: Input,
        right: Input,
        operation: SetOperation,
        *,
        descending: bool = False,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    @overload
    def join(
        self,
        left: Input,
        right: Input,
        how: PairJoin = "inner",
        *,
        right_sorted: bool = False,
        max_rows: int | None = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: Sequence[str] | None = None,
    ) -> tuple[Pending, Pending]: ...
    @overload
    def join(
        self,
        left: Input,
        right: Input,
        how: LeftJoin,
        *,
        right_sorted: bool = False,
        max_rows: int | None = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    def count_join(
        self,
        left: Input,
        right: Input,
        how: JoinKind = "inner",
        *,
        right_sorted: bool = False,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    @overload
    def select(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        bitmap: Input | None = None,
        positions: Input | None = None,
        comparison: Comparison | None = None,
        threshold: Any = None,
        values: None = None,
        negate: bool = False,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    @overload
    def select(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        bitmap: Input | None = None,
        positions: Input | None = None,
        comparison: Comparison | None = None,
        threshold: Any = None,
        values: Input,
        negate: bool = False,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: Sequence[str] | None = None,
    ) -> tuple[Pending, Pending]: ...
    def argselect(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        bitmap: Input | None = None,
        positions: Input | None = None,
        comparison: Comparison | None = None,
        threshold: Any = None,
        negate: bool = False,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike | None = ...,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    @overload
    def partition(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        bitmap: Input | None = None,
        positions: Input | None = None,
        comparison: Comparison | None = None,
        threshold: Any = None,
        values: None = None,
        negate: bool = False,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: Sequence[str] | None = None,
    ) -> tuple[Pending, Pending]: ...
    @overload
    def partition(
        self,
        elements: Input,
        flags: Input | None = None,
        *,
        bitmap: Input | None = None,
        positions: Input | None = None,
        comparison: Comparison | None = None,
        threshold: Any = None,
        values: Input,
        negate: bool = False,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keep: Sequence[str] | None = None,
    ) -> tuple[Pending, Pending, Pending]: ...
    @overload
    def remove(
        self,
        elements: Input,
        positions: Input,
        *,
        values: None = None,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    @overload
    def remove(
        self,
        elements: Input,
        positions: Input,
        *,
        values: Input,
        out: Any = None,
        keep: Sequence[str] | None = None,
    ) -> tuple[Pending, Pending]: ...
    def insert(
        self,
        elements: Input,
        positions: Input,
        inserted: Input,
        *,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...
    def rank(
        self,
        keys: Input,
        method: RankMethod = "average",
        *,
        descending: bool = False,
        keys_sorted: bool = False,
        segments: Input | None = None,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike | None = ...,
        out: Any = None,
        keep: str | Sequence[str] | None = None,
    ) -> Pending: ...

class _PendingGroups(NamedTuple):
    """The Groups of a chain."""

    keys: Pending = ...
    counts: Pending = ...
    firsts: Pending = ...
    sums: Pending = ...
    minima: Pending = ...
    maxima: Pending = ...
    value_counts: Pending = ...
