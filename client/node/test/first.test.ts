// The rows that a sort with a limit returns.
import assert from "node:assert/strict";
import { test } from "node:test";

import { integers, named } from "../src/elements.js";
import { firstRows, limitedSegments } from "../src/first.js";

test("the segments of a result are as long as the limit leaves them", () => {
  assert.deepEqual([...limitedSegments([0, 3, 3, 10], 2)], [0n, 2n, 2n, 4n]);
  assert.deepEqual([...limitedSegments(BigInt64Array.of(0n, 3n), 5)], [0n, 3n]);
  assert.deepEqual([...limitedSegments([], 2)], [0n]);
});

test("a sort knows how many rows it returns, or how many at most", () => {
  const here = integers("segment_offsets", [0, 3, 3, 10]);
  const kept = { element: named("int64"), count: 4, data: undefined, remote: undefined };
  assert.deepEqual(firstRows(undefined, 0, here)(10), { count: 10, most: 10 });
  assert.deepEqual(firstRows(2, 0, undefined)(10), { count: 2, most: 2 });
  assert.deepEqual(firstRows(undefined, 3, undefined)(10), { count: 7, most: 7 });
  assert.deepEqual(firstRows(2, 9, undefined)(10), { count: 1, most: 1 });
  assert.deepEqual(firstRows(2, 11, undefined)(10), { count: 0, most: 0 });
  assert.deepEqual(firstRows(2, 0, here)(10), { count: 4, most: 4 });
  assert.deepEqual(firstRows(10, 0, here)(10), { count: 10, most: 10 });
  assert.deepEqual(firstRows(2, 0, integers("segment_offsets", [0, 9, -9]))(10), { count: 2, most: 2 });
  assert.deepEqual(firstRows(2, 0, kept)(10), { count: undefined, most: 6 });
  assert.deepEqual(firstRows(2, 0, { ...kept, count: undefined })(10), { count: undefined, most: 10 });
});
