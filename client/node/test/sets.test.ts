import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { status } from "@grpc/grpc-js";
import { InternalError, InvalidArgumentError, KeptArray, UnavailableError } from "../src/index.js";
import type { SetOperationName } from "../src/index.js";
import { ElementType, type Array as ArrayMessage } from "../src/pb/corank/v1/array.js";
import { ExecuteRequest, ExecuteResponse, type Plan } from "../src/pb/corank/v1/corank_service.js";
import { SortOrder } from "../src/pb/corank/v1/operators.js";
import { CombineSetsRequest, CombineSetsResponse } from "../src/pb/corank/v1/sets.js";
import { fake, refusal, type Fake, type Unary } from "./fake.js";

let server: Fake | undefined;
afterEach(() => {
  server?.close();
  server = undefined;
});

const OPERATIONS: readonly SetOperationName[] = ["union", "intersection", "difference", "symmetric-difference"];
const LEFT = Uint16Array.of(1, 3, 3);
const RIGHT = Uint16Array.of(3, 4);
const VALUES = { left: Float32Array.of(0.5, 1, 2), right: Float32Array.of(4, 8) };
const array = (type: ElementType, elements: NodeJS.TypedArray): Partial<ArrayMessage> => ({
  type,
  count: elements.length,
  inlineData: new Uint8Array(elements.buffer),
});
const KEYS = array(ElementType.ELEMENT_TYPE_UINT16, Uint16Array.of(1, 3));
const OF_KEYS = array(ElementType.ELEMENT_TYPE_FLOAT32, Float32Array.of(0.5, 1));
const COUNT = array(ElementType.ELEMENT_TYPE_INT64, BigInt64Array.of(2n));

/** Answers with two keys, and shows the test the request. */
function combining(seen: CombineSetsRequest[] = []): Unary {
  return (data) => {
    const request = CombineSetsRequest.decode(data);
    seen.push(request);
    const values = request.leftValues === undefined ? {} : { values: OF_KEYS };
    const answer = request.countOnly ? { count: COUNT } : { keys: KEYS, ...values };
    return CombineSetsResponse.encode(CombineSetsResponse.fromPartial(answer)).finish();
  };
}

test("both sides travel with their values, and keys, values or a number come back", async () => {
  const seen: CombineSetsRequest[] = [];
  server = await fake({ CombineSets: combining(seen) });
  const client = server.client();
  for (const operation of OPERATIONS) {
    const keys: Uint16Array = await client.combineSets(LEFT, RIGHT, operation);
    assert.deepEqual(keys, Uint16Array.of(1, 3));
    const fromLeft = operation === "intersection" || operation === "difference";
    const values = fromLeft ? { left: VALUES.left } : VALUES;
    const pair = await client.combineSetsWithValues(LEFT, RIGHT, operation, values, { descending: true });
    const moved: Float32Array = pair.values;
    assert.deepEqual([pair.keys, moved], [Uint16Array.of(1, 3), Float32Array.of(0.5, 1)]);
    const count: number = await client.countSets(LEFT, RIGHT, operation);
    assert.equal(count, 2);
    const requests = seen.splice(0);
    const number = OPERATIONS.indexOf(operation) + 1;
    const { SORT_ORDER_ASCENDING, SORT_ORDER_DESCENDING } = SortOrder;
    assert.deepEqual(
      requests.map((each) => [each.operation, each.order, each.countOnly]),
      [
        [number, SORT_ORDER_ASCENDING, false],
        [number, SORT_ORDER_DESCENDING, false],
        [number, SORT_ORDER_ASCENDING, true],
      ],
    );
    for (const { left, right } of requests) {
      assert.deepEqual([left?.count, right?.count], [3, 2]);
      assert.deepEqual(Buffer.from(left?.inlineData ?? []), Buffer.from(LEFT.buffer));
    }
    const counts = requests.map(({ leftValues, rightValues }) => [leftValues?.count, rightValues?.count]);
    assert.deepEqual(counts, [
      [undefined, undefined],
      [3, fromLeft ? undefined : 2],
      [undefined, undefined],
    ]);
  }
});

test("kept sets are handles, and are not combined twice", async () => {
  server = await fake({
    CombineSets: (data) => {
      const { keysDestination, valuesDestination, countDestination } = CombineSetsRequest.decode(data);
      if (countDestination?.stored?.name === "c") return refusal(status.UNAVAILABLE);
      assert.deepEqual([keysDestination?.stored?.name, valuesDestination?.stored?.name], ["k", "v"]);
      const [keys, values] = [{ ...KEYS, inlineData: undefined }, { ...OF_KEYS, inlineData: undefined }];
      return CombineSetsResponse.encode(CombineSetsResponse.fromPartial({ keys, values })).finish();
    },
  });
  const client = server.client();
  const keep = { values: "v", keys: "k" };
  const { keys, values } = await client.combineSetsWithValues(LEFT, RIGHT, "union", VALUES, { keep });
  assert.ok(keys instanceof KeptArray && values instanceof KeptArray);
  assert.deepEqual([keys.type, keys.length, values.type, values.length], ["uint16", 2, "float32", 2]);
  await assert.rejects(client.countSets(LEFT, RIGHT, "union", { keep: "c" }), UnavailableError);
  assert.equal(server.calls["CombineSets"], 2);
});

test("sets that cannot be are refused", async () => {
  server = await fake({ CombineSets: combining() });
  const client = server.client();
  for (const [operation, left, right, most] of [
    ["union", LEFT.subarray(0, 1), RIGHT.subarray(0, 0), 1],
    ["intersection", LEFT, RIGHT.subarray(0, 1), 1],
    ["difference", LEFT.subarray(0, 1), RIGHT, 1],
    ["symmetric-difference", LEFT.subarray(0, 0), RIGHT.subarray(0, 1), 1],
  ] as const) {
    await assert.rejects(client.combineSets(left, right, operation), (error) => {
      assert.ok(error instanceof InternalError);
      assert.match(error.message, new RegExp(`2 elements of keys; there can be ${most} at most`));
      return true;
    });
  }
  assert.equal(server.calls["CombineSets"], 4);
  for (const [operation, values, field] of [
    ["union", { left: VALUES.left }, /^right_values: missing/],
    ["union", { right: VALUES.right }, /^left_values: missing/],
    ["intersection", VALUES, /^right_values: not for "intersection"/],
    ["union", { left: VALUES.left, right: RIGHT }, /^right_values is uint16, left_values is float32/],
    ["xor", VALUES, /^operation: "xor" is none of "union"/],
  ] as const) {
    await assert.rejects(client.combineSetsWithValues(LEFT, RIGHT, operation as never, values as never), (error) => {
      assert.ok(error instanceof TypeError || error instanceof InvalidArgumentError);
      assert.match(error.message, field);
      return true;
    });
  }
  await assert.rejects(client.combineSets(LEFT, Int16Array.of(3), "union"), /right is int16, left is uint16/);
  assert.equal(server.calls["CombineSets"], 4);
});

test("later operators of a chain name no length of sets", async () => {
  let plan: Plan | undefined;
  server = await fake({}, (call) => {
    call.on("data", (data: Buffer) => (plan ??= ExecuteRequest.decode(data).plan));
    call.on("end", () => {
      const keys = { ...KEYS, inlineData: undefined };
      for (const combineSets of [{ keys }, { keys: KEYS, values: OF_KEYS }, { count: COUNT }]) {
        const response = ExecuteResponse.fromPartial({ result: { combineSets } });
        call.write(Buffer.from(ExecuteResponse.encode(response).finish()));
      }
      call.end();
    });
  });
  const chain = server.client({ place: "inline" }).chain();
  const union = chain.combineSets(LEFT, RIGHT, "union");
  const both = chain.combineSetsWithValues(LEFT, union, "intersection", { left: VALUES.left });
  const count = chain.countSets(union, RIGHT, "difference", { descending: true });
  await chain.run();
  assert.deepEqual(both.keys.result(), Uint16Array.of(1, 3));
  assert.deepEqual(both.values.result(), Float32Array.of(0.5, 1));
  assert.deepEqual(count.result(), BigInt64Array.of(2n));
  const [, second, third] = plan?.operations ?? [];
  for (const taken of [second?.combineSets?.right, third?.combineSets?.left]) {
    assert.deepEqual([taken?.count, taken?.stored?.temporary], [undefined, true]);
  }
  assert.equal(third?.combineSets?.countOnly, true);
});
