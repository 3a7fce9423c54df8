// Puts requests together around the bytes of arrays, which are copied once, into the message.
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Array as ArrayMessage } from "./pb/corank/v1/array.js";

const INLINE_DATA = 4; // of Array
const CHUNK_IN_REQUEST = 2; // of ExecuteRequest and StoreArrayRequest
const CHUNK = { streamId: 1, firstElement: 2, data: 3 };

/** Pieces of a message, in order. */
export type Pieces = Uint8Array[];

/** The number of bytes of pieces. */
export function size(pieces: Pieces): number {
  let bytes = 0;
  for (const piece of pieces) {
    bytes += piece.length;
  }
  return bytes;
}

function prefix(number: number, length: number): Uint8Array {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).uint32(length).finish();
}

/** Field `number` of a message: a message of these pieces. */
export function nested(number: number, inner: Pieces): Pieces {
  return [prefix(number, size(inner)), ...inner];
}

/** Field `number` of a message: an Array, whose inline bytes are `data` if that is given. */
export function arrayField(number: number, header: ArrayMessage, data: Uint8Array | undefined): Pieces {
  const head = ArrayMessage.encode(header).finish();
  return nested(number, data === undefined ? [head] : [head, prefix(INLINE_DATA, data.length), data]);
}

/** One buffer of all pieces. */
export function join(pieces: Pieces): Buffer {
  return Buffer.concat(pieces);
}

/** An ExecuteRequest or StoreArrayRequest with a piece of an array. */
export function chunkRequest(streamId: number, firstElement: number, data: Uint8Array): Buffer {
  const head = new BinaryWriter();
  if (streamId > 0) {
    head.tag(CHUNK.streamId, WireType.Varint).uint32(streamId);
  }
  if (firstElement > 0) {
    head.tag(CHUNK.firstElement, WireType.Varint).int64(firstElement);
  }
  head.tag(CHUNK.data, WireType.LengthDelimited).uint32(data.length);
  return join(nested(CHUNK_IN_REQUEST, [head.finish(), data]));
}
