// The rows that a sort with a limit or an offset returns.
import { integers, type Input } from "./elements.js";

/** How many rows a result has; `count` is undefined if only the answer tells. */
export interface Lengths {
  count: number | undefined;
  most: number | undefined;
}

/** The lengths of the results of a sort of so many rows. */
export type FirstRows = (rows: number) => Lengths;

export const allRows: FirstRows = (rows) => ({ count: rows, most: rows });

const numbersOf = ({ data }: Input): BigInt64Array | undefined =>
  data && new BigInt64Array(data.buffer, data.byteOffset, data.byteLength / 8);

/** The segments of as many first results of each, at most. */
function limited(offsets: BigInt64Array, limit: bigint): BigInt64Array {
  const found = new BigInt64Array(Math.max(offsets.length, 1));
  for (let at = 1; at < offsets.length; ++at) {
    const length = (offsets[at] as bigint) - (offsets[at - 1] as bigint);
    const kept = length < 0n ? 0n : length < limit ? length : limit;
    found[at] = (found[at - 1] as bigint) + kept;
  }
  return found;
}

/**
 * Finds the segments of the result of a sort with `segments` and `limit`.
 *
 * @param segments the offsets that the sort got
 * @param limit its limit, 0 or more
 * @returns as many offsets: the results of segment i lie from offsets[i] to offsets[i + 1]
 */
export function limitedSegments(segments: ArrayLike<number | bigint>, limit: number): BigInt64Array {
  const offsets = numbersOf(integers("segments", segments)) as BigInt64Array;
  return limited(offsets, BigInt(Math.max(0, Math.trunc(limit))));
}

/** The rows that these arguments of a sort ask for. */
export function firstRows(limit: number | undefined, offset: number, segments: Input | undefined): FirstRows {
  return (all) => {
    const rows = Math.max(0, all - offset);
    if (limit === undefined || limit >= rows) {
      return allRows(rows);
    }
    if (segments === undefined) {
      return { count: limit, most: limit };
    }
    const offsets = numbersOf(segments);
    if (offsets !== undefined) {
      const count = Math.min(rows, Number(limited(offsets, BigInt(limit)).at(-1)));
      return { count, most: count };
    }
    const most = segments.count === undefined ? rows : Math.min(rows, limit * Math.max(0, segments.count - 1));
    return { count: undefined, most };
  };
}
