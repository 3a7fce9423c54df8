// Uses the types: a result has the type of its input.
import assert from "node:assert/strict";
import { connect, InvalidArgumentError, Records, type Indices, type KeptArray } from "corank";

const client = connect();
const floats: Float32Array = await client.sort(Float32Array.of(3, 1, 2), { limit: 2 });
assert.deepEqual(floats, Float32Array.of(1, 2));
const rows = new Records(Uint8Array.of(1, 1, 2, 2), 2);
const pair: { keys: BigInt64Array; values: Records } = await client.sortWithValues(BigInt64Array.of(2n, 1n), rows);
assert.deepEqual([...pair.values.bytes], [2, 2, 1, 1]);
const found: {
  columns: [string[], Int32Array];
  indices: Indices;
} = await client.sortColumns([["b", "a"], Int32Array.of(1, 2)], { indices: true });
assert.deepEqual(found.columns, [["a", "b"], Int32Array.of(2, 1)]);
const kept: KeptArray = await client.sort(floats, { keep: "typed" });
const positions: Indices = await client.search(kept, floats);
assert.deepEqual([...positions], [0, 1]);
await kept.delete();
const chain = client.chain();
const sorted = chain.sort(floats);
const hits = chain.search(sorted, floats);
await chain.run();
const typed: Indices = hits.result();
assert.equal(typed.length, 2);
// @ts-expect-error An Array of numbers is no typed array.
await assert.rejects(client.sort([3, 1, 2]), TypeError);
// @ts-expect-error There is no such option.
await client.sort(floats, { decending: true });
await assert.rejects(client.sort(floats, { segments: [0, 9] }), InvalidArgumentError);
client.close();
