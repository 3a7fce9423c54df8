import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { status } from "@grpc/grpc-js";
import {
  CancelledError,
  ClosedError,
  connect,
  CorankError,
  DeadlineExceededError,
  InternalError,
  InvalidArgumentError,
  PermissionDeniedError,
  ResourceExhaustedError,
  UnavailableError,
  UnimplementedError,
  type Stats,
} from "../src/index.js";
import { ElementType } from "../src/pb/corank/v1/array.js";
import { ExecuteRequest, ExecuteResponse } from "../src/pb/corank/v1/corank_service.js";
import { SortRequest, SortResponse } from "../src/pb/corank/v1/operators.js";
import { fake, refusal, sorting, type Fake, type Unary } from "./fake.js";

let server: Fake | undefined;
afterEach(() => {
  server?.close();
  server = undefined;
});

const KEYS = Int32Array.of(3, 1, 2);
// @types/node 18 does not know it.
const { getActiveResourcesInfo } = process as unknown as { getActiveResourcesInfo: () => string[] };
const sockets = (): number => getActiveResourcesInfo().filter((name) => name.startsWith("TCPSocket")).length;
/** Waits for what closes in later turns of the event loop. */
async function until(holds: () => boolean): Promise<void> {
  for (let at = 0; !holds() && at < 200; ++at) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok(holds());
}

test("a call sorts, and its stats name the request", async () => {
  server = await fake({ Sort: sorting });
  const stats: Stats[] = [];
  const found = await server.client().sort(KEYS, { onStats: (each) => stats.push(each) });
  assert.deepEqual(found, Int32Array.of(1, 2, 3));
  assert.equal(found.buffer.byteLength, 12);
  assert.deepEqual([stats[0]?.method, stats[0]?.requestId, stats[0]?.attempts], ["Sort", "id-of-the-server", 1]);
  assert.deepEqual(KEYS, Int32Array.of(3, 1, 2));
});

test("the request says what the options say", async () => {
  let sent: SortRequest | undefined;
  let traceparent: unknown;
  server = await fake({
    Sort: (request, metadata) => {
      sent = SortRequest.decode(request);
      [traceparent] = metadata.get("traceparent");
      return sorting(request, metadata);
    },
  });
  const trace = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;
  await server.client({ traceparent: trace }).sort(KEYS, {
    descending: true,
    algorithm: "radix",
    priority: "high",
    requestId: "mine",
    segments: [0, 3],
  });
  assert.equal(sent?.order, 2);
  assert.equal(sent.algorithm, 3);
  assert.deepEqual(sent.options, { priority: 3, requestId: "mine" });
  assert.equal(sent.segmentOffsets?.count, 2);
  assert.equal(traceparent, trace);
});

test("errors have code, reason, field, request id and trace", async () => {
  server = await fake({
    Sort: () => refusal(status.INVALID_ARGUMENT, { field: "segment_offsets[2]", reason: "FIELD_INVALID" }),
  });
  const traceparent = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;
  await assert.rejects(server.client().sort(KEYS, { traceparent }), (error) => {
    assert.ok(error instanceof InvalidArgumentError && error instanceof CorankError);
    assert.deepEqual(
      [error.code, error.reason, error.field, error.requestId, error.traceId],
      ["INVALID_ARGUMENT", "FIELD_INVALID", "segment_offsets[2]", "id-of-the-server", "1".repeat(32)],
    );
    assert.match(error.message, /^Sort: segment_offsets\[2\]: refused \[request id-of-the-server, trace 1+\]$/);
    return true;
  });
});

test("a reason of another domain is none of corank's", async () => {
  server = await fake({ Sort: () => refusal(status.INTERNAL, { reason: "BACKEND_GONE", domain: "proxy" }) });
  await assert.rejects(server.client().sort(KEYS), (error: CorankError) => error.reason === "");
});

test("a refusal with a delay is retried, one without is not", async () => {
  let refusals = 2;
  const full: Unary = (request, metadata) =>
    refusals-- > 0 ? refusal(status.RESOURCE_EXHAUSTED, { retryAfterMs: 5 }) : sorting(request, metadata);
  server = await fake({ Sort: full, Search: () => refusal(status.RESOURCE_EXHAUSTED) });
  const client = server.client();
  assert.deepEqual(await client.sort(KEYS), Int32Array.of(1, 2, 3));
  assert.equal(server.calls["Sort"], 3);
  await assert.rejects(client.search(KEYS, KEYS), ResourceExhaustedError);
  assert.equal(server.calls["Search"], 1);
  refusals = 1;
  await assert.rejects(client.sort(KEYS, { retries: 0 }), (error: CorankError) => error.retryAfterMs === 5);
});

test("a server that would be late says why", async () => {
  const late = { ...refusal(status.DEADLINE_EXCEEDED, { reason: "DEADLINE_UNREACHABLE" }), details: "too busy" };
  server = await fake({
    Sort: () => late,
    Search: () => refusal(status.DEADLINE_EXCEEDED, { reason: "DEADLINE_PASSED" }),
  });
  const client = server.client();
  await assert.rejects(client.sort(KEYS), /Sort: too busy/);
  await assert.rejects(client.search(KEYS, KEYS), /not done within its deadline/);
});

test("a token file is read again when the server refuses the token", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corank-"));
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, "old\n");
  const seen: unknown[] = [];
  server = await fake({
    Sort: (request, metadata) => {
      seen.push(...metadata.get("authorization"));
      return seen.at(-1) === "Bearer new" ? sorting(request, metadata) : refusal(status.UNAUTHENTICATED);
    },
  });
  const client = server.client({ tokenFile });
  await assert.rejects(client.sort(KEYS), (error) => {
    return error instanceof PermissionDeniedError && error.code === "UNAUTHENTICATED";
  });
  writeFileSync(tokenFile, "new\n");
  await client.sort(KEYS);
  assert.deepEqual(seen, ["Bearer old", "Bearer old", "Bearer new"]);
  rmSync(folder, { recursive: true });
});

test("a token leaves this host with TLS only", () => {
  assert.throws(() => connect("example.org:1", { token: "t" }), /no TLS/);
  assert.throws(() => connect("127.0.0.1:1", { token: "two words" }), /one word/);
  assert.throws(() => connect("127.0.0.1:1", { token: "t", tokenFile: "f" }), /not both/);
  assert.throws(() => connect("127.0.0.1:1", { tls: { ca: "/nothing" } }), /cannot read \/nothing: ENOENT/);
  assert.throws(() => connect("127.0.0.1:1", { tls: { ca: "package.json" } }), /must be PEM/);
  assert.throws(() => connect("127.0.0.1:1", { tls: { key: "package.json" } }), /give both/);
});

test("a signal cancels a call on its way, also between two tries", async () => {
  server = await fake({
    Sort: () => new Promise<never>(() => undefined),
    Search: () => refusal(status.UNAVAILABLE, { retryAfterMs: 60_000 }),
  });
  const client = server.client();
  for (const call of [
    (signal: AbortSignal): Promise<unknown> => client.sort(KEYS, { signal }),
    (signal: AbortSignal): Promise<unknown> => client.search(KEYS, KEYS, { signal, deadlineMs: null }),
  ]) {
    const controller = new AbortController();
    const reason = new Error("enough");
    setTimeout(() => {
      controller.abort(reason);
    }, 50);
    await assert.rejects(call(controller.signal), (error) => error instanceof CancelledError && error.cause === reason);
    await assert.rejects(call(AbortSignal.abort()), CancelledError);
  }
});

test("a call ends at its deadline", async () => {
  server = await fake({ Sort: () => new Promise<never>(() => undefined) });
  await assert.rejects(server.client().sort(KEYS, { deadlineMs: 50 }), DeadlineExceededError);
});

test("a closed client says so, and closing cancels calls in flight", async () => {
  server = await fake({ Sort: () => new Promise<never>(() => undefined) });
  const client = server.client();
  const call = assert.rejects(client.sort(KEYS), CancelledError);
  await until(() => server?.calls["Sort"] === 1);
  client.close();
  await call;
  await assert.rejects(client.sort(KEYS), (error) => error instanceof ClosedError && error.code === "CLOSED");
  await assert.rejects(client.arrays(), ClosedError);
  await assert.rejects(client.store("name", KEYS), ClosedError);
});

test("nobody at the address", async () => {
  const client = connect("127.0.0.1:1", { retries: 1 });
  await assert.rejects(client.sort(KEYS), (error) => {
    assert.ok(error instanceof UnavailableError && error.attempts === 2);
    assert.match(error.message, /no answer from a corank server at 127\.0\.0\.1:1 .*is corankd running there\?/);
    return true;
  });
  client.close();
});

test("a server that is not corank", async () => {
  server = await fake({ Merge: () => Uint8Array.of(0xff), Search: () => new Uint8Array() });
  const client = server.client();
  await assert.rejects(client.sort(KEYS), UnimplementedError);
  await assert.rejects(client.merge([KEYS, KEYS]), InternalError);
  await assert.rejects(client.search(KEYS, KEYS), /lacks positions/);
});

test("answers of another type or length are refused", async () => {
  const answers = [
    { type: ElementType.ELEMENT_TYPE_INT64, inlineData: new Uint8Array(24) },
    { type: ElementType.ELEMENT_TYPE_INT32, inlineData: new Uint8Array(8) },
    { type: ElementType.ELEMENT_TYPE_INT32, inlineData: new Uint8Array(11) },
    { type: ElementType.ELEMENT_TYPE_INT32, count: 4, inlineData: new Uint8Array(12) },
  ];
  server = await fake({
    Sort: () => SortResponse.encode(SortResponse.fromPartial({ keys: answers.shift() ?? {} })).finish(),
  });
  const client = server.client();
  for (let left = 5; left > 0; --left) {
    await assert.rejects(client.sort(KEYS), InternalError);
  }
});

/** Sorts what streams in; the test decides how much of the answer comes. */
function streaming(answer: (sorted: Uint8Array) => ExecuteResponse[], end = true) {
  return (call: Parameters<NonNullable<Parameters<typeof fake>[1]>>[0]): void => {
    const pieces: Uint8Array[] = [];
    call.on("data", (data: Buffer) => {
      const { chunk } = ExecuteRequest.decode(data);
      if (chunk !== undefined) pieces.push(Uint8Array.from(chunk.data));
    });
    call.on("end", () => {
      const numbers = new Int32Array(Uint8Array.from(Buffer.concat(pieces)).buffer).sort();
      for (const response of answer(new Uint8Array(numbers.buffer))) {
        call.write(Buffer.from(ExecuteResponse.encode(response).finish()));
      }
      if (end) call.end();
    });
  };
}
const MANY = Int32Array.from({ length: 50_000 }, (_, at) => (at * 7919) % 50_000);
const chunk = (first: number, data: Uint8Array): ExecuteResponse =>
  ExecuteResponse.fromPartial({ chunk: { streamId: 0, firstElement: first, data } });
const result = (count: number): ExecuteResponse =>
  ExecuteResponse.fromPartial({ result: { sort: { keys: { type: ElementType.ELEMENT_TYPE_INT32, count } } } });

test("streams carry what is large, and tell their progress", async () => {
  server = await fake(
    {},
    streaming((data) => [chunk(0, data.subarray(0, 80)), chunk(20, data.subarray(80)), result(50_000)]),
  );
  const seen: [number, number][] = [];
  const found = await server.client().sort(MANY, {
    place: "stream",
    onProgress: ({ sent, received }) => seen.push([sent, received]),
  });
  assert.deepEqual(found, MANY.slice().sort());
  assert.deepEqual(seen.at(-1), [200_000, 200_000]);
});

test("streams that are cut, wrong or endless end with an error and leave no socket behind", async () => {
  const broken: [ReturnType<typeof streaming>, RegExp][] = [
    [streaming(() => []), /0 results for 1 operations/],
    [streaming((data) => [chunk(0, data.subarray(4)), result(50_000)]), /49999 of the 50000/],
    [streaming((data) => [chunk(1, data), result(50_000)]), /of a result of 50000/],
    [streaming((data) => [chunk(0, data), result(9)]), /9 elements of 50000/],
    [streaming(() => [ExecuteResponse.fromPartial({ chunk: { streamId: 5 } })], false), /stream 5, which is no result/],
    [streaming((data) => [chunk(0, data)], false), /not done within its deadline/],
  ];
  const before = sockets();
  for (const [execute, message] of broken) {
    const each = await fake({}, execute);
    const client = each.client({ retries: 0 });
    await assert.rejects(client.sort(MANY, { place: "stream", deadlineMs: 1000 }), message);
    each.close();
  }
  await until(() => sockets() <= before);
});

test("what a progress callback throws cancels the call and comes back", async () => {
  server = await fake({}, streaming((data) => [chunk(0, data), result(50_000)]));
  const mine = new RangeError("mine");
  const onProgress = (): void => {
    throw mine;
  };
  await assert.rejects(server.client().sort(MANY, { place: "stream", onProgress }), (error) => error === mine);
});

test("wrong options are refused before anything is sent", async () => {
  server = await fake({ Sort: sorting });
  const client = server.client();
  for (const [options, message] of [
    [{ deadlineMs: 0 }, /not more than 0/],
    [{ deadlineMs: "soon" }, /must be a number/],
    [{ limit: -1 }, /less than 0/],
    [{ limit: 1.5 }, /must be an integer/],
    [{ offset: -1 }, /less than 0/],
    [{ algorithm: "quick" }, /none of "auto"/],
    [{ priority: "urgent" }, /none of "low"/],
    [{ place: "disk" }, /none of "auto"/],
    [{ traceparent: "00-no-01" }, /W3C/],
    [{ signal: {} }, /AbortSignal/],
    [{ keep: ["a"] }, /must be a name/],
  ] as const) {
    await assert.rejects(client.sort(KEYS, options as never), message);
  }
  assert.equal(server.calls["Sort"], undefined);
});

test("many calls and clients leave no socket and no listener behind", async () => {
  server = await fake({ Sort: sorting });
  const { address } = server;
  const before = sockets();
  const controller = new AbortController();
  for (let at = 0; at < 5; ++at) {
    const client = connect(address);
    await Promise.all(Array.from({ length: 50 }, () => client.sort(KEYS, { signal: controller.signal })));
    client.close();
  }
  await until(() => sockets() <= before);
});
