// Puts requests together around the bytes of arrays, which are copied once, into the message.
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Element } from "./elements.js";
import { Array as ArrayMessage, ElementType } from "./pb/corank/v1/array.js";

const ARRAY = { type: 1, count: 2, recordBytes: 3, inlineData: 4 };
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

/** Appends field `number`, below 16: a varint. By hand, because a BinaryWriter costs more than a small call has. */
function varint(bytes: number[], number: number, wireType: WireType, value: number): void {
  bytes.push((number << 3) | wireType);
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) {
    bytes.push((rest % 0x80) | 0x80);
  }
  bytes.push(rest);
}

/** What comes before the bytes of field `number`, below 16. */
function prefix(number: number, length: number): Uint8Array {
  const bytes: number[] = [];
  varint(bytes, number, WireType.LengthDelimited, length);
  return Uint8Array.from(bytes);
}

/** Field `number` of a message: a message of these pieces. */
export function nested(number: number, inner: Pieces): Pieces {
  return [prefix(number, size(inner)), ...inner];
}

/** Field `number` of a message: an Array whose place is in its header. */
export function arrayField(number: number, header: ArrayMessage): Pieces {
  return nested(number, [ArrayMessage.encode(header).finish()]);
}

/** Field `number` of a message: an Array with its bytes. */
export function inlineField(number: number, { type, bytes }: Element, count: number, data: Uint8Array): Pieces {
  const head: number[] = [];
  varint(head, ARRAY.type, WireType.Varint, type);
  varint(head, ARRAY.count, WireType.Varint, count);
  if (type === ElementType.ELEMENT_TYPE_RECORD) {
    varint(head, ARRAY.recordBytes, WireType.Varint, bytes);
  }
  varint(head, ARRAY.inlineData, WireType.LengthDelimited, data.length);
  return nested(number, [Uint8Array.from(head), data]);
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
