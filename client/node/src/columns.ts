import { keys, named, values, type Element, type HalfType, type NumberArray, Records } from "./elements.js";
import { InternalError, InvalidArgumentError } from "./errors.js";
import type { KeptArray } from "./kept.js";
import { KeyColumn, SortOrder, type SortResponse } from "./pb/corank/v1/operators.js";
import type { Group, Leaf, Output } from "./task.js";

/** Byte strings of any length, one after the other: string i is bytes[offsets[i], offsets[i + 1]). */
export class Strings {
  /**
   * @param bytes all strings; not copied
   * @param offsets one more than there are strings, from 0 to the number of bytes; not copied
   */
  constructor(
    readonly bytes: Uint8Array,
    readonly offsets: BigInt64Array,
  ) {
    if (!(bytes instanceof Uint8Array) || !(offsets instanceof BigInt64Array)) {
      throw new TypeError("Strings: bytes must be a Uint8Array, offsets a BigInt64Array");
    }
  }

  /** Strings as UTF-8, or byte strings. */
  static from(strings: readonly (string | Uint8Array)[]): Strings {
    const encoded = strings.map((each) => (typeof each === "string" ? Buffer.from(each) : each));
    const offsets = new BigInt64Array(encoded.length + 1);
    let end = 0;
    encoded.forEach((each, at) => {
      end += each.length;
      offsets[at + 1] = BigInt(end);
    });
    const joined = Buffer.concat(encoded);
    return new Strings(new Uint8Array(joined.buffer, joined.byteOffset, joined.length), offsets);
  }

  /** The number of strings. */
  get length(): number {
    return Math.max(this.offsets.length - 1, 0);
  }

  /** The strings as views of `bytes`. */
  toBytes(): Uint8Array[] {
    return Array.from({ length: this.length }, (_, at) =>
      this.bytes.subarray(Number(this.offsets[at]), Number(this.offsets[at + 1])),
    );
  }

  /** The strings, read as UTF-8. */
  toStrings(): string[] {
    const bytes = Buffer.from(this.bytes.buffer, this.bytes.byteOffset, this.bytes.length);
    return Array.from({ length: this.length }, (_, at) =>
      bytes.toString("utf8", Number(this.offsets[at]), Number(this.offsets[at + 1])),
    );
  }
}

/**
 * A column of rows: numbers; Records, which compare byte by byte; or strings of any lengths, which compare as UTF-8
 * bytes (as code points do). Strings and Uint8Arrays in an Array are copied into one buffer; Strings are not.
 */
export type Column = NumberArray | Records | Strings | readonly string[] | readonly Uint8Array[] | KeptArray;

/** A column on its way out, and the form in which it comes back. */
export interface Outgoing {
  group: Group;
  outputs: Output<SortResponse>[];
  rows: number;
  /** What an Array of strings held; "packed" for Strings; undefined for other columns. */
  strings: "text" | "bytes" | "packed" | undefined;
}

const COLUMNS = 12; // of SortRequest
const FIELD = { data: 1, offsets: 2, dataDestination: 4, offsetsDestination: 5 }; // of KeyColumn

function packed(path: string, column: readonly unknown[]): [Strings, "text" | "bytes"] {
  const kind = column[0] instanceof Uint8Array ? "bytes" : "text";
  column.forEach((each, at) => {
    if (kind === "text" ? typeof each !== "string" : !(each instanceof Uint8Array)) {
      const hint = typeof each === "number" ? "; pass numbers as a typed array" : "";
      throw new TypeError(`${path}[${at}]: must be a ${kind === "text" ? "string" : "Uint8Array"}${hint}`);
    }
  });
  return [Strings.from(column as readonly (string | Uint8Array)[]), kind];
}

function fixed(path: string, column: unknown, type: HalfType | undefined): Leaf {
  const found = values(path, column);
  const input = found.element.name === "record" && type === undefined ? found : keys(path, column, type);
  return { ...input, field: `${path}.data`, number: FIELD.data };
}

/** Columns as parts of a SortRequest. */
export function outgoing(
  columns: readonly unknown[],
  descending: boolean | readonly boolean[],
  types: readonly (HalfType | undefined)[],
  limit: number | undefined,
): Outgoing[] {
  if (!Array.isArray(columns)) {
    throw new TypeError("columns: must be an Array of columns");
  }
  if (columns.length === 0) {
    throw new InvalidArgumentError("columns: at least one is needed", { field: "key_columns" });
  }
  const directions = typeof descending === "boolean" ? columns.map(() => descending) : descending;
  if (directions.length !== columns.length) {
    const text = `descending: ${directions.length} directions for ${columns.length} columns`;
    throw new InvalidArgumentError(text, { field: "key_columns" });
  }
  return columns.map((column: unknown, at) => {
    const path = `key_columns[${at}]`;
    const order = directions[at] ? SortOrder.SORT_ORDER_DESCENDING : SortOrder.SORT_ORDER_ASCENDING;
    const message = KeyColumn.encode(KeyColumn.fromPartial({ order })).finish();
    const group: Group = { number: COLUMNS, message, leaves: [] };
    const output = (field: "data" | "offsets", element: Element, count: number | undefined): Output<SortResponse> => ({
      field: `${path}.${field}`,
      pick: (answer) => answer.keyColumns[at]?.[field],
      destination: field === "data" ? FIELD.dataDestination : FIELD.offsetsDestination,
      group,
      element,
      count,
      indices: false,
    });
    let strings: Outgoing["strings"];
    let joined: Strings | undefined;
    if (column instanceof Strings) {
      [joined, strings] = [column, "packed"];
    } else if (Array.isArray(column)) {
      [joined, strings] = packed(path, column);
    }
    if (joined === undefined) {
      const leaf = fixed(path, column, types[at]);
      group.leaves.push(leaf);
      if (leaf.count === undefined) {
        throw new InvalidArgumentError(`${path}: its number of rows is not known before the answer`, { field: path });
      }
      const count = Math.min(limit ?? leaf.count, leaf.count);
      return { group, outputs: [output("data", leaf.element, count)], rows: leaf.count, strings };
    }
    const [data, offsets] = [values(path, joined.bytes), values(path, joined.offsets)];
    group.leaves.push(
      { ...data, field: `${path}.data`, number: FIELD.data },
      { ...offsets, field: `${path}.offsets`, number: FIELD.offsets },
    );
    const rows = joined.offsets.length - 1;
    const count = Math.min(limit ?? rows, rows);
    // The answer decides which strings a limit leaves, and so how many bytes.
    const outputs = [
      output("data", named("uint8"), count === rows ? data.count : undefined),
      output("offsets", named("int64"), count < 0 ? undefined : count + 1),
    ];
    return { group, outputs, rows, strings };
  });
}

function unpacked(bytes: Uint8Array, offsets: BigInt64Array): Strings {
  const isRising = offsets.every((offset, at) => at === 0 || offset >= (offsets[at - 1] as bigint));
  if (offsets[0] !== 0n || offsets.at(-1) !== BigInt(bytes.length) || !isRising) {
    throw new InternalError("the server answered strings whose offsets are not those of their bytes");
  }
  return new Strings(bytes, offsets);
}

/** The results of the columns' outputs, each in the form in which its column was given. */
export function sorted(columns: readonly Outgoing[], results: readonly unknown[]): unknown[] {
  let next = 0;
  return columns.map(({ strings }) => {
    const data = results[next++];
    if (strings === undefined) {
      return data;
    }
    const offsets = results[next++];
    if (!(data instanceof Uint8Array) || !(offsets instanceof BigInt64Array)) {
      return { data, offsets }; // kept on the server
    }
    const found = unpacked(data, offsets);
    return strings === "packed" ? found : strings === "bytes" ? found.toBytes() : found.toStrings();
  });
}
