import { keys, named, values, type Element, type HalfType, type NumberArray, Records } from "./elements.js";
import { InternalError, InvalidArgumentError } from "./errors.js";
import type { FirstRows, Lengths } from "./first.js";
import type { KeptArray } from "./kept.js";
import { KeyColumn, NanOrder, NullOrder, SortOrder, type SortResponse } from "./pb/corank/v1/operators.js";
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

/** A column whose rows may be null. Null rows are equal, whatever `values` holds for them, and keep these values. */
export class Nullable<C = unknown> {
  /**
   * @param values a column without nulls; not copied
   * @param validity a bitmap as in Apache Arrow, one byte for each 8 rows or part of 8: row i is null if bit i % 8 of
   *   byte i / 8 is 0, where bit 0 is the least significant one; not copied
   */
  constructor(
    readonly values: C,
    readonly validity: Uint8Array | KeptArray,
  ) {}

  /** A column of which these rows are not null. */
  static from<C>(values: C, valid: readonly boolean[]): Nullable<C> {
    const validity = new Uint8Array(Math.ceil(valid.length / 8));
    valid.forEach((isValid, row) => {
      validity[row >> 3] = (validity[row >> 3] as number) | (Number(isValid) << (row & 7));
    });
    return new Nullable(values, validity);
  }

  /** Whether a row is null. The validity must be here, not kept on the server. */
  isNull(row: number): boolean {
    if (!(this.validity instanceof Uint8Array)) {
      throw new TypeError("isNull: the server keeps the validity; fetch it first");
    }
    return (((this.validity[Math.floor(row / 8)] as number) >> (row % 8)) & 1) === 0;
  }
}

/** Where nulls lie, also in a descending column. */
export type NullPlace = "last" | "first";
/**
 * Where NaNs lie: greater than all numbers; between the numbers and the nulls, also in a descending column; or among
 * the nulls, as their equals.
 */
export type NanPlace = "greatest" | "besideNulls" | "asNulls";

const NULLS = { last: NullOrder.NULL_ORDER_LAST, first: NullOrder.NULL_ORDER_FIRST };
const NANS = {
  greatest: NanOrder.NAN_ORDER_GREATEST,
  besideNulls: NanOrder.NAN_ORDER_BESIDE_NULLS,
  asNulls: NanOrder.NAN_ORDER_AS_NULLS,
};

/** The order of columns: of all, or of each. */
export interface ColumnOrder {
  descending?: boolean | readonly boolean[] | undefined;
  nulls?: NullPlace | readonly NullPlace[] | undefined;
  nans?: NanPlace | readonly NanPlace[] | undefined;
}

function ofEach<T>(field: string, option: string, given: T | readonly T[], columns: number): readonly T[] {
  const each = Array.isArray(given) ? (given as readonly T[]) : Array.from({ length: columns }, () => given as T);
  if (each.length !== columns) {
    throw new InvalidArgumentError(`${option}: ${each.length} for ${columns} columns`, { field });
  }
  return each;
}

function placeOf<T>(option: string, name: string, places: Record<string, T>): T {
  if (!Object.hasOwn(places, name)) {
    const known = Object.keys(places).join(", ");
    throw new InvalidArgumentError(`${option}: ${JSON.stringify(name)} is none of ${known}`, { field: option });
  }
  return places[name] as T;
}

/**
 * A column of rows: numbers; Records, which compare byte by byte; or strings of any lengths, which compare as UTF-8
 * bytes (as code points do). Strings and Uint8Arrays in an Array are copied into one buffer; Strings are not.
 */
export type PlainColumn = NumberArray | Records | Strings | readonly string[] | readonly Uint8Array[] | KeptArray;
/** A column, or one with nulls. */
export type Column = PlainColumn | Nullable<PlainColumn>;

/** A column on its way out, and the form in which it comes back. */
export interface Outgoing {
  group: Group;
  outputs: Output<SortResponse>[];
  rows: number;
  /** What an Array of strings held; "packed" for Strings; undefined for other columns. */
  strings: "text" | "bytes" | "packed" | undefined;
  isNullable: boolean;
}

/** The fields of columns: their name, and their number in the request. */
export const COLUMNS = {
  sorted: { name: "key_columns", number: 12 },
  haystack: { name: "haystack_columns", number: 8 },
  needles: { name: "needle_columns", number: 9 },
};
const FIELD = { data: 1, offsets: 2, validity: 6 }; // of KeyColumn
const DESTINATION = { data: 4, offsets: 5, validity: 9 }; // of KeyColumn

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

/** Columns as parts of a request. */
export function outgoing(
  columns: readonly unknown[],
  given: ColumnOrder,
  types: readonly (HalfType | undefined)[],
  rowsOf: FirstRows,
  { name, number } = COLUMNS.sorted,
): Outgoing[] {
  if (!Array.isArray(columns)) {
    throw new TypeError("columns: must be an Array of columns");
  }
  if (columns.length === 0) {
    throw new InvalidArgumentError("columns: at least one is needed", { field: name });
  }
  const directions = ofEach(name, "descending", given.descending ?? false, columns.length);
  const nullsOf = ofEach(name, "nulls", given.nulls ?? "last", columns.length);
  const nansOf = ofEach(name, "nans", given.nans ?? "greatest", columns.length);
  return columns.map((whole: unknown, at): Outgoing => {
    const isNullable = whole instanceof Nullable;
    const column: unknown = isNullable ? whole.values : whole;
    const path = `${name}[${at}]`;
    const order = directions[at] ? SortOrder.SORT_ORDER_DESCENDING : SortOrder.SORT_ORDER_ASCENDING;
    const nulls = placeOf("nulls", nullsOf[at] as string, NULLS);
    const nans = placeOf("nans", nansOf[at] as string, NANS);
    const message = KeyColumn.encode(KeyColumn.fromPartial({ order, nulls, nans })).finish();
    const group: Group = { number, message, leaves: [] };
    const output = (
      field: keyof typeof FIELD,
      element: Element,
      count: number | undefined,
      most?: number,
    ): Output<SortResponse> => ({
      field: `${path}.${field}`,
      pick: (answer) => answer.keyColumns[at]?.[field],
      destination: DESTINATION[field],
      group,
      element,
      count,
      most: count ?? most,
      indices: false,
    });
    const over = (rows: number | undefined, of: (rows: number) => number): number | undefined =>
      rows === undefined || rows < 0 ? undefined : of(rows);
    const withNulls = ({ count, most }: Lengths): Output<SortResponse>[] => {
      if (!isNullable) {
        return [];
      }
      const validity = values(`${path}.validity`, whole.validity);
      group.leaves.push({ ...validity, field: `${path}.validity`, number: FIELD.validity });
      const bytes = (rows: number): number => Math.ceil(rows / 8);
      return [output("validity", named("uint8"), over(count, bytes), over(most, bytes))];
    };
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
      const lengths = rowsOf(leaf.count);
      const outputs = [output("data", leaf.element, lengths.count, lengths.most), ...withNulls(lengths)];
      return { group, outputs, rows: leaf.count, strings, isNullable };
    }
    const [data, offsets] = [values(path, joined.bytes), values(path, joined.offsets)];
    group.leaves.push(
      { ...data, field: `${path}.data`, number: FIELD.data },
      { ...offsets, field: `${path}.offsets`, number: FIELD.offsets },
    );
    const rows = joined.offsets.length - 1;
    const lengths = rowsOf(rows);
    const oneMore = (kept: number): number => kept + 1;
    // The answer decides which strings a limit leaves, and so how many bytes.
    const outputs = [
      output("data", named("uint8"), lengths.count === rows ? data.count : undefined),
      output("offsets", named("int64"), over(lengths.count, oneMore), over(lengths.most, oneMore)),
      ...withNulls(lengths),
    ];
    return { group, outputs, rows, strings, isNullable };
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
  return columns.map(({ strings, isNullable }) => {
    const data = results[next++];
    const offsets = strings === undefined ? undefined : results[next++];
    const validity = isNullable ? (results[next++] as Uint8Array | KeptArray) : undefined;
    if (strings !== undefined && (!(data instanceof Uint8Array) || !(offsets instanceof BigInt64Array))) {
      return { data, offsets, ...(isNullable ? { validity } : {}) }; // kept on the server
    }
    let found = data;
    if (strings !== undefined) {
      const joined = unpacked(data as Uint8Array, offsets as BigInt64Array);
      found = strings === "packed" ? joined : strings === "bytes" ? joined.toBytes() : joined.toStrings();
    }
    return validity === undefined ? found : new Nullable(found, validity);
  });
}
