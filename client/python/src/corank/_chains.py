"""Several operators in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from corank import _errors as errors
from corank._connection import kept_handles
from corank._elements import NAMES
from corank._intervals import IntervalOperators
from corank._kept import StoredArray
from corank._ordered import OrderedOperators
from corank._placing import Step
from corank._task import Output, Task, leaves

if TYPE_CHECKING:
    from typing_extensions import Self

    from corank._connection import Connection
    from corank._options import CallOptions

MAX_OPERATIONS = 16


class Pending(StoredArray):
    """A result of an operator of a chain: input of later operators, or, after the chain, an array.

    A result that a later operator takes stays on the server and is forgotten there when the chain ends; all others
    come back.
    """

    _temporary = True

    def __init__(self, chain: Chain, name: str, type_: int, output: Output) -> None:
        if output.count is None:
            raise errors.InvalidArgument(f"chain: how long {output.field} is, is not known before the answer")
        super().__init__(chain.connection, name, type_, output.dtype, output.count)
        self.chain, self.output = chain, output
        self.value: Any = None
        self.done = False

    def result(self) -> Any:
        """The array, or the handle of what keep= kept; after the chain.

        Raises:
            RuntimeError: the chain is not done, or a later operator of it took this result.
        """
        if not self.done:
            raise RuntimeError("chain: this result stayed on the server, or the chain is not done")
        return self.value

    def __repr__(self) -> str:
        return f"Pending({self.output.field} of a chain, {self.count:,} x {NAMES.get(self.type, self.dtype)})"

    def fetch(self, **options: Any) -> NDArray[Any]:
        """Not for what is kept by nobody: see `result`."""
        raise self.misplaced()

    def delete(self) -> None:
        """Not for what is kept by nobody: see `result`."""
        raise self.misplaced()

    def misplaced(self) -> TypeError:
        """What an operator says that is not one of the chain."""
        return TypeError(
            "this is a result of a chain, which the server does not keep: pass its .result() after the chain"
        )


class Chain(OrderedOperators[Pending], IntervalOperators[Pending]):
    """Operators that run one after the other on the server, in one call, made by `Client.chain`.

    Its methods are those of Client for operators on numbers; each returns Pendings in place of arrays.
    """

    def __init__(self, connection: Connection, options: CallOptions) -> None:
        self.connection = connection
        self._settings = connection.settings("chain", options)
        if self._settings.out is not None or self._settings.keep is not None:
            raise errors.InvalidArgument("chain: out= and keep= are of its operators")
        self._steps: list[tuple[Step, list[Pending]]] = []
        self._done = False

    def _perform(self, task: Task, options: CallOptions) -> Any:
        unknown = options.keys() - {"out", "keep"}
        if unknown:
            raise TypeError(f"{task.method}: {min(unknown)}= is an option of the whole chain")
        if self._done:
            raise RuntimeError("chain: it is done")
        if len(self._steps) == MAX_OPERATIONS:
            raise errors.InvalidArgument(f"chain: at most {MAX_OPERATIONS} operators")
        if any(field.holder is not task.request for field in task.outputs):
            raise errors.InvalidArgument("chain: sort_columns is not one of its operators")
        for leaf in leaves(task.parts):
            if isinstance(leaf.held, Pending) and leaf.held.chain is not self:
                raise errors.InvalidArgument(f"{leaf.field}: is a result of another chain")
        given = self.connection.settings(task.method, options)
        kept = None if given.keep is None else kept_handles(self.connection, task, given.keep)
        made = len(self._steps)
        results = [Pending(self, f"t{made}.{at}", output.type, output) for at, output in enumerate(task.outputs)]
        self._steps.append((Step(task, given.out, kept), results))
        return task.finish(results)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *exc_info: object) -> None:
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
        found = self.connection.perform(steps, self._settings, execute=True)
        for (_, results), values in zip(self._steps, found):
            for result, value in zip(results, values):
                result.done = result.name not in taken
                result.value = value
