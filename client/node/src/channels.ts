// Connections to a server, and one try of a call: bytes and methods, no arrays.
import {
  Client as GrpcClient,
  Metadata,
  status as Code,
  type CallOptions as GrpcCallOptions,
  type ChannelOptions,
  type ClientDuplexStream,
  type ClientReadableStream,
  type StatusObject,
} from "@grpc/grpc-js";
import { checkedAddresses, DEFAULT_ADDRESS, firstHost, isThisHost, takesTurns, targetOf } from "./address.js";
import { Credentials } from "./credentials.js";
import {
  CancelledError,
  ClosedError,
  DeadlineExceededError,
  fromStatus,
  InternalError,
  lateText,
  requestIdOf,
  type CorankError,
  type Peer,
} from "./errors.js";
import { checked, settings, traceId, type ConnectOptions, type Settings } from "./options.js";
import { aborted, Limit, Retrier, type Repeat, type Tries } from "./retry.js";

export const CORANK = "/corank.v1.CorankService/";
export const MEMORY = "/corank.v1.MemoryService/";

// Wide enough that a connection over a long way stays full; the server bounds what it sends by what the client reads.
const WINDOW_BYTES = 8 << 20;
const OPTIONS: ChannelOptions = {
  "grpc.max_send_message_length": -1,
  "grpc.max_receive_message_length": -1,
  // The client repeats calls itself, because it knows which are safe. gRPC's retries would multiply them.
  "grpc.enable_retries": 0,
  "grpc.service_config_disable_resolution": 1,
  // Otherwise channels of one address would share a connection, and its wait before the next attempt to connect.
  "grpc.use_local_subchannel_pool": 1,
  // gRPC waits a second first: all tries of a call would then meet the failure of the first connection.
  "grpc.initial_reconnect_backoff_ms": 50,
  "grpc.max_reconnect_backoff_ms": 5000,
  // While calls run: a network that drops every packet reports no error.
  "grpc.keepalive_time_ms": 20_000,
  "grpc.keepalive_timeout_ms": 10_000,
  "grpc-node.flow_control_window": WINDOW_BYTES,
};
const ROUND_ROBIN = JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] });

const same = (data: Buffer): Buffer => data;

/** A call as gRPC has it. */
export interface Cancellable {
  cancel(): void;
}

/** The state that all tries of one call share. */
export class Caller {
  #sent = "";

  constructor(
    private readonly channels: Channels,
    /** The method, for errors. */
    readonly operator: string,
    readonly settings: Settings,
    readonly limit: Limit,
  ) {}

  get signal(): AbortSignal | undefined {
    return this.settings.signal;
  }

  metadata(): Metadata {
    const metadata = new Metadata();
    this.#sent = this.channels.credentials.authorization;
    if (this.#sent) {
      metadata.set("authorization", this.#sent);
    }
    if (this.settings.traceparent !== undefined) {
      metadata.set("traceparent", this.settings.traceparent);
    }
    return metadata;
  }

  /** The options of a try; throws if there is no time left, or the caller cancelled. */
  options(leftMs: number | undefined): GrpcCallOptions {
    if (this.signal?.aborted) {
      throw aborted(this.operator, this.signal);
    }
    if (leftMs === undefined) {
      return {};
    }
    if (leftMs <= 0) {
      // If it were sent anyway, the server might do it after the caller was told otherwise.
      throw new DeadlineExceededError(lateText(this.operator, this.limit.ms));
    }
    return { deadline: Date.now() + leftMs };
  }

  /** The error for a status that a try ended with. */
  failed(status: StatusObject): CorankError {
    if (status.code === Code.CANCELLED && this.signal?.aborted) {
      return aborted(this.operator, this.signal);
    }
    if (this.channels.isClosed) {
      return new CancelledError(`${this.operator}: the client was closed during the call`);
    }
    const error = fromStatus(status, this.operator, this.channels.peer, this.limit.ms);
    error.traceId = traceId(this.settings.traceparent);
    if (error.failure === "not-sent") {
      this.channels.noteDown();
    }
    return error;
  }

  /** The tries of this call. */
  tries(repeat: Repeat, onTry?: Tries["onTry"]): Tries {
    const reload = async (error: CorankError): Promise<boolean> =>
      error.code === "UNAUTHENTICATED" && this.channels.credentials.reload(this.#sent);
    return { limit: this.limit, retries: this.settings.retries, repeat, signal: this.signal, reload, onTry };
  }
}

/** The channels of one client, made when they are first used. */
export class Channels {
  readonly retrier = new Retrier();
  readonly credentials: Credentials;
  readonly #addresses: readonly string[];
  readonly #clients = new Map<number, GrpcClient>();
  readonly #calls = new Set<Cancellable>();
  #target: string | undefined;
  #closed = false;
  #isDown = false;

  constructor(
    address: string | readonly string[] | undefined,
    private readonly defaults: ConnectOptions,
    environment: NodeJS.ProcessEnv,
  ) {
    checked({ ...defaults });
    this.#addresses = checkedAddresses(address ?? (environment["CORANK_SERVER"] || DEFAULT_ADDRESS));
    this.credentials = new Credentials(this.#addresses, defaults, environment);
  }

  /** The addresses, with commas between them. */
  get address(): string {
    return this.#addresses.join(",");
  }

  get peer(): Peer {
    return { address: this.address, tls: this.credentials.tls, ca: this.credentials.ca };
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** The options of a call with this client's defaults. */
  settings(options: Parameters<typeof settings>[0]): Settings {
    return settings(checked(options ?? {}), this.defaults);
  }

  caller(operator: string, of: Settings, limit: Limit): Caller {
    return new Caller(this, operator, of, limit);
  }

  /** Ends the connections and cancels the calls in flight. */
  close(): void {
    this.#closed = true;
    for (const call of this.#calls) {
      call.cancel();
    }
    this.#closeChannels();
  }

  #closeChannels(): void {
    for (const client of this.#clients.values()) {
      client.close();
    }
    this.#clients.clear();
  }

  /** A call found no connection. */
  noteDown(): void {
    this.#isDown = true;
  }

  /** Makes ready what `client` needs; several addresses are looked up once. */
  ready(): Promise<void> | undefined {
    if (this.#closed) {
      throw new ClosedError();
    }
    if (this.#target !== undefined || this.#addresses.length === 1) {
      return undefined;
    }
    return targetOf(this.#addresses).then((target) => {
      this.#target = target;
    });
  }

  #client(connection: number): GrpcClient {
    if (this.#closed) {
      throw new ClosedError();
    }
    if (this.#isDown && this.#calls.size === 0) {
      // A new channel connects at once, where the old one would wait and fail this try with the last one's error.
      this.#isDown = false;
      this.#closeChannels();
    }
    let client = this.#clients.get(connection);
    if (client === undefined) {
      const options: ChannelOptions = { ...OPTIONS };
      if (isThisHost(this.#addresses)) {
        options["grpc.enable_http_proxy"] = 0;
      }
      if (takesTurns(this.#addresses)) {
        options["grpc.service_config"] = ROUND_ROBIN;
      }
      const several = this.credentials.tls && this.#addresses.length > 1;
      const name = this.credentials.serverName ?? (several ? firstHost(this.#addresses) : undefined);
      if (name !== undefined) {
        options["grpc.ssl_target_name_override"] = name;
      }
      const target = this.#target ?? this.address;
      client = new GrpcClient(target, this.credentials.channel, options);
      this.#clients.set(connection, client);
    }
    return client;
  }

  /** Lets `signal` and `close` cancel a call until the returned function is called. */
  #watch(call: Cancellable, signal: AbortSignal | undefined): () => void {
    this.#calls.add(call);
    if (signal === undefined) {
      return () => this.#calls.delete(call);
    }
    const cancel = (): void => {
      call.cancel();
    };
    signal.addEventListener("abort", cancel, { once: true });
    return () => {
      this.#calls.delete(call);
      signal.removeEventListener("abort", cancel);
    };
  }

  /** Calls a unary method once. */
  async unary(
    path: string,
    request: Buffer,
    caller: Caller,
    leftMs: number | undefined,
  ): Promise<{ response: Buffer; requestId: string }> {
    const lookup = this.ready();
    if (lookup !== undefined) {
      await lookup;
    }
    const options = caller.options(leftMs);
    return new Promise((resolve, reject) => {
      let response: Buffer | undefined;
      const call = this.#client(0).makeUnaryRequest(
        path,
        same,
        same,
        request,
        caller.metadata(),
        options,
        (_error, value) => {
          response = value;
        },
      );
      const unwatch = this.#watch(call, caller.signal);
      // Unlike the callback, it comes with the metadata of a success.
      call.on("status", (status: StatusObject) => {
        unwatch();
        if (status.code !== Code.OK) {
          reject(caller.failed(status));
        } else if (response === undefined) {
          reject(new InternalError(`${caller.operator}: the server answered no message`));
        } else {
          resolve({ response, requestId: requestIdOf(status) });
        }
      });
    });
  }

  /** Opens a stream of responses to one request, or, without a request, of requests too. */
  stream(path: string, request: undefined, caller: Caller, leftMs: number | undefined, at?: number): BidiStream;
  stream(path: string, request: Buffer, caller: Caller, leftMs: number | undefined): ServerStream;
  stream(
    path: string,
    request: Buffer | undefined,
    caller: Caller,
    leftMs: number | undefined,
    connection = 0,
  ): BidiStream | ServerStream {
    const options = caller.options(leftMs);
    const client = this.#client(connection);
    const metadata = caller.metadata();
    const call =
      request === undefined
        ? client.makeBidiStreamRequest<Buffer, Buffer>(path, same, same, metadata, options)
        : client.makeServerStreamRequest<Buffer, Buffer>(path, same, same, request, metadata, options);
    const unwatch = this.#watch(call, caller.signal);
    call.on("status", unwatch);
    return call;
  }

  /** Calls a unary method with small messages, as often as it takes. */
  async call<Response>(
    service: string,
    method: string,
    request: Uint8Array,
    decode: (data: Uint8Array) => Response,
    of: Settings,
    limit: Limit,
    repeat: Repeat = "always",
  ): Promise<Response> {
    const caller = this.caller(method, of, limit);
    const bytes = Buffer.from(request);
    const { result } = await this.retrier.run(caller.tries(repeat), (left) =>
      this.unary(service + method, bytes, caller, left),
    );
    return decoded(method, result.response, decode);
  }
}

/** Streams of bytes. */
export type BidiStream = ClientDuplexStream<Buffer, Buffer>;
export type ServerStream = ClientReadableStream<Buffer>;

/** A message, if it is one. */
export function decoded<T>(operator: string, data: Uint8Array, decode: (data: Uint8Array) => T): T {
  try {
    return decode(data);
  } catch (error) {
    throw new InternalError(`${operator}: the answer is not corank's: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Takes the messages of a stream until it ends: the request id. A failure of `take` cancels the call.
 */
export function received(
  call: BidiStream | ServerStream,
  caller: Caller,
  take: (data: Buffer) => void,
): Promise<string> {
  return new Promise((resolve, reject) => {
    let status: StatusObject | undefined;
    let ended = false;
    let failure: Error | undefined;
    const settle = (): void => {
      if (status === undefined) {
        return;
      }
      if (failure !== undefined) {
        reject(failure);
      } else if (status.code !== Code.OK) {
        reject(caller.failed(status));
      } else if (ended) {
        resolve(requestIdOf(status));
      }
    };
    call.on("data", (data: Buffer) => {
      if (failure !== undefined) {
        return;
      }
      try {
        take(data);
      } catch (error) {
        failure = error as Error;
        call.cancel();
      }
    });
    call.on("end", () => {
      ended = true;
      settle();
    });
    call.on("status", (last: StatusObject) => {
      status = last;
      settle();
    });
    call.on("error", () => {
      // The status says it.
    });
  });
}
