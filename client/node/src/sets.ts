// Makes the tasks of CombineSets from their arguments.
import { keys as keysOf, named, values as valuesOf, type Element, type HalfType, type Input } from "./elements.js";
import { InvalidArgumentError } from "./errors.js";
import { leaf, output } from "./operators.js";
import { choice } from "./options.js";
import { SortOrder } from "./pb/corank/v1/operators.js";
import * as pb from "./pb/corank/v1/sets.js";
import type { Leaf, Output, Task } from "./task.js";

/** What is made of two sorted multisets. */
export type SetOperationName = "union" | "intersection" | "difference" | "symmetric-difference";

/** The arguments of CombineSets. */
export interface SetArguments {
  descending?: boolean | undefined;
  type?: HalfType | undefined;
}

const OPERATIONS: Record<SetOperationName, pb.SetOperation> = {
  union: pb.SetOperation.SET_OPERATION_UNION,
  intersection: pb.SetOperation.SET_OPERATION_INTERSECTION,
  difference: pb.SetOperation.SET_OPERATION_DIFFERENCE,
  "symmetric-difference": pb.SetOperation.SET_OPERATION_SYMMETRIC_DIFFERENCE,
};
const FROM_LEFT: readonly SetOperationName[] = ["intersection", "difference"];

/** Both sides, which are of one type, and the most keys of a result. */
interface Sides {
  operation: SetOperationName;
  parts: Leaf[];
  element: Element;
  most: number | undefined;
}

function sides(left: unknown, right: unknown, operation: SetOperationName, given: SetArguments): Sides {
  choice("operation", operation, OPERATIONS);
  const both = [keysOf("left", left, given.type), keysOf("right", right, given.type)] as const;
  const element = oneType(both, ["left", "right"]);
  const parts = [leaf("left", 2, both[0]), leaf("right", 3, both[1])];
  return { operation, parts, element, most: mostKeys(operation, both[0].count, both[1].count) };
}

function mostKeys(
  operation: SetOperationName,
  left: number | undefined,
  right: number | undefined,
): number | undefined {
  switch (operation) {
    case "difference":
      return left;
    case "intersection":
      return left === undefined || right === undefined ? (left ?? right) : Math.min(left, right);
    default:
      return left === undefined || right === undefined ? undefined : left + right;
  }
}

/** The type of both inputs, which their names name if they differ. */
export function oneType([first, second]: readonly [Input, Input], [left, right]: readonly [string, string]): Element {
  if (first.element.type !== second.element.type || first.element.bytes !== second.element.bytes) {
    const names = `${right} is ${second.element.name}, ${left} is ${first.element.name}`;
    throw new TypeError(`${names}; both must be of one type`);
  }
  return first.element;
}

function task<R>(
  { operation, parts }: Sides,
  given: SetArguments,
  outputs: Output[],
  finish: (results: unknown[]) => R,
  countOnly = false,
): Task<R> {
  const request = pb.CombineSetsRequest.fromPartial({
    operation: OPERATIONS[operation],
    order: given.descending ? SortOrder.SORT_ORDER_DESCENDING : SortOrder.SORT_ORDER_ASCENDING,
    countOnly,
  });
  return {
    method: "CombineSets",
    operation: 10,
    request: pb.CombineSetsRequest.encode(request).finish(),
    options: 11,
    parts,
    outputs,
    decode: (data) => pb.CombineSetsResponse.decode(data),
    pick: (result) => result.combineSets,
    finish,
  };
}

/** The keys of the result. */
export function combineSets<R>(
  left: unknown,
  right: unknown,
  operation: SetOperationName,
  given: SetArguments,
): Task<R> {
  const found = sides(left, right, operation, given);
  return task(found, given, [keysOutput(found)], ([keys]) => keys as R);
}

function keysOutput({ element, most }: Sides): Output {
  return { ...output<pb.CombineSetsResponse>("keys", 8, element, undefined, (answer) => answer.keys), most };
}

/** The values of a side. */
function sideOf(field: string, given: unknown): Input {
  if (given === undefined) {
    throw new InvalidArgumentError(`${field}: missing; each key of this side needs a value`, { field });
  }
  return valuesOf(field, given);
}

/** The keys of the result and their values; `values` holds those of both sides, or of the left alone. */
export function combineSetsWithValues<R>(
  left: unknown,
  right: unknown,
  operation: SetOperationName,
  values: { left?: unknown; right?: unknown },
  given: SetArguments,
): Task<R> {
  const found = sides(left, right, operation, given);
  const moved = sideOf("left_values", values.left);
  found.parts.push(leaf("left_values", 4, moved));
  if (FROM_LEFT.includes(operation)) {
    if (values.right !== undefined) {
      const text = `right_values: not for "${operation}", whose result is all from the left`;
      throw new InvalidArgumentError(text, { field: "right_values" });
    }
  } else {
    const ofRight = sideOf("right_values", values.right);
    oneType([moved, ofRight], ["left_values", "right_values"]);
    found.parts.push(leaf("right_values", 5, ofRight));
  }
  const picked = (answer: pb.CombineSetsResponse): ReturnType<Output["pick"]> => answer.values;
  const result = output<pb.CombineSetsResponse>("values", 9, moved.element, undefined, picked);
  const outputs = [keysOutput(found), { ...result, most: found.most }];
  return task(found, given, outputs, ([keys, ofKeys]) => ({ keys, values: ofKeys }) as R);
}

/** The number of keys of the result, as a number where the answer brings it. */
export function countSets<R>(
  left: unknown,
  right: unknown,
  operation: SetOperationName,
  given: SetArguments,
): Task<R> {
  const count = output<pb.CombineSetsResponse>("count", 10, named("int64"), 1, (answer) => answer.count);
  const finish = ([found]: unknown[]): R => (found instanceof BigInt64Array ? Number(found[0]) : found) as R;
  return task(sides(left, right, operation, given), given, [count], finish, true);
}
