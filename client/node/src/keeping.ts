import type { Dividing } from "./arguments.js";
import type { KeepAs } from "./connection.js";
import { InvalidArgumentError } from "./errors.js";
import type { CallOptions } from "./options.js";
import type { Task } from "./task.js";

/** The options that say which results the server keeps, and how. */
export interface Keeping extends Dividing {
  keep?: unknown;
}

/** Options of a call whose results the server may keep. */
export interface KeepingOptions extends CallOptions, Keeping {}

/** The results in the order in which they are outputs of a task. */
const ORDER = [
  ...["keys", "elements", "values", "indices", "objects", "ranks", "counts", "firsts", "sums", "minima", "maxima"],
  "valueCounts",
  ...["leftRows", "rightRows", "count"],
];

/** The results of a column, in this order. */
const PARTS = ["data", "offsets", "validity"];

/** The names of a `keep` option, in the order of a task's outputs. */
function names(keep: unknown): unknown[] {
  if (typeof keep !== "object" || keep === null) {
    return [keep];
  }
  const named = keep as Record<string, unknown>;
  const columns = named["columns"];
  const ofColumns = (Array.isArray(columns) ? columns : []).flatMap((each: unknown) =>
    typeof each === "object" && each !== null
      ? PARTS.map((part) => (each as Record<string, unknown>)[part]).filter((name) => name !== undefined)
      : [each],
  );
  return [...ofColumns, ...ORDER.map((name) => named[name]).filter((each) => each !== undefined)];
}

/** Where each result of a task goes. */
export function keptNames(task: Task<unknown>, { keep, sharded = false }: Keeping): (KeepAs | undefined)[] {
  if (keep === undefined) {
    if (sharded) {
      const text = "sharded: is for results that the server keeps; name them with keep";
      throw new InvalidArgumentError(text, { field: "sharded" });
    }
    return task.outputs.map(() => undefined);
  }
  const found = names(keep);
  if (found.some((name) => typeof name !== "string")) {
    throw new TypeError("keep: must be a name, or an object with a name for each of several results");
  }
  if (found.length !== task.outputs.length) {
    const text = `keep: ${found.length} names for the ${task.outputs.length} results of ${task.method}`;
    throw new InvalidArgumentError(text, { field: "keep" });
  }
  if (new Set(found).size < found.length) {
    throw new InvalidArgumentError("keep: a name is there twice; each result needs its own", { field: "keep" });
  }
  return found.map((name) => ({ name: name as string, temporary: false, sharded }));
}
