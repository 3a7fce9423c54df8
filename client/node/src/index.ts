/** Client of corank: sorts, merges and moves typed arrays on a server. */
export * from "./arguments.js";
export { Chain, Pending } from "./chain.js";
export { Client, connect } from "./client.js";
export { Nullable, Strings, type Column, type NanPlace, type NullPlace, type PlainColumn } from "./columns.js";
export { limitedSegments } from "./first.js";
export type { GroupInputName, GroupOutputName } from "./groups.js";
export type { LeftJoin, PairJoin } from "./joins.js";
export type { Comparison, PositionRank, RankMethod, Selection } from "./selections.js";
export type { SetOperationName } from "./sets.js";
export {
  Records,
  type ElementName,
  type HalfType,
  type Indices,
  type Integers,
  type NumberArray,
  type Rows,
} from "./elements.js";
export {
  CancelledError,
  ClosedError,
  CorankError,
  DeadlineExceededError,
  InternalError,
  InvalidArgumentError,
  NotFoundError,
  PermissionDeniedError,
  ResourceExhaustedError,
  UnavailableError,
  UnimplementedError,
  type ErrorFacts,
} from "./errors.js";
export { KeptArray, type KeptArrays, type StoreOptions } from "./kept.js";
export type {
  CallOptions,
  ConnectOptions,
  MergeAlgorithmName,
  Place,
  RequestOptions,
  SortAlgorithmName,
  TlsOptions,
  TransferOptions,
} from "./options.js";
export type { Health, Progress, ServerInfo, Stats } from "./results.js";
export { version } from "./version.js";
