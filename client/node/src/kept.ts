import { decoded, MEMORY, received } from "./channels.js";
import type { Connection } from "./connection.js";
import {
  elementOf,
  keys,
  REMOTE,
  values,
  type Element,
  type ElementName,
  type HalfType,
  type NumberArray,
  type Records,
  type Remote,
} from "./elements.js";
import { CorankError, InternalError, InvalidArgumentError, NotFoundError } from "./errors.js";
import type { RequestOptions, TransferOptions } from "./options.js";
import { Array as ArrayMessage, ElementType } from "./pb/corank/v1/array.js";
import * as pb from "./pb/corank/v1/memory_service.js";
import type { Progress } from "./results.js";
import { chunks, send, Sink } from "./stream.js";
import { chunkRequest, join, nested } from "./wire.js";

const HEADER_IN_REQUEST = 1; // of StoreArrayRequest
const RELEASE_MS = 1000;

/** Options of `Client.store`. */
export interface StoreOptions extends TransferOptions {
  /** Seconds without use after which the server deletes the array. Default: the server's. */
  expiresSeconds?: number | undefined;
  /** Keep the bits of 2-byte elements as this type. */
  type?: HalfType | undefined;
  /**
   * Have the server divide the array among its GPUs, so that it may be larger than the memory of one. It can be
   * fetched, listed and deleted. All GPUs work on merges, on sorts, and on `expand`, `gather`, `move`, `scatter` and
   * `loadBalance`; other operators bring the parts to one GPU, which must have room for them.
   */
  sharded?: boolean | undefined;
}

/** The handle of an array that the server keeps. Operators take it in place of a typed array. */
export class KeptArray {
  readonly #connection: Connection;
  readonly #element: Element;

  /** @internal */
  constructor(
    connection: Connection,
    /** The name that the server keeps the array under. */
    readonly name: string,
    element: Element,
    /** The number of elements. */
    readonly length: number,
    /** Whether the server divides it among its GPUs. */
    readonly sharded: boolean,
  ) {
    this.#connection = connection;
    this.#element = element;
  }

  /** The type of the elements. */
  get type(): ElementName {
    return this.#element.name;
  }

  /** Bytes of one element. */
  get elementBytes(): number {
    return this.#element.bytes;
  }

  /** Copies the elements from the server. Rejects with NotFoundError if it keeps another array, or none, by now. */
  fetch(options?: TransferOptions): Promise<NumberArray | Records> {
    return fetch(this.#connection, this.name, this.#element, this.length, options);
  }

  /** Has the server forget the array. Rejects with NotFoundError if it already has. */
  delete(options?: RequestOptions): Promise<void> {
    return remove(this.#connection, this.name, options);
  }

  /** @internal */
  [REMOTE](): Remote {
    return { name: this.name, temporary: false, element: this.#element, length: this.length };
  }
}

/** The arrays that the server keeps for a caller. */
export interface KeptArrays {
  /** Ordered by name. */
  arrays: KeptArray[];
  /** Bytes in use. */
  usedBytes: number;
  /** Bytes that may be in use. */
  quotaBytes: number;
}

function handle(connection: Connection, found: pb.StoredArray): KeptArray {
  const element = elementOf(found.type, found.recordBytes);
  return new KeptArray(connection, found.name, element, found.count, found.shards > 0);
}

/** All arrays that the server keeps for this caller. The deadline is for all pages. */
export async function list(connection: Connection, options: RequestOptions | undefined): Promise<KeptArrays> {
  const of = connection.settings(options);
  const limit = connection.limit(of);
  const arrays: KeptArray[] = [];
  let pageToken = "";
  for (;;) {
    const request = pb.ListArraysRequest.encode({ pageSize: 0, pageToken }).finish();
    const decode = (data: Uint8Array): pb.ListArraysResponse => pb.ListArraysResponse.decode(data);
    const page = await connection.call(MEMORY, "ListArrays", request, decode, of, limit);
    arrays.push(...page.arrays.map((each) => handle(connection, each)));
    pageToken = page.nextPageToken;
    if (!pageToken) {
      return { arrays, usedBytes: page.usedBytes, quotaBytes: page.quotaBytes };
    }
  }
}

/** The handle of the array of this name. */
export async function find(
  connection: Connection,
  name: string,
  options: RequestOptions | undefined,
): Promise<KeptArray> {
  const found = (await list(connection, options)).arrays.find((each) => each.name === name);
  if (found === undefined) {
    throw new NotFoundError(`the server keeps no array ${JSON.stringify(name)}`);
  }
  return found;
}

/** Has the server forget the array of this name. */
export async function remove(
  connection: Connection,
  name: string,
  options: RequestOptions | undefined,
): Promise<void> {
  const of = connection.settings(options);
  const limit = connection.limit(of);
  const { clock } = connection.retrier;
  const request = pb.DeleteArrayRequest.encode({ name }).finish();
  const end = clock.now() + RELEASE_MS;
  for (let pause = 1; ; pause *= 2) {
    try {
      // A second try could delete an array that another caller stored under the name in between.
      await connection.call(MEMORY, "DeleteArray", request, () => undefined, of, limit, "unless-lost");
      return;
    } catch (error) {
      // An answered request may still hold the memory for a moment.
      const isHeld = error instanceof CorankError && error.code === "FAILED_PRECONDITION";
      if (!isHeld || clock.now() > end) {
        throw error;
      }
    }
    await clock.sleep(pause, of.signal);
  }
}

/** Has the server keep an array. */
export async function store(
  connection: Connection,
  name: string,
  array: unknown,
  options: StoreOptions | undefined,
): Promise<KeptArray> {
  if (typeof name !== "string") {
    throw new TypeError("name: must be a string");
  }
  const { expiresSeconds, type, sharded = false } = options ?? {};
  if (expiresSeconds !== undefined && !(expiresSeconds > 0 && expiresSeconds < 2 ** 53)) {
    const text = `expires: ${expiresSeconds} is not a number of seconds of more than 0`;
    throw new InvalidArgumentError(text, { field: "expires" });
  }
  const { data, element, count } = type === undefined ? values("array", array) : keys("array", array, type);
  if (data === undefined) {
    throw new TypeError("array: is kept already; pass a typed array or Records");
  }
  const of = connection.settings(options);
  const caller = connection.caller("StoreArray", of, connection.limit(of, data.length));
  const chunkBytes = await connection.chunkBytes(caller);
  const recordBytes = element.type === ElementType.ELEMENT_TYPE_RECORD ? element.bytes : 0;
  const header = pb.StoreArrayHeader.encode({
    name,
    array: ArrayMessage.fromPartial({ type: element.type, count, recordBytes, stream: { streamId: 0 } }),
    expiry: expiresSeconds === undefined ? undefined : { seconds: Math.ceil(expiresSeconds), nanos: 0 },
    sharded,
  }).finish();
  const progress: Progress = { sent: 0, toSend: data.length, received: 0, toReceive: 0, attempt: 1, waiting: false };
  const source = { streamId: 0, data, elementBytes: element.bytes };
  function* requests(): Generator<Buffer> {
    yield join(nested(HEADER_IN_REQUEST, [header]));
    for (const chunk of chunks([source], 0, 1, chunkBytes)) {
      yield chunkRequest(chunk.streamId, chunk.first, chunk.data);
      progress.sent += chunk.data.length;
      of.onProgress?.(progress);
    }
  }
  // A second try could replace an array that another caller stored under the name in between.
  const { result } = await connection.retrier.run(caller.tries("unless-lost"), async (left) => {
    await connection.ready();
    progress.sent = 0;
    const call = connection.stream(`${MEMORY}StoreArray`, undefined, caller, left);
    let kept: pb.StoredArray | undefined;
    const over = received(call, caller, (message) => {
      kept = decoded("StoreArray", message, (data) => pb.StoreArrayResponse.decode(data)).array;
    });
    await Promise.all([over, send(call, over, requests())]);
    return kept;
  });
  if (result === undefined) {
    throw new InternalError("StoreArray: the server did not say what it keeps");
  }
  of.onProgress?.(progress);
  return new KeptArray(connection, result.name, element, result.count, result.shards > 0);
}

/** The elements of a kept array. */
async function fetch(
  connection: Connection,
  name: string,
  element: Element,
  length: number,
  options: TransferOptions | undefined,
): Promise<NumberArray | Records> {
  const of = connection.settings(options);
  const toReceive = length * element.bytes;
  const caller = connection.caller("FetchArray", of, connection.limit(of, toReceive));
  const request = Buffer.from(pb.FetchArrayRequest.encode({ name }).finish());
  const progress: Progress = { sent: 0, toSend: 0, received: 0, toReceive, attempt: 1, waiting: false };
  const { result } = await connection.retrier.run(caller.tries("always"), async (left) => {
    await connection.ready();
    progress.received = 0;
    let sink: Sink | undefined;
    let count = 0;
    const call = connection.stream(`${MEMORY}FetchArray`, request, caller, left);
    await received(call, caller, (message) => {
      const { array, chunk } = decoded("FetchArray", message, (data) => pb.FetchArrayResponse.decode(data));
      if (array !== undefined) {
        const found = elementOf(array.type, array.recordBytes);
        if (found.type !== element.type || found.bytes !== element.bytes) {
          throw new NotFoundError(`${name}: is another array now, of ${found.name}; ask for it again`);
        }
        ({ count } = array);
        sink = new Sink(element, count);
      }
      if (chunk !== undefined && sink !== undefined) {
        sink.write(chunk.firstElement, chunk.data);
        progress.received += chunk.data.length;
        of.onProgress?.(progress);
      }
    });
    if (sink === undefined) {
      throw new InternalError("FetchArray: the server did not say what it keeps");
    }
    return sink.result(count);
  });
  of.onProgress?.(progress);
  return element.make(result);
}
