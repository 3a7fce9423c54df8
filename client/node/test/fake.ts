// A server whose methods a test writes. Requests and responses are bytes.
import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type StatusObject,
} from "@grpc/grpc-js";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { connect, type Client, type ConnectOptions } from "../src/index.js";
import { ElementType } from "../src/pb/corank/v1/array.js";
import { GetServerInfoResponse, ServerLimits } from "../src/pb/corank/v1/corank_service.js";
import { SortRequest, SortResponse } from "../src/pb/corank/v1/operators.js";

const same = (data: Buffer): Buffer => data;

/** A unary method: the response, or a status to fail with. */
export type Unary = (request: Buffer, metadata: Metadata) => Uint8Array | Partial<StatusObject> | Promise<never>;
/** Execute and StoreArray. */
export type Streaming = (call: ServerDuplexStream<Buffer, Buffer>) => void;

/** A server on a port of this host. */
export interface Fake {
  address: string;
  /** How often each method was called. */
  calls: Record<string, number>;
  client(options?: ConnectOptions): Client;
  close(): void;
}

const INFO = GetServerInfoResponse.encode(
  GetServerInfoResponse.fromPartial({
    version: "0.1.0",
    places: ["inline", "stream"],
    limits: ServerLimits.fromPartial({ maxChunkBytes: 4 << 20, maxParts: 8, maxRequestBytes: 256 << 20 }),
  }),
).finish();

/** Starts a server with these methods; GetServerInfo answers as a server would. */
export async function fake(unary: Record<string, Unary>, execute?: Streaming, store?: Streaming): Promise<Fake> {
  const server = new Server({ "grpc.max_receive_message_length": -1 });
  const calls: Record<string, number> = {};
  const methods: Record<string, Unary> = { GetServerInfo: () => INFO, ...unary };
  const definition = (name: string, streams: boolean, service = "CorankService"): object => ({
    path: `/corank.v1.${service}/${name}`,
    requestStream: streams,
    responseStream: streams,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  });
  const definitions: Record<string, object> = {};
  const handlers: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(methods)) {
    definitions[name] = definition(name, false);
    handlers[name] = (
      call: ServerUnaryCall<Buffer, Buffer>,
      done: (error: Partial<StatusObject> | null, value?: Buffer, trailer?: Metadata) => void,
    ): void => {
      calls[name] = (calls[name] ?? 0) + 1;
      const answer = method(call.request, call.metadata);
      if (answer instanceof Promise) {
        return;
      }
      const trailer = new Metadata();
      trailer.set("x-request-id", "id-of-the-server");
      if (answer instanceof Uint8Array) {
        done(null, Buffer.from(answer), trailer);
      } else {
        done(answer);
      }
    };
  }
  if (execute !== undefined) {
    definitions["Execute"] = definition("Execute", true);
    handlers["Execute"] = (call: ServerDuplexStream<Buffer, Buffer>) => {
      calls["Execute"] = (calls["Execute"] ?? 0) + 1;
      execute(call);
    };
  }
  if (store !== undefined) {
    definitions["StoreArray"] = definition("StoreArray", true, "MemoryService");
    handlers["StoreArray"] = store;
  }
  server.addService(definitions as never, handlers as never);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  const address = `127.0.0.1:${port}`;
  const clients: Client[] = [];
  return {
    address,
    calls,
    client(options = {}) {
      const made = connect(address, options);
      clients.push(made);
      return made;
    },
    close() {
      for (const client of clients) client.close();
      server.forceShutdown();
    },
  };
}

/** Sort of int32 keys, done here. */
export const sorting: Unary = (request) => {
  const { keys } = SortRequest.decode(request);
  const data = keys?.inlineData ?? new Uint8Array();
  const numbers = new Int32Array(Uint8Array.from(data).buffer).sort();
  const inlineData = new Uint8Array(numbers.buffer);
  const array = { type: ElementType.ELEMENT_TYPE_INT32, count: numbers.length, inlineData };
  return SortResponse.encode(SortResponse.fromPartial({ keys: array })).finish();
};

function any(type: string, value: Uint8Array): Uint8Array {
  const inner = new BinaryWriter().tag(1, WireType.LengthDelimited).string(`type.googleapis.com/google.rpc.${type}`);
  return inner.tag(2, WireType.LengthDelimited).bytes(value).finish();
}

const text = (number: number, value: string): Uint8Array =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).string(value).finish();
const inside = (number: number, value: Uint8Array): Uint8Array =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(value).finish();

/** A status with details as corankd sends them. */
export function refusal(
  code: status,
  facts: { field?: string; retryAfterMs?: number; reason?: string; domain?: string; rows?: string } = {},
): Partial<StatusObject> {
  const details: Uint8Array[] = [];
  if (facts.field !== undefined) {
    details.push(inside(3, any("BadRequest", inside(1, text(1, facts.field)))));
  }
  if (facts.reason !== undefined) {
    const domain = facts.domain ?? "corank";
    const entry = Buffer.concat([text(1, "rows"), text(2, facts.rows ?? "")]);
    const metadata = facts.rows === undefined ? [] : [inside(3, entry)];
    const info = Buffer.concat([text(1, facts.reason), text(2, domain), ...metadata]);
    details.push(inside(3, any("ErrorInfo", info)));
  }
  if (facts.retryAfterMs !== undefined) {
    const [seconds, nanos] = [Math.floor(facts.retryAfterMs / 1000), (facts.retryAfterMs % 1000) * 1e6];
    const duration = new BinaryWriter().tag(1, WireType.Varint).int64(seconds).tag(2, WireType.Varint).int32(nanos);
    details.push(inside(3, any("RetryInfo", inside(1, duration.finish()))));
  }
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", Buffer.concat(details));
  metadata.set("x-request-id", "id-of-the-server");
  return { code, details: "refused", metadata };
}
