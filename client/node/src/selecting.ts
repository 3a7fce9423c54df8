import type {
  Counts,
  ElementsAndValues,
  Keep,
  KeepEach,
  Keys,
  Parted,
  RankKeysOptions,
  SelectOptions,
  Values,
  ValuesOf,
} from "./arguments.js";
import type { Indices } from "./elements.js";
import type { KeepingOptions } from "./keeping.js";
import type { KeptArray } from "./kept.js";
import type { CallOptions } from "./options.js";
import * as selections from "./selections.js";
import type { PositionRank, RankMethod, Selection } from "./selections.js";
import type { Task } from "./task.js";

/** The methods of Client that select, remove, part and insert elements, and rank keys. */
export abstract class Selecting {
  /** @internal */
  protected abstract perform<R>(make: () => Task<R>, options: KeepingOptions): Promise<R>;

  /** Copies the elements that `by` selects, and keeps their order. */
  select(elements: Values, by: Selection, options: SelectOptions & Keep): Promise<KeptArray>;
  select<E extends Values>(elements: E, by: Selection, options?: SelectOptions): Promise<ValuesOf<E>>;
  select(elements: unknown, by: unknown, options: SelectOptions & Partial<Keep> = {}): Promise<unknown> {
    return this.perform(() => selections.select(elements, by, "elements", undefined, options), options);
  }

  /** Does `select` with a value for each element, which travels with it. */
  selectWithValues(
    elements: Values,
    values: Values,
    by: Selection,
    options: SelectOptions & KeepEach<"elements" | "values">,
  ): Promise<ElementsAndValues<KeptArray, KeptArray>>;
  selectWithValues<E extends Values, V extends Values>(
    elements: E,
    values: V,
    by: Selection,
    options?: SelectOptions,
  ): Promise<ElementsAndValues<ValuesOf<E>, ValuesOf<V>>>;
  selectWithValues(
    elements: unknown,
    values: unknown,
    by: unknown,
    options: SelectOptions & Partial<KeepEach<"elements" | "values">> = {},
  ): Promise<unknown> {
    return this.perform(() => selections.select(elements, by, "elements", values, options), options);
  }

  /** Finds the positions of the elements that `select` would copy, in ascending order. */
  argselect(elements: Values, by: Selection, options: SelectOptions & Keep): Promise<KeptArray>;
  argselect(elements: Values, by: Selection, options?: SelectOptions): Promise<Indices>;
  argselect(elements: unknown, by: unknown, options: SelectOptions & Partial<Keep> = {}): Promise<unknown> {
    return this.perform(() => selections.select(elements, by, "indices", undefined, options), options);
  }

  /** Moves the elements that `select` would copy to the front, and counts them. Both parts keep their order. */
  partition(
    elements: Values,
    by: Selection,
    options: SelectOptions & KeepEach<"elements" | "count">,
  ): Promise<Parted<KeptArray, KeptArray>>;
  partition<E extends Values>(elements: E, by: Selection, options?: SelectOptions): Promise<Parted<ValuesOf<E>>>;
  partition(
    elements: unknown,
    by: unknown,
    options: SelectOptions & Partial<KeepEach<"elements" | "count">> = {},
  ): Promise<unknown> {
    return this.perform(() => selections.select(elements, by, "partition", undefined, options), options);
  }

  /** Does `partition` with a value for each element, which travels with it. */
  partitionWithValues(
    elements: Values,
    values: Values,
    by: Selection,
    options: SelectOptions & KeepEach<"elements" | "values" | "count">,
  ): Promise<Parted<KeptArray, KeptArray> & { values: KeptArray }>;
  partitionWithValues<E extends Values, V extends Values>(
    elements: E,
    values: V,
    by: Selection,
    options?: SelectOptions,
  ): Promise<Parted<ValuesOf<E>> & { values: ValuesOf<V> }>;
  partitionWithValues(
    elements: unknown,
    values: unknown,
    by: unknown,
    options: SelectOptions & Partial<KeepEach<"elements" | "values" | "count">> = {},
  ): Promise<unknown> {
    return this.perform(() => selections.select(elements, by, "partition", values, options), options);
  }

  /** Copies the elements that are not at these positions, which count from 0, in any order, and may repeat. */
  remove(elements: Values, positions: Counts, options: CallOptions & Keep): Promise<KeptArray>;
  remove<E extends Values>(elements: E, positions: Counts, options?: CallOptions): Promise<ValuesOf<E>>;
  remove(elements: unknown, positions: unknown, options: CallOptions & Partial<Keep> = {}): Promise<unknown> {
    return this.perform(() => selections.remove(elements, positions), options);
  }

  /**
   * Inserts elements before many positions at once: inserted[i] goes before elements[positions[i]], or behind the last
   * one if positions[i] is their number. Elements for the same position keep their order. The call is a `gather` of a
   * copy of both arrays, which must be in this process and of one type.
   */
  insert(elements: Values, positions: Counts, inserted: Values, options: CallOptions & Keep): Promise<KeptArray>;
  insert<E extends Values>(elements: E, positions: Counts, inserted: E, options?: CallOptions): Promise<ValuesOf<E>>;
  insert(
    elements: unknown,
    positions: unknown,
    inserted: unknown,
    options: CallOptions & Partial<Keep> = {},
  ): Promise<unknown> {
    return this.perform(() => selections.insert(elements, positions, inserted), options);
  }

  /**
   * Ranks keys from 1. All NaNs are one key, which comes after every number in ascending order, and so are both zeros.
   * @param method the rank of equal keys: "average", the mean of the positions that a sort gives them; "min" or "max",
   *   the least or greatest of these; "dense", the number of distinct keys up to this one; "ordinal", each key has a
   *   rank of its own, in the order of a stable sort
   */
  rank(keys: Keys, method: RankMethod, options: RankKeysOptions & Keep): Promise<KeptArray>;
  rank(keys: Keys, method: "average", options?: RankKeysOptions): Promise<Float64Array>;
  rank(keys: Keys, method: PositionRank, options?: RankKeysOptions): Promise<Indices>;
  rank(keys: unknown, method: RankMethod, options: RankKeysOptions & Partial<Keep> = {}): Promise<unknown> {
    return this.perform(() => selections.rank(keys, method, options), options);
  }
}
