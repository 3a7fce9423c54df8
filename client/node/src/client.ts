import type {
  ArrayOf,
  ColumnOptions,
  ColumnSearchOptions,
  CountJoinOptions,
  Counts,
  GatherIntervals,
  GroupOptions,
  Groups,
  JoinedRows,
  JoinOptions,
  Keep,
  KeepColumns,
  KeepEach,
  Keys,
  KeysAndIndices,
  KeysAndValues,
  KeptColumns,
  LoadBalance,
  MergeOptions,
  MoveIntervals,
  RankOptions,
  Reduction,
  ScatterIntervals,
  SearchOptions,
  SetOptions,
  SetValues,
  SortedColumns,
  SortOptions,
  UniqueOptions,
  Values,
  ValuesOf,
} from "./arguments.js";
import { Chain } from "./chain.js";
import type { Column } from "./columns.js";
import { Connection } from "./connection.js";
import type { Indices, NumberArray, Records, Rows } from "./elements.js";
import * as groups from "./groups.js";
import type { GroupOutputName } from "./groups.js";
import { checkHealth } from "./health.js";
import { keptNames, type Keeping, type KeepingOptions } from "./keeping.js";
import * as joins from "./joins.js";
import type { LeftJoin, PairJoin } from "./joins.js";
import * as kept from "./kept.js";
import type { KeptArray, KeptArrays, StoreOptions } from "./kept.js";
import * as operators from "./operators.js";
import type { CallOptions, ConnectOptions, RequestOptions } from "./options.js";
import type { Health, ServerInfo } from "./results.js";
import * as searches from "./searches.js";
import { Selecting } from "./selecting.js";
import * as sets from "./sets.js";
import type { SetOperationName } from "./sets.js";
import type { Task } from "./task.js";

/**
 * Calls a corank server. Calls are independent of each other: start as many as you like; those of one client share its
 * connections. Do not change an input before its call has settled. Every method rejects with a CorankError if the
 * call fails, and with a TypeError if an argument has the wrong type.
 */
export class Client extends Selecting {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    super();
    this.#connection = connection;
  }

  /** The addresses of the server, with commas between them. */
  get address(): string {
    return this.#connection.address;
  }

  /** Ends the connections; calls in flight reject with CancelledError, later ones with ClosedError. */
  close(): void {
    this.#connection.close();
  }

  /**
   * Sorts keys. Stable; NaNs come last in ascending and first in descending order.
   * @returns the sorted keys, in an array of their own
   */
  sort(keys: Keys, options: SortOptions & Keep): Promise<KeptArray>;
  sort<K extends Keys>(keys: K, options?: SortOptions): Promise<ArrayOf<K>>;
  sort(keys: unknown, options: SortOptions & Partial<Keep> = {}): Promise<unknown> {
    return this.#perform(() => operators.sort(keys, "none", undefined, options), options);
  }

  /** Sorts keys together with values, one for each key. */
  sortWithValues(
    keys: Keys,
    values: Values,
    options: SortOptions & KeepEach<"keys" | "values">,
  ): Promise<KeysAndValues<KeptArray, KeptArray>>;
  sortWithValues<K extends Keys, V extends Values>(
    keys: K,
    values: V,
    options?: SortOptions,
  ): Promise<KeysAndValues<ArrayOf<K>, ValuesOf<V>>>;
  sortWithValues(
    keys: unknown,
    values: unknown,
    options: SortOptions & Partial<KeepEach<"keys" | "values">> = {},
  ): Promise<unknown> {
    return this.#perform(() => operators.sort(keys, "values", values, options), options);
  }

  /** Does `sort` and `argsort` in one call. */
  sortWithIndices(
    keys: Keys,
    options: SortOptions & KeepEach<"keys" | "indices">,
  ): Promise<KeysAndIndices<KeptArray, KeptArray>>;
  sortWithIndices<K extends Keys>(keys: K, options?: SortOptions): Promise<KeysAndIndices<ArrayOf<K>, Indices>>;
  sortWithIndices(
    keys: unknown,
    options: SortOptions & Partial<KeepEach<"keys" | "indices">> = {},
  ): Promise<unknown> {
    return this.#perform(() => operators.sort(keys, "indices", undefined, options), options);
  }

  /**
   * Finds the stable permutation that sorts keys.
   * @returns positions in `keys`, in the order of the sorted keys; with segments, they count from the array's start
   */
  argsort(keys: Keys, options: SortOptions & Keep): Promise<KeptArray>;
  argsort(keys: Keys, options?: SortOptions): Promise<Indices>;
  argsort(keys: unknown, options: SortOptions & Partial<Keep> = {}): Promise<unknown> {
    return this.#perform(() => operators.sort(keys, "only-indices", undefined, options), options);
  }

  /**
   * Sorts rows by 1 to 32 columns: by the first, equal rows by the second, and so on. Stable.
   * @param options `values`: one for each row, sorted with them; `indices`: return the order of the rows too
   * @returns the sorted columns, each in the form in which it was given
   */
  sortColumns(
    columns: readonly Column[],
    options: ColumnOptions & KeepColumns & { values?: Values; indices?: boolean },
  ): Promise<KeptColumns>;
  sortColumns<const C extends readonly Column[], V extends Values>(
    columns: C,
    options: ColumnOptions & { values: V; indices?: false },
  ): Promise<{ columns: SortedColumns<C>; values: ValuesOf<V> }>;
  sortColumns<const C extends readonly Column[]>(
    columns: C,
    options: ColumnOptions & { indices: true },
  ): Promise<{ columns: SortedColumns<C>; indices: Indices }>;
  sortColumns<const C extends readonly Column[]>(
    columns: C,
    options?: ColumnOptions,
  ): Promise<{ columns: SortedColumns<C> }>;
  sortColumns(
    columns: readonly unknown[],
    options: ColumnOptions & Partial<KeepColumns> & { values?: unknown; indices?: boolean } = {},
  ): Promise<unknown> {
    return this.#perform(() => operators.sortColumns(columns, options), options);
  }

  /** Finds the stable permutation that sorts rows by several columns. */
  argsortColumns(columns: readonly Column[], options: ColumnOptions & Keep): Promise<KeptArray>;
  argsortColumns(columns: readonly Column[], options?: ColumnOptions): Promise<Indices>;
  argsortColumns(columns: readonly unknown[], options: ColumnOptions & Partial<Keep> = {}): Promise<unknown> {
    return this.#perform(() => operators.argsortColumns(columns, options), options);
  }

  /**
   * Finds the dense rank of each row, from 1, in the order of `sortColumns`. Equal rows have equal ranks, so ranks can
   * be the keys of `join`, `group`, `merge` and `search` in place of several columns.
   */
  rankColumns(columns: readonly Column[], options: RankOptions & Keep): Promise<KeptArray>;
  rankColumns(columns: readonly Column[], options?: RankOptions): Promise<Indices>;
  rankColumns(columns: readonly unknown[], options: RankOptions & Partial<Keep> = {}): Promise<unknown> {
    return this.#perform(() => operators.rankColumns(columns, options), options);
  }

  /** Merges 2 to 1024 sorted arrays of one type. Equal keys are taken from the earlier array first. */
  merge(arrays: readonly Keys[], options: MergeOptions & Keep): Promise<KeptArray>;
  merge<K extends Keys>(arrays: readonly K[], options?: MergeOptions): Promise<ArrayOf<K>>;
  merge(arrays: unknown, options: MergeOptions & Partial<Keep> = {}): Promise<unknown> {
    return this.#perform(() => operators.merge(arrays, undefined, options), options);
  }

  /** Merges sorted arrays together with values: as many arrays, each as long as its keys. */
  mergeWithValues(
    arrays: readonly Keys[],
    values: readonly Values[],
    options: MergeOptions & KeepEach<"keys" | "values">,
  ): Promise<KeysAndValues<KeptArray, KeptArray>>;
  mergeWithValues<K extends Keys, V extends Values>(
    arrays: readonly K[],
    values: readonly V[],
    options?: MergeOptions,
  ): Promise<KeysAndValues<ArrayOf<K>, ValuesOf<V>>>;
  mergeWithValues(
    arrays: unknown,
    values: unknown,
    options: MergeOptions & Partial<KeepEach<"keys" | "values">> = {},
  ): Promise<unknown> {
    return this.#perform(() => operators.merge(arrays, values ?? [], options), options);
  }

  /**
   * Finds where needles belong in a sorted array.
   * @returns for each needle a position from 0 to the length of the haystack
   */
  search(haystack: Keys, needles: Keys, options: SearchOptions & Keep): Promise<KeptArray>;
  search(haystack: Keys, needles: Keys, options?: SearchOptions): Promise<Indices>;
  search(haystack: unknown, needles: unknown, options: SearchOptions & Partial<Keep> = {}): Promise<unknown> {
    return this.#perform(() => searches.search(haystack, needles, options), options);
  }

  /**
   * Finds where rows belong in a table that is sorted as by `sortColumns`. The needles are as many columns of the same
   * types; the options are of both tables.
   */
  searchColumns(
    haystack: readonly Column[],
    needles: readonly Column[],
    options: ColumnSearchOptions & Keep,
  ): Promise<KeptArray>;
  searchColumns(
    haystack: readonly Column[],
    needles: readonly Column[],
    options?: ColumnSearchOptions,
  ): Promise<Indices>;
  searchColumns(
    haystack: readonly unknown[],
    needles: readonly unknown[],
    options: ColumnSearchOptions & Partial<Keep> = {},
  ): Promise<unknown> {
    return this.#perform(() => searches.searchColumns(haystack, needles, options), options);
  }

  /** Repeats values[i] counts[i] times. One count may stand for all. */
  expand(
    values: Values,
    counts: Counts | number | bigint,
    options: CallOptions & Keep,
  ): Promise<KeptArray>;
  expand<V extends Values>(
    values: V,
    counts: Counts | number | bigint,
    options?: CallOptions,
  ): Promise<ValuesOf<V>>;
  expand(values: unknown, counts: unknown, options: CallOptions & Partial<Keep> = {}): Promise<unknown> {
    return this.#perform(() => operators.expand(values, counts), options);
  }

  /** Copies intervals of the source, which may overlap, one after the other. */
  gather(source: Values, intervals: GatherIntervals, options: CallOptions & Keep): Promise<KeptArray>;
  gather<V extends Values>(source: V, intervals: GatherIntervals, options?: CallOptions): Promise<ValuesOf<V>>;
  gather(
    source: unknown,
    intervals: GatherIntervals,
    options: CallOptions & Partial<Keep> = {},
  ): Promise<unknown> {
    return this.#perform(() => operators.gather(source, intervals), options);
  }

  /**
   * Copies counts[i] elements from sourceOffsets[i] to destinationOffsets[i], for each i.
   * @returns the destination after all copies
   */
  move(source: Values, intervals: MoveIntervals, options: CallOptions & Keep): Promise<KeptArray>;
  move<V extends Values>(source: V, intervals: MoveIntervals, options?: CallOptions): Promise<ValuesOf<V>>;
  move(
    source: unknown,
    intervals: MoveIntervals,
    options: CallOptions & Partial<Keep> = {},
  ): Promise<unknown> {
    return this.#perform(() => operators.move(source, intervals), options);
  }

  /**
   * Cuts the source into intervals of counts[i] elements and copies each to destinationOffsets[i].
   * @returns the destination after all copies
   */
  scatter(source: Values, intervals: ScatterIntervals, options: CallOptions & Keep): Promise<KeptArray>;
  scatter<V extends Values>(source: V, intervals: ScatterIntervals, options?: CallOptions): Promise<ValuesOf<V>>;
  scatter(
    source: unknown,
    intervals: ScatterIntervals,
    options: CallOptions & Partial<Keep> = {},
  ): Promise<unknown> {
    return this.#perform(() => operators.scatter(source, intervals), options);
  }

  /** Finds, for each work item, the object that made it and its rank; object i makes counts[i] items. */
  loadBalance(
    counts: Counts,
    options: CallOptions & KeepEach<"objects" | "ranks">,
  ): Promise<LoadBalance<KeptArray>>;
  loadBalance(counts: Counts, options?: CallOptions): Promise<LoadBalance>;
  loadBalance(
    counts: unknown,
    options: CallOptions & Partial<KeepEach<"objects" | "ranks">> = {},
  ): Promise<unknown> {
    return this.#perform(() => operators.loadBalance(counts), options);
  }

  /**
   * Finds the groups of equal keys, counts them, and reduces the values of each. All NaNs are one key, and so are both
   * zeros. Groups come in the order of their keys; runs in the order of the array.
   * @returns the results that `outputs` names
   */
  group<V extends Keys = Keys, O extends GroupOutputName = "keys" | "counts">(
    keys: Keys,
    options: GroupOptions & Reduction<V, O> & KeepEach<O>,
  ): Promise<Record<O, KeptArray>>;
  group<K extends Keys, V extends Keys = Keys, O extends GroupOutputName = "keys" | "counts">(
    keys: K,
    options?: GroupOptions & Reduction<V, O>,
  ): Promise<Pick<Groups<K, V>, O>>;
  group(
    keys: unknown,
    options: GroupOptions & Reduction<Keys, GroupOutputName> & Keeping = {},
  ): Promise<unknown> {
    return this.#perform(() => groups.group(keys, options, (found) => found), options);
  }

  /** Finds the distinct keys, in order. */
  unique(keys: Keys, options: UniqueOptions & Keep): Promise<KeptArray>;
  unique<K extends Keys>(keys: K, options?: UniqueOptions): Promise<ArrayOf<K>>;
  unique(keys: unknown, options: UniqueOptions & Partial<Keep> = {}): Promise<unknown> {
    return this.#perform(() => groups.unique(keys, options), options);
  }

  /** Finds the key and the length of each run of equal neighbours, in the order of the array. */
  runLengthEncode(
    keys: Keys,
    options: Omit<UniqueOptions, "descending"> & KeepEach<"keys" | "counts">,
  ): Promise<Record<"keys" | "counts", KeptArray>>;
  runLengthEncode<K extends Keys>(
    keys: K,
    options?: Omit<UniqueOptions, "descending">,
  ): Promise<Pick<Groups<K, never>, "keys" | "counts">>;
  runLengthEncode(
    keys: unknown,
    options: Omit<UniqueOptions, "descending"> & Partial<KeepEach<"keys" | "counts">> = {},
  ): Promise<unknown> {
    return this.#perform(() => groups.runLengthEncode(keys, options), options);
  }

  /**
   * Combines two sorted arrays of one type as multisets, into a sorted array. Where a key occurs m times on the left
   * and n times on the right, the first min(m, n) of them on each side are partners. All NaNs are one key, and so are
   * both zeros.
   * @param operation "union": all of the left, and of the right what has no partner; "intersection": what of the left
   *   has a partner; "difference": what of the left has none; "symmetric-difference": what has none on both sides
   */
  combineSets(left: Keys, right: Keys, operation: SetOperationName, options: SetOptions & Keep): Promise<KeptArray>;
  combineSets<K extends Keys>(
    left: K,
    right: Keys,
    operation: SetOperationName,
    options?: SetOptions,
  ): Promise<ArrayOf<K>>;
  combineSets(
    left: unknown,
    right: unknown,
    operation: SetOperationName,
    options: SetOptions & Partial<Keep> = {},
  ): Promise<unknown> {
    return this.#perform(() => sets.combineSets(left, right, operation, options), options);
  }

  /** Combines two sorted arrays, and moves a value with each key. */
  combineSetsWithValues(
    left: Keys,
    right: Keys,
    operation: SetOperationName,
    values: SetValues<Values>,
    options: SetOptions & KeepEach<"keys" | "values">,
  ): Promise<KeysAndValues<KeptArray, KeptArray>>;
  combineSetsWithValues<K extends Keys, V extends Values>(
    left: K,
    right: Keys,
    operation: SetOperationName,
    values: SetValues<V>,
    options?: SetOptions,
  ): Promise<KeysAndValues<ArrayOf<K>, ValuesOf<V>>>;
  combineSetsWithValues(
    left: unknown,
    right: unknown,
    operation: SetOperationName,
    values: SetValues<Values>,
    options: SetOptions & Partial<KeepEach<"keys" | "values">> = {},
  ): Promise<unknown> {
    return this.#perform(() => sets.combineSetsWithValues(left, right, operation, values, options), options);
  }

  /** Counts the keys that `combineSets` would return. With `keep`, the server keeps the number, as one int64. */
  countSets(left: Keys, right: Keys, operation: SetOperationName, options: SetOptions & Keep): Promise<KeptArray>;
  countSets(left: Keys, right: Keys, operation: SetOperationName, options?: SetOptions): Promise<number>;
  countSets(
    left: unknown,
    right: unknown,
    operation: SetOperationName,
    options: SetOptions & Partial<Keep> = {},
  ): Promise<unknown> {
    return this.#perform(() => sets.countSets(left, right, operation, options), options);
  }

  /**
   * Finds the rows of two arrays, in any order and of one type, that have equal keys. All NaNs are one key, and so are
   * both zeros. The server sorts the right side alone. If the join has more rows than both sides together, the client
   * calls a second time, with room for them, unless `maxRows` is given.
   * @param kind "inner": each pair of rows with equal keys, which are partners; "left", "right", "full": also the rows
   *   of that side, or of both, without a partner; "semi": the rows of the left with a partner, once each; "anti":
   *   those without
   * @returns the rows of the left in their order, each with its partners in their order on the right; then the rows of
   *   the right without a partner. For "semi" and "anti", the row numbers of the left alone.
   */
  join(
    left: Keys,
    right: Keys,
    kind: PairJoin,
    options: JoinOptions & KeepEach<keyof JoinedRows>,
  ): Promise<JoinedRows<KeptArray>>;
  join(left: Keys, right: Keys, kind: LeftJoin, options: JoinOptions & Keep): Promise<KeptArray>;
  join(left: Keys, right: Keys, kind: PairJoin, options?: JoinOptions): Promise<JoinedRows>;
  join(left: Keys, right: Keys, kind: LeftJoin, options?: JoinOptions): Promise<Rows>;
  join(
    left: unknown,
    right: unknown,
    kind: PairJoin | LeftJoin,
    options: JoinOptions & Keeping = {},
  ): Promise<unknown> {
    return this.#perform(() => joins.join(left, right, kind, options), options);
  }

  /** Counts the rows that `join` would return. With `keep`, the server keeps the number, as one int64. */
  countJoin(
    left: Keys,
    right: Keys,
    kind: PairJoin | LeftJoin,
    options: CountJoinOptions & Keep,
  ): Promise<KeptArray>;
  countJoin(left: Keys, right: Keys, kind: PairJoin | LeftJoin, options?: CountJoinOptions): Promise<number>;
  countJoin(
    left: unknown,
    right: unknown,
    kind: PairJoin | LeftJoin,
    options: CountJoinOptions & Partial<Keep> = {},
  ): Promise<unknown> {
    return this.#perform(() => joins.countJoin(left, right, kind, options), options);
  }

  /** Begins a chain: operators that run one after the other on the server, in one call. */
  chain(options: CallOptions = {}): Chain {
    return new Chain(this.#connection, options);
  }

  /** Has the server keep an array under a name, and replaces one of that name. */
  async store(name: string, array: NumberArray | Records, options?: StoreOptions): Promise<KeptArray> {
    return kept.store(this.#connection, name, array, options);
  }

  /** The handle of the array that the server keeps under a name. Rejects with NotFoundError if there is none. */
  async stored(name: string, options?: RequestOptions): Promise<KeptArray> {
    return kept.find(this.#connection, name, options);
  }

  /** The arrays that the server keeps for this caller. */
  async arrays(options?: RequestOptions): Promise<KeptArrays> {
    return kept.list(this.#connection, options);
  }

  /** Has the server forget the array of this name. Rejects with NotFoundError if there is none. */
  async delete(name: string, options?: RequestOptions): Promise<void> {
    return kept.remove(this.#connection, name, options);
  }

  /** Describes the server: version, engine, places, limits, devices, settings. */
  async info(options?: RequestOptions): Promise<ServerInfo> {
    return this.#connection.ask(options);
  }

  /**
   * Asks whether the server takes requests.
   * @param service "" for the server as a whole; docs/operations/monitor.md names the others
   */
  async health(service = "", options?: RequestOptions): Promise<Health> {
    return checkHealth(this.#connection, service, options);
  }

  // Arguments are read inside, so that their errors reject too.
  /** @internal */
  protected perform<R>(make: () => Task<R>, options: KeepingOptions): Promise<R> {
    return this.#perform(make, options);
  }

  async #perform<R>(make: () => Task<R>, options: KeepingOptions): Promise<R> {
    const { keep, sharded, ...rest } = options;
    const task = make();
    return this.#connection.performOne(task, keptNames(task, { keep, sharded }), this.#connection.settings(rest));
  }
}

/**
 * Makes a client. It connects at its first call, so a server that is down shows there.
 * @param address HOST:PORT; a gRPC target such as "dns:///name:port", whose addresses take turns; or several HOST:PORT,
 *   in an Array or with commas between them, which take turns too. Default: CORANK_SERVER of the environment, else
 *   127.0.0.1:50051.
 */
export function connect(address?: string | readonly string[], options: ConnectOptions = {}): Client {
  return new Client(new Connection(address, options, process.env));
}
