import assert from "node:assert/strict";
import { test } from "node:test";
import { InternalError, InvalidArgumentError } from "../src/index.js";
import type { Dividing, SortOptions } from "../src/arguments.js";
import { ElementType } from "../src/pb/corank/v1/array.js";
import { ExecuteRequest } from "../src/pb/corank/v1/corank_service.js";
import { StoreArrayRequest, StoreArrayResponse, type StoreArrayHeader } from "../src/pb/corank/v1/memory_service.js";
import { SearchRequest, SearchResponse, SortRequest, SortResponse } from "../src/pb/corank/v1/operators.js";
import { fake, sorting, type Streaming } from "./fake.js";

const KEYS = Int32Array.of(3, 1, 2);

/** StoreArray of a server that divides sharded arrays among two GPUs. */
const storing: Streaming = (call) => {
  let header: StoreArrayHeader | undefined;
  call.on("data", (message: Buffer) => {
    header = StoreArrayRequest.decode(message).header ?? header;
  });
  call.on("end", () => {
    const { name, array, sharded } = header as StoreArrayHeader;
    const kept = { name, type: array?.type ?? 0, count: array?.count ?? 0, shards: sharded ? 2 : 0 };
    call.write(Buffer.from(StoreArrayResponse.encode(StoreArrayResponse.fromPartial({ array: kept })).finish()));
    call.end();
  });
};

test("sharded arrays and results are asked for and shown", async () => {
  const asked: [string | undefined, boolean | undefined][] = [];
  const server = await fake(
    {
      Sort: (request) => {
        const { keysDestination } = SortRequest.decode(request);
        asked.push([keysDestination?.stored?.name, keysDestination?.stored?.sharded]);
        const keys = { type: ElementType.ELEMENT_TYPE_INT32, count: KEYS.length };
        return SortResponse.encode(SortResponse.fromPartial({ keys })).finish();
      },
    },
    undefined,
    storing,
  );
  try {
    const client = server.client();
    const big = await client.store("big", KEYS, { sharded: true });
    assert.deepEqual([big.name, big.length, big.sharded], ["big", 3, true]);
    const ordered = await client.sort(big, { keep: "ordered", sharded: true });
    assert.deepEqual([ordered.name, ordered.sharded], ["ordered", true]);
    const whole = await client.sort(KEYS, { keep: "whole" });
    assert.equal(whole.sharded, false);
    assert.deepEqual(asked, [
      ["ordered", true],
      ["whole", false],
    ]);
    assert.equal((await client.store("big", KEYS)).sharded, false);
  } finally {
    server.close();
  }
});

test("results of every operator may be sharded, also those of a chain", async () => {
  const asked: [string, boolean][] = [];
  const note = ({ destination }: SearchRequest): void => {
    const { name, sharded } = destination?.stored ?? { name: "", sharded: false };
    asked.push([name, sharded]);
  };
  const server = await fake(
    {
      Search: (request) => {
        note(SearchRequest.decode(request));
        const positions = { type: ElementType.ELEMENT_TYPE_UINT32, count: KEYS.length };
        return SearchResponse.encode(SearchResponse.fromPartial({ positions })).finish();
      },
    },
    (call) => {
      call.on("data", (data: Buffer) => {
        for (const { search } of ExecuteRequest.decode(data).plan?.operations ?? []) note(search as SearchRequest);
      });
      call.on("end", () => {
        call.end();
      });
    },
  );
  try {
    const client = server.client();
    const found = await client.search(KEYS, KEYS, { keep: "alone", sharded: true });
    assert.deepEqual([found.name, found.sharded], ["alone", true]);
    const chain = client.chain();
    chain.search(KEYS, KEYS, { keep: "linked", sharded: true });
    chain.search(KEYS, KEYS, { keep: "whole" });
    await assert.rejects(chain.run(), InternalError); // this server answers no plan
    assert.deepEqual(asked, [
      ["alone", true],
      ["linked", true],
      ["whole", false],
    ]);
  } finally {
    server.close();
  }
});

test("sharded is for what the server keeps", async () => {
  const server = await fake({ Sort: sorting });
  try {
    const options: SortOptions & Dividing = { sharded: true }; // a caller without types
    await assert.rejects(server.client().sort(KEYS, options), (error: InvalidArgumentError) => {
      assert.ok(error instanceof InvalidArgumentError);
      assert.equal(error.field, "sharded");
      assert.match(error.message, /name them with keep/);
      return true;
    });
    assert.equal(server.calls["Sort"], undefined);
  } finally {
    server.close();
  }
});
