import type {
  ArrayOf,
  CountJoinOptions,
  Counts,
  ElementsAndValues,
  GatherIntervals,
  GroupOptions,
  Groups,
  JoinedRows,
  JoinOptions,
  Keep,
  KeepEach,
  Keys,
  KeysAndIndices,
  KeysAndValues,
  LoadBalance,
  MergeOptions,
  MoveIntervals,
  Parted,
  RankKeysOptions,
  ColumnSearchOptions,
  RankOptions,
  ScatterIntervals,
  SearchOptions,
  SelectOptions,
  SetOptions,
  SortOptions,
  UniqueOptions,
  Values,
  ValuesOf,
} from "./arguments.js";
import type { Column } from "./columns.js";
import type { Connection, KeepAs, Step } from "./connection.js";
import { REMOTE, type Element, type Indices, type Remote, type Rows } from "./elements.js";
import { InvalidArgumentError } from "./errors.js";
import * as groups from "./groups.js";
import type { GroupOutputName } from "./groups.js";
import * as joins from "./joins.js";
import type { LeftJoin, PairJoin } from "./joins.js";
import { keptNames, type Keeping } from "./keeping.js";
import type { KeptArray } from "./kept.js";
import * as operators from "./operators.js";
import type { CallOptions } from "./options.js";
import * as searches from "./searches.js";
import * as selections from "./selections.js";
import type { PositionRank, RankMethod, Selection } from "./selections.js";
import * as sets from "./sets.js";
import type { SetOperationName } from "./sets.js";
import { leavesOf, type Task } from "./task.js";

const MAX_OPERATIONS = 16;

type Link<O> = Omit<O, keyof CallOptions> & Partial<Keep>;
type LinkEach<O, Name extends string> = Omit<O, keyof CallOptions> & Partial<KeepEach<Name>>;
type In<T> = T | Pending<T>;
type Of<T> = T extends Pending<infer R> ? R : T;

/**
 * A result of an operator of a chain: an input of later operators or, after the chain, an array. A result that a later
 * operator takes stays on the server and ends with the chain; all others come back.
 */
export class Pending<T> {
  #state: "waits" | "failed" | "taken" | "ready" = "waits";
  #value: T | undefined;

  /** @internal */
  constructor(
    /** @internal */
    readonly chain: Chain,
    /** @internal */
    readonly keepName: string,
    private readonly element: Element,
    private readonly count: number | undefined,
  ) {}

  /** The array, or the handle of what `keep` kept. Call it after `Chain.run` resolved. */
  result(): T {
    if (this.#state === "ready") {
      return this.#value as T;
    }
    throw new Error(
      {
        waits: "chain: it has not run; await chain.run() first",
        failed: "chain: it failed, and this result is not there",
        taken: "chain: a later operator took this result, which stayed on the server",
      }[this.#state],
    );
  }

  /** @internal */
  end(state: "failed" | "taken" | "ready", value?: unknown): void {
    this.#state = state;
    this.#value = value as T;
  }

  /** @internal */
  [REMOTE](): Remote {
    if (this.#state !== "waits") {
      throw new TypeError("this is a result of a chain that has run; pass its result()");
    }
    return { name: this.keepName, temporary: true, element: this.element, length: this.count };
  }
}

interface Added {
  task: Task<unknown>;
  keep: (KeepAs | undefined)[];
  results: Pending<unknown>[];
}

/**
 * Operators that run one after the other on the server, in one call; made by `Client.chain`. Its methods are those of
 * Client except `sortColumns` and `argsortColumns`; each returns Pendings, which later operators take as inputs.
 */
export class Chain {
  readonly #connection: Connection;
  readonly #options: CallOptions;
  readonly #added: Added[] = [];
  #hasRun = false;

  /** @internal */
  constructor(connection: Connection, options: CallOptions) {
    this.#connection = connection;
    this.#options = options;
    connection.settings(options);
  }

  /** See Client.sort. */
  sort<K extends In<Keys>>(keys: K, options: Link<SortOptions> = {}): Pending<ArrayOf<Of<K>>> {
    return this.#add(operators.sort(keys, "none", undefined, options), options);
  }

  /** See Client.sortWithValues. */
  sortWithValues<K extends In<Keys>, V extends In<Values>>(
    keys: K,
    values: V,
    options: LinkEach<SortOptions, "keys" | "values"> = {},
  ): KeysAndValues<Pending<ArrayOf<Of<K>>>, Pending<ValuesOf<Of<V>>>> {
    return this.#add(operators.sort(keys, "values", values, options), options);
  }

  /** See Client.sortWithIndices. */
  sortWithIndices<K extends In<Keys>>(
    keys: K,
    options: LinkEach<SortOptions, "keys" | "indices"> = {},
  ): KeysAndIndices<Pending<ArrayOf<Of<K>>>, Pending<Indices>> {
    return this.#add(operators.sort(keys, "indices", undefined, options), options);
  }

  /** See Client.argsort. */
  argsort(keys: In<Keys>, options: Link<SortOptions> = {}): Pending<Indices> {
    return this.#add(operators.sort(keys, "only-indices", undefined, options), options);
  }

  /** See Client.rankColumns. The columns themselves lie here. */
  rankColumns(columns: readonly Column[], options: Link<RankOptions> = {}): Pending<Indices> {
    return this.#add(operators.rankColumns(columns, options), options);
  }

  /** See Client.merge. */
  merge<K extends In<Keys>>(arrays: readonly K[], options: Link<MergeOptions> = {}): Pending<ArrayOf<Of<K>>> {
    return this.#add(operators.merge(arrays, undefined, options), options);
  }

  /** See Client.mergeWithValues. */
  mergeWithValues<K extends In<Keys>, V extends In<Values>>(
    arrays: readonly K[],
    values: readonly V[],
    options: LinkEach<MergeOptions, "keys" | "values"> = {},
  ): KeysAndValues<Pending<ArrayOf<Of<K>>>, Pending<ValuesOf<Of<V>>>> {
    return this.#add(operators.merge(arrays, values, options), options);
  }

  /** See Client.search. */
  search(haystack: In<Keys>, needles: In<Keys>, options: Link<SearchOptions> = {}): Pending<Indices> {
    return this.#add(searches.search(haystack, needles, options), options);
  }

  /** See Client.searchColumns. The columns themselves lie here. */
  searchColumns(
    haystack: readonly Column[],
    needles: readonly Column[],
    options: Link<ColumnSearchOptions> = {},
  ): Pending<Indices> {
    return this.#add(searches.searchColumns(haystack, needles, options), options);
  }

  /** See Client.expand. */
  expand<V extends In<Values>>(
    values: V,
    counts: In<Counts> | number | bigint,
    options: Partial<Keep> = {},
  ): Pending<ValuesOf<Of<V>>> {
    return this.#add(operators.expand(values, counts), options);
  }

  /** See Client.gather. */
  gather<V extends In<Values>>(
    source: V,
    intervals: GatherIntervals,
    options: Partial<Keep> = {},
  ): Pending<ValuesOf<Of<V>>> {
    return this.#add(operators.gather(source, intervals), options);
  }

  /** See Client.move. */
  move<V extends In<Values>>(
    source: V,
    intervals: MoveIntervals,
    options: Partial<Keep> = {},
  ): Pending<ValuesOf<Of<V>>> {
    return this.#add(operators.move(source, intervals), options);
  }

  /** See Client.scatter. */
  scatter<V extends In<Values>>(
    source: V,
    intervals: ScatterIntervals,
    options: Partial<Keep> = {},
  ): Pending<ValuesOf<Of<V>>> {
    return this.#add(operators.scatter(source, intervals), options);
  }

  /** See Client.loadBalance. */
  loadBalance(
    counts: In<Counts>,
    options: Partial<KeepEach<"objects" | "ranks">> = {},
  ): LoadBalance<Pending<Indices>> {
    return this.#add(operators.loadBalance(counts), options);
  }

  /** See Client.group. */
  group<K extends In<Keys>, V extends In<Keys> = Keys, O extends GroupOutputName = "keys" | "counts">(
    keys: K,
    options: Omit<GroupOptions, keyof CallOptions> & {
      values?: V;
      valuesValidity?: In<Uint8Array | KeptArray> | undefined;
      outputs?: readonly O[];
    } & Partial<KeepEach<O>> = {},
  ): { [Name in O]: Pending<Groups<Of<K>, Of<V>>[Name]> } {
    type Found = { [Name in O]: Pending<Groups<Of<K>, Of<V>>[Name]> };
    return this.#add(groups.group(keys, options, (found) => found as Found), options);
  }

  /** See Client.unique. */
  unique<K extends In<Keys>>(keys: K, options: Link<UniqueOptions> = {}): Pending<ArrayOf<Of<K>>> {
    return this.#add(groups.unique(keys, options), options);
  }

  /** See Client.runLengthEncode. */
  runLengthEncode<K extends In<Keys>>(
    keys: K,
    options: LinkEach<Omit<UniqueOptions, "descending">, "keys" | "counts"> = {},
  ): { keys: Pending<ArrayOf<Of<K>>>; counts: Pending<BigInt64Array> } {
    return this.#add(groups.runLengthEncode(keys, options), options);
  }

  /** See Client.combineSets. */
  combineSets<K extends In<Keys>>(
    left: K,
    right: In<Keys>,
    operation: SetOperationName,
    options: Link<SetOptions> = {},
  ): Pending<ArrayOf<Of<K>>> {
    return this.#add(sets.combineSets(left, right, operation, options), options);
  }

  /** See Client.combineSetsWithValues. */
  combineSetsWithValues<K extends In<Keys>, V extends In<Values>>(
    left: K,
    right: In<Keys>,
    operation: SetOperationName,
    values: { left: V; right?: V | undefined },
    options: LinkEach<SetOptions, "keys" | "values"> = {},
  ): KeysAndValues<Pending<ArrayOf<Of<K>>>, Pending<ValuesOf<Of<V>>>> {
    return this.#add(sets.combineSetsWithValues(left, right, operation, values, options), options);
  }

  /** See Client.countSets. The number is an array of one int64. */
  countSets(
    left: In<Keys>,
    right: In<Keys>,
    operation: SetOperationName,
    options: Link<SetOptions> = {},
  ): Pending<BigInt64Array> {
    return this.#add(sets.countSets(left, right, operation, options), options);
  }

  /** See Client.join. A join with more rows than there is room for fails the chain, which does not run again. */
  join(
    left: In<Keys>,
    right: In<Keys>,
    kind: PairJoin,
    options?: LinkEach<JoinOptions, keyof JoinedRows>,
  ): JoinedRows<Pending<Rows>>;
  join(left: In<Keys>, right: In<Keys>, kind: LeftJoin, options?: Link<JoinOptions>): Pending<Rows>;
  join(
    left: unknown,
    right: unknown,
    kind: PairJoin | LeftJoin,
    options: Omit<JoinOptions, keyof CallOptions> & Keeping = {},
  ): unknown {
    return this.#add(joins.join(left, right, kind, options), options);
  }

  /** See Client.countJoin. The number is an array of one int64. */
  countJoin(
    left: In<Keys>,
    right: In<Keys>,
    kind: PairJoin | LeftJoin,
    options: Link<CountJoinOptions> = {},
  ): Pending<BigInt64Array> {
    return this.#add(joins.countJoin(left, right, kind, options), options);
  }

  /** See Client.select. Only the answer tells the number of selected elements. */
  select<E extends In<Values>>(
    elements: E,
    by: Selection<Pending<unknown>>,
    options: Link<SelectOptions> = {},
  ): Pending<ValuesOf<Of<E>>> {
    return this.#add(selections.select(elements, by, "elements", undefined, options), options);
  }

  /** See Client.selectWithValues. */
  selectWithValues<E extends In<Values>, V extends In<Values>>(
    elements: E,
    values: V,
    by: Selection<Pending<unknown>>,
    options: LinkEach<SelectOptions, "elements" | "values"> = {},
  ): ElementsAndValues<Pending<ValuesOf<Of<E>>>, Pending<ValuesOf<Of<V>>>> {
    return this.#add(selections.select(elements, by, "elements", values, options), options);
  }

  /** See Client.argselect. */
  argselect(
    elements: In<Values>,
    by: Selection<Pending<unknown>>,
    options: Link<SelectOptions> = {},
  ): Pending<Indices> {
    return this.#add(selections.select(elements, by, "indices", undefined, options), options);
  }

  /** See Client.partition. The number is an array of one int64. */
  partition<E extends In<Values>>(
    elements: E,
    by: Selection<Pending<unknown>>,
    options: LinkEach<SelectOptions, "elements" | "count"> = {},
  ): Parted<Pending<ValuesOf<Of<E>>>, Pending<BigInt64Array>> {
    return this.#add(selections.select(elements, by, "partition", undefined, options), options);
  }

  /** See Client.partitionWithValues. The number is an array of one int64. */
  partitionWithValues<E extends In<Values>, V extends In<Values>>(
    elements: E,
    values: V,
    by: Selection<Pending<unknown>>,
    options: LinkEach<SelectOptions, "elements" | "values" | "count"> = {},
  ): Parted<Pending<ValuesOf<Of<E>>>, Pending<BigInt64Array>> & { values: Pending<ValuesOf<Of<V>>> } {
    return this.#add(selections.select(elements, by, "partition", values, options), options);
  }

  /** See Client.remove. */
  remove<E extends In<Values>>(
    elements: E,
    positions: In<Counts>,
    options: Partial<Keep> = {},
  ): Pending<ValuesOf<Of<E>>> {
    return this.#add(selections.remove(elements, positions), options);
  }

  /** See Client.insert. The arrays lie here. */
  insert<E extends Values>(
    elements: E,
    positions: Counts,
    inserted: E,
    options: Partial<Keep> = {},
  ): Pending<ValuesOf<E>> {
    return this.#add(selections.insert(elements, positions, inserted), options);
  }

  /** See Client.rank. */
  rank(keys: In<Keys>, method: "average", options?: Link<RankKeysOptions>): Pending<Float64Array>;
  rank(keys: In<Keys>, method: PositionRank, options?: Link<RankKeysOptions>): Pending<Indices>;
  rank(keys: unknown, method: RankMethod, options: Link<RankKeysOptions> = {}): unknown {
    return this.#add(selections.rank(keys, method, options), options);
  }

  #add<R>(task: Task<R>, options: Keeping): R {
    this.#checkNotRun();
    if (this.#added.length === MAX_OPERATIONS) {
      throw new InvalidArgumentError(`chain: at most ${MAX_OPERATIONS} operators`, { field: "plan.operations" });
    }
    for (const leaf of leavesOf(task)) {
      if (leaf.remote?.temporary && !this.#added.some(({ results }) => results.some(isOf(leaf.remote as Remote)))) {
        throw new InvalidArgumentError(`${leaf.field}: is a result of another chain`, { field: leaf.field });
      }
    }
    const results = task.outputs.map((output, at) => {
      const name = `t${this.#added.length}.${at}-${this.#id}`;
      return new Pending<unknown>(this, name, output.element, output.count);
    });
    this.#added.push({ task, keep: keptNames(task, options), results });
    return task.finish(results);
  }

  readonly #id = (chains++).toString(36);

  #checkNotRun(): void {
    if (this.#hasRun) {
      throw new Error("chain: it has run; make another one");
    }
  }

  /** Runs the operators in one call; then every Pending has its result. */
  async run(): Promise<void> {
    this.#checkNotRun();
    this.#hasRun = true;
    const all = this.#added.flatMap(({ results }) => results);
    try {
      if (this.#added.length > 0) {
        await this.#run();
      }
    } catch (error) {
      for (const pending of all) {
        pending.end("failed");
      }
      throw error;
    }
  }

  async #run(): Promise<void> {
    const taken = new Set(
      this.#added.flatMap(({ task }) => leavesOf(task).flatMap(({ remote }) => (remote?.temporary ? remote.name : []))),
    );
    const steps = this.#added.map(({ task, keep, results }): Step => {
      const places = results.map(({ keepName }, at): KeepAs | undefined => {
        if (!taken.has(keepName)) {
          return keep[at];
        }
        if (keep[at] !== undefined) {
          const text = `chain: a later operator takes a result of ${task.method}, which keep sends elsewhere`;
          throw new InvalidArgumentError(text, { field: "keep" });
        }
        return { name: keepName, temporary: true, sharded: false };
      });
      return { task, keep: places };
    });
    const found = await this.#connection.perform(steps, this.#connection.settings(this.#options), true);
    for (const [at, { results }] of this.#added.entries()) {
      for (const [which, pending] of results.entries()) {
        const isTaken = taken.has(pending.keepName);
        pending.end(isTaken ? "taken" : "ready", isTaken ? undefined : found[at]?.[which]);
      }
    }
  }
}

let chains = 0;
const isOf =
  (remote: Remote) =>
  (pending: Pending<unknown>): boolean =>
    pending.keepName === remote.name;
