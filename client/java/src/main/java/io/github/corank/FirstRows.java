package io.github.corank;

/**
 * How many rows a sort with a limit or an offset returns, and the most that it may; -1 is not known
 * before the answer.
 */
record FirstRows(long count, long most) {
  /** Of a sort of so many rows; a limit or segments that are null are not there. */
  static FirstRows of(long all, long offset, Long limit, Input segments) {
    long rows = all < 0 ? all : Math.max(0, all - Math.max(0, offset));
    if (limit == null || rows < 0 || limit >= rows) {
      return new FirstRows(rows, rows);
    }
    long each = Math.max(0, limit);
    if (segments == null) {
      return new FirstRows(each, each);
    }
    if (segments instanceof Elements here && here.type() == ElementType.INT64) {
      long[] limited = Sort.limitedSegments(here.longArray(), each);
      long count = Math.min(rows, limited[limited.length - 1]);
      return new FirstRows(count, count);
    }
    long number = Math.max(0, segments.count() - 1);
    boolean isAll = segments.count() < 0 || (each > 0 && number > rows / each);
    return new FirstRows(-1, isAll ? rows : number * each);
  }

  /** The lengths of arrays with one element more. */
  FirstRows oneMore() {
    return new FirstRows(count < 0 ? -1 : count + 1, most < 0 ? -1 : most + 1);
  }

  /** The lengths of bitmaps with a bit for each row. */
  FirstRows bitmaps() {
    return new FirstRows(count < 0 ? -1 : (count + 7) / 8, most < 0 ? -1 : (most + 7) / 8);
  }
}
