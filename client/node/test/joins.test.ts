import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { status } from "@grpc/grpc-js";
import { InternalError, InvalidArgumentError, KeptArray, UnavailableError } from "../src/index.js";
import type { CorankError, JoinedRows, LeftJoin, PairJoin, Rows } from "../src/index.js";
import { ElementType, type Array as ArrayMessage } from "../src/pb/corank/v1/array.js";
import { ExecuteRequest, ExecuteResponse, type Plan } from "../src/pb/corank/v1/corank_service.js";
import { JoinRequest, JoinResponse } from "../src/pb/corank/v1/join.js";
import { fake, refusal, type Fake, type Unary } from "./fake.js";

let server: Fake | undefined;
afterEach(() => {
  server?.close();
  server = undefined;
});

const PAIRS: readonly PairJoin[] = ["inner", "left", "right", "full"];
const LEFT_ONLY: readonly LeftJoin[] = ["semi", "anti"];
const LEFT = Uint16Array.of(3, 1, 3);
const RIGHT = Uint16Array.of(4, 3);
const array = (type: ElementType, elements: NodeJS.TypedArray): Partial<ArrayMessage> => ({
  type,
  count: elements.length,
  inlineData: new Uint8Array(elements.buffer),
});
const rows = (...numbers: number[]): Partial<ArrayMessage> =>
  array(ElementType.ELEMENT_TYPE_INT32, Int32Array.from(numbers));
const COUNT = array(ElementType.ELEMENT_TYPE_INT64, BigInt64Array.of(2n));
const encoded = (answer: Parameters<typeof JoinResponse.fromPartial>[0]): Uint8Array =>
  JoinResponse.encode(JoinResponse.fromPartial(answer)).finish();

/** Answers with two rows, and shows the test the request. */
function joining(seen: JoinRequest[] = []): Unary {
  return (data) => {
    const request = JoinRequest.decode(data);
    seen.push(request);
    const right = request.kind < 5 ? { rightRows: rows(1, -1) } : {};
    return encoded(request.countOnly ? { count: COUNT } : { leftRows: rows(0, 2), ...right });
  };
}

/** Refuses as a server whose join has more rows than there is room for. */
const tooMany = (needed: string): ReturnType<typeof refusal> =>
  refusal(status.INVALID_ARGUMENT, { field: "max_rows", reason: "TOO_MANY_ROWS", rows: needed });

test("both sides travel, and row numbers or their number come back", async () => {
  const seen: JoinRequest[] = [];
  server = await fake({ Join: joining(seen) });
  const client = server.client();
  for (const [at, kind] of PAIRS.entries()) {
    const found: JoinedRows = await client.join(LEFT, RIGHT, kind);
    assert.deepEqual(found, { leftRows: Int32Array.of(0, 2), rightRows: Int32Array.of(1, -1) });
    assert.equal(seen.at(-1)?.kind, at + 1);
  }
  for (const [at, kind] of LEFT_ONLY.entries()) {
    const found: Rows = await client.join(LEFT, RIGHT, kind, { rightSorted: true, maxRows: 2 });
    assert.deepEqual(found, Int32Array.of(0, 2));
    const asked = seen.at(-1);
    assert.deepEqual([asked?.kind, asked?.rightSorted, asked?.maxRows, asked?.countOnly], [5 + at, true, 2, false]);
    const count: number = await client.countJoin(LEFT, RIGHT, kind, { rightSorted: true });
    assert.equal(count, 2);
    const counting = seen.at(-1);
    assert.deepEqual([counting?.kind, counting?.rightSorted, counting?.countOnly], [5 + at, true, true]);
  }
  for (const { left, right } of seen) {
    assert.deepEqual([left?.count, right?.count], [3, 2]);
    assert.deepEqual(Buffer.from(left?.inlineData ?? []), Buffer.from(LEFT.buffer));
  }
  await client.join(LEFT, RIGHT, "inner", { type: "bfloat16" });
  assert.equal(seen.at(-1)?.right?.type, ElementType.ELEMENT_TYPE_BFLOAT16);
});

test("a join with more rows than both sides is called again, once", async () => {
  const seen: JoinRequest[] = [];
  const found = rows(...Array<number>(9).fill(0));
  server = await fake({
    Join: (data) => {
      const request = JoinRequest.decode(data);
      seen.push(request);
      return (request.maxRows ?? 0) < 9 ? tooMany("9") : encoded({ leftRows: found, rightRows: found });
    },
  });
  const client = server.client();
  const side = Uint16Array.of(7, 7, 7);
  const { leftRows, rightRows } = await client.join(side, side, "inner");
  assert.deepEqual([leftRows, rightRows], [new Int32Array(9), new Int32Array(9)]);
  assert.deepEqual(seen.map(({ maxRows }) => maxRows), [undefined, 9]);
  await assert.rejects(client.join(side, side, "inner", { maxRows: 8 }), (error: CorankError) => {
    assert.ok(error instanceof InvalidArgumentError);
    assert.deepEqual([error.reason, error.field, error.rows], ["TOO_MANY_ROWS", "max_rows", 9]);
    return true;
  });
  assert.equal(seen.length, 3);
});

test("a server that names another number each time is asked twice, and one that names none once", async () => {
  server = await fake({ Join: (data) => tooMany(JoinRequest.decode(data).maxRows === undefined ? "8" : "9") });
  await assert.rejects(server.client().join(LEFT, LEFT, "inner"), { rows: 9 });
  assert.equal(server.calls["Join"], 2);
  server.close();
  server = await fake({ Join: () => tooMany("many") });
  await assert.rejects(server.client().join(LEFT, LEFT, "inner"), { rows: undefined, reason: "TOO_MANY_ROWS" });
  assert.equal(server.calls["Join"], 1);
});

test("kept rows are handles, and are not joined twice", async () => {
  server = await fake({
    Join: (data) => {
      const { leftRowsDestination, rightRowsDestination, countDestination } = JoinRequest.decode(data);
      if (countDestination?.stored?.name === "c") return refusal(status.UNAVAILABLE);
      assert.deepEqual([leftRowsDestination?.stored?.name, rightRowsDestination?.stored?.name], ["l", "r"]);
      const kept = { ...rows(0, 2), inlineData: undefined };
      return encoded({ leftRows: kept, rightRows: kept });
    },
  });
  const client = server.client();
  const keep = { rightRows: "r", leftRows: "l" };
  const { leftRows, rightRows } = await client.join(LEFT, RIGHT, "full", { keep });
  assert.ok(leftRows instanceof KeptArray && rightRows instanceof KeptArray);
  assert.deepEqual([leftRows.type, leftRows.length, rightRows.name], ["int32", 2, "r"]);
  await assert.rejects(client.countJoin(LEFT, RIGHT, "inner", { keep: "c" }), UnavailableError);
  assert.equal(server.calls["Join"], 2);
});

test("joins that cannot be are refused", async () => {
  server = await fake({ Join: joining() });
  const client = server.client();
  for (const [kind, left, right, most] of [
    ["inner", LEFT.subarray(0, 1), RIGHT.subarray(0, 1), 1],
    ["left", LEFT.subarray(0, 1), RIGHT.subarray(0, 0), 1],
    ["right", LEFT.subarray(0, 0), RIGHT.subarray(0, 1), 1],
    ["full", LEFT.subarray(0, 1), RIGHT.subarray(0, 0), 1],
    ["semi", LEFT.subarray(0, 1), RIGHT, 1],
    ["anti", LEFT.subarray(0, 1), RIGHT, 1],
  ] as const) {
    await assert.rejects(client.join(left, right, kind as never), (error) => {
      assert.ok(error instanceof InternalError);
      assert.match(error.message, new RegExp(`2 elements of left_rows; there can be ${most} at most`));
      return true;
    });
  }
  assert.equal(server.calls["Join"], 6);
  for (const maxRows of [-1, 0.5, 2 ** 60]) {
    await assert.rejects(client.join(LEFT, RIGHT, "inner", { maxRows }), { field: "max_rows" });
  }
  await assert.rejects(client.join(LEFT, RIGHT, "outer" as never), { field: "kind" });
  await assert.rejects(client.join(LEFT, Int16Array.of(3), "inner"), /right is int16, left is uint16/);
  assert.equal(server.calls["Join"], 6);
});

test("the server chooses the width of row numbers", async () => {
  const wide = array(ElementType.ELEMENT_TYPE_INT64, BigInt64Array.of(1n));
  server = await fake({ Join: () => encoded({ leftRows: wide, rightRows: wide }) });
  const { leftRows } = await server.client().join(LEFT, RIGHT, "inner");
  assert.deepEqual(leftRows, BigInt64Array.of(1n));
  server.close();
  server = await fake({ Join: () => encoded({ leftRows: array(ElementType.ELEMENT_TYPE_UINT32, Uint32Array.of(1)) }) });
  await assert.rejects(server.client().join(LEFT, RIGHT, "semi"), /left_rows of type uint32/);
});

test("later operators of a chain name no number of rows", async () => {
  let plan: Plan | undefined;
  server = await fake({}, (call) => {
    call.on("data", (data: Buffer) => (plan ??= ExecuteRequest.decode(data).plan));
    call.on("end", () => {
      const kept = { ...rows(0, 2), inlineData: undefined };
      for (const join of [{ leftRows: kept, rightRows: rows(1, -1) }, { leftRows: rows(1) }, { count: COUNT }]) {
        const response = ExecuteResponse.fromPartial({ result: { join } });
        call.write(Buffer.from(ExecuteResponse.encode(response).finish()));
      }
      call.end();
    });
  });
  const chain = server.client({ place: "inline" }).chain();
  const both = chain.join(LEFT, RIGHT, "left", { maxRows: 4 });
  const semi = chain.join(both.leftRows, Int32Array.of(2), "semi");
  const count = chain.countJoin(both.leftRows, Int32Array.of(2), "inner");
  await chain.run();
  assert.deepEqual(both.rightRows.result(), Int32Array.of(1, -1));
  assert.deepEqual(semi.result(), Int32Array.of(1));
  assert.deepEqual(count.result(), BigInt64Array.of(2n));
  const [first, second, third] = plan?.operations ?? [];
  assert.equal(first?.join?.maxRows, 4);
  for (const taken of [second?.join?.left, third?.join?.left]) {
    assert.deepEqual([taken?.count, taken?.stored?.temporary], [undefined, true]);
  }
  assert.equal(third?.join?.countOnly, true);
});

test("a chain fails with too many rows, and does not run again", async () => {
  server = await fake({}, (call) => {
    call.emit("error", tooMany("9"));
  });
  const chain = server.client({ place: "inline" }).chain();
  chain.join(LEFT, LEFT, "inner");
  await assert.rejects(chain.run(), { rows: 9 });
  assert.equal(server.calls["Execute"], 1);
});
