/** Columns with nulls as they travel, without a server. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Nullable, Strings } from "../src/columns.js";
import { outgoing, sorted } from "../src/columns.js";
import { allRows, firstRows } from "../src/first.js";
import { KeyColumn, NanOrder, NullOrder } from "../src/pb/corank/v1/operators.js";

const VALID = [true, false, true, true, false, false, false, true, true];

test("a validity has a bit for each row, the least significant first", () => {
  const column = Nullable.from(Int8Array.from(VALID, Number), VALID);
  assert.deepEqual([...(column.validity as Uint8Array)], [0b10001101, 1]);
  VALID.forEach((isValid, row) => {
    assert.equal(column.isNull(row), !isValid);
  });
});

test("a column with nulls is one array and one result more", () => {
  const columns = [Nullable.from(Int8Array.from(VALID, Number), VALID), Nullable.from(["a", "b"], [true, false])];
  const found = outgoing(columns, { nulls: ["first", "last"], nans: "asNulls" }, [], firstRows(5, 0, undefined));
  const fields = found.map(({ group }) => group.leaves.map(({ field, number }) => [field, number]));
  assert.deepEqual(fields, [
    [["key_columns[0].data", 1], ["key_columns[0].validity", 6]],
    [["key_columns[1].data", 1], ["key_columns[1].offsets", 2], ["key_columns[1].validity", 6]],
  ]);
  assert.deepEqual(
    found.map(({ outputs }) => outputs.map(({ destination, count }) => [destination, count])),
    [[[4, 5], [9, 1]], [[4, 2], [5, 3], [9, 1]]],
  );
  const messages = found.map(({ group }) => KeyColumn.decode(group.message));
  assert.deepEqual(messages.map(({ nulls }) => nulls), [NullOrder.NULL_ORDER_FIRST, NullOrder.NULL_ORDER_LAST]);
  assert.deepEqual(messages.map(({ nans }) => nans), [NanOrder.NAN_ORDER_AS_NULLS, NanOrder.NAN_ORDER_AS_NULLS]);
});

test("columns come back in the form in which they were given", () => {
  const [bytes, offsets, bitmap] = [Uint8Array.of(97, 98), BigInt64Array.of(0n, 1n, 2n), Uint8Array.of(2)];
  const valid = [true, false];
  const columns = [Nullable.from(Int8Array.of(1, 2), valid), Nullable.from(["b", "a"], valid), ["x", "y"]];
  const found = outgoing(columns, {}, [], allRows);
  const results = sorted(found, [Int8Array.of(2, 1), bitmap, bytes, offsets, bitmap, bytes, offsets]);
  assert.deepEqual(results, [
    new Nullable(Int8Array.of(2, 1), bitmap),
    new Nullable(["a", "b"], bitmap),
    ["a", "b"],
  ]);
  const packed = outgoing([new Nullable(new Strings(bytes, offsets), bitmap)], {}, [], allRows);
  assert.deepEqual(sorted(packed, [bytes, offsets, bitmap]), [new Nullable(new Strings(bytes, offsets), bitmap)]);
});

test("other orders of nulls are refused", () => {
  const columns = [Int8Array.of(1)];
  const attempt = (given: object): (() => unknown) => () => outgoing(columns, given, [], allRows);
  assert.throws(attempt({ nulls: "middle" }), /nulls: "middle" is none of last, first/);
  assert.throws(attempt({ nans: ["greatest", "greatest"] }), /nans: 2 for 1 columns/);
  assert.throws(attempt({ descending: [] }), /descending: 0 for 1 columns/);
});
