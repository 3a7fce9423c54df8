// The types of arguments and results that users see.
import type { Column, ColumnOrder, Nullable, Strings } from "./columns.js";
import type { HalfType, Indices, Integers, NumberArray, Records, Rows } from "./elements.js";
import type { GroupInputName, GroupOutputName } from "./groups.js";
import type { KeptArray } from "./kept.js";
import type { CallOptions, MergeAlgorithmName, SortAlgorithmName } from "./options.js";

/** Keys: numbers, or an array on the server. */
export type Keys = NumberArray | KeptArray;
/** Elements that are only moved: numbers, records, or an array on the server. */
export type Values = NumberArray | Records | KeptArray;
/** Counts or offsets: int64, or integers that the client converts; or an array of int64 on the server. */
export type Counts = Integers | KeptArray;

/** The result of an operator on `T`: an array of the same type. */
export type ArrayOf<T> = T extends Buffer
  ? Buffer
  : T extends Int8Array
    ? Int8Array
    : T extends Int16Array
      ? Int16Array
      : T extends Int32Array
        ? Int32Array
        : T extends BigInt64Array
          ? BigInt64Array
          : T extends Uint8Array
            ? Uint8Array
            : T extends Uint16Array
              ? Uint16Array
              : T extends Uint32Array
                ? Uint32Array
                : T extends BigUint64Array
                  ? BigUint64Array
                  : T extends Float32Array
                    ? Float32Array
                    : T extends Float64Array
                      ? Float64Array
                      : T extends Records
                        ? Records
                        : NumberArray;
/** The result of an operator on values `T`; of an array on the server, it may also be Records. */
export type ValuesOf<T> = T extends KeptArray ? NumberArray | Records : ArrayOf<T>;
/** A sorted column, in the form in which it was given. */
export type ColumnOf<C> = C extends Nullable<infer V>
  ? Nullable<ColumnOf<V>>
  : C extends Strings
  ? Strings
  : C extends readonly (infer E)[]
    ? E extends string
      ? string[]
      : Uint8Array[]
    : ValuesOf<C>;

/** Options of sorts. */
export interface SortOptions extends CallOptions {
  /** Greatest first. Equal keys keep the order of their input in both directions. */
  descending?: boolean | undefined;
  /** How the server sorts; the result is the same. */
  algorithm?: SortAlgorithmName | undefined;
  /** s + 1 offsets that rise from 0 to the number of keys: each segment is sorted for itself. */
  segments?: Counts | undefined;
  /**
   * Return only the first `limit` results in sorted order; with segments, the first `limit` results of each segment.
   * `limitedSegments` tells where each begins.
   */
  limit?: number | undefined;
  /** Leave out the first `offset` results, before `limit` counts. Not with segments. */
  offset?: number | undefined;
  /** Read the bits of 2-byte keys, such as a Uint16Array, as this type. */
  type?: HalfType | undefined;
}

/** Options of ranks by columns. */
export interface RankOptions extends CallOptions {
  /** Greatest first, in all columns or in each. */
  descending?: boolean | readonly boolean[] | undefined;
  /** The end of the order at which nulls lie, in all columns or in each: "last" unless you say "first". */
  nulls?: ColumnOrder["nulls"];
  /** Where NaNs lie, in all columns or in each: "greatest" unless you say "besideNulls" or "asNulls". */
  nans?: ColumnOrder["nans"];
  /** How the server sorts; the result is the same. */
  algorithm?: SortAlgorithmName | undefined;
  /** For each column, read the bits of its 2-byte keys as this type. */
  types?: readonly (HalfType | undefined)[] | undefined;
  /**
   * Merge tables: r + 1 offsets that rise from 0 to the number of rows, which are sorted runs, one after the other.
   * Equal rows of an earlier run come first; a run that is out of order is an error. Not together with `algorithm`.
   */
  runs?: Counts | undefined;
}

/** Options of sorts by columns. */
export interface ColumnOptions extends RankOptions {
  /** s + 1 offsets that rise from 0 to the number of rows: each segment of rows is sorted for itself. */
  segments?: Counts | undefined;
  /** Return only the first `limit` rows in sorted order; with segments, of each segment. */
  limit?: number | undefined;
  /** Leave out the first `offset` rows, before `limit` counts. Not with segments. */
  offset?: number | undefined;
}

/** Options of merges. */
export interface MergeOptions extends CallOptions {
  /** The inputs are sorted, and the result is, greatest first. */
  descending?: boolean | undefined;
  /** How the server merges; the result is the same. */
  algorithm?: MergeAlgorithmName | undefined;
  /** Skip the check that rejects an unsorted input. */
  assumeSorted?: boolean | undefined;
  /** Read the bits of 2-byte keys as this type. */
  type?: HalfType | undefined;
}

/** Options of searches. */
export interface SearchOptions extends CallOptions {
  /**
   * "left", the default: the first position whose key does not come before the needle; "right": the first position
   * whose key comes after it.
   */
  side?: "left" | "right" | undefined;
  /** The haystack is sorted greatest first. */
  descending?: boolean | undefined;
  /** Skip the check that rejects an unsorted haystack. */
  assumeSorted?: boolean | undefined;
  /** Read the bits of 2-byte keys as this type. */
  type?: HalfType | undefined;
}

/** Options of searches by columns. */
export interface ColumnSearchOptions extends CallOptions {
  /** As for `search`: "left" unless you say "right". */
  side?: "left" | "right" | undefined;
  /** The haystack is sorted greatest first, in all columns or in each. */
  descending?: boolean | readonly boolean[] | undefined;
  /** As for `sortColumns`, of both tables. */
  nulls?: ColumnOrder["nulls"];
  /** As for `sortColumns`, of both tables. */
  nans?: ColumnOrder["nans"];
  /** Skip the check that rejects an unsorted haystack. */
  assumeSorted?: boolean | undefined;
  /** For each column, read the bits of its 2-byte keys as this type. */
  types?: readonly (HalfType | undefined)[] | undefined;
}

/** Options of `unique`. */
export interface UniqueOptions extends CallOptions {
  /** Greatest first. */
  descending?: boolean | undefined;
  /** Read the bits of 2-byte keys as this type. */
  type?: HalfType | undefined;
}

/** Options of `group`. */
export interface GroupOptions extends UniqueOptions {
  /**
   * "unsorted", the default: the keys are in any order, and the server sorts them; "sorted": they are sorted in the
   * direction of `descending`, which the server checks; "runs": each run of equal neighbours is a group.
   */
  input?: GroupInputName | undefined;
  /** Read the bits of 2-byte values as this type. */
  valueType?: HalfType | undefined;
}

/** What `group` reduces, one number for each key, and the results that it returns. */
export interface Reduction<V extends Keys, O extends GroupOutputName> {
  /** Needed for sums, minima, maxima and value counts, and only then. */
  values?: V;
  /**
   * Set if values may be null: the bitmap of a `Nullable`, which `Nullable.from(values, valid)` makes. Null values take
   * no part in sums, minima, maxima and value counts.
   */
  valuesValidity?: Uint8Array | KeptArray | undefined;
  /** Default: keys and counts. */
  outputs?: readonly O[];
}

/** The sums of values `V`. */
export type SumsOf<V> = V extends Float32Array | Float64Array
  ? Float64Array
  : V extends Int8Array | Int16Array | Int32Array | BigInt64Array
    ? BigInt64Array
    : V extends Uint8Array | Uint32Array | BigUint64Array
      ? BigUint64Array
      : BigInt64Array | BigUint64Array | Float64Array;

/** The results of `group`: an element for each group. */
export interface Groups<K, V> {
  /** The first key of each group. */
  keys: ArrayOf<K>;
  counts: BigInt64Array;
  /** The position of each group's first key. */
  firsts: Indices;
  /** In 64 bits; those of integers are exact. */
  sums: SumsOf<V>;
  /** A NaN is greater than every number. */
  minima: ArrayOf<V>;
  maxima: ArrayOf<V>;
  /** How many values are not null. Where it is 0, the sum is 0, and the minimum and maximum mean nothing. */
  valueCounts: BigInt64Array;
}

/** Options of `combineSets` and `countSets`. */
export interface SetOptions extends CallOptions {
  /** Both sides are sorted, and the result is, greatest first. */
  descending?: boolean | undefined;
  /** Read the bits of 2-byte keys as this type. */
  type?: HalfType | undefined;
}

/** A value for each key of both sides. */
export interface SetValues<V extends Values> {
  left: V;
  /** Of the type of `left`. Needed for "union" and "symmetric-difference", and only then. */
  right?: V | undefined;
}

/** Options of `countJoin`. */
export interface CountJoinOptions extends CallOptions {
  /** The keys of the right side ascend, which saves the server their sort; the server checks it. */
  rightSorted?: boolean | undefined;
  /** Read the bits of 2-byte keys as this type. */
  type?: HalfType | undefined;
}

/** Options of `join`. */
export interface JoinOptions extends CountJoinOptions {
  /**
   * The most rows that the result may have; more are an InvalidArgumentError with the reason "TOO_MANY_ROWS", whose
   * `rows` is their number. Default: any number of rows.
   */
  maxRows?: number | undefined;
}

/** The row numbers of a join, one of each side for each row; -1: no partner. */
export interface JoinedRows<R = Rows> {
  leftRows: R;
  rightRows: R;
}

/** Options of `select` and its siblings. */
export interface SelectOptions extends CallOptions {
  /** Select the other elements. */
  negate?: boolean | undefined;
  /** Read the bits of 2-byte elements as this type. The threshold is then a Uint16Array of its bits. */
  type?: HalfType | undefined;
}

/** Selected elements and their values. */
export interface ElementsAndValues<E, V> {
  elements: E;
  values: V;
}

/** The elements of a partition, and the number of selected ones, which come first. */
export interface Parted<E, C = number> {
  elements: E;
  count: C;
}

/** Options of `rank`. */
export interface RankKeysOptions extends CallOptions {
  /** The greatest key has rank 1. */
  descending?: boolean | undefined;
  /**
   * The keys, or those of each segment, are sorted in the direction of `descending`, which saves the server their sort;
   * it checks that.
   */
  keysSorted?: boolean | undefined;
  /** s + 1 offsets that rise from 0 to the number of keys: each segment is ranked for itself. */
  segments?: Counts | undefined;
  /** Read the bits of 2-byte keys as this type. */
  type?: HalfType | undefined;
}

/** The intervals of `gather`: counts[i] elements from sourceOffsets[i] on. One count may stand for all. */
export interface GatherIntervals {
  sourceOffsets: Counts;
  counts: Counts | number | bigint;
}

/** The intervals of `scatter`, and what the result holds elsewhere. One count may stand for all. */
export interface ScatterIntervals {
  destinationOffsets: Counts;
  counts: Counts | number | bigint;
  /** The length of a new array of zero bytes, or an array of the source's type, which does not change. */
  destination: number | Values;
  /** Skip the check that rejects overlaps in the destination; any of the copies may win. */
  allowOverlap?: boolean | undefined;
}

/** The intervals of `move`. */
export interface MoveIntervals extends ScatterIntervals {
  sourceOffsets: Counts;
}

/** Whether the server divides the results that `keep` names among its GPUs; see `StoreOptions.sharded`. */
export interface Dividing {
  sharded?: boolean | undefined;
}

/** Keeps the result on the server under a name. */
export interface Keep extends Dividing {
  keep: string;
}

/** Keeps several results on the server, each under a name of its own. */
export interface KeepEach<Name extends string> extends Dividing {
  keep: Record<Name, string>;
}

/** Sorted keys and their values. */
export interface KeysAndValues<K, V> {
  keys: K;
  values: V;
}

/** Sorted keys and their positions in the input. */
export interface KeysAndIndices<K, I> {
  keys: K;
  indices: I;
}

/** For each work item the object that made it, and its rank among that object's items. */
export interface LoadBalance<I = Indices> {
  objects: I;
  ranks: I;
}

/** The names of kept columns; a column of strings is two arrays, and one with nulls has one more. */
export interface KeepColumns extends Dividing {
  keep: {
    columns: readonly (string | { data: string; offsets?: string; validity?: string })[];
    values?: string;
    indices?: string;
  };
}

/** The handles of kept columns. */
export interface KeptColumns {
  columns: (KeptArray | { data: KeptArray; offsets: KeptArray; validity?: KeptArray } | Nullable<KeptArray>)[];
  values?: KeptArray;
  indices?: KeptArray;
}

/** Columns that were sorted. */
export type SortedColumns<C extends readonly Column[]> = { -readonly [At in keyof C]: ColumnOf<C[At]> };
