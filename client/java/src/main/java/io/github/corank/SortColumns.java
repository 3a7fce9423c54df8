package io.github.corank;

import io.github.corank.v1.KeyColumn;
import io.github.corank.v1.OperationResult;
import io.github.corank.v1.SortOutput;
import io.github.corank.v1.SortRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Sorts rows by several columns: by the first, rows that are equal in it by the second, and so on.
 * Stable.
 */
public final class SortColumns extends Operator<SortColumnsResult> {
  private final List<Column> columns;
  private Input values;
  private Input segments;
  private Input runs;
  private Long limit;
  private long offset;
  private SortAlgorithm algorithm = SortAlgorithm.AUTO;
  private SortOutput output = SortOutput.SORT_OUTPUT_KEYS;

  private SortColumns(List<Column> columns) {
    this.columns = columns;
  }

  /** Sorts by 1 to 32 columns of the same number of rows. */
  public static SortColumns of(Column... columns) {
    return of(List.of(columns));
  }

  /** Sorts by 1 to 32 columns of the same number of rows. */
  public static SortColumns of(List<Column> columns) {
    if (columns.isEmpty()) {
      throw new CorankException.InvalidArgument("columns: at least one is needed", "key_columns");
    }
    return new SortColumns(List.copyOf(columns));
  }

  /**
   * Moves one value with each row, of any type. Not with {@link #indices}, {@link #withIndices} or
   * {@link #ranks}.
   */
  public SortColumns values(Input values) {
    this.values = Objects.requireNonNull(values, "values");
    return this;
  }

  /** Returns the permutation that sorts the rows, instead of the columns. */
  public SortColumns indices() {
    output = SortOutput.SORT_OUTPUT_INDICES;
    return this;
  }

  /**
   * Returns the dense rank of each row, from 1, instead of the columns. Equal rows have equal
   * ranks, so ranks can be the keys of {@link Join}, {@link Group}, {@link Merge} and {@link
   * Search} in place of several columns. Not with {@link #limit}.
   */
  public SortColumns ranks() {
    output = SortOutput.SORT_OUTPUT_RANKS;
    return this;
  }

  /** Returns the sorted columns and the permutation that sorts them. */
  public SortColumns withIndices() {
    output = SortOutput.SORT_OUTPUT_KEYS_AND_INDICES;
    return this;
  }

  /**
   * Sorts each segment of rows by itself: segment i is rows offsets[i] to offsets[i + 1]; offsets
   * rise from 0 to the number of rows. Not with {@link #ranks} or {@link #runs}.
   */
  public SortColumns segments(long... offsets) {
    return segments(Elements.of(offsets));
  }

  /** As {@link #segments(long...)}, with INT64 offsets that may be on the server. */
  public SortColumns segments(Input offsets) {
    segments = Objects.requireNonNull(offsets, "offsets");
    return this;
  }

  /** Returns only the first rows in sorted order; with segments, of each segment. */
  public SortColumns limit(long limit) {
    this.limit = limit;
    return this;
  }

  /** Leaves out the first rows of the order, before {@link #limit} counts. Not with segments. */
  public SortColumns offset(long offset) {
    this.offset = offset;
    return this;
  }

  /**
   * Merges tables: rows are sorted runs, one after the other, and run i is rows offsets[i] to
   * offsets[i + 1]; offsets rise from 0 to the number of rows. Equal rows of an earlier run come
   * first. A run that is out of order is an error. Not with {@link #algorithm}.
   */
  public SortColumns runs(long... offsets) {
    return runs(Elements.of(offsets));
  }

  /** As {@link #runs(long...)}, with INT64 offsets that may be on the server. */
  public SortColumns runs(Input offsets) {
    runs = Objects.requireNonNull(offsets, "offsets");
    return this;
  }

  /** Chooses how the server sorts the first 8 bytes that differ; the result is the same. */
  public SortColumns algorithm(SortAlgorithm algorithm) {
    this.algorithm = Objects.requireNonNull(algorithm, "algorithm");
    return this;
  }

  @Override
  Task task() {
    Task task = new Task(Method.SORT);
    SortRequest.Builder request = task.operation.getSortBuilder();
    request.setAlgorithm(algorithm.wire()).setOutput(output);
    long rows = columns.get(0).rows();
    if (limit != null) {
      request.setLimit(limit);
    }
    if (offset != 0) {
      request.setOffset(offset);
    }
    FirstRows first = FirstRows.of(rows, offset, limit, segments);
    for (int at = 0; at < columns.size(); ++at) {
      addColumn(task, request.addKeyColumnsBuilder(), at, first);
    }
    if (segments != null) {
      task.integers("segment_offsets", segments, request.getSegmentOffsetsBuilder());
    }
    if (runs != null) {
      task.integers("run_offsets", runs, request.getRunOffsetsBuilder());
    }
    if (values != null) {
      task.pieces("values", values, request.getValuesBuilder());
      task.outputInPieces(
          "values",
          request.getValuesDestinationBuilder(),
          values,
          first,
          found -> found.getSort().getValues());
    }
    if (output == SortOutput.SORT_OUTPUT_RANKS) {
      task.positions(
          "ranks",
          request.getRanksDestinationBuilder(),
          rows,
          rows,
          true,
          found -> found.getSort().getRanks());
    } else if (output != SortOutput.SORT_OUTPUT_KEYS) {
      task.positions(
          "indices",
          request.getIndicesDestinationBuilder(),
          rows - 1,
          first,
          found -> found.getSort().getIndices());
    }
    return task;
  }

  private void addColumn(Task task, KeyColumn.Builder message, int at, FirstRows first) {
    Column column = columns.get(at);
    String path = "key_columns[" + at + "].";
    column.addTo(task, path, message);
    if (!hasColumns()) {
      return;
    }
    // The answer decides which strings a limit leaves, and so how many bytes.
    long bytes = first.count() == column.rows() ? column.data().count() : -1;
    task.outputInPieces(
        path + "data",
        message.getDataDestinationBuilder(),
        column.data(),
        column.offsets() == null ? first : new FirstRows(bytes, bytes),
        found -> sorted(found, at).getData());
    if (column.offsets() != null) {
      task.outputInPieces(
          path + "offsets",
          message.getOffsetsDestinationBuilder(),
          column.offsets(),
          first.oneMore(),
          found -> sorted(found, at).getOffsets());
    }
    if (column.validity() != null) {
      task.outputInPieces(
          path + "validity",
          message.getValidityDestinationBuilder(),
          column.validity(),
          first.bitmaps(),
          found -> sorted(found, at).getValidity());
    }
  }

  private boolean hasColumns() {
    return output == SortOutput.SORT_OUTPUT_KEYS
        || output == SortOutput.SORT_OUTPUT_KEYS_AND_INDICES;
  }

  private static io.github.corank.v1.SortedColumn sorted(OperationResult found, int at) {
    if (at >= found.getSort().getKeyColumnsCount()) {
      throw new CorankException.Internal("Sort: the server's answer lacks column " + at);
    }
    return found.getSort().getKeyColumns(at);
  }

  @Override
  SortColumnsResult result(List<Elements> outputs) {
    List<SortedColumn> sorted = new ArrayList<>();
    int at = 0;
    if (hasColumns()) {
      for (Column column : columns) {
        Elements data = outputs.get(at++);
        Elements offsets = column.offsets() == null ? null : outputs.get(at++);
        Elements validity = column.validity() == null ? null : outputs.get(at++);
        sorted.add(new SortedColumn(data, offsets, validity));
      }
    }
    Elements moved = values == null ? null : outputs.get(at++);
    Elements last = output == SortOutput.SORT_OUTPUT_KEYS ? null : outputs.get(at);
    boolean isRanks = output == SortOutput.SORT_OUTPUT_RANKS;
    return new SortColumnsResult(sorted, moved, isRanks ? null : last, isRanks ? last : null);
  }
}
