"""Several operators in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from corank import _errors as errors
from corank._connection import kept_handles
from corank._conversion import NO_NAT
from corank._elements import NAMES
from corank._kept import StoredArray
from corank._options import LinkOptions
from corank._placing import Step
from corank._task import Output, Task, leaves
from corank._typed import PendingOperators
from corank.v1 import array_pb2

if TYPE_CHECKING:
    from typing_extensions import Self

    from corank._connection import Connection
    from corank._options import CallOptions, ChainOptions

MAX_OPERATIONS = 16


class Pending(StoredArray):
    """A result of an operator of a chain: input of later operators, or, after the chain, an array.

    A result that a later operator takes stays on the server and is forgotten there when the chain ends; all others
    come back.
    """

    _temporary = True

    def __init__(self, chain: Chain, name: str, type_: int, output: Output, operator: str) -> None:
        super().__init__(chain._connection, name, type_, output.dtype, output.count or 0)
        self._chain, self._output, self._operator = chain, output, operator
        self._value: Any = None
        self._done = False

    def _header(self) -> array_pb2.Array:
        header = super()._header()
        if self._output.count is None:  # the server knows it when it comes to the operator that takes this
            header.ClearField("count")
        return header

    def result(self) -> Any:
        """The array, or the handle of what keep= kept. Call it after the chain.

        Raises:
            RuntimeError: the chain has not run, or a later operator of it took this result.
        """
        if not self._done:
            raise RuntimeError(
                "chain: a later operator took this result, which stayed on the server"
                if self._chain._done
                else "chain: it has not run; leave the `with` block first"
            )
        return self._value

    def __repr__(self) -> str:
        state = "ready" if self._done else "stayed on the server" if self._chain._done else "not run"
        count = "?" if self._output.count is None else f"{self.count:,}"
        what = f"{self._output.field} of {self._operator}, {count} x {NAMES.get(self._type, self.dtype)}"
        return f"Pending({what}; {state})"

    def fetch(self, **options: Any) -> NDArray[Any]:
        """Not for results of a chain; use `result`."""
        raise self._misplaced()

    def delete(self) -> None:
        """Not for results of a chain, which end with it."""
        raise self._misplaced()

    def _misplaced(self) -> TypeError:
        """The error of an operator outside the chain."""
        return TypeError(
            "this is a result of a chain, which the server does not keep: pass its .result() after the chain"
        )


class Chain(PendingOperators, options=LinkOptions, result="Pending"):
    """Operators that run one after the other on the server, in one call, made by `Client.chain`.

    Its methods are the operators of Client except `sort_columns` and `sort_columns_with_indices`. Each returns Pendings
    in place of arrays; those of `count_sets`, of `count_join` and of the number of `partition` have one int64.
    """

    def __init__(self, connection: Connection, options: ChainOptions) -> None:
        self._connection = connection
        self._settings = connection.settings(options)
        self._steps: list[tuple[Step, list[Pending]]] = []
        self._done = False

    def _perform(self, task: Task, options: CallOptions) -> Any:
        if self._done:
            raise RuntimeError("chain: it has run; make another one")
        if len(self._steps) == MAX_OPERATIONS:
            raise errors.InvalidArgument(f"chain: at most {MAX_OPERATIONS} operators")
        if any(output.holder is not task.request for output in task.outputs):
            raise TypeError("keys: a chain takes no strings; sort them in a call of their own")
        if task.is_shifted:
            raise TypeError(NO_NAT)
        for leaf in leaves(task.parts):
            if isinstance(leaf.held, Pending) and leaf.held._chain is not self:
                raise errors.InvalidArgument(f"{leaf.field}: is a result of another chain")
        given = self._connection.settings(options)
        kept = None if given.keep is None else kept_handles(self._connection, task, given.keep)
        made = len(self._steps)
        results = [
            Pending(self, f"t{made}.{at}", output.type, output, task.operation)
            for at, output in enumerate(task.outputs)
        ]
        self._steps.append((Step(task, given.out, kept), results))
        return task.finish(results)

    def __repr__(self) -> str:
        operators = ", ".join(step.task.operation for step, _ in self._steps) or "no operators yet"
        return f"Chain({operators}; {'done' if self._done else 'not run'})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *exc_info: object) -> None:
        self._end(kind)

    def _end(self, kind: object) -> None:
        """Runs the operators, unless the block raised."""
        self._done = True
        if kind is None and self._steps:
            self._run()

    def _run(self) -> None:
        taken = {
            leaf.held.name
            for step, _ in self._steps
            for leaf in leaves(step.task.parts)
            if isinstance(leaf.held, Pending)
        }
        steps = []
        for step, results in self._steps:
            here = [result for result in results if result.name in taken]
            if not here:
                steps.append(step)
                continue
            if step.out is not None or step.kept is not None:
                raise errors.InvalidArgument(
                    f"chain: a later operator takes a result of {step.task.method}, which out= or keep= sends elsewhere"
                )
            steps.append(step._replace(kept=tuple(result if result in here else None for result in results)))
        found = self._connection.perform(steps, self._settings, execute=True)
        for (_, results), values in zip(self._steps, found):
            for result, value in zip(results, values):
                result._done = result.name not in taken
                result._value = value
