import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { KeptArray } from "../src/index.js";
import type { Comparison, Indices, Parted, Selection } from "../src/index.js";
import { ElementType, type Array as ArrayMessage } from "../src/pb/corank/v1/array.js";
import { ExecuteRequest, ExecuteResponse, type Plan } from "../src/pb/corank/v1/corank_service.js";
import { RankRequest, RankResponse } from "../src/pb/corank/v1/rank.js";
import { SelectOutput, SelectRequest, SelectResponse } from "../src/pb/corank/v1/select.js";
import { insertion } from "../src/selections.js";
import { fake, type Fake, type Unary } from "./fake.js";

let server: Fake | undefined;
afterEach(() => {
  server?.close();
  server = undefined;
});

const ELEMENTS = Uint16Array.of(7, 8, 9);
const array = (type: ElementType, elements: NodeJS.TypedArray): Partial<ArrayMessage> => ({
  type,
  count: elements.length,
  inlineData: new Uint8Array(elements.buffer),
});
const shorts = (...numbers: number[]): Partial<ArrayMessage> =>
  array(ElementType.ELEMENT_TYPE_UINT16, Uint16Array.from(numbers));
const COUNT = array(ElementType.ELEMENT_TYPE_INT64, BigInt64Array.of(2n));
const POSITIONS = array(ElementType.ELEMENT_TYPE_UINT32, Uint32Array.of(0, 2));

/** Answers with two elements and what else a request asks for, and shows the test the request. */
function selecting(seen: SelectRequest[]): Unary {
  return (data) => {
    const request = SelectRequest.decode(data);
    seen.push(request);
    const answer = {
      elements: request.partition ? shorts(7, 9, 8) : shorts(7, 9),
      ...(request.partition ? { count: COUNT } : {}),
      ...(request.values === undefined ? {} : { values: request.partition ? shorts(1, 3, 2) : shorts(1, 3) }),
    };
    const told = request.outputs.includes(SelectOutput.SELECT_OUTPUT_INDICES) ? { indices: POSITIONS } : answer;
    return SelectResponse.encode(SelectResponse.fromPartial(told)).finish();
  };
}

test("what selects travels, and elements, positions or a partition come back", async () => {
  const seen: SelectRequest[] = [];
  server = await fake({ Select: selecting(seen) });
  const client = server.client();
  const ways: [Selection, keyof SelectRequest, number[]][] = [
    [{ flags: [true, false, true] }, "flags", [1, 0, 1]],
    [{ flags: Uint8Array.of(2, 0, 255) }, "flags", [2, 0, 255]],
    [{ bitmap: Uint8Array.of(5) }, "bitmap", [5]],
    [{ positions: [2] }, "positions", [2, 0, 0, 0, 0, 0, 0, 0]],
    [{ comparison: "!=", threshold: 258 }, "threshold", [2, 1]],
    [{ comparison: "!=", threshold: Uint16Array.of(258) }, "threshold", [2, 1]],
  ];
  for (const [by, field, bytes] of ways) {
    const chosen: Uint16Array = await client.select(ELEMENTS, by);
    assert.deepEqual(chosen, Uint16Array.of(7, 9));
    const told = seen.at(-1)?.[field] as ArrayMessage;
    assert.deepEqual([...(told.inlineData ?? [])], bytes);
    assert.equal(seen.at(-1)?.comparison, field === "threshold" ? 5 : 0);
    const both = await client.selectWithValues(ELEMENTS, Uint16Array.of(1, 2, 3), by, { negate: true });
    assert.deepEqual(both, { elements: Uint16Array.of(7, 9), values: Uint16Array.of(1, 3) });
    assert.equal(seen.at(-1)?.negate, true);
    const positions: Indices = await client.argselect(ELEMENTS, by);
    assert.deepEqual(positions, Uint32Array.of(0, 2));
    const parted: Parted<Uint16Array> = await client.partition(ELEMENTS, by);
    assert.deepEqual(parted, { elements: Uint16Array.of(7, 9, 8), count: 2 });
    assert.deepEqual([seen.at(-1)?.partition, seen.at(-1)?.outputs], [true, [1, 3]]);
    const { values } = await client.partitionWithValues(ELEMENTS, ELEMENTS, by);
    assert.deepEqual(values, Uint16Array.of(1, 3, 2));
  }
  assert.deepEqual(await client.remove(ELEMENTS, [1]), Uint16Array.of(7, 9));
  assert.deepEqual([seen.at(-1)?.negate, seen.at(-1)?.positions?.count], [true, 1]);
  await client.argselect(ELEMENTS, { comparison: "<", threshold: ELEMENTS.subarray(0, 1) }, { type: "float16" });
  assert.equal(seen.at(-1)?.threshold?.type, ElementType.ELEMENT_TYPE_FLOAT16);
});

test("numbers become thresholds of the type of the elements, or are refused", async () => {
  const seen: SelectRequest[] = [];
  server = await fake({ Select: selecting(seen) });
  const client = server.client();
  const by = (threshold: number | bigint): Selection => ({ comparison: "<" as Comparison, threshold });
  for (const [elements, number] of [
    [ELEMENTS, 65_536],
    [ELEMENTS, -1],
    [ELEMENTS, 0.5],
    [new BigUint64Array(1), -1n],
    [new BigInt64Array(1), 2 ** 60],
  ] as const) {
    await assert.rejects(client.select(elements, by(number)), { field: "threshold" });
  }
  await assert.rejects(client.select(ELEMENTS, by(1), { type: "bfloat16" }), /pass its bits/);
  assert.equal(seen.length, 0);
  await assert.rejects(client.select(new Float64Array(1), by(0.5)), /elements of type uint16/);
  assert.deepEqual(Buffer.from(seen[0]?.threshold?.inlineData ?? []).readDoubleLE(), 0.5);
});

test("selections that cannot be are refused", async () => {
  const seen: SelectRequest[] = [];
  server = await fake({ Select: selecting(seen) });
  const client = server.client();
  for (const [by, field] of [
    [{}, "flags"],
    [{ flags: [true], positions: [0] }, "flags"],
    [{ flags: [true], comparison: "<" }, "comparison"],
    [{ threshold: 1 }, "comparison"],
    [{ threshold: 1, comparison: "=" }, "comparison"],
  ] as const) {
    await assert.rejects(client.select(ELEMENTS, by as never), { field });
  }
  await assert.rejects(client.select(ELEMENTS, { flags: Int8Array.of(1) as never }), /must be a Uint8Array/);
  await assert.rejects(
    client.select(ELEMENTS, { comparison: "<", threshold: Int16Array.of(1) }),
    /threshold is int16, elements is uint16/,
  );
  assert.equal(seen.length, 0);
  await assert.rejects(client.select(Uint16Array.of(7), { flags: [true] }), /2 elements of elements/);
});

test("kept results are handles", async () => {
  server = await fake({
    Select: (data) => {
      const { elementsDestination, countDestination } = SelectRequest.decode(data);
      assert.deepEqual([elementsDestination?.stored?.name, countDestination?.stored?.name], ["e", "n"]);
      const elements = { ...shorts(7, 9, 8), inlineData: undefined };
      const kept = { elements, count: { ...COUNT, inlineData: undefined } };
      return SelectResponse.encode(SelectResponse.fromPartial(kept)).finish();
    },
  });
  const { elements, count } = await server
    .client()
    .partition(ELEMENTS, { flags: [true, false, true] }, { keep: { count: "n", elements: "e" } });
  assert.ok(elements instanceof KeptArray && count instanceof KeptArray);
  assert.deepEqual([elements.length, count.length], [3, 1]);
});

test("an insertion has each element once, in its place", () => {
  for (const count of [0, 1, 2, 9]) {
    for (const many of [0, 1, 3, 20]) {
      const positions = Array.from({ length: many }, (_, at) => (at * 7 + 3) % (count + 1));
      const expected: number[] = [];
      for (let at = 0; at <= count; ++at) {
        positions.forEach((position, which) => position === at && expected.push(count + which));
        if (at < count) expected.push(at);
      }
      const { sourceOffsets, counts } = insertion(count, positions);
      const found = sourceOffsets.flatMap((begin, at) => Array.from({ length: counts[at] ?? 0 }, (_, k) => begin + k));
      assert.deepEqual(found, expected);
    }
  }
  assert.deepEqual(insertion(3, [3, 3]), { sourceOffsets: [0], counts: [5] });
});

test("insertions that cannot be are refused", async () => {
  server = await fake({});
  const client = server.client();
  await assert.rejects(client.insert(ELEMENTS, [0, 4], ELEMENTS.subarray(1)), { field: "positions[1]" });
  await assert.rejects(client.insert(ELEMENTS, [-1], ELEMENTS.subarray(2)), { field: "positions[0]" });
  await assert.rejects(client.insert(ELEMENTS, [0], ELEMENTS), { field: "positions" });
  await assert.rejects(client.insert(ELEMENTS, [0], Int16Array.of(1) as never), /inserted is int16/);
});

test("method and order of ranks travel", async () => {
  const seen: RankRequest[] = [];
  server = await fake({
    Rank: (data) => {
      const request = RankRequest.decode(data);
      seen.push(request);
      const means = array(ElementType.ELEMENT_TYPE_FLOAT64, Float64Array.of(2.5, 1, 2.5));
      const ranks = request.method === 1 ? means : array(ElementType.ELEMENT_TYPE_UINT32, Uint32Array.of(2, 1, 2));
      return RankResponse.encode(RankResponse.fromPartial({ ranks })).finish();
    },
  });
  const client = server.client();
  const keys = Float32Array.of(3, 1, 3);
  const means: Float64Array = await client.rank(keys, "average");
  assert.deepEqual(means, Float64Array.of(2.5, 1, 2.5));
  for (const [at, method] of (["min", "max", "dense", "ordinal"] as const).entries()) {
    const ranks: Indices = await client.rank(keys, method, { descending: true, keysSorted: true });
    assert.deepEqual(ranks, Uint32Array.of(2, 1, 2));
    const asked = seen.at(-1);
    assert.deepEqual([asked?.method, asked?.order, asked?.keysSorted], [at + 2, 2, true]);
  }
  assert.equal(seen.at(-1)?.segmentOffsets, undefined);
  await client.rank(keys, "min", { segments: [0, 1, 3] });
  const offsets = BigInt64Array.of(0n, 1n, 3n);
  assert.deepEqual(seen.at(-1)?.segmentOffsets?.inlineData, Buffer.from(offsets.buffer));
  await assert.rejects(client.rank(keys, "min", { segments: Float64Array.of(0, 3) as never }), /segment_offsets/);
  await assert.rejects(client.rank(keys, "mean" as never), { field: "method" });
});

test("later operators of a chain name no number of selected elements", async () => {
  let plan: Plan | undefined;
  server = await fake({}, (call) => {
    call.on("data", (data: Buffer) => (plan ??= ExecuteRequest.decode(data).plan));
    call.on("end", () => {
      for (const result of [
        { select: { elements: { ...shorts(7, 9), inlineData: undefined } } },
        { rank: { ranks: array(ElementType.ELEMENT_TYPE_UINT32, Uint32Array.of(1, 2)) } },
        { select: { elements: shorts(9, 7), count: { ...COUNT } } },
      ]) {
        call.write(Buffer.from(ExecuteResponse.encode(ExecuteResponse.fromPartial({ result })).finish()));
      }
      call.end();
    });
  });
  const chain = server.client({ place: "inline" }).chain();
  const high = chain.select(ELEMENTS, { comparison: ">", threshold: 6 });
  const ranks = chain.rank(high, "dense");
  const parted = chain.partition(high, { positions: [1] });
  await chain.run();
  assert.deepEqual(ranks.result(), Uint32Array.of(1, 2));
  assert.deepEqual(parted.elements.result(), Uint16Array.of(9, 7));
  assert.deepEqual(parted.count.result(), BigInt64Array.of(2n));
  const taken = plan?.operations[1]?.rank?.keys;
  assert.deepEqual([taken?.count, taken?.stored?.temporary], [undefined, true]);
});
