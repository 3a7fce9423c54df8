import type { GetServerInfoResponse } from "./pb/corank/v1/corank_service.js";
import { Engine, MergeAlgorithm, SortAlgorithm, type RequestStats } from "./pb/corank/v1/operators.js";

/** What one operator cost. Times are in nanoseconds, as the server measured them, except `elapsedMs`. */
export interface Stats {
  /** The method of the service, such as "Sort". */
  method: string;
  /** The name of the request in the server's log. */
  requestId: string;
  /** "cuda" or "cpu". */
  engine: string;
  /** The algorithm that Sort or Merge used, such as "merge-path"; empty for other methods. */
  algorithm: string;
  /** Milliseconds from the call to its result, as the client saw it. */
  elapsedMs: number;
  /** How often the call was tried. */
  attempts: number;
  /** How arrays travelled: "inline" or "stream". */
  place: "inline" | "stream";
  /** What the server measured; undefined if it said nothing. */
  server: RequestStats | undefined;
}

/** A call on its way. */
export interface Progress {
  /** Bytes of arrays that went to the server so far; each try counts from nothing. */
  sent: number;
  /** Bytes of arrays to send. */
  toSend: number;
  /** Bytes of arrays that came back so far. */
  received: number;
  /** Bytes of arrays to come back; 0 if their length is not known. */
  toReceive: number;
  /** The try that is under way, or that comes next. */
  attempt: number;
  /** Whether the call waits for the time of that try. */
  waiting: boolean;
}

/** A description of the server. */
export interface ServerInfo extends Omit<GetServerInfoResponse, "engine" | "uptime"> {
  /** "cuda" or "cpu". */
  engine: string;
  /** Seconds since the server started. */
  uptimeSeconds: number;
}

/** Whether a service takes requests. */
export type Health = "serving" | "not_serving" | "unknown";

/** The name of an enum's value without its prefix, in lower case, with "-". */
export function plainName(names: Record<number, string>, prefix: string, value: number): string {
  return (names[value] ?? "").slice(prefix.length).toLowerCase().replaceAll("_", "-");
}

export function engineName(engine: Engine): string {
  return plainName(Engine, "ENGINE_", engine);
}

export function algorithmName(method: string, algorithm: number | undefined): string {
  if (algorithm === undefined) {
    return "";
  }
  return method === "Sort"
    ? plainName(SortAlgorithm, "SORT_ALGORITHM_", algorithm)
    : plainName(MergeAlgorithm, "MERGE_ALGORITHM_", algorithm);
}

export function serverInfo(response: GetServerInfoResponse): ServerInfo {
  const { uptime, engine, ...rest } = response;
  const uptimeSeconds = (uptime?.seconds ?? 0) + (uptime?.nanos ?? 0) * 1e-9;
  return { ...rest, engine: engineName(engine), uptimeSeconds };
}
