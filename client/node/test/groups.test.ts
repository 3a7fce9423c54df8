import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { status } from "@grpc/grpc-js";
import { InternalError, InvalidArgumentError, KeptArray, Nullable, UnavailableError } from "../src/index.js";
import { ElementType, type Array as ArrayMessage } from "../src/pb/corank/v1/array.js";
import { ExecuteRequest, ExecuteResponse, type Plan } from "../src/pb/corank/v1/corank_service.js";
import { GroupInput, GroupOutput, GroupRequest, GroupResponse } from "../src/pb/corank/v1/group.js";
import { SortOrder } from "../src/pb/corank/v1/operators.js";
import { fake, refusal, type Fake, type Unary } from "./fake.js";

let server: Fake | undefined;
afterEach(() => {
  server?.close();
  server = undefined;
});

const KEYS = Uint16Array.of(3, 1, 3);
const array = (type: ElementType, elements: NodeJS.TypedArray): Partial<ArrayMessage> => ({
  type,
  count: elements.length,
  inlineData: new Uint8Array(elements.buffer),
});
const RESULTS = {
  keys: array(ElementType.ELEMENT_TYPE_UINT16, Uint16Array.of(1, 3)),
  counts: array(ElementType.ELEMENT_TYPE_INT64, BigInt64Array.of(1n, 2n)),
  firsts: array(ElementType.ELEMENT_TYPE_UINT32, Uint32Array.of(1, 0)),
  sums: array(ElementType.ELEMENT_TYPE_FLOAT64, Float64Array.of(0.5, 2.5)),
  minima: array(ElementType.ELEMENT_TYPE_FLOAT32, Float32Array.of(0.5, 1)),
  maxima: array(ElementType.ELEMENT_TYPE_FLOAT32, Float32Array.of(0.5, 1.5)),
  valueCounts: array(ElementType.ELEMENT_TYPE_INT64, BigInt64Array.of(1n, 0n)),
};
const NUMBERS = [
  GroupOutput.GROUP_OUTPUT_KEYS,
  GroupOutput.GROUP_OUTPUT_COUNTS,
  GroupOutput.GROUP_OUTPUT_FIRSTS,
  GroupOutput.GROUP_OUTPUT_SUMS,
  GroupOutput.GROUP_OUTPUT_MINIMA,
  GroupOutput.GROUP_OUTPUT_MAXIMA,
  GroupOutput.GROUP_OUTPUT_VALUE_COUNTS,
];

/** Answers what a request asks for, with two groups, and shows the test the request. */
function grouping(seen: GroupRequest[] = []): Unary {
  return (data) => {
    const request = GroupRequest.decode(data);
    seen.push(request);
    const wanted = Object.entries(RESULTS).filter((_, at) => request.outputs.includes(NUMBERS[at] as GroupOutput));
    return GroupResponse.encode(GroupResponse.fromPartial(Object.fromEntries(wanted))).finish();
  };
}

test("group returns the results that are named", async () => {
  const seen: GroupRequest[] = [];
  server = await fake({ Group: grouping(seen) });
  const client = server.client();
  const values = Float32Array.of(1, 0.5, 1.5);
  const counted = await client.group(KEYS);
  assert.deepEqual(counted, { keys: Uint16Array.of(1, 3), counts: BigInt64Array.of(1n, 2n) });
  const reduced = await client.group(KEYS, { values, outputs: ["maxima", "sums", "firsts"], input: "sorted" });
  const sums: Float64Array = reduced.sums;
  assert.deepEqual(sums, Float64Array.of(0.5, 2.5));
  assert.deepEqual([reduced.firsts, reduced.maxima], [Uint32Array.of(1, 0), Float32Array.of(0.5, 1.5)]);
  const distinct: Uint16Array = await client.unique(KEYS, { descending: true });
  assert.deepEqual(distinct, Uint16Array.of(1, 3));
  assert.deepEqual(await client.runLengthEncode(KEYS), counted);
  const nullable = await client.group(KEYS, {
    values,
    valuesValidity: Nullable.from(values, [false, true, false]).validity,
    outputs: ["valueCounts"],
  });
  assert.deepEqual(nullable.valueCounts, BigInt64Array.of(1n, 0n));
  assert.deepEqual([...(seen.pop()?.valuesValidity?.inlineData ?? [])], [2]);
  assert.deepEqual(
    seen.map(({ input, order, outputs }) => [input, order, outputs]),
    [
      [GroupInput.GROUP_INPUT_UNSORTED, SortOrder.SORT_ORDER_UNSPECIFIED, [1, 2]],
      [
        GroupInput.GROUP_INPUT_SORTED,
        SortOrder.SORT_ORDER_UNSPECIFIED,
        [GroupOutput.GROUP_OUTPUT_FIRSTS, GroupOutput.GROUP_OUTPUT_SUMS, GroupOutput.GROUP_OUTPUT_MAXIMA],
      ],
      [GroupInput.GROUP_INPUT_UNSORTED, SortOrder.SORT_ORDER_DESCENDING, [1]],
      [GroupInput.GROUP_INPUT_RUNS, SortOrder.SORT_ORDER_UNSPECIFIED, [1, 2]],
    ],
  );
  assert.equal(seen[1]?.values?.count, 3);
  assert.equal(seen[0]?.values, undefined);
});

test("kept groups are handles, and are not found twice", async () => {
  server = await fake({
    Group: (data) => {
      const { keysDestination, sumsDestination } = GroupRequest.decode(data);
      assert.equal(keysDestination?.stored?.name, "k");
      if (sumsDestination?.stored?.name !== "s") return refusal(status.UNAVAILABLE);
      const [keys, sums] = [{ ...RESULTS.keys, inlineData: undefined }, { ...RESULTS.sums, inlineData: undefined }];
      return GroupResponse.encode(GroupResponse.fromPartial({ keys, sums })).finish();
    },
  });
  const client = server.client();
  const options = { values: Float32Array.of(1, 2, 3), outputs: ["sums", "keys"] } as const;
  const { keys, sums } = await client.group(KEYS, { ...options, keep: { sums: "s", keys: "k" } });
  assert.ok(keys instanceof KeptArray && sums instanceof KeptArray);
  assert.deepEqual([keys.type, keys.length, sums.type, sums.length], ["uint16", 2, "float64", 2]);
  await assert.rejects(client.unique(KEYS, { keep: "k" }), UnavailableError);
  assert.equal(server.calls["Group"], 2);
});

test("results travel in chunks if one group for each key would not fit into a message", async () => {
  const counts = BigInt64Array.of(9_999_999n, 1n);
  server = await fake({}, (call) => {
    call.on("data", (data: Buffer) => ExecuteRequest.decode(data));
    call.on("end", () => {
      for (const response of [
        { chunk: { streamId: 0, firstElement: 0, data: new Uint8Array(counts.buffer) } },
        { result: { group: { counts: { type: ElementType.ELEMENT_TYPE_INT64, count: 2 } } } },
      ]) {
        call.write(Buffer.from(ExecuteResponse.encode(ExecuteResponse.fromPartial(response)).finish()));
      }
      call.end();
    });
  });
  const found = await server.client().group(new Uint8Array(10_000_000), { outputs: ["counts"] });
  assert.deepEqual(found, { counts });
});

test("groups that cannot be are refused", async () => {
  server = await fake({ Group: grouping() });
  const client = server.client();
  await assert.rejects(client.unique(Uint16Array.of(3)), /2 elements of keys; there can be 1 at most/);
  await assert.rejects(client.group(Uint32Array.of(3, 1)), InternalError);
  for (const [options, message] of [
    [{ outputs: ["keys", "median"] }, /outputs\[1\]: "median" is none of "keys"/],
    [{ outputs: ["keys", "keys"] }, /outputs\[1\]: keys is there twice/],
    [{ outputs: [] }, /outputs: is empty/],
    [{ outputs: ["sums"] }, /values: missing/],
    [{ input: "shuffled" }, /none of "unsorted"/],
  ] as const) {
    await assert.rejects(client.group(KEYS, options as never), (error) => {
      assert.ok(error instanceof InvalidArgumentError);
      assert.match(error.message, message);
      return true;
    });
  }
});

test("later operators of a chain name no length of groups", async () => {
  let plan: Plan | undefined;
  server = await fake({}, (call) => {
    call.on("data", (data: Buffer) => (plan ??= ExecuteRequest.decode(data).plan));
    call.on("end", () => {
      const group = { keys: { ...RESULTS.keys, inlineData: undefined }, counts: { type: 4, count: 2 } };
      const sorted = { sort: { keys: RESULTS.counts, values: RESULTS.keys } };
      for (const result of [{ group }, sorted]) {
        call.write(Buffer.from(ExecuteResponse.encode(ExecuteResponse.fromPartial({ result })).finish()));
      }
      call.end();
    });
  });
  const chain = server.client({ place: "inline" }).chain();
  const { keys, counts } = chain.group(KEYS);
  const frequent = chain.sortWithValues(counts, keys, { descending: true, limit: 2 });
  await chain.run();
  assert.deepEqual(frequent.values.result(), Uint16Array.of(1, 3));
  const taken = plan?.operations[1]?.sort;
  assert.deepEqual([taken?.keys?.count, taken?.keys?.stored?.temporary], [undefined, true]);
  assert.deepEqual([taken?.values?.count, taken?.limit], [undefined, 2]);
});
