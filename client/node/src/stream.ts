// Execute: arrays of any size in chunks, over one connection or several, with memory for a few chunks each.
import { randomBytes } from "node:crypto";
import { CORANK, decoded, received, type BidiStream, type Caller, type Channels } from "./channels.js";
import type { Element } from "./elements.js";
import { InternalError, ResourceExhaustedError } from "./errors.js";
import { ExecuteResponse, Plan, type OperationResult } from "./pb/corank/v1/corank_service.js";
import type { Progress } from "./results.js";
import { chunkRequest, join, nested, type Pieces } from "./wire.js";

export const MAX_STREAMS = 1024;
export const CHUNK_BYTES = 2 << 20;
const PLAN_IN_REQUEST = 1; // of ExecuteRequest

/** An array that is sent in chunks. */
export interface Source {
  streamId: number;
  data: Uint8Array;
  elementBytes: number;
}

/** Memory for a result. */
export function allocate(bytes: number): ArrayBuffer {
  try {
    return new ArrayBuffer(bytes);
  } catch (error) {
    const text = `the result: this process has no memory for ${bytes} bytes of it`;
    throw new ResourceExhaustedError(text, { cause: error });
  }
}

/** Takes the chunks of one result, in any order, and writes them where they belong. */
export class Sink {
  #buffer: Uint8Array<ArrayBuffer>;
  #elements = 0;
  readonly #grows: boolean;

  /** @param count number of elements; undefined: not known, the memory grows as chunks come */
  constructor(
    private readonly element: Element,
    count: number | undefined,
  ) {
    this.#grows = count === undefined;
    this.#buffer = new Uint8Array(allocate((count ?? 0) * element.bytes));
  }

  /** Forgets what came: the call is tried once more. */
  restart(): void {
    this.#elements = 0;
  }

  write(firstElement: number, data: Uint8Array): void {
    const width = this.element.bytes;
    if (data.length % width !== 0) {
      throw new InternalError(`the server sent ${data.length} bytes for elements of ${width} bytes`);
    }
    const [begin, end] = [firstElement * width, firstElement * width + data.length];
    if (this.#grows && end > this.#buffer.length) {
      const grown = new Uint8Array(allocate(Math.max(end, 2 * this.#buffer.length)));
      grown.set(this.#buffer);
      this.#buffer = grown;
    }
    if (firstElement < 0 || end > this.#buffer.length) {
      const count = this.#buffer.length / width;
      throw new InternalError(`the server sent element ${end / width - 1} of a result of ${count}`);
    }
    this.#elements += data.length / width;
    this.#buffer.set(data, begin);
  }

  /** The bytes of the result, which has `count` elements, once all chunks have come. */
  result(count: number): ArrayBuffer {
    const bytes = count * this.element.bytes;
    if (this.#elements !== count || (!this.#grows && bytes !== this.#buffer.length)) {
      throw new InternalError(`the server sent ${this.#elements} of the ${count} elements of a result`);
    }
    return bytes === this.#buffer.length ? this.#buffer.buffer : this.#buffer.buffer.slice(0, bytes);
  }
}

/**
 * The chunks of one part of a job. All arrays advance together, so that the keys and the values of one range of
 * elements arrive one after the other.
 */
export function* chunks(
  sources: readonly Source[],
  part: number,
  parts: number,
  chunkBytes: number,
): Generator<{ streamId: number; first: number; data: Uint8Array }> {
  let rounds = 0;
  const ranges = sources.map(({ data, elementBytes }) => {
    const count = data.length / elementBytes;
    const [begin, end] = [Math.floor((part * count) / parts), Math.floor(((part + 1) * count) / parts)];
    rounds = Math.max(rounds, Math.ceil((end - begin) / Math.max(1, Math.floor(chunkBytes / elementBytes))));
    return { begin, end };
  });
  for (let round = 0; round < rounds; ++round) {
    for (const [at, { streamId, data, elementBytes }] of sources.entries()) {
      const { begin, end } = ranges[at] as { begin: number; end: number };
      const first = begin + Math.floor((round * (end - begin)) / rounds);
      const last = begin + Math.floor(((round + 1) * (end - begin)) / rounds);
      if (last > first) {
        yield { streamId, first, data: data.subarray(first * elementBytes, last * elementBytes) };
      }
    }
  }
}

/**
 * Sends requests, at most two of which wait in this process, and half-closes; ends early if the call does. A failure of
 * `requests` cancels the call.
 */
export async function send(call: BidiStream, over: Promise<unknown>, requests: Iterable<Buffer>): Promise<void> {
  const ended = over.then(
    () => true,
    () => true,
  );
  let before = Promise.resolve(false);
  try {
    for (const request of requests) {
      const written = new Promise<boolean>((resolve) => {
        call.write(request, () => {
          resolve(false);
        });
      });
      if (await Promise.race([before, ended])) {
        return;
      }
      before = written;
    }
    call.end();
  } catch (error) {
    call.cancel();
    throw error;
  }
}

/** One Execute call, or several that are the parts of a job. */
export class Job {
  requestId = "";

  constructor(
    private readonly channels: Channels,
    /** How many connections, and so parts. */
    private readonly parts: number,
    /** The operations, each as the field of Plan. */
    private readonly operations: Pieces,
    private readonly sources: readonly Source[],
    private readonly sinks: readonly Sink[],
    private readonly chunkBytes: number,
    private readonly progress: Progress,
    private readonly onProgress: () => void,
  ) {}

  /** Does the job once. If a part fails, the others are cancelled. */
  async run(caller: Caller, leftMs: number | undefined): Promise<OperationResult[]> {
    await this.channels.ready();
    this.progress.sent = this.progress.received = 0;
    for (const sink of this.sinks) {
      sink.restart();
    }
    const jobId = this.parts > 1 ? randomBytes(8).toString("hex") : "";
    const calls: BidiStream[] = [];
    const failures: unknown[] = [];
    const works = Array.from({ length: this.parts }, async (_, part) => {
      try {
        return await this.#part(part, jobId, caller, leftMs, calls);
      } catch (error) {
        failures.push(error);
        for (const call of calls) {
          call.cancel();
        }
        return [];
      }
    });
    const [results] = await Promise.all(works);
    if (failures.length > 0) {
      throw failures[0]; // the others were cancelled
    }
    return results as OperationResult[];
  }

  async #part(
    part: number,
    jobId: string,
    caller: Caller,
    leftMs: number | undefined,
    calls: BidiStream[],
  ): Promise<OperationResult[]> {
    const call = this.channels.stream(`${CORANK}Execute`, undefined, caller, leftMs, part);
    calls.push(call);
    const results: OperationResult[] = [];
    const over = received(call, caller, (data) => {
      const { chunk, result } = decoded(caller.operator, data, (message) => ExecuteResponse.decode(message));
      if (result !== undefined) {
        results.push(result);
      } else if (chunk !== undefined) {
        const sink = this.sinks[chunk.streamId];
        if (sink === undefined) {
          throw new InternalError(`the server sent a chunk of stream ${chunk.streamId}, which is no result`);
        }
        sink.write(chunk.firstElement, chunk.data);
        this.progress.received += chunk.data.length;
        this.onProgress();
      }
    });
    const [requestId] = await Promise.all([over, send(call, over, this.#requests(part, jobId))]);
    if (part === 0) {
      this.requestId = requestId;
    }
    return results;
  }

  *#requests(part: number, jobId: string): Generator<Buffer> {
    const plan = Plan.encode({ operations: [], jobId, part, parts: jobId ? this.parts : 0 }).finish();
    yield join(nested(PLAN_IN_REQUEST, [...this.operations, plan]));
    for (const { streamId, first, data } of chunks(this.sources, part, this.parts, this.chunkBytes)) {
      yield chunkRequest(streamId, first, data);
      this.progress.sent += data.length;
      this.onProgress();
    }
  }
}
