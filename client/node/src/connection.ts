// Does calls of any operator: chooses places, sends messages, retries, and reports costs.
import { CORANK, Channels, decoded, type Caller } from "./channels.js";
import { elementOf, type Element } from "./elements.js";
import { CorankError, InternalError, UnavailableError } from "./errors.js";
import { KeptArray } from "./kept.js";
import { choice, deadline, type ConnectOptions, type RequestOptions, type Settings } from "./options.js";
import { Array as ArrayMessage, Destination, ElementType } from "./pb/corank/v1/array.js";
import { GetServerInfoResponse } from "./pb/corank/v1/corank_service.js";
import { Priority, RequestOptions as RequestOptionsMessage } from "./pb/corank/v1/operators.js";
import { algorithmName, engineName, serverInfo, type Progress, type ServerInfo } from "./results.js";
import { Limit, type Repeat } from "./retry.js";
import { allocate, CHUNK_BYTES, Job, MAX_STREAMS, Sink, type Source } from "./stream.js";
import { leavesOf, type Answer, type Leaf, type Output, type Task } from "./task.js";
import { arrayField, inlineField, join, nested, type Pieces } from "./wire.js";

/** Arrays of a call that take more travel in chunks, unless it says otherwise. */
const INLINE_BYTES = 64 << 20;
/** Streamed arrays that take more travel over several connections. */
const MANY_BYTES = 128 << 20;
const CONNECTIONS = 4;
/** Arrays of no more travel in messages, whatever the others do, but for rows that the server works on in pieces. */
const SMALL_BYTES = 64 << 10;
/** Methods whose keys and values the server takes in pieces if all of them, and all results, are streams. */
const IN_PIECES = new Set(["Sort", "Merge"]);
const PIECES = new Set(["keys", "values"]);
const MESSAGE_SLACK = 64 << 10; // what a message has beside arrays
const OPERATIONS_IN_PLAN = 1;
const PRIORITIES = {
  low: Priority.PRIORITY_LOW,
  normal: Priority.PRIORITY_NORMAL,
  high: Priority.PRIORITY_HIGH,
};

/** Where a result goes on the server: its name there, and whether it is divided among GPUs. */
export interface KeepAs {
  name: string;
  temporary: boolean;
  sharded: boolean;
}

/** An operator of a call. */
export interface Step {
  task: Task<unknown>;
  /** Where each result goes on the server; undefined: it comes back. */
  keep: (KeepAs | undefined)[];
}

/** Takes one result of the answer: an array, or the handle of what is kept. */
type Receiver = (answer: Answer) => unknown;

/** An operator whose arrays have places. */
interface Placed {
  request: Pieces;
  receivers: Receiver[];
}

/** What a call cost. */
interface Cost {
  answers: Answer[];
  requestId: string;
  attempts: number;
  place: "inline" | "stream";
}

export class Connection extends Channels {
  #info: ServerInfo | undefined;

  constructor(
    address: string | readonly string[] | undefined,
    readonly options: ConnectOptions,
    environment: NodeJS.ProcessEnv,
  ) {
    super(address, options, environment);
  }

  /** A deadline that begins now. */
  limit(of: Settings, bytes = 0): Limit {
    return new Limit(this.retrier.clock, deadline(of, bytes));
  }

  /** Information about the server. */
  async ask(options: RequestOptions | undefined): Promise<ServerInfo> {
    const of = this.settings(options);
    const decode = (data: Uint8Array): GetServerInfoResponse => GetServerInfoResponse.decode(data);
    return serverInfo(await this.call(CORANK, "GetServerInfo", new Uint8Array(), decode, of, this.limit(of)));
  }

  /** Information about the server. Asks once, and again after the server was unreachable. */
  async server(caller: { limit: Limit; settings: Settings }): Promise<ServerInfo> {
    if (this.#info === undefined) {
      const { signal, retries } = caller.settings;
      this.#info = await this.ask({ signal, retries, deadlineMs: Math.max(caller.limit.left() ?? 0, 1) || null });
    }
    return this.#info;
  }

  /** Bytes to put into a chunk. */
  async chunkBytes(caller: { limit: Limit; settings: Settings }): Promise<number> {
    return Math.min(CHUNK_BYTES, (await this.server(caller)).limits?.maxChunkBytes || CHUNK_BYTES);
  }

  /** Does one operator. */
  async performOne<R>(task: Task<R>, keep: (KeepAs | undefined)[], of: Settings): Promise<R> {
    let results: unknown[] | undefined;
    try {
      [results] = await this.perform([{ task, keep }], of, false);
    } catch (error) {
      const next = error instanceof CorankError ? task.again?.(error) : undefined;
      if (next === undefined) {
        throw error;
      }
      return this.performOne(next, keep, of);
    }
    return task.finish(results as unknown[]);
  }

  /**
   * Does operators one after the other in one call.
   * @param execute use Execute, whatever places there are
   * @returns the results of each, in the order of its outputs
   */
  async perform(steps: Step[], of: Settings, execute: boolean): Promise<unknown[][]> {
    const begin = this.retrier.clock.now();
    const inputs = steps.flatMap(({ task }) => leavesOf(task));
    const outputs = steps.flatMap(({ task, keep }) => task.outputs.filter((_, at) => keep[at] === undefined));
    const toSend = inputs.reduce((sum, leaf) => sum + (leaf.data?.length ?? 0), 0);
    const mostToReceive = outputs.reduce((sum, output) => sum + (mostBytes(output) ?? 0), 0);
    const toReceive = outputs.reduce((sum, { count, element }) => sum + (count ?? 0) * element.bytes, 0);
    const isKnown = outputs.every((output) => mostBytes(output) !== undefined);
    const limit = this.limit(of, Math.max(toSend, mostToReceive));
    const name = steps.length === 1 ? (steps[0] as Step).task.method : "Execute";
    const caller = this.caller(name, of, limit);
    const progress: Progress = { sent: 0, toSend, received: 0, toReceive, attempt: 1, waiting: false };
    try {
      const isSmall = Math.max(toSend, mostToReceive) <= SMALL_BYTES && isKnown && !execute && of.place === "auto";
      const streams = !isSmall && (await this.#streams(caller, toSend, mostToReceive, execute));
      const placing = new Placing(this, streams);
      const placed = placing.put(steps, of);
      const call = execute || placing.sources.length > 0 || placing.sinks.length > 0 ? this.#execute : this.#unary;
      const cost = await call.call(this, steps, placed, placing, caller, progress);
      const results = placed.map(({ receivers }, at) => receivers.map((take) => take(cost.answers[at] as Answer)));
      report(steps, cost, of, this.retrier.clock.now() - begin);
      of.onProgress?.(progress);
      return results;
    } catch (error) {
      if (error instanceof UnavailableError) {
        this.#info = undefined; // another server may answer from now on
      }
      throw error;
    }
  }

  /** Whether arrays travel in chunks. */
  async #streams(
    caller: Caller,
    toSend: number,
    toReceive: number,
    execute: boolean,
  ): Promise<boolean> {
    const { place } = caller.settings;
    if (place !== "auto") {
      return place === "stream";
    }
    if (execute) {
      return true;
    }
    const info = await this.server(caller);
    const most = (limit: number | undefined): number => Math.min(INLINE_BYTES, (limit || INLINE_BYTES) - MESSAGE_SLACK);
    const fits = toSend <= most(info.limits?.maxRequestBytes) && toReceive <= most(info.limits?.maxResponseBytes);
    return !fits && info.places.includes("stream");
  }

  async #unary(
    steps: Step[],
    placed: Placed[],
    placing: Placing,
    caller: Caller,
    progress: Progress,
  ): Promise<Cost> {
    const [{ task }] = steps as [Step];
    const request = join((placed[0] as Placed).request);
    const { result, attempts } = await this.retrier.run(
      caller.tries(placing.repeat, trying(progress, caller.settings)),
      (left) => this.unary(CORANK + task.method, request, caller, left),
    );
    progress.sent = progress.toSend;
    const answer = decoded(task.method, result.response, (data) => task.decode(data));
    for (const output of task.outputs) {
      progress.received += output.pick(answer)?.inlineData?.length ?? 0;
    }
    return { answers: [answer], requestId: result.requestId, attempts, place: "inline" };
  }

  async #execute(
    steps: Step[],
    placed: Placed[],
    placing: Placing,
    caller: Caller,
    progress: Progress,
  ): Promise<Cost> {
    const operations = placed.flatMap(({ request }, at) =>
      nested(OPERATIONS_IN_PLAN, nested((steps[at] as Step).task.operation, request)),
    );
    const bytes = Math.max(progress.toSend, progress.toReceive);
    const wanted = caller.settings.connections ?? (bytes > MANY_BYTES ? CONNECTIONS : 1);
    const most = (await this.server(caller)).limits?.maxParts ?? 1;
    const parts = placing.sources.length > 0 ? Math.min(wanted, Math.max(most, 1)) : 1;
    const chunkBytes = await this.chunkBytes(caller);
    const tell = (): void => caller.settings.onProgress?.(progress);
    const job = new Job(this, parts, operations, placing.sources, placing.sinks, chunkBytes, progress, tell);
    const { result, attempts } = await this.retrier.run(
      caller.tries(placing.repeat, trying(progress, caller.settings)),
      (left) => job.run(caller, left),
    );
    if (result.length !== steps.length) {
      throw new InternalError(
        `${caller.operator}: the server answered ${result.length} results for ${steps.length} operations`,
      );
    }
    const answers = steps.map(({ task }, at) => {
      const answer = task.pick(result[at] as (typeof result)[number]);
      if (answer === undefined) {
        throw new InternalError(`${task.method}: the server answered another operation's result`);
      }
      return answer;
    });
    const place = placing.sources.length + placing.sinks.length > 0 ? "stream" : "inline";
    return { answers, requestId: job.requestId, attempts, place };
  }
}

/** The most bytes of a result; undefined: not known. */
function mostBytes({ count, most, element }: Output): number | undefined {
  const elements = count ?? most;
  return elements === undefined ? undefined : elements * element.bytes;
}

function trying(progress: Progress, of: Settings): (attempt: number, waiting: boolean) => void {
  return (attempt, waiting) => {
    [progress.attempt, progress.waiting] = [attempt, waiting];
    if (attempt > 1) {
      of.onProgress?.(progress);
    }
  };
}

function report(steps: Step[], cost: Cost, of: Settings, elapsedMs: number): void {
  if (of.onStats === undefined) {
    return;
  }
  const { requestId, attempts, place } = cost;
  for (const [at, { task }] of steps.entries()) {
    const { stats, algorithm } = cost.answers[at] as Answer;
    of.onStats({
      method: task.method,
      requestId,
      engine: stats === undefined ? "" : engineName(stats.engine),
      algorithm: algorithmName(task.method, algorithm),
      elapsedMs,
      attempts,
      place,
      server: stats,
    });
  }
}

/** Gives every array of a call its place: in the message, in chunks, or on the server. */
class Placing {
  /** The arrays to send in chunks. */
  readonly sources: Source[] = [];
  /** The results that come back in chunks, by stream id. */
  readonly sinks: Sink[] = [];
  /** Which retries are safe: another caller could use a kept name between two tries. */
  repeat: Repeat = "always";

  constructor(
    private readonly connection: Connection,
    private readonly streams: boolean,
  ) {}

  put(steps: Step[], of: Settings): Placed[] {
    const streamed = this.streams ? leavesToStream(steps) : new Set<Leaf>();
    return steps.map((step) => {
      const { task } = step;
      const large = task.outputs.some(isLarge);
      const destinations = new Map<object, Pieces>();
      const receivers = task.outputs.map((output, at) => {
        const isStreamed = this.streams && (IN_PIECES.has(task.method) ? large : isLarge(output));
        const [destination, receiver] = this.#output(output, step.keep[at], isStreamed);
        if (destination !== undefined) {
          const holder = output.group ?? task;
          const pieces = nested(output.destination, [Destination.encode(destination).finish()]);
          destinations.set(holder, [...(destinations.get(holder) ?? []), ...pieces]);
        }
        return receiver;
      });
      const request: Pieces = [task.request];
      for (const part of task.parts) {
        if ("leaves" in part) {
          const inner = part.leaves.flatMap((leaf) => this.#input(leaf, streamed));
          request.push(...nested(part.number, [part.message, ...inner, ...(destinations.get(part) ?? [])]));
        } else {
          request.push(...this.#input(part, streamed));
        }
      }
      request.push(...(destinations.get(task) ?? []), ...requestOptions(task, of));
      return { request, receivers };
    });
  }

  #input(leaf: Leaf, streamed: Set<Leaf>): Pieces {
    const { element, count, data, remote } = leaf;
    if (remote === undefined && data !== undefined && !streamed.has(leaf)) {
      return inlineField(leaf.number, element, data.length / element.bytes, data);
    }
    const header = ArrayMessage.fromPartial({
      type: element.type,
      count,
      recordBytes: element.type === ElementType.ELEMENT_TYPE_RECORD ? element.bytes : 0,
    });
    if (remote !== undefined) {
      header.stored = { name: remote.name, temporary: remote.temporary, sharded: false };
    } else if (data !== undefined) {
      const streamId = this.sources.length;
      this.sources.push({ streamId, data, elementBytes: element.bytes });
      header.stream = { streamId };
    }
    return arrayField(leaf.number, header);
  }

  #output(output: Output, keep: KeepAs | undefined, isStreamed: boolean): [Destination | undefined, Receiver] {
    if (keep !== undefined) {
      if (!keep.temporary) {
        this.repeat = "unless-lost";
      }
      return [Destination.fromPartial({ stored: keep }), (answer) => this.#kept(output, keep, answer)];
    }
    if (!isStreamed) {
      return [undefined, (answer) => inline(output, answer)];
    }
    const streamId = this.sinks.length;
    const sink = new Sink(output.element, output.count);
    this.sinks.push(sink);
    const take = (answer: Answer): unknown => {
      const header = headerOf(output, answer);
      if (header.type !== output.element.type) {
        throw new InternalError(`the server answered ${output.field} of another type than ${output.element.name}`);
      }
      return output.element.make(sink.result(countOf(output, header.count ?? 0)));
    };
    return [Destination.fromPartial({ stream: { streamId } }), take];
  }

  #kept(output: Output, keep: KeepAs, answer: Answer): unknown {
    const header = headerOf(output, answer);
    const [element, count] = [elementFor(output, header), countOf(output, header.count ?? 0)];
    return new KeptArray(this.connection, keep.name, element, count, keep.sharded);
  }
}

function requestOptions(task: Task<unknown>, of: Settings): Pieces {
  const { priority, requestId } = of;
  if (priority === undefined && requestId === undefined) {
    return [];
  }
  const message = RequestOptionsMessage.fromPartial({
    ...(priority === undefined ? {} : { priority: choice("priority", priority, PRIORITIES) }),
    ...(requestId === undefined ? {} : { requestId }),
  });
  return nested(task.options, [RequestOptionsMessage.encode(message).finish()]);
}

/** Whether a result is too long for a message, or may be. */
function isLarge(output: Output): boolean {
  return (mostBytes(output) ?? Infinity) > SMALL_BYTES;
}

/** The inputs to send in chunks: the largest, where they would be more than a call may have. */
function leavesToStream(steps: Step[]): Set<Leaf> {
  const found: Leaf[] = [];
  for (const { task } of steps) {
    const own = leavesOf(task).filter((leaf) => leaf.data !== undefined);
    const isBig = (leaf: Leaf): boolean => (leaf.data as Uint8Array).length > SMALL_BYTES;
    const isPiece = (leaf: Leaf): boolean => IN_PIECES.has(task.method) && PIECES.has(leaf.field);
    const together = own.some((leaf) => isPiece(leaf) && isBig(leaf));
    found.push(...own.filter((leaf) => isBig(leaf) || (together && isPiece(leaf))));
  }
  found.sort((left, right) => (right.data as Uint8Array).length - (left.data as Uint8Array).length);
  return new Set(found.slice(0, MAX_STREAMS));
}

function headerOf(output: Output, answer: Answer): ArrayMessage {
  const header = output.pick(answer);
  if (header === undefined) {
    throw new InternalError(`the server's answer lacks ${output.field}`);
  }
  return header;
}

const OTHER_WIDTH: Record<string, string> = { uint32: "uint64", uint64: "uint32", int32: "int64", int64: "int32" };

/** The type of a result; the server chooses the width of positions. */
function elementFor(output: Output, header: ArrayMessage): Element {
  const found = elementOf(header.type, header.recordBytes);
  const fits = output.indices
    ? found.name === output.element.name || found.name === OTHER_WIDTH[output.element.name]
    : found.type === output.element.type && found.bytes === output.element.bytes;
  if (!fits) {
    throw new InternalError(`the server answered ${output.field} of type ${found.name}, not ${output.element.name}`);
  }
  return output.indices ? found : output.element;
}

function countOf(output: Output, count: number): number {
  if (count > (output.most ?? count)) {
    const text = `the server answered ${count} elements of ${output.field}; there can be ${output.most} at most`;
    throw new InternalError(text);
  }
  if (output.count !== undefined && count !== output.count) {
    throw new InternalError(`the server answered ${count} elements of ${output.count} of ${output.field}`);
  }
  return count;
}

/** A result in the response: a copy, because it is neither aligned nor alone there. */
function inline(output: Output, answer: Answer): unknown {
  const header = headerOf(output, answer);
  const element = elementFor(output, header);
  const data = header.inlineData ?? new Uint8Array();
  const count = data.length / element.bytes;
  if (!Number.isInteger(count) || (header.count !== undefined && header.count !== count)) {
    const text = `the server answered ${data.length} bytes for ${header.count} elements of ${element.bytes} bytes`;
    throw new InternalError(text);
  }
  countOf(output, count);
  const buffer = allocate(data.length);
  new Uint8Array(buffer).set(data);
  return element.make(buffer);
}

