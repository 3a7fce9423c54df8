import { status as Code, type StatusObject } from "@grpc/grpc-js";
import { BinaryReader } from "@bufbuild/protobuf/wire";

/**
 * What may follow on a failed try: "final", it would fail again; "not-sent", there was no connection; "refused", the
 * server says when to retry; "lost", the connection broke and the server may have done the call.
 */
export type Failure = "final" | "not-sent" | "refused" | "lost";

/** What an error can say beside its message. */
export interface ErrorFacts {
  /** The gRPC status by name. */
  code?: string;
  /** The value of ErrorReason in the contract, without its prefix. */
  reason?: string;
  /** The field of the request. */
  field?: string;
  /** The rows of a join that has too many. */
  rows?: number | undefined;
  /** Milliseconds to wait before a retry. */
  retryAfterMs?: number | undefined;
  /** The request's name in the server's log. */
  requestId?: string;
  /** The error, or the reason of an abort, that led to this one. */
  cause?: unknown;
}

/** A call that failed. It has changed nothing. Decide by `code` and `reason`, never by the text. */
export class CorankError extends Error {
  override name = "CorankError";
  /** The gRPC status by name, such as "INVALID_ARGUMENT", also of what the client refuses; "CLOSED" of ClosedError. */
  readonly code: string;
  /** Why, as `ErrorReason` of the contract names it, such as "KEYS_NOT_SORTED"; empty if the server gave no reason. */
  readonly reason: string;
  /** The field of the request, such as "keys" or "segment_offsets[2]"; empty if none is to blame. */
  readonly field: string;
  /** The number of rows of a join that has more than `maxRows` (reason "TOO_MANY_ROWS"); undefined for other errors. */
  readonly rows: number | undefined;
  /** Milliseconds to wait before a retry, if the server says so. */
  readonly retryAfterMs: number | undefined;
  /** The name of the request in the server's log; empty if the server did not answer. */
  readonly requestId: string;
  /** The W3C trace that the call belongs to; empty without `traceparent`. */
  traceId = "";
  /** How often the call was tried. */
  attempts = 1;
  #failure: Failure = "final";

  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = facts.code ?? "UNKNOWN";
    this.reason = facts.reason ?? "";
    this.field = facts.field ?? "";
    this.rows = facts.rows;
    this.retryAfterMs = facts.retryAfterMs;
    this.requestId = facts.requestId ?? "";
  }

  // Accessors, because what a program prints of an error should not show it.
  /** @internal */
  get failure(): Failure {
    return this.#failure;
  }

  /** @internal */
  set failure(failure: Failure) {
    this.#failure = failure;
  }

  /**
   * Adds to the message how the call ended.
   * @internal
   */
  tell(attempts: number, ms: number, reason: string, before: string): void {
    this.attempts = attempts;
    const told = [reason, before && `the try before: ${before}`].filter(Boolean).join("; ");
    if (attempts > 1) {
      this.message += ` (tried ${attempts} times in ${(ms / 1000).toPrecision(3)} s${told && `: ${told}`})`;
    } else if (reason) {
      this.message += ` (not tried again: ${reason})`;
    }
    const named = [this.requestId && `request ${this.requestId}`, this.traceId && `trace ${this.traceId}`];
    if (named.some(Boolean)) {
      this.message += ` [${named.filter(Boolean).join(", ")}]`;
    }
  }
}

/** Malformed, out of range, unsorted, overlapping, or larger than the server takes; `field` names the argument. */
export class InvalidArgumentError extends CorankError {
  override name = "InvalidArgumentError";
  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, { code: "INVALID_ARGUMENT", ...facts });
  }
}

/** The server's queue, a memory budget or the caller's quota is full, or this process lacks memory. */
export class ResourceExhaustedError extends CorankError {
  override name = "ResourceExhaustedError";
  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, { code: "RESOURCE_EXHAUSTED", ...facts });
  }
}

/** The server cannot be reached, went away during the call, drains, or lost its device. */
export class UnavailableError extends CorankError {
  override name = "UnavailableError";
  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, { code: "UNAVAILABLE", ...facts });
  }
}

/** The deadline passed before the answer was there. */
export class DeadlineExceededError extends CorankError {
  override name = "DeadlineExceededError";
  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, { code: "DEADLINE_EXCEEDED", ...facts });
  }
}

/** The call was cancelled; `cause` is the signal's reason if an AbortSignal did it. */
export class CancelledError extends CorankError {
  override name = "CancelledError";
  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, { code: "CANCELLED", ...facts });
  }
}

/** No region or kept array has this name. */
export class NotFoundError extends CorankError {
  override name = "NotFoundError";
  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, { code: "NOT_FOUND", ...facts });
  }
}

/** The credentials do not allow the call, or there are none (code "UNAUTHENTICATED"). */
export class PermissionDeniedError extends CorankError {
  override name = "PermissionDeniedError";
  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, { code: "PERMISSION_DENIED", ...facts });
  }
}

/** This place is switched off on this server, or it is no corank server. */
export class UnimplementedError extends CorankError {
  override name = "UnimplementedError";
  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, { code: "UNIMPLEMENTED", ...facts });
  }
}

/** A fault of the server, whose log has the request id; or an answer that is not corank's. */
export class InternalError extends CorankError {
  override name = "InternalError";
  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, { code: "INTERNAL", ...facts });
  }
}

/** The client was closed before the call; code "CLOSED". */
export class ClosedError extends CorankError {
  override name = "ClosedError";
  constructor() {
    super("the client is closed; connect() makes another", { code: "CLOSED" });
  }
}

/**
 * A server, as this client is set up to reach it.
 */
export interface Peer {
  address: string;
  tls: boolean;
  /** The file of the authorities that may have signed the server's certificate. */
  ca: string | undefined;
}

interface Details {
  field: string;
  reason: string;
  /** The reason of the part that ended a job. */
  cause: string;
  rows: number | undefined;
  retryAfterMs: number | undefined;
}

/** The fields of a message: calls `take` with the number of each, which reads it or skips it by returning false. */
function fields(data: Uint8Array, take: (number: number, reader: BinaryReader) => boolean): void {
  const reader = new BinaryReader(data);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (!take(number, reader)) {
      reader.skip(wireType, number);
    }
  }
}

/** The key and the value of an entry of a map. */
function entryOf(entry: Uint8Array): [string, string] {
  let key = "";
  let value = "";
  fields(entry, (number, reader) => {
    if (number === 1) key = reader.string();
    else if (number === 2) value = reader.string();
    else return false;
    return true;
  });
  return [key, value];
}

function detail(any: Uint8Array, found: Details): void {
  let type = "";
  let value = new Uint8Array();
  fields(any, (number, reader) => {
    if (number === 1) type = reader.string();
    else if (number === 2) value = reader.bytes() as Uint8Array<ArrayBuffer>;
    else return false;
    return true;
  });
  if (type.endsWith("/google.rpc.ErrorInfo")) {
    let reason = "";
    let domain = "";
    const metadata = new Map<string, string>();
    fields(value, (number, reader) => {
      if (number === 1) reason = reader.string();
      else if (number === 2) domain = reader.string();
      else if (number === 3) metadata.set(...entryOf(reader.bytes()));
      else return false;
      return true;
    });
    // A proxy on the way may have reasons of its own.
    if (domain === "corank") {
      const rows = reason === "TOO_MANY_ROWS" ? Number(metadata.get("rows")) : NaN;
      Object.assign(found, { reason, cause: metadata.get("cause") ?? "", rows: rows > 0 ? rows : undefined });
    }
  } else if (type.endsWith("/google.rpc.RetryInfo")) {
    let ms = 0;
    fields(value, (number, reader) => {
      if (number !== 1) return false;
      fields(reader.bytes(), (part, duration) => {
        if (part === 1) ms += Number(duration.int64()) * 1e3;
        else if (part === 2) ms += duration.int32() / 1e6;
        else return false;
        return true;
      });
      return true;
    });
    found.retryAfterMs = ms;
  } else if (type.endsWith("/google.rpc.BadRequest")) {
    fields(value, (number, reader) => {
      if (number !== 1 || found.field) return false;
      fields(reader.bytes(), (part, violation) => {
        if (part !== 1) return false;
        found.field = violation.string();
        return true;
      });
      return true;
    });
  }
}

/** What the details of a status say: google.rpc.Status in the trailer. */
function detailsOf(status: StatusObject): Details {
  const found: Details = { field: "", reason: "", cause: "", rows: undefined, retryAfterMs: undefined };
  const [raw] = status.metadata.get("grpc-status-details-bin");
  if (!Buffer.isBuffer(raw)) {
    return found;
  }
  try {
    fields(raw, (number, reader) => {
      if (number !== 3) return false;
      detail(reader.bytes(), found);
      return true;
    });
  } catch {
    // Details of a proxy, not of corankd: the status code and message stand without them.
  }
  return found;
}

// A part whose caller went away. Its job may be run again as a whole; any other cause would come again.
const LOST_PARTS = new Set(["CALLER_CANCELLED", "REQUEST_INCOMPLETE"]);
const NOT_SENT = /No connection established|Name resolution failed|Failed to parse DNS address/;
const TLS = /certificate|self.signed|altnames|EPROTO|SSL routines|wrong version number|ERR_TLS|unable to verify/i;

/** The fault of a connection that no retry can mend; empty if there is none. */
function tlsText(details: string, peer: Peer): string {
  if (!peer.tls || !TLS.test(details)) {
    return "";
  }
  if (/wrong version number|packet length too long/i.test(details)) {
    return `the server at ${peer.address} does not speak TLS on this port; use its TLS port, or no TLS`;
  }
  if (/altnames|ERR_TLS_CERT_ALTNAME/i.test(details)) {
    return (
      `the certificate of the server at ${peer.address} does not hold the name that was asked for; use an address ` +
      "that it holds, or say which name to expect (tls.serverName)"
    );
  }
  if (/alert/i.test(details)) {
    const hint = "give one it trusts (tls.certificate, tls.key)";
    return `the server at ${peer.address} refused this client's certificate; ${hint}`;
  }
  const where = peer.ca === undefined ? "known to Node.js" : `in ${peer.ca}`;
  return (
    `the certificate of the server at ${peer.address} is not trusted: it is not signed by an authority ${where}, or ` +
    "has expired; give the certificate of the authority that signed it (tls.ca), or have it renewed"
  );
}

function unavailable(operator: string, details: string, facts: ErrorFacts, peer: Peer): UnavailableError {
  let failure: Failure;
  let text = details;
  if (facts.retryAfterMs !== undefined) {
    failure = "refused";
  } else if (tlsText(details, peer)) {
    failure = "final";
    text = tlsText(details, peer);
  } else {
    failure = NOT_SENT.test(details) ? "not-sent" : "lost";
    const why = details.replace(/ *Resolution note: *$/, "").replace(/^.*Last error: /, "");
    if (!facts.requestId) {
      text =
        failure === "lost"
          ? `the connection to ${peer.address} broke before the answer came (${why})`
          : `no answer from a corank server at ${peer.address} (${why}); is corankd running there? Set CORANK_SERVER ` +
            "or give connect() another address";
    }
  }
  const error = new UnavailableError(`${operator}: ${text}`, facts);
  error.failure = failure;
  return error;
}

const CLASSES = new Map<Code, new (message: string, facts: ErrorFacts) => CorankError>([
  [Code.INVALID_ARGUMENT, InvalidArgumentError],
  [Code.OUT_OF_RANGE, InvalidArgumentError],
  [Code.CANCELLED, CancelledError],
  [Code.NOT_FOUND, NotFoundError],
  [Code.PERMISSION_DENIED, PermissionDeniedError],
  [Code.UNAUTHENTICATED, PermissionDeniedError],
  [Code.UNIMPLEMENTED, UnimplementedError],
  [Code.INTERNAL, InternalError],
  [Code.DATA_LOSS, InternalError],
]);

/**
 * The request id of a status; empty if it has none.
 */
export function requestIdOf(status: StatusObject): string {
  return String(status.metadata.get("x-request-id")[0] ?? "");
}

/**
 * The message of a call that missed its deadline.
 */
export function lateText(operator: string, deadlineMs: number | undefined): string {
  return `${operator}: not done within its deadline${deadlineMs === undefined ? "" : ` of ${deadlineMs} ms`}`;
}

/**
 * The error for a status that a try ended with.
 */
export function fromStatus(
  status: StatusObject,
  operator: string,
  peer: Peer,
  deadlineMs: number | undefined,
): CorankError {
  const { cause, ...told } = detailsOf(status);
  const { field, reason, retryAfterMs } = told;
  const facts: ErrorFacts = { ...told, requestId: requestIdOf(status) };
  const name = (Code as Record<number, string | undefined>)[status.code] ?? "UNKNOWN";
  const details = status.details || name;
  switch (status.code) {
    case Code.UNAVAILABLE:
      return unavailable(operator, details, facts, peer);
    case Code.RESOURCE_EXHAUSTED: {
      const full = new ResourceExhaustedError(`${operator}: ${details}`, facts);
      // Without a delay the message is too large, or the caller's own quota is full.
      full.failure = retryAfterMs === undefined ? "final" : "refused";
      return full;
    }
    case Code.DEADLINE_EXCEEDED: {
      // Only the server knows why it did not begin, or that the caller stood still.
      const explains = reason !== "" && reason !== "DEADLINE_PASSED";
      return new DeadlineExceededError(explains ? `${operator}: ${details}` : lateText(operator, deadlineMs), facts);
    }
    default: {
      let text = field && !details.includes(field) ? `${field}: ${details}` : details;
      if (status.code === Code.UNAUTHENTICATED) {
        text += "; give a token that the server knows (token, tokenFile)";
      } else if (status.code === Code.PERMISSION_DENIED) {
        text += "; the operator of the server can allow it";
      }
      const Class = CLASSES.get(status.code) ?? CorankError;
      const made = new Class(`${operator}: ${text}`, { ...facts, code: name });
      if (status.code === Code.ABORTED && (reason === "JOB_INCOMPLETE" || LOST_PARTS.has(cause))) {
        made.failure = "refused";
      }
      return made;
    }
  }
}
