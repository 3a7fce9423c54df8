// Makes the tasks of Search from their arguments.
import { COLUMNS, outgoing, type ColumnOrder, type Outgoing } from "./columns.js";
import { keys as keysOf, type HalfType } from "./elements.js";
import { allRows } from "./first.js";
import { first, indices, leaf, order } from "./operators.js";
import { choice } from "./options.js";
import * as pb from "./pb/corank/v1/operators.js";
import type { Group, Leaf, Output, Task } from "./task.js";

/** The arguments of searches. */
export interface SearchArguments {
  side?: "left" | "right" | undefined;
  descending?: boolean | undefined;
  assumeSorted?: boolean | undefined;
  type?: HalfType | undefined;
}

/** The arguments of searches by columns. */
export interface ColumnSearchArguments extends ColumnOrder {
  side?: "left" | "right" | undefined;
  assumeSorted?: boolean | undefined;
  types?: readonly (HalfType | undefined)[] | undefined;
}

const SIDES = { left: pb.SearchBound.SEARCH_BOUND_LOWER, right: pb.SearchBound.SEARCH_BOUND_UPPER };

function searchTask<R>(request: pb.SearchRequest, parts: (Leaf | Group)[], positions: Output): Task<R> {
  return {
    method: "Search",
    operation: 8,
    request: pb.SearchRequest.encode(request).finish(),
    options: 7,
    parts,
    outputs: [positions],
    decode: (data) => pb.SearchResponse.decode(data),
    pick: (result) => result.search,
    finish: first as (results: unknown[]) => R,
  };
}

/** Search by columns. */
export function searchColumns<R>(
  haystack: readonly unknown[],
  needles: readonly unknown[],
  given: ColumnSearchArguments,
): Task<R> {
  const { side = "left", assumeSorted = false, types = [] } = given;
  const tables = [
    outgoing(haystack, given, types, allRows, COLUMNS.haystack),
    outgoing(needles, given, types, allRows, COLUMNS.needles),
  ] as const;
  const [rows, sought] = tables.map((table) => (table[0] as Outgoing).rows) as [number, number];
  const positions = indices<pb.SearchResponse>("positions", 6, rows, sought, (answer) => answer.positions);
  return searchTask(
    pb.SearchRequest.fromPartial({ bound: choice("side", side, SIDES), assumeSorted }),
    tables.flat().map((column) => column.group),
    positions,
  );
}

/** Search. */
export function search<R>(haystack: unknown, needles: unknown, given: SearchArguments): Task<R> {
  const { side = "left", descending, assumeSorted = false, type } = given;
  const inputs = [keysOf("haystack", haystack, type), keysOf("needles", needles, type)] as const;
  if (inputs[0].element.type !== inputs[1].element.type) {
    const names = [inputs[1].element.name, inputs[0].element.name] as const;
    const text = `needles: are ${names[0]}, haystack is ${names[1]}; they must be of one type`;
    throw new TypeError(text);
  }
  const request = pb.SearchRequest.fromPartial({
    bound: choice("side", side, SIDES),
    order: order(descending),
    assumeSorted,
  });
  const found = indices<pb.SearchResponse>(
    "positions",
    6,
    inputs[0].count ?? 0,
    inputs[1].count,
    (answer) => answer.positions,
  );
  return searchTask(request, [leaf("haystack", 1, inputs[0]), leaf("needles", 2, inputs[1])], found);
}
