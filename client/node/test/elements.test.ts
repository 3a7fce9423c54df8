import assert from "node:assert/strict";
import { test } from "node:test";
import vm from "node:vm";
import { checkedAddresses, isThisHost, takesTurns, targetOf } from "../src/address.js";
import { integers, keys, total, values } from "../src/elements.js";
import { CorankError, Records, Strings } from "../src/index.js";
import { chunks, Sink } from "../src/stream.js";
import { named } from "../src/elements.js";

const fieldOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (error instanceof CorankError) return error.field;
    throw error;
  }
  return "nothing was thrown";
};

test("typed arrays travel without a copy, also parts of a buffer and arrays of another realm", () => {
  const array = new Float64Array([1, 2, 3, 4]).subarray(1, 3);
  const { data, element, count } = keys("keys", array);
  assert.equal(data?.buffer, array.buffer);
  assert.deepEqual([data.byteOffset, data.length, element.name, count], [8, 16, "float64", 2]);
  assert.equal(keys("keys", vm.runInNewContext("new Int16Array([1, 2])")).element.name, "int16");
});

test("a Buffer is uint8 and comes back as a Buffer", () => {
  const { element } = values("values", Buffer.from("abc"));
  assert.equal(element.name, "uint8");
  assert.ok(Buffer.isBuffer(element.make(new ArrayBuffer(3))));
});

test("what is no array of numbers is a TypeError that says what to pass", () => {
  assert.throws(() => keys("keys", [1, 2]), /keys: .*Float64Array\.from/);
  assert.throws(() => keys("keys", new Uint8ClampedArray(2)), /new Uint8Array/);
  assert.throws(() => keys("keys", new DataView(new ArrayBuffer(2))), TypeError);
  assert.throws(() => keys("keys", undefined), /is undefined/);
  assert.throws(() => keys("keys", "abc"), TypeError);
  assert.throws(() => keys("keys", new Records(new Uint8Array(4), 2)), /records have no order/);
  assert.throws(() => keys("keys", new Float32Array(2), "float16"), /Uint16Array/);
  assert.throws(() => keys("keys", new Uint16Array(2), "float8" as "float16"), /"float16" or "bfloat16"/);
});

test("records have 1 to 256 bytes and no rest", () => {
  assert.deepEqual(new Records(Uint8Array.of(1, 2, 3, 4), 2).at(1), Uint8Array.of(3, 4));
  assert.throws(() => new Records(new Uint8Array(3), 2), RangeError);
  assert.throws(() => new Records(new Uint8Array(0), 0), RangeError);
  assert.throws(() => new Records(new Uint8Array(257), 257), RangeError);
});

test("integers are checked one by one and keep 64 bits", () => {
  const read = (given: unknown, count?: number): BigInt64Array => {
    const { data } = integers("counts", given, count);
    assert.ok(data);
    return new BigInt64Array(data.buffer, data.byteOffset, data.length / 8);
  };
  assert.deepEqual(read([1, 2n]), BigInt64Array.of(1n, 2n));
  assert.deepEqual(read(Int32Array.of(-1)), BigInt64Array.of(-1n));
  assert.deepEqual(read(7, 3), BigInt64Array.of(7n, 7n, 7n));
  assert.equal(fieldOf(() => read(BigUint64Array.of(1n, 2n ** 63n))), "counts[1]");
  assert.throws(() => read([0.5]), /counts\[0\]: must be an integer/);
  assert.throws(() => read([2 ** 53]), /as bigint/);
  assert.throws(() => read(Float32Array.of(1)), TypeError);
  assert.throws(() => read(7), TypeError);
});

test("sums of counts are exact above 32 bits, and unknown if one is negative", () => {
  assert.equal(total(integers("counts", [2 ** 40, 5, 2 ** 32 - 1])), 2 ** 40 + 5 + 2 ** 32 - 1);
  assert.equal(total(integers("counts", [3, -1])), undefined);
  assert.equal(total(integers("counts", [])), 0);
  assert.equal(fieldOf(() => total(integers("counts", [2n ** 62n, 2n ** 62n]))), "counts");
});

test("strings keep their bytes and their order", () => {
  const strings = Strings.from(["ä", "", "bc"]);
  assert.deepEqual([strings.length, strings.offsets], [3, BigInt64Array.of(0n, 2n, 2n, 4n)]);
  assert.deepEqual(strings.toStrings(), ["ä", "", "bc"]);
  assert.deepEqual(strings.toBytes()[2], Uint8Array.from(Buffer.from("bc")));
});

test("the chunks of all parts cover every element once, in order within a part", () => {
  for (const [count, width, parts, chunkBytes] of [
    [0, 4, 1, 8],
    [1, 4, 3, 8],
    [1000, 4, 3, 64],
    [1001, 12, 4, 100],
    [7, 256, 2, 100],
  ] as const) {
    const data = Uint8Array.from({ length: count * width }, (_, at) => at);
    const source = { streamId: 0, data, elementBytes: width };
    const sink = new Sink({ ...named("uint8"), bytes: width }, count);
    for (let part = 0; part < parts; ++part) {
      let end = -1;
      for (const { first, data: piece } of chunks([source], part, parts, chunkBytes)) {
        assert.ok(piece.length <= Math.max(chunkBytes, width) && (end < 0 || first === end));
        end = first + piece.length / width;
        sink.write(first, piece);
      }
    }
    assert.deepEqual(new Uint8Array(sink.result(count)), data);
  }
});

test("a sink refuses chunks outside of its result, and results that are incomplete", () => {
  const sink = new Sink(named("uint32"), 4);
  assert.throws(() => {
    sink.write(0, new Uint8Array(3));
  }, /3 bytes for elements of 4/);
  assert.throws(() => {
    sink.write(3, new Uint8Array(8));
  }, /element 4 of a result of 4/);
  sink.write(0, new Uint8Array(8));
  assert.throws(() => sink.result(4), /2 of the 4/);
  const grows = new Sink(named("uint8"), undefined);
  grows.write(0, Uint8Array.of(1));
  grows.write(1, Uint8Array.of(2, 3));
  assert.deepEqual(new Uint8Array(grows.result(3)), Uint8Array.of(1, 2, 3));
});

test("addresses", async () => {
  assert.deepEqual(checkedAddresses("a:1, b:2"), ["a:1", "b:2"]);
  assert.deepEqual(checkedAddresses("dns:///corank:50051"), ["dns:///corank:50051"]);
  for (const bad of ["", "host", "host:", "::1", "http://host:1", "a b:1", "a:1,dns:///b:2"]) {
    assert.equal(fieldOf(() => checkedAddresses(bad)), "address", bad);
  }
  assert.throws(() => checkedAddresses([]), TypeError);
  assert.ok(isThisHost(["localhost:1", "127.0.0.9:2", "[::1]:3", "unix:/tmp/s", "dns:///localhost:1"]));
  for (const other of ["10.0.0.1:1", "example.org:1", "dns://8.8.8.8/localhost:1", "ipv4:127.0.0.1:1,10.0.0.1:1"]) {
    assert.ok(!isThisHost([other]), other);
  }
  assert.ok(takesTurns(["dns:///corank:1"]) && takesTurns(["a:1", "b:2"]) && !takesTurns(["a:1"]));
  assert.equal(await targetOf(["127.0.0.1:1", "localhost:2"]), "ipv4:127.0.0.1:1,127.0.0.1:2");
});
