// Makes the tasks of Group from their arguments.
import { keys as keysOf, named, type Element, type HalfType } from "./elements.js";
import { InvalidArgumentError } from "./errors.js";
import { indices, leaf, output } from "./operators.js";
import { choice } from "./options.js";
import * as pb from "./pb/corank/v1/group.js";
import { SortOrder } from "./pb/corank/v1/operators.js";
import type { Output, Task } from "./task.js";

/** The results of Group, in the order of its response. */
export const GROUP_OUTPUTS = ["keys", "counts", "firsts", "sums", "minima", "maxima", "valueCounts"] as const;
/** A result of Group. */
export type GroupOutputName = (typeof GROUP_OUTPUTS)[number];
/** How equal keys lie in the array. */
export type GroupInputName = "unsorted" | "sorted" | "runs";

/** The arguments of Group. */
export interface GroupArguments {
  values?: unknown;
  valuesValidity?: unknown;
  outputs?: readonly GroupOutputName[] | undefined;
  input?: GroupInputName | undefined;
  descending?: boolean | undefined;
  type?: HalfType | undefined;
  valueType?: HalfType | undefined;
}

const INPUTS: Record<GroupInputName, pb.GroupInput> = {
  unsorted: pb.GroupInput.GROUP_INPUT_UNSORTED,
  sorted: pb.GroupInput.GROUP_INPUT_SORTED,
  runs: pb.GroupInput.GROUP_INPUT_RUNS,
};
const NUMBERS: Record<GroupOutputName, pb.GroupOutput> = {
  keys: pb.GroupOutput.GROUP_OUTPUT_KEYS,
  counts: pb.GroupOutput.GROUP_OUTPUT_COUNTS,
  firsts: pb.GroupOutput.GROUP_OUTPUT_FIRSTS,
  sums: pb.GroupOutput.GROUP_OUTPUT_SUMS,
  minima: pb.GroupOutput.GROUP_OUTPUT_MINIMA,
  maxima: pb.GroupOutput.GROUP_OUTPUT_MAXIMA,
  valueCounts: pb.GroupOutput.GROUP_OUTPUT_VALUE_COUNTS,
};
const DESTINATION = { keys: 6, counts: 7, firsts: 8, sums: 9, minima: 10, maxima: 11, valueCounts: 14 };
const INT64 = ["counts", "valueCounts"];

function checkedOutputs(given: readonly string[]): GroupOutputName[] {
  for (const [at, name] of given.entries()) {
    choice(`outputs[${at}]`, name, NUMBERS);
    if (given.indexOf(name) < at) {
      throw new InvalidArgumentError(`outputs[${at}]: ${name} is there twice`, { field: `outputs[${at}]` });
    }
  }
  if (given.length === 0) {
    const text = `outputs: is empty; name some of ${GROUP_OUTPUTS.join(", ")}`;
    throw new InvalidArgumentError(text, { field: "outputs" });
  }
  return GROUP_OUTPUTS.filter((name) => given.includes(name));
}

/** The type of the sums of values. */
function sumOf(element: Element): Element {
  return named(element.name.includes("float") ? "float64" : element.name.startsWith("uint") ? "uint64" : "int64");
}

/** Group; `finish` gets the results by name. */
export function group<R>(
  keys: unknown,
  given: GroupArguments,
  finish: (results: Partial<Record<GroupOutputName, unknown>>) => R,
): Task<R> {
  const { values, valuesValidity, outputs = ["keys", "counts"], input = "unsorted", descending } = given;
  const { type, valueType } = given;
  const found = keysOf("keys", keys, type);
  const names = checkedOutputs(outputs);
  const parts = [leaf("keys", 1, found)];
  let reduced: Element | undefined;
  if (values !== undefined) {
    const moved = keysOf("values", values, valueType);
    parts.push(leaf("values", 2, moved));
    reduced = moved.element;
  }
  if (valuesValidity !== undefined) {
    parts.push(leaf("values_validity", 13, keysOf("values_validity", valuesValidity)));
  }
  const results = names.map((name): Output => {
    const destination = DESTINATION[name];
    const pick = (answer: pb.GroupResponse): ReturnType<Output["pick"]> => answer[name];
    if (name === "firsts") {
      const made = indices<pb.GroupResponse>(name, destination, (found.count ?? 0) - 1, undefined, pick);
      return { ...made, most: found.count };
    }
    if (reduced === undefined && name !== "keys" && name !== "counts") {
      throw new InvalidArgumentError(`values: missing, but outputs names "${name}"`, { field: "values" });
    }
    const element = name === "keys" ? found.element : INT64.includes(name) ? named("int64") : (reduced as Element);
    const of = name === "sums" ? sumOf(element) : element;
    const field = name === "valueCounts" ? "value_counts" : name;
    return { ...output<pb.GroupResponse>(field, destination, of, undefined, pick), most: found.count };
  });
  const request = pb.GroupRequest.fromPartial({
    input: choice("input", input, INPUTS),
    outputs: names.map((name) => NUMBERS[name]),
    // The server takes no order with runs, so a request names none that it need not.
    ...(descending ? { order: SortOrder.SORT_ORDER_DESCENDING } : {}),
  });
  return {
    method: "Group",
    operation: 9,
    request: pb.GroupRequest.encode(request).finish(),
    options: 12,
    parts,
    outputs: results,
    decode: (data) => pb.GroupResponse.decode(data),
    pick: (result) => result.group,
    finish: (made) => finish(Object.fromEntries(names.map((name, at) => [name, made[at]]))),
  };
}

/** The distinct keys. */
export function unique<R>(keys: unknown, given: GroupArguments): Task<R> {
  return group(keys, { ...given, outputs: ["keys"] }, ({ keys: distinct }) => distinct as R);
}

/** The runs of equal keys. */
export function runLengthEncode<R>(keys: unknown, given: GroupArguments): Task<R> {
  return group(keys, { type: given.type, input: "runs" }, (found) => found as R);
}
