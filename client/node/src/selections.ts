// Makes the tasks of Select, Rank and insertions from their arguments.
import {
  integers,
  keys as keysOf,
  named,
  values as valuesOf,
  type Element,
  type HalfType,
  type Input,
  type Integers,
  type NumberArray,
} from "./elements.js";
import { InvalidArgumentError } from "./errors.js";
import type { KeptArray } from "./kept.js";
import { gather, indices, leaf, output } from "./operators.js";
import { choice } from "./options.js";
import { SortOrder } from "./pb/corank/v1/operators.js";
import * as ranks from "./pb/corank/v1/rank.js";
import * as pb from "./pb/corank/v1/select.js";
import { oneType } from "./sets.js";
import type { Leaf, Output, Task } from "./task.js";

/** How an element compares with a threshold. NaN is greater than every number and equal to NaN. */
export type Comparison = "<" | "<=" | "==" | "!=" | ">=" | ">";

/** What selects elements: flags, bits, positions, or a comparison. In a chain, P is a Pending. */
export type Selection<P = never> =
  | {
      /** One for each element, which is selected if it is true, or not 0. */
      flags: Uint8Array | readonly boolean[] | KeptArray | P;
    }
  | {
      /** Bit i % 8 of byte i / 8, the least significant first, is 1 if element i is selected. */
      bitmap: Uint8Array | KeptArray | P;
    }
  | {
      /** From 0, in any order. An element whose position is there twice is selected once. */
      positions: Integers | KeptArray | P;
    }
  | {
      comparison: Comparison;
      /** A number of the type of the elements, or an array that holds it alone. */
      threshold: number | bigint | NumberArray | KeptArray | P;
    };

/** The rank of keys that are equal; ranks begin at 1. */
export type RankMethod = "average" | PositionRank;

/** Ranks that are whole numbers. */
export type PositionRank = "min" | "max" | "dense" | "ordinal";

/** The arguments of Select. */
export interface SelectArguments {
  negate?: boolean | undefined;
  type?: HalfType | undefined;
}

/** The arguments of Rank. */
export interface KeyRankArguments {
  descending?: boolean | undefined;
  keysSorted?: boolean | undefined;
  segments?: unknown;
  type?: HalfType | undefined;
}

/** What Select returns beside values. */
export type SelectForm = "elements" | "indices" | "partition";

const COMPARISONS: Record<Comparison, pb.Comparison> = {
  "<": pb.Comparison.COMPARISON_LESS,
  "<=": pb.Comparison.COMPARISON_LESS_OR_EQUAL,
  "==": pb.Comparison.COMPARISON_EQUAL,
  "!=": pb.Comparison.COMPARISON_NOT_EQUAL,
  ">=": pb.Comparison.COMPARISON_GREATER_OR_EQUAL,
  ">": pb.Comparison.COMPARISON_GREATER,
};
const METHODS: Record<RankMethod, ranks.RankMethod> = {
  average: ranks.RankMethod.RANK_METHOD_AVERAGE,
  min: ranks.RankMethod.RANK_METHOD_MIN,
  max: ranks.RankMethod.RANK_METHOD_MAX,
  dense: ranks.RankMethod.RANK_METHOD_DENSE,
  ordinal: ranks.RankMethod.RANK_METHOD_ORDINAL,
};
const WANTED: Record<SelectForm, pb.SelectOutput[]> = {
  elements: [],
  indices: [pb.SelectOutput.SELECT_OUTPUT_INDICES],
  partition: [pb.SelectOutput.SELECT_OUTPUT_ELEMENTS, pb.SelectOutput.SELECT_OUTPUT_COUNT],
};
const PREDICATES = ["flags", "bitmap", "positions", "threshold"] as const;

/** A number as an array of the type of the elements. */
function thresholdOf(given: unknown, element: Element): unknown {
  if (typeof given !== "number" && typeof given !== "bigint") {
    return given;
  }
  const refuse = (why: string): never => {
    throw new InvalidArgumentError(`threshold: ${given} ${why}`, { field: "threshold" });
  };
  if (element.name === "float16" || element.name === "bfloat16" || element.name === "record") {
    return refuse(`cannot become ${element.name}; pass its bits in a Uint16Array`);
  }
  const made = element.make(new ArrayBuffer(element.bytes)) as NumberArray;
  if (element.name.startsWith("float")) {
    made[0] = Number(given);
    return made;
  }
  if (typeof given === "number" && !Number.isSafeInteger(given)) {
    return refuse(`is no ${element.name}; give a whole number, beyond 2^53 as a bigint`);
  }
  made[0] = made instanceof BigInt64Array || made instanceof BigUint64Array ? BigInt(given) : Number(given);
  return BigInt(made[0]) === BigInt(given) ? made : refuse(`does not fit into ${element.name}`);
}

function flagsOf(field: string, given: unknown): Input {
  const found = keysOf(field, Array.isArray(given) ? Uint8Array.from(given, (flag) => (flag ? 1 : 0)) : given);
  if (found.element.name !== "uint8") {
    throw new TypeError(`${field}: must be a Uint8Array, is ${found.element.name}`);
  }
  return found;
}

/** Adds what selects among the elements. */
function predicate(by: unknown, elements: Input, request: pb.SelectRequest): Leaf {
  if (typeof by !== "object" || by === null) {
    throw new TypeError('by: must be an object, such as { flags } or { comparison: "<", threshold: 5 }');
  }
  const given = by as Partial<Record<(typeof PREDICATES)[number] | "comparison", unknown>>;
  const names = PREDICATES.filter((name) => given[name] !== undefined);
  const [name] = names;
  if (name === undefined || names.length > 1) {
    const text = "flags: give exactly one of flags, bitmap, positions and threshold";
    throw new InvalidArgumentError(text, { field: "flags" });
  }
  if ((name === "threshold") !== (given.comparison !== undefined)) {
    throw new InvalidArgumentError("comparison: goes with threshold", { field: "comparison" });
  }
  if (name === "positions") {
    return leaf(name, 5, integers(name, given[name]));
  }
  if (name !== "threshold") {
    return leaf(name, name === "flags" ? 3 : 4, flagsOf(name, given[name]));
  }
  request.comparison = choice("comparison", given.comparison as Comparison, COMPARISONS);
  const { name: type } = elements.element;
  const half = type === "float16" || type === "bfloat16" ? type : undefined;
  const threshold = keysOf(name, thresholdOf(given[name], elements.element), half);
  oneType([elements, threshold], ["elements", "threshold"]);
  return leaf(name, 6, threshold);
}

/** Select: `finish` gets the results by name. */
export function select<R>(
  elements: unknown,
  by: unknown,
  form: SelectForm,
  values: unknown,
  given: SelectArguments,
): Task<R> {
  const { negate = false, type } = given;
  const found = type === undefined ? valuesOf("elements", elements) : keysOf("elements", elements, type);
  const request = pb.SelectRequest.fromPartial({ negate, partition: form === "partition", outputs: WANTED[form] });
  const parts = [leaf("elements", 1, found), predicate(by, found, request)];
  const { count: most } = found;
  const count = form === "partition" ? most : undefined;
  const names: string[] = [];
  const outputs: Output[] = [];
  const add = (name: string, made: Output): void => {
    names.push(name);
    outputs.push(made);
  };
  if (form === "indices") {
    const made = indices<pb.SelectResponse>("indices", 13, (most ?? 0) - 1, undefined, (answer) => answer.indices);
    add("indices", { ...made, most });
  } else {
    const made = output<pb.SelectResponse>("elements", 11, found.element, count, (answer) => answer.elements);
    add("elements", { ...made, most });
  }
  if (values !== undefined) {
    const moved = valuesOf("values", values);
    parts.push(leaf("values", 2, moved));
    const made = output<pb.SelectResponse>("values", 12, moved.element, count, (answer) => answer.values);
    add("values", { ...made, most });
  }
  if (form === "partition") {
    add("count", output<pb.SelectResponse>("count", 14, named("int64"), 1, (answer) => answer.count));
  }
  return {
    method: "Select",
    operation: 12,
    request: pb.SelectRequest.encode(request).finish(),
    options: 15,
    parts,
    outputs,
    decode: (data) => pb.SelectResponse.decode(data),
    pick: (result) => result.select,
    finish: (results) => {
      if (names.length === 1) {
        return results[0] as R;
      }
      return Object.fromEntries(
        names.map((name, at) => {
          const each = results[at];
          return [name, name === "count" && each instanceof BigInt64Array ? Number(each[0]) : each];
        }),
      ) as R;
    },
  };
}

/** Select of the elements that are not at these positions. */
export function remove<R>(elements: unknown, positions: unknown): Task<R> {
  if (positions === undefined) {
    throw new TypeError("positions: must be integers, is undefined");
  }
  return select(elements, { positions }, "elements", undefined, { negate: true });
}

/** An array of this process. */
function local(field: string, { data, element }: Input): { data: Uint8Array; element: Element } {
  if (data === undefined) {
    throw new TypeError(`${field}: must be in this process; elsewhere, use move and scatter in a chain`);
  }
  return { data, element };
}

/** The intervals of `count` elements, with the inserted ones behind them, that make up the result. */
export function insertion(count: number, positions: readonly number[]): { sourceOffsets: number[]; counts: number[] } {
  const order = [...positions.keys()].sort((a, b) => (positions[a] as number) - (positions[b] as number));
  const sourceOffsets: number[] = [];
  const counts: number[] = [];
  const add = (begin: number, length: number): void => {
    const last = counts.length - 1;
    if (length === 0) return;
    if (last >= 0 && (sourceOffsets[last] as number) + (counts[last] as number) === begin) {
      counts[last] = (counts[last] as number) + length;
      return;
    }
    sourceOffsets.push(begin);
    counts.push(length);
  };
  let done = 0;
  for (const at of order) {
    const position = positions[at] as number;
    add(done, position - done);
    add(count + at, 1);
    done = position;
  }
  add(done, count - done);
  return { sourceOffsets, counts };
}

/** Insertion, which is a Gather of both arrays. */
export function insert<R>(elements: unknown, positions: unknown, inserted: unknown): Task<R> {
  const [own, more] = [valuesOf("elements", elements), valuesOf("inserted", inserted)];
  const [first, second] = [local("elements", own), local("inserted", more)];
  oneType([own, more], ["elements", "inserted"]);
  const { data } = local("positions", integers("positions", positions));
  const before = Array.from(new BigInt64Array(data.buffer, data.byteOffset, data.length / 8), Number);
  const count = own.count as number;
  if (before.length !== more.count) {
    const text = `positions: ${before.length} for ${more.count} inserted elements; each needs one`;
    throw new InvalidArgumentError(text, { field: "positions" });
  }
  before.forEach((position, at) => {
    if (position < 0 || position > count) {
      const field = `positions[${at}]`;
      throw new InvalidArgumentError(`${field}: ${position}, must be 0 to ${count}`, { field });
    }
  });
  const both = new Uint8Array(first.data.length + second.data.length);
  both.set(first.data);
  both.set(second.data, first.data.length);
  return gather(first.element.make(both.buffer), insertion(count, before));
}

/** Rank. */
export function rank<R>(keys: unknown, method: RankMethod, given: KeyRankArguments): Task<R> {
  const { descending, keysSorted = false, segments, type } = given;
  const found = keysOf("keys", keys, type);
  const parts = [leaf("keys", 1, found)];
  if (segments !== undefined) {
    parts.push(leaf("segment_offsets", 7, integers("segment_offsets", segments)));
  }
  const request = ranks.RankRequest.fromPartial({
    method: choice("method", method, METHODS),
    order: descending ? SortOrder.SORT_ORDER_DESCENDING : SortOrder.SORT_ORDER_ASCENDING,
    keysSorted,
  });
  const pick = (answer: ranks.RankResponse): ReturnType<Output["pick"]> => answer.ranks;
  const result =
    method === "average"
      ? output<ranks.RankResponse>("ranks", 5, named("float64"), found.count, pick)
      : indices<ranks.RankResponse>("ranks", 5, found.count ?? 0, found.count, pick);
  return {
    method: "Rank",
    operation: 13,
    request: ranks.RankRequest.encode(request).finish(),
    options: 6,
    parts,
    outputs: [result],
    decode: (data) => ranks.RankResponse.decode(data),
    pick: (answer) => answer.rank,
    finish: ([made]) => made as R,
  };
}
