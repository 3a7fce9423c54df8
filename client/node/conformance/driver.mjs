// Drives the Node.js client for the conformance suite; client/conformance/README.md defines the protocol.
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import * as corank from "../dist/esm/index.js";

const TYPES = {
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
};
const HALF = ["float16", "bfloat16"];
const OF_DRIVER = ["cancel_after_ms", "progress"]; // options of a call that the driver itself does
const COMPARISONS = {
  less: "<",
  equal: "==",
  less_or_equal: "<=",
  greater: ">",
  not_equal: "!=",
  greater_or_equal: ">=",
};
const INDICES = ["indices", "objects", "ranks", "positions", "firsts"];

class Unsupported extends Error {}

const isHalf = (array) => HALF.includes(array?.type);
const bytesOf = (array) =>
  array instanceof corank.Records
    ? array.bytes
    : new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** Bytes that begin an ArrayBuffer of their own, as typed arrays need it. */
function elements(array, bytes) {
  if (array.type === "record") {
    return new corank.Records(bytes, array.record_bytes);
  }
  return new TYPES[array.type](bytes.buffer);
}

function hashed(seed, size) {
  const words = new Uint32Array(Math.ceil(size / 4));
  for (let at = 0; at < words.length; ++at) {
    let word = (seed + at) >>> 0;
    word ^= word >>> 16;
    word = Math.imul(word, 0x85ebca6b);
    word ^= word >>> 13;
    word = Math.imul(word, 0xc2b2ae35);
    words[at] = word ^ (word >>> 16);
  }
  return new Uint8Array(words.buffer.slice(0, size));
}

/** The elements of an array of a command. */
function arrayOf(array) {
  if (array.data !== undefined) {
    return elements(array, Uint8Array.from(Buffer.from(array.data, "base64")));
  }
  if (array.generator === "hash") {
    const width = array.type === "record" ? array.record_bytes : TYPES[array.type].BYTES_PER_ELEMENT;
    return elements(array, hashed(array.seed, array.count * width));
  }
  const made = new TYPES[array.type](array.count);
  for (let at = 0; at < made.length; ++at) {
    const value = array.start + at * array.step;
    made[at] = array.type.endsWith("64") ? BigInt(value) : value;
  }
  return made;
}

function typeOf(array) {
  return Object.keys(TYPES).find((name) => array instanceof TYPES[name]);
}

/** Elements as an answer holds them; `type` names what a Uint16Array holds. */
function dataOf(command, name, array, type) {
  let shown = array;
  if (INDICES.includes(name) && command.digest && !(array instanceof Float64Array)) {
    shown = BigInt64Array.from(array, BigInt);
  }
  const isRecord = shown instanceof corank.Records;
  const found = { type: isRecord ? "record" : (type ?? typeOf(shown)), count: shown.length };
  if (isRecord) {
    found.record_bytes = shown.recordBytes;
  }
  const bytes = bytesOf(shown);
  return command.digest
    ? { ...found, sha256: createHash("sha256").update(bytes).digest("hex") }
    : { ...found, data: Buffer.from(bytes).toString("base64") };
}

function keptJson(array) {
  const record = array.type === "record" ? { record_bytes: array.elementBytes } : {};
  return { kept: array.name, type: array.type, count: array.length, sharded: array.sharded, ...record };
}

/** The arguments whose types results have, where their names differ. */
const SOURCES = {
  result: ["source", "elements"],
  minima: ["values"],
  maxima: ["values"],
  keys: ["left"],
  values: ["left_values"],
};

const NANS = { greatest: "greatest", beside_nulls: "besideNulls", as_nulls: "asNulls" };

function columnsOf(columns) {
  return columns.map(({ data, offsets, validity }) => {
    const column = offsets === undefined ? arrayOf(data) : new corank.Strings(arrayOf(data), arrayOf(offsets));
    return validity === undefined ? column : new corank.Nullable(column, arrayOf(validity));
  });
}

/** The options of columns. */
function orderOf(columns) {
  return {
    nulls: columns.map(({ nulls = "last" }) => nulls),
    nans: columns.map(({ nans = "greatest" }) => NANS[nans]),
    descending: columns.map(({ order }) => order === "descending"),
    types: columns.map(({ data }) => (isHalf(data) ? data.type : undefined)),
  };
}

/** The names of an operator's results, and the call that makes them. */
class Operators {
  constructor(target, resolve, options) {
    Object.assign(this, { target, resolve, options });
  }

  async #argument(value) {
    if (Array.isArray(value)) {
      return Promise.all(value.map((each) => this.#argument(each)));
    }
    if (value === null || typeof value !== "object") {
      return value;
    }
    return "kept" in value || "result" in value ? this.resolve(value) : arrayOf(value);
  }

  /** The results by name, and the types of those that are 2-byte numbers. */
  async run({ operator, arguments: given, keep = {}, sharded }) {
    const known = {};
    for (const [name, value] of Object.entries(given)) {
      known[name] = name.endsWith("columns") ? value : await this.#argument(value);
    }
    const options = { ...this.options };
    const half = (array) => {
      const first = Array.isArray(array) ? array[0] : array;
      return isHalf(first) && !("kept" in first) && !("result" in first) ? first.type : undefined;
    };
    const type = half(given.keys ?? given.haystack ?? given.left ?? given.elements);
    if (type !== undefined) options.type = type;
    if ("order" in given) options.descending = given.order === "descending";
    if ("algorithm" in given) options.algorithm = given.algorithm.replaceAll("_", "-");
    for (const name of ["limit", "offset"]) if (name in given) options[name] = given[name];
    if ("assume_sorted" in given) options.assumeSorted = given.assume_sorted;
    if ("segment_offsets" in given) options.segments = known.segment_offsets;
    if ("run_offsets" in given) options.runs = known.run_offsets;
    if (sharded) options.sharded = true;
    const names = Object.keys(keep);
    if (names.length > 0) {
      const single = names.length === 1 && !["sort_columns", "load_balance", "group"].includes(operator);
      options.keep = single ? keep[names[0]] : keep;
    }
    const found = await this[operator](known, given, options);
    const types = {};
    for (const name of Object.keys(found)) {
      const source = [name, ...(SOURCES[name] ?? [])].map((each) => given[each]).find((each) => each !== undefined);
      const first = Array.isArray(source) ? source[0] : source;
      if (isHalf(first)) types[name] = first.type;
    }
    return { found, types };
  }

  async sort({ keys, values }, { output = "keys" }, options) {
    if (output === "indices") return { indices: await this.target.argsort(keys, options) };
    if (output === "keys_and_indices") return this.target.sortWithIndices(keys, options);
    if (values !== undefined) return this.target.sortWithValues(keys, values, options);
    return { keys: await this.target.sort(keys, options) };
  }

  async sort_columns({ values }, { columns, output = "keys" }, options) {
    const given = columnsOf(columns);
    Object.assign(options, orderOf(columns));
    if (output === "indices") return { indices: await this.target.argsortColumns(given, options) };
    if (output === "ranks") return { ranks: await this.target.rankColumns(given, options) };
    if (values !== undefined) options.values = values;
    if (output === "keys_and_indices") options.indices = true;
    return this.target.sortColumns(given, options);
  }

  async merge({ keys, values }, _given, options) {
    if (values !== undefined) return this.target.mergeWithValues(keys, values, options);
    return { keys: await this.target.merge(keys, options) };
  }

  async expand({ values, counts }, _given, options) {
    return { values: await this.target.expand(values, counts, options) };
  }

  #intervals(known) {
    return {
      sourceOffsets: known.source_offsets,
      destinationOffsets: known.destination_offsets,
      counts: known.counts,
      destination: known.destination_count ?? known.destination,
      allowOverlap: known.allow_overlap,
    };
  }

  async move(known, _given, options) {
    return { result: await this.target.move(known.source, this.#intervals(known), options) };
  }

  async gather(known, _given, options) {
    return { result: await this.target.gather(known.source, this.#intervals(known), options) };
  }

  async scatter(known, _given, options) {
    return { result: await this.target.scatter(known.source, this.#intervals(known), options) };
  }

  async load_balance({ counts }, _given, options) {
    return this.target.loadBalance(counts, options);
  }

  async search({ haystack, needles }, { bound }, options) {
    if (bound !== undefined) options.side = { lower: "left", upper: "right" }[bound];
    return { positions: await this.target.search(haystack, needles, options) };
  }

  async search_columns(_known, { haystack_columns: haystack, needle_columns: needles, bound }, options) {
    if (bound !== undefined) options.side = { lower: "left", upper: "right" }[bound];
    Object.assign(options, orderOf(haystack));
    return { positions: await this.target.searchColumns(columnsOf(haystack), columnsOf(needles), options) };
  }

  async group({ keys, values, values_validity: valuesValidity }, given, options) {
    const { input } = given;
    const outputs = given.outputs?.map((name) => (name === "value_counts" ? "valueCounts" : name));
    if (options.keep !== undefined) {
      const { value_counts: valueCounts, ...others } = options.keep;
      options.keep = { ...others, ...(valueCounts === undefined ? {} : { valueCounts }) };
    }
    if (values === undefined && input === undefined && String(outputs) === "keys" && options.keep === undefined) {
      return { keys: await this.target.unique(keys, options) };
    }
    if (values === undefined && input === "runs" && String(outputs) === "keys,counts") {
      return this.target.runLengthEncode(keys, options);
    }
    if (isHalf(given.values)) options.valueType = given.values.type;
    const { valueCounts, ...found } = await this.target.group(keys, {
      ...options,
      values,
      valuesValidity,
      input,
      outputs,
    });
    return { ...found, ...(valueCounts === undefined ? {} : { value_counts: valueCounts }) };
  }

  async join({ left, right }, { kind, count_only, right_sorted, max_rows }, options) {
    const given = { ...options, rightSorted: right_sorted };
    if (count_only) {
      const count = await this.target.countJoin(left, right, kind, given);
      return { count: typeof count === "number" ? BigInt64Array.of(BigInt(count)) : count };
    }
    if (max_rows !== undefined) given.maxRows = max_rows;
    if (kind === "semi" || kind === "anti") return { left_rows: await this.target.join(left, right, kind, given) };
    const { keep } = options;
    if (keep !== undefined) given.keep = { leftRows: keep.left_rows, rightRows: keep.right_rows };
    const { leftRows, rightRows } = await this.target.join(left, right, kind, given);
    return { left_rows: leftRows, right_rows: rightRows };
  }

  #selection(known, { comparison, negate }, options) {
    const { flags, bitmap, positions, threshold } = known;
    options.negate = negate;
    return { flags, bitmap, positions, threshold, comparison: COMPARISONS[comparison] };
  }

  async select(known, given, options) {
    const { elements, values } = known;
    const by = this.#selection(known, given, options);
    if (given.output === "indices") return { indices: await this.target.argselect(elements, by, options) };
    if (values !== undefined) return this.target.selectWithValues(elements, values, by, options);
    return { elements: await this.target.select(elements, by, options) };
  }

  async partition(known, given, options) {
    const { elements, values } = known;
    const by = this.#selection(known, given, options);
    const found =
      values === undefined
        ? await this.target.partition(elements, by, options)
        : await this.target.partitionWithValues(elements, values, by, options);
    const { count } = found;
    return { ...found, count: typeof count === "number" ? BigInt64Array.of(BigInt(count)) : count };
  }

  async remove({ elements, positions, values }, _given, options) {
    if (values === undefined) return { elements: await this.target.remove(elements, positions, options) };
    return this.target.selectWithValues(elements, values, { positions }, { ...options, negate: true });
  }

  async insert({ elements, positions, inserted }, _given, options) {
    return { result: await this.target.insert(elements, positions, inserted, options) };
  }

  async rank({ keys }, { method = "average", keys_sorted }, options) {
    return { ranks: await this.target.rank(keys, method, { ...options, keysSorted: keys_sorted }) };
  }

  async combine_sets({ left, right, left_values, right_values }, given, options) {
    const operation = given.operation.replaceAll("_", "-");
    if (given.count_only) {
      const count = await this.target.countSets(left, right, operation, options);
      return { count: typeof count === "number" ? BigInt64Array.of(BigInt(count)) : count };
    }
    if (left_values === undefined && right_values === undefined) {
      return { keys: await this.target.combineSets(left, right, operation, options) };
    }
    const values = { left: left_values, right: right_values };
    return this.target.combineSetsWithValues(left, right, operation, values, options);
  }
}

const ms = (seconds) => (seconds === null || seconds === undefined ? seconds : seconds * 1000);

function callOptions({ options = {} }) {
  const { deadline_s, request_id, traceparent, priority, place, connections, ...rest } = options;
  unknownMembers("option of a call", Object.keys(rest).filter((name) => !OF_DRIVER.includes(name)));
  if (place === "shared_memory") {
    throw new Unsupported("shared_memory");
  }
  return Object.fromEntries(
    Object.entries({ deadlineMs: ms(deadline_s), requestId: request_id, traceparent, priority, place, connections })
      .filter(([, value]) => value !== undefined),
  );
}

function unknownMembers(what, names) {
  for (const name of names) {
    console.error(`driver: unknown ${what}: ${name}`);
    process.exit(1);
  }
}

const commands = {
  clients: new Map(),

  hello() {
    const { version } = createRequire(import.meta.url)("@grpc/grpc-js/package.json");
    return { language: "node", version: corank.version, library: `grpc-js ${version}` };
  },

  connect({ client, options = {} }) {
    const { address, token, token_file, tls, deadline_s, retries, traceparent, connections, ...rest } = options;
    unknownMembers("option of connect", Object.keys(rest));
    const given = { token, tokenFile: token_file, deadlineMs: ms(deadline_s), retries, traceparent, connections };
    if (tls !== undefined) {
      given.tls = { ca: tls.ca, certificate: tls.certificate, key: tls.key, serverName: tls.server_name };
    }
    this.clients.set(client, corank.connect(address, given));
    return {};
  },

  results(command, { found, types }) {
    const shown = {};
    for (const [name, value] of Object.entries(found)) {
      if (value instanceof corank.KeptArray) {
        shown[name] = keptJson(value);
      } else if (name === "columns") {
        shown[name] = value.map((sorted, at) => {
          const { type } = command.arguments.columns[at].data;
          const column = sorted instanceof corank.Nullable ? sorted.values : sorted;
          const shown =
            column instanceof corank.Strings
              ? { data: dataOf(command, "data", column.bytes), offsets: dataOf(command, "offsets", column.offsets) }
              : { data: dataOf(command, "data", column, isHalf({ type }) ? type : undefined) };
          return column === sorted ? shown : { ...shown, validity: dataOf(command, "validity", sorted.validity) };
        });
      } else {
        shown[name] = dataOf(command, name, value, types[name]);
      }
    }
    return shown;
  },

  async call(command) {
    const { options = {} } = command;
    const client = this.clients.get(command.client);
    const given = callOptions(command);
    const stats = [];
    let progress;
    given.onStats = (each) => stats.push(each);
    if (options.progress) given.onProgress = (each) => (progress = { sent: each.sent, received: each.received });
    let timer;
    if (options.cancel_after_ms !== undefined) {
      const controller = new AbortController();
      given.signal = controller.signal;
      timer = setTimeout(() => controller.abort(), options.cancel_after_ms);
    }
    try {
      const operators = new Operators(client, ({ kept }) => client.stored(kept), given);
      const results = this.results(command, await operators.run(command));
      const { requestId, engine, algorithm } = stats.at(-1);
      const told = { request_id: requestId, engine, algorithm: algorithm.replaceAll("-", "_") };
      return { results, stats: told, ...(options.progress ? { progress } : {}) };
    } finally {
      clearTimeout(timer);
    }
  },

  async chain(command) {
    const client = this.clients.get(command.client);
    const chain = client.chain(callOptions(command));
    const made = [];
    for (const operation of command.operations) {
      const resolve = (value) => ("kept" in value ? client.stored(value.kept) : made[value.of].found[value.result]);
      made.push(await new Operators(chain, resolve, {}).run(operation));
    }
    await chain.run();
    const taken = new Set(
      command.operations.flatMap((operation) =>
        Object.values(operation.arguments)
          .flat()
          .filter((value) => value?.result !== undefined)
          .map((value) => `${value.of} ${value.result}`),
      ),
    );
    const operations = made.map(({ found, types }, at) => {
      const back = Object.entries(found).filter(([name]) => !taken.has(`${at} ${name}`));
      const values = Object.fromEntries(back.map(([name, pending]) => [name, pending.result()]));
      return this.results({ ...command, arguments: command.operations[at].arguments }, { found: values, types });
    });
    return { operations };
  },

  async store(command) {
    const { array, expires_s: expiresSeconds, sharded } = command;
    const type = isHalf(array) ? array.type : undefined;
    const options = { ...callOptions(command), expiresSeconds, type, sharded };
    return keptJson(await this.clients.get(command.client).store(command.name, arrayOf(array), options));
  },

  async fetch(command) {
    const array = await this.clients.get(command.client).stored(command.name);
    const elements = await array.fetch(callOptions(command));
    return { array: dataOf(command, "", elements, isHalf(array) ? array.type : undefined) };
  },

  async list({ client }) {
    const { arrays, usedBytes, quotaBytes } = await this.clients.get(client).arrays();
    return { arrays: arrays.map(keptJson), used_bytes: usedBytes, quota_bytes: quotaBytes };
  },

  async delete({ client, name }) {
    await this.clients.get(client).delete(name);
    return {};
  },

  async info(command) {
    const { version, engine, places, limits } = await this.clients.get(command.client).info(callOptions(command));
    return {
      version,
      engine,
      places,
      max_request_bytes: limits.maxRequestBytes,
      max_chunk_bytes: limits.maxChunkBytes,
      max_parts: limits.maxParts,
    };
  },

  async health({ client, service }) {
    return { status: await this.clients.get(client).health(service) };
  },

  close({ client }) {
    this.clients.get(client).close();
    return {};
  },

  async resources() {
    // Closed sockets end in later turns of the event loop.
    await new Promise((resolve) => setTimeout(resolve, 50));
    globalThis.gc();
    return { handles: process.getActiveResourcesInfo().filter((name) => /TCP|Timeout/.test(name)).length };
  },
};

function failure(error) {
  const found = { code: "INVALID_ARGUMENT", reason: "", field: "", retry_after_s: null, request_id: "" };
  if (error instanceof corank.CorankError) {
    found.code = error.code;
    found.reason = error.reason;
    found.field = error.field;
    found.retry_after_s = error.retryAfterMs === undefined ? null : error.retryAfterMs / 1000;
    found.request_id = error.requestId;
    if (error.rows !== undefined) found.rows = error.rows;
  } else if (!(error instanceof TypeError || error instanceof RangeError)) {
    throw error;
  }
  return { ...found, message: error.message };
}

// The first call of a process compiles and loads code, which takes longer than some vectors wait before they cancel.
async function warmUp() {
  try {
    const client = corank.connect("127.0.0.1:1", { retries: 0 });
    const keys = Int8Array.of(1);
    await Promise.allSettled([client.sort(keys), client.sort(keys, { place: "stream" })]);
    client.close();
  } catch {
    // The environment is such that no client can be made; the vectors say what then comes.
  }
}

await warmUp();
for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...command } = JSON.parse(line);
  let answer;
  try {
    answer = { ok: await commands[command.command](command) };
  } catch (error) {
    answer = error instanceof Unsupported ? { unsupported: error.message } : { error: failure(error) };
  }
  process.stdout.write(`${JSON.stringify({ id, ...answer })}\n`);
}
process.exit(0);
