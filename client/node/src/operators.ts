// Makes the task of each operator from its arguments.
import { outgoing, sorted, type ColumnOrder, type Outgoing } from "./columns.js";
import {
  checkReach,
  indexElement,
  integers,
  keys as keysOf,
  total,
  values as valuesOf,
  type Element,
  type HalfType,
  type Input,
} from "./elements.js";
import { InvalidArgumentError } from "./errors.js";
import { firstRows, type Lengths } from "./first.js";
import { choice, whole, type MergeAlgorithmName, type SortAlgorithmName } from "./options.js";
import * as pb from "./pb/corank/v1/operators.js";
import type { Answer, Group, Leaf, Output, Task } from "./task.js";

/** The arguments of sorts. */
export interface SortArguments {
  /** Greatest first. Equal keys keep the order of their input in both directions. */
  descending?: boolean | undefined;
  /** How the server sorts; the result is the same. */
  algorithm?: SortAlgorithmName | undefined;
  /** s + 1 offsets that rise from 0 to the number of keys; each segment is sorted for itself. */
  segments?: unknown;
  /** Return only the first `limit` results in sorted order; with segments, those of each segment. */
  limit?: number | undefined;
  /** Leave out the first `offset` results, before `limit` counts. */
  offset?: number | undefined;
  /** Read the bits of 2-byte keys as this type. */
  type?: HalfType | undefined;
}

/** The arguments of sorts by columns. */
export interface ColumnArguments extends ColumnOrder {
  algorithm?: SortAlgorithmName | undefined;
  /** s + 1 offsets that rise from 0 to the number of rows; each segment is sorted for itself. */
  segments?: unknown;
  limit?: number | undefined;
  offset?: number | undefined;
  types?: readonly (HalfType | undefined)[] | undefined;
  /** r + 1 offsets that rise from 0 to the number of rows, if these are sorted runs to merge. */
  runs?: unknown;
  values?: unknown;
  indices?: boolean | undefined;
}

/** The arguments of merges. */
export interface MergeArguments {
  descending?: boolean | undefined;
  algorithm?: MergeAlgorithmName | undefined;
  assumeSorted?: boolean | undefined;
  type?: HalfType | undefined;
}

/** The intervals of moves and scatters, and what the result holds elsewhere. */
export interface IntervalArguments {
  sourceOffsets?: unknown;
  destinationOffsets?: unknown;
  counts: unknown;
  destination?: unknown;
  allowOverlap?: boolean | undefined;
}

const SORT_ALGORITHMS: Record<SortAlgorithmName, pb.SortAlgorithm> = {
  auto: pb.SortAlgorithm.SORT_ALGORITHM_AUTO,
  mergesort: pb.SortAlgorithm.SORT_ALGORITHM_MERGESORT,
  radix: pb.SortAlgorithm.SORT_ALGORITHM_RADIX,
  "odd-even-mergesort": pb.SortAlgorithm.SORT_ALGORITHM_ODD_EVEN_MERGESORT,
};
const MERGE_ALGORITHMS: Record<MergeAlgorithmName, pb.MergeAlgorithm> = {
  auto: pb.MergeAlgorithm.MERGE_ALGORITHM_AUTO,
  basic: pb.MergeAlgorithm.MERGE_ALGORITHM_BASIC,
  tiled: pb.MergeAlgorithm.MERGE_ALGORITHM_TILED,
  "circular-buffer": pb.MergeAlgorithm.MERGE_ALGORITHM_CIRCULAR_BUFFER,
  "merge-path": pb.MergeAlgorithm.MERGE_ALGORITHM_MERGE_PATH,
};

/** The order of a request. */
export const order = (descending: boolean | undefined): pb.SortOrder =>
  descending ? pb.SortOrder.SORT_ORDER_DESCENDING : pb.SortOrder.SORT_ORDER_ASCENDING;
// Without a spread, which is slow here.
export const leaf = (field: string, number: number, { element, count, data, remote }: Input): Leaf => ({
  element,
  count,
  data,
  remote,
  field,
  number,
});
export const first = (results: unknown[]): unknown => results[0];

/** A result. */
export function output<A extends Answer>(
  field: string,
  destination: number,
  element: Element,
  count: number | undefined,
  pick: Output<A>["pick"],
): Output {
  // A task reads its own operator's answer only.
  return { field, destination, element, count, indices: false, pick: pick };
}

/** A result of positions. */
export function indices<A extends Answer>(
  field: string,
  destination: number,
  greatest: number,
  count: number | undefined,
  pick: Output<A>["pick"],
): Output {
  return { ...output(field, destination, indexElement(greatest), count, pick), indices: true };
}

function sortTask<R>(
  request: pb.SortRequest,
  parts: (Leaf | Group)[],
  outputs: Output[],
  finish: (results: unknown[]) => R,
): Task<R> {
  return {
    method: "Sort",
    operation: 1,
    request: pb.SortRequest.encode(request).finish(),
    options: 11,
    parts,
    outputs,
    decode: (data) => pb.SortResponse.decode(data),
    pick: (result) => result.sort,
    finish,
  };
}

/** What a sort returns beside its keys. */
export type SortExtra = "none" | "values" | "indices" | "only-indices";

/** Sort with one key: keys, keys and values, keys and indices, or indices. */
export function sort<R>(keys: unknown, extra: SortExtra, values: unknown, given: SortArguments): Task<R> {
  const { descending, algorithm = "auto", segments, limit, offset = 0, type } = given;
  const input = keysOf("keys", keys, type);
  const request = pb.SortRequest.fromPartial({
    order: order(descending),
    algorithm: choice("algorithm", algorithm, SORT_ALGORITHMS),
    output:
      extra === "only-indices"
        ? pb.SortOutput.SORT_OUTPUT_INDICES
        : extra === "indices"
          ? pb.SortOutput.SORT_OUTPUT_KEYS_AND_INDICES
          : pb.SortOutput.SORT_OUTPUT_KEYS,
    ...(limit === undefined ? {} : { limit: whole("limit", limit, 0) }),
    ...(offset === 0 ? {} : { offset: whole("offset", offset, 0) }),
  });
  const parts = [leaf("keys", 1, input)];
  const offsets = segments === undefined ? undefined : integers("segment_offsets", segments);
  const lengths = input.count === undefined ? undefined : firstRows(limit, offset, offsets)(input.count);
  const { count, most } = lengths ?? { count: undefined, most: undefined };
  const outputs: Output[] = [];
  if (extra !== "only-indices") {
    outputs.push(output<pb.SortResponse>("keys", 8, input.element, count, (answer) => answer.keys));
  }
  if (extra === "values") {
    const moved = valuesOf("values", values);
    parts.push(leaf("values", 2, moved));
    outputs.push(output<pb.SortResponse>("values", 9, moved.element, count, (answer) => answer.values));
  } else if (extra !== "none") {
    outputs.push(indices<pb.SortResponse>("indices", 10, (input.count ?? 0) - 1, count, (answer) => answer.indices));
  }
  for (const made of outputs) {
    made.most = most;
  }
  if (offsets !== undefined) {
    parts.push(leaf("segment_offsets", 6, offsets));
  }
  const finish = (results: unknown[]): R => {
    const [keysOrIndices, second] = results;
    const pair = extra === "values" ? { values: second } : { indices: second };
    return (outputs.length === 1 ? keysOrIndices : { keys: keysOrIndices, ...pair }) as R;
  };
  return sortTask(request, parts, outputs, finish);
}

/** A request, its columns, its parts, the number of rows, and the lengths of the results. */
type ColumnRequest = [pb.SortRequest, Outgoing[], (Leaf | Group)[], number, Lengths];

function columnRequest(columns: readonly unknown[], given: ColumnArguments): ColumnRequest {
  const { algorithm = "auto", segments, limit, offset = 0, types = [], runs } = given;
  if (limit !== undefined) {
    whole("limit", limit, 0);
  }
  whole("offset", offset, 0);
  const offsets = segments === undefined ? undefined : integers("segment_offsets", segments);
  const rowsOf = firstRows(limit, offset, offsets);
  const found = outgoing(columns, given, types, rowsOf);
  const request = pb.SortRequest.fromPartial({
    algorithm: choice("algorithm", algorithm, SORT_ALGORITHMS),
    ...(limit === undefined ? {} : { limit }),
    ...(offset === 0 ? {} : { offset }),
  });
  const parts: (Leaf | Group)[] = found.map((column) => column.group);
  if (offsets !== undefined) {
    parts.push(leaf("segment_offsets", 6, offsets));
  }
  if (runs !== undefined) {
    parts.push(leaf("run_offsets", 14, integers("run_offsets", runs)));
  }
  const { rows } = found[0] as Outgoing;
  return [request, found, parts, rows, rowsOf(rows)];
}

/** Sort by columns: the columns, and values or indices if they are asked for. */
export function sortColumns<R>(columns: readonly unknown[], given: ColumnArguments): Task<R> {
  const [request, found, parts, rows, { count, most }] = columnRequest(columns, given);
  request.output = given.indices
    ? pb.SortOutput.SORT_OUTPUT_KEYS_AND_INDICES
    : pb.SortOutput.SORT_OUTPUT_KEYS;
  const outputs = found.flatMap((column) => column.outputs as Output[]);
  const own = outputs.length;
  if (given.values !== undefined) {
    const moved = valuesOf("values", given.values);
    parts.push(leaf("values", 2, moved));
    outputs.push({ ...output<pb.SortResponse>("values", 9, moved.element, count, (answer) => answer.values), most });
  }
  if (given.indices) {
    outputs.push({ ...indices<pb.SortResponse>("indices", 10, rows - 1, count, (answer) => answer.indices), most });
  }
  return sortTask(request, parts, outputs, (results) => {
    const more = results.slice(own);
    return {
      columns: sorted(found, results),
      ...(given.values === undefined ? {} : { values: more.shift() }),
      ...(given.indices ? { indices: more.shift() } : {}),
    } as R;
  });
}

/** The order of rows by columns. */
export function argsortColumns<R>(columns: readonly unknown[], given: ColumnArguments): Task<R> {
  const [request, , parts, rows, { count, most }] = columnRequest(columns, given);
  request.output = pb.SortOutput.SORT_OUTPUT_INDICES;
  const positions = indices<pb.SortResponse>("indices", 10, rows - 1, count, (answer) => answer.indices);
  return sortTask(request, parts, [{ ...positions, most }], first as (results: unknown[]) => R);
}

/** The dense rank of each row by columns. */
export function rankColumns<R>(columns: readonly unknown[], given: ColumnArguments): Task<R> {
  for (const option of ["limit", "offset"] as const) {
    if (given[option] !== undefined) {
      throw new InvalidArgumentError(`${option}: rankColumns ranks all rows`, { field: option });
    }
  }
  const [request, , parts, rows] = columnRequest(columns, given);
  request.output = pb.SortOutput.SORT_OUTPUT_RANKS;
  const ranks = indices<pb.SortResponse>("ranks", 13, rows, rows, (answer) => answer.ranks);
  return sortTask(request, parts, [ranks], first as (results: unknown[]) => R);
}

function oneType(field: string, inputs: Input[]): Element {
  const [one] = inputs as [Input];
  inputs.forEach(({ element }, at) => {
    if (element.type !== one.element.type || element.bytes !== one.element.bytes) {
      const text = `${field}[${at}] is ${element.name}, ${field}[0] is ${one.element.name}; all must be of one type`;
      throw new TypeError(text);
    }
  });
  return one.element;
}

function arrayOf(field: string, given: unknown): unknown[] {
  if (!Array.isArray(given)) {
    throw new TypeError(`${field}: must be an Array of typed arrays`);
  }
  return given;
}

/** Merge, with values unless they are undefined. */
export function merge<R>(arrays: unknown, values: unknown, given: MergeArguments): Task<R> {
  const { descending, algorithm = "auto", assumeSorted = false, type } = given;
  const inputs = arrayOf("keys", arrays).map((array, at) => keysOf(`keys[${at}]`, array, type));
  if (inputs.length === 0) {
    throw new InvalidArgumentError("keys: needs 2 arrays or more to merge", { field: "keys" });
  }
  const parts = inputs.map((input) => leaf("keys", 1, input));
  const count = inputs.reduce<number | undefined>(
    (sum, input) => (sum === undefined || input.count === undefined ? undefined : sum + input.count),
    0,
  );
  const outputs = [
    output<pb.MergeResponse>("keys", 6, oneType("keys", inputs), count, (answer) => answer.keys),
  ];
  if (values !== undefined) {
    const moved = arrayOf("values", values).map((array, at) => valuesOf(`values[${at}]`, array));
    if (moved.length !== inputs.length) {
      const text = `values: ${moved.length} arrays for the ${inputs.length} of keys; each needs its own`;
      throw new InvalidArgumentError(text, { field: "values" });
    }
    parts.push(...moved.map((input) => leaf("values", 2, input)));
    const element = oneType("values", moved);
    outputs.push(output<pb.MergeResponse>("values", 7, element, count, (answer) => answer.values));
  }
  const request = pb.MergeRequest.fromPartial({
    order: order(descending),
    algorithm: choice("algorithm", algorithm, MERGE_ALGORITHMS),
    assumeSorted,
  });
  return {
    method: "Merge",
    operation: 2,
    request: pb.MergeRequest.encode(request).finish(),
    options: 8,
    parts,
    outputs,
    decode: (data) => pb.MergeResponse.decode(data),
    pick: (result) => result.merge,
    finish: ([keys, moved]) => (values === undefined ? keys : { keys, values: moved }) as R,
  };
}

/** Expand. */
export function expand<R>(values: unknown, counts: unknown): Task<R> {
  const moved = valuesOf("values", values);
  const each = integers("counts", counts, moved.count);
  if (each.count !== undefined && moved.count !== undefined && each.count !== moved.count) {
    const text = `counts: ${each.count} for ${moved.count} values; each value needs one`;
    throw new InvalidArgumentError(text, { field: "counts" });
  }
  return {
    method: "ExpandIntervals",
    operation: 3,
    request: new Uint8Array(),
    options: 4,
    parts: [leaf("values", 1, moved), leaf("counts", 2, each)],
    outputs: [
      output<pb.ExpandIntervalsResponse>("values", 3, moved.element, total(each), (answer) => answer.values),
    ],
    decode: (data) => pb.ExpandIntervalsResponse.decode(data),
    pick: (result) => result.expandIntervals,
    finish: first as (results: unknown[]) => R,
  };
}

/** Gather. */
export function gather<R>(source: unknown, given: IntervalArguments): Task<R> {
  const moved = valuesOf("source", source);
  const offsets = integers("source_offsets", given.sourceOffsets);
  const counts = integers("counts", given.counts, offsets.count);
  checkReach(moved, counts);
  return {
    method: "GatherIntervals",
    operation: 5,
    request: new Uint8Array(),
    options: 5,
    parts: [leaf("source", 1, moved), leaf("source_offsets", 2, offsets), leaf("counts", 3, counts)],
    outputs: [
      output<pb.GatherIntervalsResponse>("result", 4, moved.element, total(counts), (answer) => answer.result),
    ],
    decode: (data) => pb.GatherIntervalsResponse.decode(data),
    pick: (result) => result.gatherIntervals,
    finish: first as (results: unknown[]) => R,
  };
}

/** The destination before the copies: its length, or an array and its part. */
function initial(
  given: unknown,
  element: Element,
  number: number,
): { count: number | undefined; parts: Leaf[]; field: { destinationCount?: number } } {
  if (typeof given === "number" || typeof given === "bigint") {
    const count = whole("destination", Number(given), 0);
    return { count, parts: [], field: { destinationCount: count } };
  }
  const array = valuesOf("destination", given);
  if (array.element.type !== element.type || array.element.bytes !== element.bytes) {
    const text = `destination is ${array.element.name}, source is ${element.name}; they must be of one type`;
    throw new TypeError(text);
  }
  return { count: array.count, parts: [leaf("destination", number, array)], field: {} };
}

/** Move. */
export function move<R>(source: unknown, given: IntervalArguments): Task<R> {
  const moved = valuesOf("source", source);
  const offsets = integers("source_offsets", given.sourceOffsets);
  const before = initial(given.destination, moved.element, 6);
  const request = pb.MoveIntervalsRequest.fromPartial({
    allowOverlap: given.allowOverlap ?? false,
    ...before.field,
  });
  return {
    method: "MoveIntervals",
    operation: 4,
    request: pb.MoveIntervalsRequest.encode(request).finish(),
    options: 9,
    parts: [
      leaf("source", 1, moved),
      leaf("source_offsets", 2, offsets),
      leaf("destination_offsets", 3, integers("destination_offsets", given.destinationOffsets)),
      leaf("counts", 4, integers("counts", given.counts, offsets.count)),
      ...before.parts,
    ],
    outputs: [
      output<pb.MoveIntervalsResponse>("result", 8, moved.element, before.count, (answer) => answer.result),
    ],
    decode: (data) => pb.MoveIntervalsResponse.decode(data),
    pick: (result) => result.moveIntervals,
    finish: first as (results: unknown[]) => R,
  };
}

/** Scatter. */
export function scatter<R>(source: unknown, given: IntervalArguments): Task<R> {
  const moved = valuesOf("source", source);
  const offsets = integers("destination_offsets", given.destinationOffsets);
  const before = initial(given.destination, moved.element, 5);
  const request = pb.ScatterIntervalsRequest.fromPartial({
    allowOverlap: given.allowOverlap ?? false,
    ...before.field,
  });
  return {
    method: "ScatterIntervals",
    operation: 6,
    request: pb.ScatterIntervalsRequest.encode(request).finish(),
    options: 8,
    parts: [
      leaf("source", 1, moved),
      leaf("destination_offsets", 2, offsets),
      leaf("counts", 3, integers("counts", given.counts, offsets.count)),
      ...before.parts,
    ],
    outputs: [
      output<pb.ScatterIntervalsResponse>("result", 7, moved.element, before.count, (answer) => answer.result),
    ],
    decode: (data) => pb.ScatterIntervalsResponse.decode(data),
    pick: (result) => result.scatterIntervals,
    finish: first as (results: unknown[]) => R,
  };
}

/** LoadBalance. */
export function loadBalance<R>(counts: unknown): Task<R> {
  const each = integers("counts", counts);
  const length = total(each);
  const greatest = Math.max(each.count ?? 0, length ?? 0) - 1;
  return {
    method: "LoadBalance",
    operation: 7,
    request: new Uint8Array(),
    options: 4,
    parts: [leaf("counts", 1, each)],
    outputs: [
      indices<pb.LoadBalanceResponse>("objects", 2, greatest, length, (answer) => answer.objects),
      indices<pb.LoadBalanceResponse>("ranks", 3, greatest, length, (answer) => answer.ranks),
    ],
    decode: (data) => pb.LoadBalanceResponse.decode(data),
    pick: (result) => result.loadBalance,
    finish: ([objects, ranks]) => ({ objects, ranks }) as R,
  };
}
