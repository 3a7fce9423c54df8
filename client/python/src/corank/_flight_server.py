"""The Flight service of a gateway: tables go to corankd's operators and back."""

from __future__ import annotations

import contextlib
import functools
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Callable, TypeVar, cast

from pyarrow import flight

from corank import _flight_commands as commands
from corank._client import Client
from corank._errors import InvalidArgument, Unimplemented
from corank._flight_calls import Call, Callers, Calls, Headers, ReadHeaders, flight_error
from corank._flight_memory import Budget, Held, Hold, KeptTables, Listed, table_name

F = TypeVar("F", bound=Callable[..., Any])
_WORK_BYTES_A_ROW = 64
"""What an operator needs for each row beside the tables: keys, offsets of strings, row numbers and their order."""
_WATCH_SECONDS = 0.5
_ACTIONS = (("drop", "forgets the table that the body names"), ("status", "tells memory and calls, as JSON"))


@dataclass(frozen=True)
class Limits:
    """How much a gateway holds, and for how long."""

    memory: int = 4 << 30
    """Bytes of all tables: kept, on the way in, and being sent."""
    quota: int = 1 << 30
    """Bytes of the tables that one caller keeps."""
    expire_seconds: float = 3600.0
    """How long a table is kept that nobody uses."""
    idle_seconds: float = 60.0
    """How long a call waits for a caller that neither sends nor takes."""
    calls: int = 64
    """Calls that run at the same time."""
    batch_bytes: int = 1 << 20
    """About how large the batches of results are."""


def _mapped(method: F) -> F:
    @functools.wraps(method)
    def call(*arguments: Any) -> Any:
        try:
            return method(*arguments)
        except Exception as error:
            raise flight_error(error) from None

    return cast(F, call)


class Gateway(flight.FlightServerBase):  # type: ignore[misc]
    """Serves Flight from when it is made until `stop`.

    Args:
        location: where to listen: grpc://HOST:PORT, or grpc+tls:// with `tls`; port 0 finds one, see `port`.
        connect: makes the client of corankd for a token; None: for callers without one.
        limits: how much it holds.
        needs_token: whether callers without a token are refused.
        **tls: the arguments of FlightServerBase for TLS.
    """

    def __init__(
        self,
        location: str,
        connect: Callable[[str | None], Client],
        limits: Limits | None = None,
        needs_token: bool = False,
        **tls: Any,
    ) -> None:
        self._limits = limits or Limits()
        self.budget = Budget(self._limits.memory)
        self._kept = KeptTables(self._limits.quota, self._limits.expire_seconds)
        self._calls = Calls(self._limits.calls)
        self._callers = Callers(connect, needs_token)
        self._stopped = threading.Event()
        super().__init__(location, middleware={"headers": ReadHeaders()}, **tls)
        self._watch = threading.Thread(target=self._watched, name="corank-flight-watch", daemon=True)
        self._watch.start()

    def _watched(self) -> None:
        while not self._stopped.wait(min(_WATCH_SECONDS, self._limits.idle_seconds / 4)):
            self._kept.expire()
            self._callers.expire()
            for call in self._calls.now():
                call.end_if_idle(self._limits.idle_seconds)

    def stop(self, seconds: float) -> bool:
        """Refuses new calls, waits for running ones, and ends late ones. Returns whether none was late."""
        all_ended = self._calls.drain(seconds)
        self._stopped.set()
        self._watch.join()
        self._callers.expire(0.0)
        return all_ended

    @contextlib.contextmanager
    def _call(self, context: Any) -> Iterator[Call]:
        headers = cast(Headers, context.get_middleware("headers"))
        with self._callers.caller(headers) as caller, self._calls.running(Call(context, caller, self.budget)) as call:
            yield call

    # --- operators ---

    @_mapped
    def do_exchange(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """Runs the command of the descriptor on the tables that the caller streams."""
        with self._call(context) as call:
            command = commands.parse(_command_of(descriptor))
            if command.streamed is None:
                raise InvalidArgument(
                    f"command: all tables of this {command.operator} are kept ones; ask for it by DoGet",
                    field="command",
                )
            inputs = self._inputs(call, command)
            received = call.receive(reader, "tables")
            if command.streamed == "tables":
                inputs["tables"] = [*inputs.get("tables", []), *received]
            elif len(received) > 1:
                raise InvalidArgument(f"app_metadata: {len(received)} tables; {command.operator} takes one here")
            else:
                inputs[command.streamed] = received[0]
            del received
            held, result = self._result(call, command, inputs)
            del inputs
            schema = result.schema
            batches = call.sending(held, commands.batches(result, self._limits.batch_bytes))
            del held, result
            writer.begin(schema)
            for batch in batches:
                writer.write_batch(batch)

    @_mapped
    def do_get(self, context: Any, ticket: Any) -> Any:
        """Streams a kept table, or what a command makes of kept tables."""
        with contextlib.ExitStack() as stack:
            call = stack.enter_context(self._call(context))
            held, result = self._of_ticket(call, ticket.ticket)
            schema = result.schema
            batches = call.sending(held, commands.batches(result, self._limits.batch_bytes))
            del held, result
            return flight.GeneratorStream(schema, _Sent(batches, stack.pop_all()))

    def _of_ticket(self, call: Call, ticket: bytes) -> tuple[Any, commands.Result]:
        if not ticket.startswith(b"{"):
            held = self._kept.get(call.caller.owner, table_name("ticket", ticket))
            return held, commands.table_result(held.table)
        command = commands.parse(ticket)
        self._check_kept(command)
        return self._result(call, command, self._inputs(call, command))

    @staticmethod
    def _check_kept(command: commands.Command) -> None:
        if command.streamed is not None and command.streamed not in command.kept:
            raise InvalidArgument(
                f"{command.streamed}: missing; name a kept table, or stream one by DoExchange", field=command.streamed
            )

    def _inputs(self, call: Call, command: commands.Command) -> dict[str, Any]:
        """The kept tables that a command names, by argument."""

        def get(names: Any) -> Any:
            return [get(each) for each in names] if isinstance(names, list) else self._kept.get(owner, names)

        owner = call.caller.owner
        return {argument: get(names) for argument, names in command.kept.items()}

    def _result(self, call: Call, command: commands.Command, inputs: dict[str, Any]) -> tuple[Any, commands.Result]:
        """The result, and what is held for it."""
        flat = [held for each in inputs.values() for held in (each if isinstance(each, list) else [each])]
        tables = {
            name: [held.table for held in each] if isinstance(each, list) else each.table
            for name, each in inputs.items()
        }
        rows = sum(held.table.num_rows for held in flat)
        work = call.hold()
        # A merge puts its tables into one.
        copied = sum(held.table.nbytes for held in flat) if command.operator == "merge_by" else 0
        base = copied + _WORK_BYTES_A_ROW * rows
        work.resize(base, command.operator)
        a_row = sum(held.table.nbytes / max(1, held.table.num_rows) for held in flat) + _WORK_BYTES_A_ROW
        most_rows = int(self.budget.free / a_row)
        if call.caller.traceparent is not None:
            command.options["traceparent"] = call.caller.traceparent
        result = call.run(lambda: commands.run(call.caller.client, command, tables, most_rows))
        if command.operator in ("join_by", "group_by"):
            made = result.take(0, result.rows)
            work.resize(made.nbytes, command.operator)
            return work, result
        work.resize(copied + 8 * result.rows, command.operator)
        return (work, flat), result

    # --- tables ---

    @_mapped
    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """Keeps the table that the caller streams under the name in the descriptor, when it is whole."""
        with self._call(context) as call:
            name = _name_of(descriptor)
            received = call.receive(reader, name)
            if len(received) > 1:
                raise InvalidArgument(f"app_metadata: {len(received)} tables; put one at a time")
            call.check()
            self._kept.put(call.caller.owner, name, received[0])
            call.keep(received[0].hold)
            kept = {"name": name, "rows": received[0].table.num_rows, "bytes": received[0].hold.nbytes}
            writer.write(json.dumps(kept).encode())

    @_mapped
    def list_flights(self, context: Any, criteria: bytes) -> Iterator[Any]:
        """The caller's tables; those whose names begin with the criteria, if there are any."""
        with self._call(context) as call:
            found = self._kept.listed(call.caller.owner, criteria.decode("utf-8", "replace"))
            return iter([_info(each) for each in found])

    @_mapped
    def get_flight_info(self, context: Any, descriptor: Any) -> Any:
        """A kept table, or the schema of what a command makes of kept tables."""
        with self._call(context) as call:
            if _is_command(descriptor):
                ticket = _command_of(descriptor)
                return flight.FlightInfo(
                    self._schema(call, ticket), descriptor, [flight.FlightEndpoint(ticket, [])], -1, -1
                )
            name = _name_of(descriptor)
            self._kept.get(call.caller.owner, name)
            return next(_info(each) for each in self._kept.listed(call.caller.owner, name) if each.name == name)

    @_mapped
    def get_schema(self, context: Any, descriptor: Any) -> Any:
        """The schema of the same."""
        with self._call(context) as call:
            if _is_command(descriptor):
                return flight.SchemaResult(self._schema(call, _command_of(descriptor)))
            return flight.SchemaResult(self._kept.get(call.caller.owner, _name_of(descriptor)).table.schema)

    def _schema(self, call: Call, text: bytes) -> Any:
        """The schema of a command's result: that of the same command on no rows."""
        command = commands.parse(text)
        self._check_kept(command)

        def empty(held: Any) -> Any:
            if isinstance(held, list):
                return [empty(each) for each in held]
            return Held(held.table.slice(0, 0).combine_chunks(), Hold(self.budget))

        inputs = {name: empty(held) for name, held in self._inputs(call, command).items()}
        return self._result(call, command, inputs)[1].schema

    @_mapped
    def do_action(self, context: Any, action: Any) -> Iterator[bytes]:
        """Drops a table, or tells how the gateway is."""
        with self._call(context) as call:
            owner = call.caller.owner
            if action.type == "drop":
                self._kept.drop(owner, table_name("drop", action.body.to_pybytes()))
                return iter([b"{}"])
            if action.type == "status":
                found = self._kept.listed(owner)
                told = {
                    "memory": self.budget.total,
                    "used": self.budget.used,
                    "quota": self._limits.quota,
                    "kept": sum(each.nbytes for each in found),
                    "tables": len(found),
                    "calls": len(self._calls.now()),
                }
                return iter([json.dumps(told).encode()])
            known = ", ".join(name for name, _ in _ACTIONS)
            raise Unimplemented(f"{action.type}: no such action; there are {known}")

    def list_actions(self, context: Any) -> Any:
        """The actions."""
        return list(_ACTIONS)


class _Sent:
    """Batches that pyarrow takes one by one. The call ends with the last one, an error, or this object."""

    def __init__(self, batches: Iterator[Any], stack: contextlib.ExitStack) -> None:
        self._batches, self._stack = batches, stack

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._batches)
        except StopIteration:
            self._stack.close()
            raise
        except Exception as error:
            self._stack.close()
            raise flight_error(error) from None

    def __del__(self) -> None:
        self._stack.close()


def _is_command(descriptor: Any) -> bool:
    return bool(descriptor.descriptor_type == flight.DescriptorType.CMD)


def _command_of(descriptor: Any) -> bytes:
    if not _is_command(descriptor):
        raise InvalidArgument('descriptor: is no command, such as {"operator": "sort_by", "keys": ["day"]}')
    return bytes(descriptor.command)


def _name_of(descriptor: Any) -> str:
    if _is_command(descriptor) or len(descriptor.path) != 1:
        raise InvalidArgument("descriptor: is no path of one name; a table is kept under one name")
    return table_name("path", descriptor.path[0])


def _info(listed: Listed) -> Any:
    descriptor = flight.FlightDescriptor.for_path(listed.name)
    endpoint = flight.FlightEndpoint(listed.name.encode(), [])
    told = json.dumps({"expires_in": round(listed.seconds, 3)})
    rows = listed.table.num_rows
    return flight.FlightInfo(listed.table.schema, descriptor, [endpoint], rows, listed.nbytes, False, told)
