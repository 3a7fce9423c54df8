// A call of an operator as data: what goes in, what comes out. It does not know where arrays travel.
import type { Element, Input } from "./elements.js";
import type { CorankError } from "./errors.js";
import type { Array as ArrayMessage } from "./pb/corank/v1/array.js";
import type { OperationResult } from "./pb/corank/v1/corank_service.js";
import type { RequestStats } from "./pb/corank/v1/operators.js";

/** An array of a request. */
export interface Leaf extends Input {
  /** Its name in errors. */
  field: string;
  /** The number of its field in the message that holds it. */
  number: number;
}

/** A message of a request that holds arrays itself: a KeyColumn. */
export interface Group {
  number: number;
  /** Its other fields. */
  message: Uint8Array;
  leaves: Leaf[];
}

/** The part of a response that all operators have. */
export interface Answer {
  stats?: RequestStats | undefined;
  algorithm?: number;
}

/** A result of an operator. */
export interface Output<A extends Answer = Answer> {
  /** Its name in errors. */
  field: string;
  /** Finds it in the response. */
  pick(answer: A): ArrayMessage | undefined;
  /** The number of the field with its Destination, in the request or in `group`. */
  destination: number;
  group?: Group;
  element: Element;
  /** Number of elements; undefined: not known before the answer. */
  count: number | undefined;
  /** The most elements, where only the answer tells their number; undefined: not known either. */
  most?: number | undefined;
  /** Whether it has positions of 4 or 8 bytes, as the server chooses. */
  indices: boolean;
}

/** One operator with its arrays. */
export interface Task<R> {
  /** The method of the service, such as "Sort". */
  method: string;
  /** The number of its field in Operation and OperationResult. */
  operation: number;
  /** The request without arrays, destinations and options. */
  request: Uint8Array;
  /** The number of its field with RequestOptions. */
  options: number;
  parts: (Leaf | Group)[];
  outputs: Output[];
  /** Reads the response of the unary method. */
  decode(data: Uint8Array): Answer;
  /** Finds the response in a plan's result. */
  pick(result: OperationResult): Answer | undefined;
  /** Makes what the caller gets of the results, in the order of `outputs`. */
  finish(results: unknown[]): R;
  /** The call that follows one which failed so; undefined: none does. */
  again?: (error: CorankError) => Task<R> | undefined;
}

/** The arrays of a request, those inside of messages too. */
export function leavesOf(task: Task<unknown>): Leaf[] {
  return task.parts.flatMap((part) => ("leaves" in part ? part.leaves : [part]));
}
