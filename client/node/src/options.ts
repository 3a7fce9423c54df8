import { InvalidArgumentError } from "./errors.js";
import type { Progress, Stats } from "./results.js";

/** The algorithms of sorts; the result is the same. */
export type SortAlgorithmName = "auto" | "mergesort" | "radix" | "odd-even-mergesort";
/** The algorithms of merges; the result is the same. */
export type MergeAlgorithmName = "auto" | "basic" | "tiled" | "circular-buffer" | "merge-path";

/** Options of every call. */
export interface RequestOptions {
  /** Milliseconds for the whole call, retries included; null: no limit; "auto": 60 s, and 1 s more for every 16 MiB. */
  deadlineMs?: number | null | "auto" | undefined;
  /** How often to try again when the server is too busy or cannot be reached. */
  retries?: number | undefined;
  /** W3C traceparent of the span that makes the call; the server's log names the trace. */
  traceparent?: string | undefined;
  /** Cancels the call, which then rejects with CancelledError. */
  signal?: AbortSignal | undefined;
}

/** Options of calls that move arrays. */
export interface TransferOptions extends RequestOptions {
  /** Is called as bytes travel, at each chunk, and once at the end. What it throws ends the call. */
  onProgress?: ((progress: Readonly<Progress>) => void) | undefined;
}

/** How arrays travel: in one message, in chunks, or as it suits their size. */
export type Place = "auto" | "inline" | "stream";

/** Options of every operator, and of a chain. */
export interface CallOptions extends TransferOptions {
  /** How arrays travel. Default: the client's. */
  place?: Place | undefined;
  /** Connections for arrays in chunks. Default: the client's, or 4 above 128 MiB and 1 below. */
  connections?: number | undefined;
  /** The request's place among waiting requests. Default: "normal". */
  priority?: "low" | "normal" | "high" | undefined;
  /** A name for the request in logs and errors, at most 128 printable ASCII characters. */
  requestId?: string | undefined;
  /** Is called with what each operator cost, before the call resolves. */
  onStats?: ((stats: Stats) => void) | undefined;
}

/** TLS of a client. An empty object trusts the authorities that Node.js knows. */
export interface TlsOptions {
  /** A PEM file with the authorities to trust. Default: CORANK_SERVER_CA of the environment, else those of Node.js. */
  ca?: string | undefined;
  /** A PEM file with this client's certificate. Default: CORANK_CLIENT_CERTIFICATE of the environment. */
  certificate?: string | undefined;
  /** A PEM file with the key of that certificate. Default: CORANK_CLIENT_KEY of the environment. */
  key?: string | undefined;
  /** The name to expect in the server's certificate, if the address has another. */
  serverName?: string | undefined;
}

/** Options of `connect`. The first four are the defaults of calls. */
export interface ConnectOptions {
  /** As RequestOptions.deadlineMs. Default: "auto". */
  deadlineMs?: number | null | "auto" | undefined;
  /** As RequestOptions.retries. Default: 5. */
  retries?: number | undefined;
  /** As CallOptions.place. Default: "auto". */
  place?: Place | undefined;
  /** As CallOptions.connections. */
  connections?: number | undefined;
  /** W3C traceparent of calls that name none. */
  traceparent?: string | undefined;
  /** TLS; true is {}. */
  tls?: boolean | TlsOptions | undefined;
  /** The token that names the caller. Without TLS it goes to this host only. Default: CORANK_TOKEN. */
  token?: string | undefined;
  /** A file with the token, which the client reads again when the server refuses the token. */
  tokenFile?: string | undefined;
}

/** The options of one call, with the client's defaults. */
export interface Settings extends Omit<CallOptions, "deadlineMs" | "retries" | "place"> {
  deadlineMs: number | null | "auto";
  retries: number;
  place: Place;
}

const DEADLINE_MS = 60_000;
const DEADLINE_BYTES_PER_MS = (16 << 20) / 1000;
const MAX_DEADLINE_MS = 1e11; // three years; gRPC takes no deadlines of centuries
const PLACES = { auto: 0, inline: 0, stream: 0 };
const PRIORITIES = { low: 0, normal: 0, high: 0 };

/** `given`, if it is an integer from `least` on. */
export function whole(option: string, given: unknown, least: number): number {
  if (!Number.isSafeInteger(given)) {
    throw new TypeError(`${option}: must be an integer, is ${String(given)}`);
  }
  if ((given as number) < least) {
    throw new InvalidArgumentError(`${option}: ${String(given)} is less than ${least}`, { field: option });
  }
  return given as number;
}

/** The value of a choice. */
export function choice<V>(option: string, given: string, values: Record<string, V>): V {
  if (!Object.hasOwn(values, given)) {
    const names = Object.keys(values).map((name) => JSON.stringify(name));
    throw new InvalidArgumentError(`${option}: ${JSON.stringify(given)} is none of ${names.join(", ")}`, {
      field: option,
    });
  }
  return values[given] as V;
}

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Checks the options of a call or a client. */
export function checked<O extends CallOptions>(options: O): O {
  const { deadlineMs, retries, traceparent, connections, requestId, signal } = options;
  if (deadlineMs !== undefined && deadlineMs !== null && deadlineMs !== "auto") {
    if (typeof deadlineMs !== "number" || Number.isNaN(deadlineMs)) {
      throw new TypeError(`deadlineMs: must be a number, null or "auto", is ${String(deadlineMs)}`);
    }
    if (deadlineMs <= 0) {
      throw new InvalidArgumentError(`deadlineMs: ${deadlineMs} is not more than 0`, { field: "deadline" });
    }
  }
  if (retries !== undefined) whole("retries", retries, 0);
  if (connections !== undefined) whole("connections", connections, 1);
  if (traceparent !== undefined && !TRACEPARENT.test(traceparent)) {
    const text = "traceparent: must be a W3C traceparent, such as 00-<32 hex digits>-<16 hex digits>-01";
    throw new InvalidArgumentError(text, { field: "traceparent" });
  }
  if (requestId !== undefined && typeof requestId !== "string") {
    throw new TypeError("requestId: must be a string");
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError("signal: must be an AbortSignal");
  }
  if (options.place !== undefined) choice("place", options.place, PLACES);
  if (options.priority !== undefined) choice("priority", options.priority, PRIORITIES);
  return options;
}

/** The options of a call with the client's defaults. */
export function settings(given: CallOptions | undefined, client: ConnectOptions): Settings {
  const options = given ?? {};
  return {
    ...options,
    deadlineMs: options.deadlineMs === undefined ? (client.deadlineMs ?? "auto") : options.deadlineMs,
    retries: options.retries ?? client.retries ?? 5,
    place: options.place ?? client.place ?? "auto",
    connections: options.connections ?? client.connections,
    traceparent: options.traceparent ?? client.traceparent,
  };
}

/** Milliseconds that a call may take whose arrays have this many bytes; undefined: no limit. */
export function deadline(of: Settings, bytes: number): number | undefined {
  if (of.deadlineMs === null) {
    return undefined;
  }
  const ms = of.deadlineMs === "auto" ? DEADLINE_MS + bytes / DEADLINE_BYTES_PER_MS : of.deadlineMs;
  return Math.min(ms, MAX_DEADLINE_MS);
}

/** The trace that a traceparent names; empty for none. */
export function traceId(traceparent: string | undefined): string {
  return traceparent?.slice(3, 35) ?? "";
}
