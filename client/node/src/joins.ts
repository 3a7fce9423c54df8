// Makes the tasks of Join from their arguments.
import { keys as keysOf, named, type HalfType } from "./elements.js";
import { InvalidArgumentError } from "./errors.js";
import { leaf, output } from "./operators.js";
import { choice } from "./options.js";
import * as pb from "./pb/corank/v1/join.js";
import { oneType } from "./sets.js";
import type { Leaf, Output, Task } from "./task.js";

/** Joins whose rows are pairs: of partners, and of the rows of the left, the right or both that have no partner. */
export type PairJoin = "inner" | "left" | "right" | "full";

/** Joins whose rows are of the left alone: those with a partner, once each, or those without. */
export type LeftJoin = "semi" | "anti";

/** The arguments of Join. */
export interface JoinArguments {
  rightSorted?: boolean | undefined;
  maxRows?: number | undefined;
  type?: HalfType | undefined;
}

const KINDS: Record<PairJoin | LeftJoin, pb.JoinKind> = {
  inner: pb.JoinKind.JOIN_KIND_INNER,
  left: pb.JoinKind.JOIN_KIND_LEFT,
  right: pb.JoinKind.JOIN_KIND_RIGHT,
  full: pb.JoinKind.JOIN_KIND_FULL,
  semi: pb.JoinKind.JOIN_KIND_SEMI,
  anti: pb.JoinKind.JOIN_KIND_ANTI,
};
const NARROW = 2 ** 31; // keys of a side from which on row numbers have 64 bits

/** The rows for which the server makes room; undefined: not known. */
function mostRows(
  kind: PairJoin | LeftJoin,
  left: number | undefined,
  right: number | undefined,
  wanted: number | undefined,
): number | undefined {
  const ofLeft = kind === "semi" || kind === "anti" ? left : undefined;
  if (left === undefined || right === undefined) {
    return ofLeft ?? wanted;
  }
  const alone = { inner: 0, left, right, full: left + right, semi: 0, anti: 0 }[kind];
  return Math.min(ofLeft ?? Math.max(left * right, alone), wanted ?? left + right);
}

function sides(left: unknown, right: unknown, kind: PairJoin | LeftJoin, type: HalfType | undefined): [Leaf, Leaf] {
  choice("kind", kind, KINDS);
  const both = [keysOf("left", left, type), keysOf("right", right, type)] as const;
  oneType(both, ["left", "right"]);
  return [leaf("left", 2, both[0]), leaf("right", 3, both[1])];
}

function task<R>(
  request: Partial<pb.JoinRequest>,
  parts: Leaf[],
  outputs: Output[],
  finish: (results: unknown[]) => R,
): Task<R> {
  return {
    method: "Join",
    operation: 11,
    request: pb.JoinRequest.encode(pb.JoinRequest.fromPartial(request)).finish(),
    options: 10,
    parts,
    outputs,
    decode: (data) => pb.JoinResponse.decode(data),
    pick: (result) => result.join,
    finish,
  };
}

/** The row numbers of both sides, or of the left alone. */
export function join<R>(left: unknown, right: unknown, kind: PairJoin | LeftJoin, given: JoinArguments): Task<R> {
  const { rightSorted = false, maxRows, type } = given;
  if (maxRows !== undefined && !(Number.isSafeInteger(maxRows) && maxRows >= 0)) {
    throw new InvalidArgumentError(`maxRows: ${maxRows} is no whole number of 0 or more`, { field: "max_rows" });
  }
  const parts = sides(left, right, kind, type);
  const [{ count: ofLeft }, { count: ofRight }] = parts;
  const element = named(Math.max(ofLeft ?? 0, ofRight ?? 0) < NARROW ? "int32" : "int64");
  const most = mostRows(kind, ofLeft, ofRight, maxRows);
  const rows = (field: string, destination: number, pick: Output<pb.JoinResponse>["pick"]): Output => ({
    ...output<pb.JoinResponse>(field, destination, element, undefined, pick),
    most,
    indices: true,
  });
  const outputs: Output[] = [rows("left_rows", 7, (answer) => answer.leftRows)];
  const isPair = kind !== "semi" && kind !== "anti";
  if (isPair) {
    outputs.push(rows("right_rows", 8, (answer) => answer.rightRows));
  }
  const made = task(
    { kind: KINDS[kind], rightSorted, maxRows },
    parts,
    outputs,
    ([leftRows, rightRows]) => (isPair ? { leftRows, rightRows } : leftRows) as R,
  );
  if (maxRows === undefined) {
    made.again = ({ reason, rows: needed }) =>
      reason === "TOO_MANY_ROWS" && Number.isSafeInteger(needed)
        ? join<R>(left, right, kind, { ...given, maxRows: needed })
        : undefined;
  }
  return made;
}

/** The number of rows, as a number where the answer brings it. */
export function countJoin<R>(left: unknown, right: unknown, kind: PairJoin | LeftJoin, given: JoinArguments): Task<R> {
  const count = output<pb.JoinResponse>("count", 9, named("int64"), 1, (answer) => answer.count);
  const request = { kind: KINDS[kind], rightSorted: given.rightSorted ?? false, countOnly: true };
  const finish = ([found]: unknown[]): R => (found instanceof BigInt64Array ? Number(found[0]) : found) as R;
  return task(request, sides(left, right, kind, given.type), [count], finish);
}
