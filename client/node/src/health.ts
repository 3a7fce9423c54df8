// grpc.health.v1, whose two messages have one field each.
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Connection } from "./connection.js";
import { NotFoundError } from "./errors.js";
import type { RequestOptions } from "./options.js";
import type { Health } from "./results.js";

const STATUS: Record<number, Health> = { 1: "serving", 2: "not_serving" };

/** Whether a service takes requests; "unknown": the server has none of this name. */
export async function checkHealth(
  connection: Connection,
  service: string,
  options: RequestOptions | undefined,
): Promise<Health> {
  const of = connection.settings(options);
  const request = new BinaryWriter().tag(1, WireType.LengthDelimited).string(service).finish();
  const decode = (data: Uint8Array): Health => {
    const reader = new BinaryReader(data);
    let status = 0;
    while (reader.pos < reader.len) {
      const [number, wireType] = reader.tag();
      if (number === 1) {
        status = reader.int32();
      } else {
        reader.skip(wireType, number);
      }
    }
    return STATUS[status] ?? "unknown";
  };
  try {
    return await connection.call("/grpc.health.v1.Health/", "Check", request, decode, of, connection.limit(of));
  } catch (error) {
    if (error instanceof NotFoundError) {
      return "unknown";
    }
    throw error;
  }
}
