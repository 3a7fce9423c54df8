import { InternalError, InvalidArgumentError } from "./errors.js";
import { ElementType } from "./pb/corank/v1/array.js";

/** The typed arrays whose elements are numbers of corank. A Buffer counts as a Uint8Array. */
export type NumberArray =
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/** Positions and ranks: Uint32Array where all fit into 32 bits, otherwise BigUint64Array. */
export type Indices = Uint32Array | BigUint64Array;

/** Row numbers, and -1: Int32Array where all fit into 32 bits, otherwise BigInt64Array. */
export type Rows = Int32Array | BigInt64Array;

/** The types of which JavaScript has no typed array; their bits travel in a Uint16Array. */
export type HalfType = "float16" | "bfloat16";

/** The names of the types of elements. */
export type ElementName =
  | "int8"
  | "int16"
  | "int32"
  | "int64"
  | "uint8"
  | "uint16"
  | "uint32"
  | "uint64"
  | "float16"
  | "bfloat16"
  | "float32"
  | "float64"
  | "record";

const HALF_TYPES: readonly string[] = ["float16", "bfloat16"];
const MAX_RECORD_BYTES = 256;

/** Opaque records of 1 to 256 bytes each, one after the other: values, moved elements, and columns of byte strings. */
export class Records {
  /**
   * @param bytes all records, without padding; not copied
   * @param recordBytes the length of one
   */
  constructor(
    readonly bytes: Uint8Array,
    readonly recordBytes: number,
  ) {
    if (!Number.isInteger(recordBytes) || recordBytes < 1 || recordBytes > MAX_RECORD_BYTES) {
      throw new RangeError(`recordBytes: must be an integer from 1 to ${MAX_RECORD_BYTES}, is ${recordBytes}`);
    }
    if (!(bytes instanceof Uint8Array)) {
      throw new TypeError("bytes: must be a Uint8Array");
    }
    if (bytes.length % recordBytes !== 0) {
      throw new RangeError(`bytes: ${bytes.length} bytes are no whole number of records of ${recordBytes} bytes`);
    }
  }

  /** The number of records. */
  get length(): number {
    return this.bytes.length / this.recordBytes;
  }

  /** A view of record `index`; undefined outside 0 to length - 1. */
  at(index: number): Uint8Array | undefined {
    if (!Number.isInteger(index) || index < 0 || index >= this.length) {
      return undefined;
    }
    return this.bytes.subarray(index * this.recordBytes, (index + 1) * this.recordBytes);
  }
}

/** A type of elements, and how their bytes become what the caller gets. */
export interface Element {
  readonly type: ElementType;
  readonly name: ElementName;
  /** Bytes of one element. */
  readonly bytes: number;
  /** The elements as the caller gets them, of an aligned buffer of their own. */
  make(buffer: ArrayBuffer): NumberArray | Records;
}

const number = (type: ElementType, name: ElementName, bytes: number, make: Element["make"]): Element => ({
  type,
  name,
  bytes,
  make,
});

const NUMBERS: readonly Element[] = [
  number(ElementType.ELEMENT_TYPE_INT8, "int8", 1, (buffer) => new Int8Array(buffer)),
  number(ElementType.ELEMENT_TYPE_INT16, "int16", 2, (buffer) => new Int16Array(buffer)),
  number(ElementType.ELEMENT_TYPE_INT32, "int32", 4, (buffer) => new Int32Array(buffer)),
  number(ElementType.ELEMENT_TYPE_INT64, "int64", 8, (buffer) => new BigInt64Array(buffer)),
  number(ElementType.ELEMENT_TYPE_UINT8, "uint8", 1, (buffer) => new Uint8Array(buffer)),
  number(ElementType.ELEMENT_TYPE_UINT16, "uint16", 2, (buffer) => new Uint16Array(buffer)),
  number(ElementType.ELEMENT_TYPE_UINT32, "uint32", 4, (buffer) => new Uint32Array(buffer)),
  number(ElementType.ELEMENT_TYPE_UINT64, "uint64", 8, (buffer) => new BigUint64Array(buffer)),
  number(ElementType.ELEMENT_TYPE_FLOAT16, "float16", 2, (buffer) => new Uint16Array(buffer)),
  number(ElementType.ELEMENT_TYPE_BFLOAT16, "bfloat16", 2, (buffer) => new Uint16Array(buffer)),
  number(ElementType.ELEMENT_TYPE_FLOAT32, "float32", 4, (buffer) => new Float32Array(buffer)),
  number(ElementType.ELEMENT_TYPE_FLOAT64, "float64", 8, (buffer) => new Float64Array(buffer)),
];
const BY_NAME = new Map(NUMBERS.map((each) => [each.name, each]));
const BY_TYPE = new Map(NUMBERS.map((each) => [each.type, each]));
// By tag and not by class: arrays of another realm (a worker's, a vm context's) have other classes.
const BY_TAG = new Map<string | undefined, Element>([
  ["Int8Array", named("int8")],
  ["Int16Array", named("int16")],
  ["Int32Array", named("int32")],
  ["BigInt64Array", named("int64")],
  ["Uint8Array", named("uint8")],
  ["Uint16Array", named("uint16")],
  ["Uint32Array", named("uint32")],
  ["BigUint64Array", named("uint64")],
  ["Float32Array", named("float32")],
  ["Float64Array", named("float64")],
]);
const BUFFER: Element = { ...named("uint8"), make: (buffer) => Buffer.from(buffer) };

/** The number type of this name. */
export function named(name: ElementName): Element {
  return BY_NAME.get(name) as Element;
}

/** The type of records of this length. */
export function records(recordBytes: number): Element {
  const make = (buffer: ArrayBuffer): Records => new Records(new Uint8Array(buffer), recordBytes);
  return { type: ElementType.ELEMENT_TYPE_RECORD, name: "record", bytes: recordBytes, make };
}

/** The type that a message names. */
export function elementOf(type: ElementType, recordBytes: number): Element {
  const found = BY_TYPE.get(type);
  if (found !== undefined) {
    return found;
  }
  if (type !== ElementType.ELEMENT_TYPE_RECORD || recordBytes < 1 || recordBytes > MAX_RECORD_BYTES) {
    throw new InternalError(`the server answered elements of type ${type} and ${recordBytes} bytes`);
  }
  return records(recordBytes);
}

/** The type of index results, if none exceeds `greatest`. */
export function indexElement(greatest: number): Element {
  return named(greatest < 2 ** 32 ? "uint32" : "uint64");
}

/** An array whose bytes are on the server: kept there, or the result of an earlier operator of a chain. */
export interface Remote {
  readonly name: string;
  readonly temporary: boolean;
  readonly element: Element;
  /** undefined: the length of this result of a chain is not known before the answer. */
  readonly length: number | undefined;
}

/** The bytes of an input, or where they are. */
export interface Input {
  element: Element;
  /** undefined: not known before the answer. */
  count: number | undefined;
  data: Uint8Array | undefined;
  remote: Remote | undefined;
}

/** Marks the classes that stand for arrays on the server; their objects have the method. */
export const REMOTE = Symbol("corank.remote");

function remoteOf(given: unknown): Remote | undefined {
  if (typeof given !== "object" || given === null || !(REMOTE in given)) {
    return undefined;
  }
  return (given as { [REMOTE](): Remote })[REMOTE]();
}

function what(given: unknown): string {
  if (Array.isArray(given)) {
    return "an Array; pass a typed array, such as Float64Array.from(numbers)";
  }
  if (given === null || typeof given !== "object") {
    return given === undefined || given === null ? String(given) : `a ${typeof given}`;
  }
  const tag = (given as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] ?? given.constructor.name;
  return tag === "Uint8ClampedArray" ? "a Uint8ClampedArray; pass new Uint8Array(array.buffer)" : `a ${tag}`;
}

/** An array that is only moved: numbers or records. */
export function values(field: string, given: unknown): Input {
  const remote = remoteOf(given);
  if (remote !== undefined) {
    return { element: remote.element, count: remote.length, data: undefined, remote };
  }
  if (given instanceof Records) {
    return { element: records(given.recordBytes), count: given.length, data: given.bytes, remote: undefined };
  }
  const tag = ArrayBuffer.isView(given) ? (given as Partial<NumberArray>)[Symbol.toStringTag] : undefined;
  const element = Buffer.isBuffer(given) ? BUFFER : BY_TAG.get(tag);
  if (element === undefined) {
    throw new TypeError(`${field}: must be a typed array of numbers or Records, is ${what(given)}`);
  }
  const array = given as NumberArray;
  const data = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  return { element, count: array.length, data, remote: undefined };
}

/** Keys, whose bits are read as `type` if that is given. */
export function keys(field: string, given: unknown, type?: HalfType): Input {
  const found = values(field, given);
  if (type !== undefined) {
    if (!HALF_TYPES.includes(type)) {
      throw new TypeError(`type: must be "float16" or "bfloat16", is ${JSON.stringify(type)}`);
    }
    if (found.element.bytes !== 2) {
      throw new TypeError(`${field}: ${found.element.name} cannot be read as ${type}; pass a Uint16Array`);
    }
    return { ...found, element: named(type) };
  }
  if (found.element.name === "record") {
    throw new TypeError(`${field}: records have no order; sort numbers, or give records as a column`);
  }
  return found;
}

/** Counts or offsets: a BigInt64Array travels as it is, other integers are converted. */
export type Integers =
  | BigInt64Array
  | BigUint64Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array
  | Uint8Array
  | readonly (number | bigint)[];

function integer(field: string, given: unknown): bigint {
  if (typeof given === "bigint") {
    if (BigInt.asIntN(64, given) !== given) {
      throw new InvalidArgumentError(`${field}: ${given} does not fit into 64 bits with sign`, { field });
    }
    return given;
  }
  if (!Number.isSafeInteger(given)) {
    const hint = Number.isInteger(given) ? "; write integers beyond 2^53 as bigint" : "";
    throw new TypeError(`${field}: must be an integer, is ${String(given)}${hint}`);
  }
  return BigInt(given as number);
}

/** Counts or offsets as int64; one number stands for `count` of them, unless that is undefined. */
export function integers(field: string, given: unknown, count?: number): Input {
  const remote = remoteOf(given);
  if (remote !== undefined) {
    if (remote.element.name !== "int64") {
      const hint = remote.element.name.startsWith("uint") ? "; fetch positions and pass them" : "";
      throw new TypeError(`${field}: must be int64 on the server, is ${remote.element.name}${hint}`);
    }
    return { element: remote.element, count: remote.length, data: undefined, remote };
  }
  let array: BigInt64Array;
  if (count !== undefined && (typeof given === "number" || typeof given === "bigint")) {
    array = new BigInt64Array(count).fill(integer(field, given));
  } else if (given instanceof BigInt64Array) {
    array = given;
  } else {
    const tag = ArrayBuffer.isView(given) ? (given as Partial<NumberArray>)[Symbol.toStringTag] : undefined;
    if (!Array.isArray(given) && (BY_TAG.get(tag) ?? named("float64")).name.startsWith("float")) {
      throw new TypeError(`${field}: must be integers, such as a BigInt64Array, is ${what(given)}`);
    }
    const numbers = given as ArrayLike<number | bigint>;
    array = new BigInt64Array(numbers.length);
    for (let at = 0; at < array.length; ++at) {
      array[at] = integer(`${field}[${at}]`, numbers[at]);
    }
  }
  const data = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  return { element: named("int64"), count: array.length, data, remote: undefined };
}

/** The int64 elements of an input that is in this process. */
function int64s(data: Uint8Array): BigInt64Array {
  return new BigInt64Array(data.buffer, data.byteOffset, data.length / 8);
}

/** The sum of counts; undefined if they are on the server, or one is negative: the server refuses it by its index. */
export function total(counts: Input): number | undefined {
  if (counts.data === undefined) {
    return undefined;
  }
  // Two halves of 32 bits: bigints would cost more than the call.
  const halves = new Uint32Array(counts.data.buffer, counts.data.byteOffset, counts.data.length / 4);
  let sum = 0n;
  for (let begin = 0; begin < halves.length; begin += 1 << 21) {
    let [low, high] = [0, 0];
    const end = Math.min(begin + (1 << 21), halves.length);
    for (let at = begin; at < end; at += 2) {
      low += halves[at] as number;
      high += halves[at + 1] as number;
      if ((halves[at + 1] as number) >= 2 ** 31) {
        return undefined;
      }
    }
    sum += BigInt(low) + (BigInt(high) << 32n);
  }
  if (sum > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new InvalidArgumentError(`counts: they add up to ${sum}, more than an array can hold`, { field: "counts" });
  }
  return Number(sum);
}

/** Refuses a count that no source offset can serve, before memory is made for the result. */
export function checkReach(source: Input, counts: Input): void {
  if (counts.data === undefined || source.count === undefined) {
    return;
  }
  const most = BigInt(source.count);
  int64s(counts.data).forEach((count, at) => {
    if (count > most) {
      const text = `counts[${at}]: ${count} elements, more than the ${source.count} of the source`;
      throw new InvalidArgumentError(text, { field: `counts[${at}]` });
    }
  });
}
