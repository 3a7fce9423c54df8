// The benchmark program of the Node.js client; bench/clients/clients_bench.py starts it and says what it does.
import { createInterface } from "node:readline";
import { Client as GrpcClient, credentials } from "@grpc/grpc-js";
import { connect } from "../dist/esm/index.js";
import { ElementType } from "../dist/esm/pb/corank/v1/array.js";
import { ExecuteRequest, ExecuteResponse } from "../dist/esm/pb/corank/v1/corank_service.js";
import { SortRequest, SortResponse } from "../dist/esm/pb/corank/v1/operators.js";

const IN_FLIGHT = 64;
const CONNECTIONS = 4;
const CHUNK_BYTES = 2 << 20;
const SERVICE = "/corank.v1.CorankService/";

const ascending = (n) => Uint32Array.from({ length: n }, (_, at) => at);
const equal = (left, right) => Buffer.compare(Buffer.from(left.buffer, left.byteOffset, left.byteLength), right) === 0;

function check(holds) {
  if (!holds) throw new Error("wrong answer");
}

/** One piece of work by the client library. */
function ours(address, work, n) {
  const client = connect(address);
  const keys = ascending(n);
  const bytes = Buffer.from(keys.buffer);
  if (work === "calls") {
    return async () => check(equal(await client.sort(keys), bytes));
  }
  return async () => {
    const sorted = await client.sort(keys, { place: "stream", connections: CONNECTIONS });
    check(sorted.length === n && sorted[n - 1] === n - 1);
  };
}

/** The same by the generated stubs alone. */
function stub(address, work, n) {
  const options = { "grpc.max_receive_message_length": -1, "grpc.use_local_subchannel_pool": 1 };
  const clients = Array.from(
    { length: CONNECTIONS },
    () => new GrpcClient(address, credentials.createInsecure(), options),
  );
  const bytes = new Uint8Array(ascending(n).buffer);
  if (work === "calls") {
    const request = { keys: { type: ElementType.ELEMENT_TYPE_UINT32, inlineData: bytes } };
    const serialize = (message) => Buffer.from(SortRequest.encode(SortRequest.fromPartial(message)).finish());
    const deserialize = (data) => SortResponse.decode(data);
    return () =>
      new Promise((resolve, reject) => {
        clients[0].makeUnaryRequest(`${SERVICE}Sort`, serialize, deserialize, request, (error, answer) => {
          if (error !== null) reject(error);
          else if (!equal(answer.keys.inlineData, bytes)) reject(new Error("wrong answer"));
          else resolve();
        });
      });
  }
  const serialize = (message) => Buffer.from(ExecuteRequest.encode(ExecuteRequest.fromPartial(message)).finish());
  const deserialize = (data) => ExecuteResponse.decode(data);
  const carry = async (client, part) => {
    const call = client.makeBidiStreamRequest(`${SERVICE}Execute`, serialize, deserialize);
    let came = 0;
    call.on("data", ({ chunk }) => (came += chunk?.data.length ?? 0));
    const over = new Promise((resolve, reject) => call.on("end", resolve).on("error", reject));
    call.write({ plan: {} });
    for (let begin = 0; begin < part.length; begin += CHUNK_BYTES) {
      const chunk = { firstElement: begin / 4, data: part.subarray(begin, begin + CHUNK_BYTES) };
      if (!call.write({ chunk })) await new Promise((resolve) => call.once("drain", resolve));
    }
    call.end();
    await over;
    check(came === part.length);
  };
  const part = (at) => bytes.subarray((at * bytes.length) / CONNECTIONS, ((at + 1) * bytes.length) / CONNECTIONS);
  return () => Promise.all(clients.map((client, at) => carry(client, part(at))));
}

/** Keeps calls in flight for some seconds: how many there are in one. */
async function callsRate(once, seconds) {
  const begin = performance.now();
  let done = 0;
  const worker = async () => {
    while (performance.now() - begin < seconds * 1000) {
      await once();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return (done * 1000) / (performance.now() - begin);
}

/** Carries an array again and again for some seconds, twice at least: its bytes in one. */
async function streamRate(once, bytes, seconds) {
  const begin = performance.now();
  let done = 0;
  while (done < 2 || performance.now() - begin < seconds * 1000) {
    await once();
    done += 1;
  }
  return (done * bytes * 1000) / (performance.now() - begin);
}

const [side, address] = process.argv.slice(2);
const made = new Map();
for await (const line of createInterface({ input: process.stdin })) {
  const { work, n, seconds } = JSON.parse(line);
  const key = `${work} ${n}`;
  let answer;
  try {
    if (!made.has(key)) made.set(key, { client: ours, stub }[side](address, work, n));
    const once = made.get(key);
    answer = { value: work === "calls" ? await callsRate(once, seconds) : await streamRate(once, 4 * n, seconds) };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
