package io.github.corank;

import io.github.corank.v1.KeyColumn;
import io.github.corank.v1.NullOrder;
import io.github.corank.v1.SortOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/**
 * One column of {@link SortColumns} or {@link SearchColumns}: numbers, records, or strings.
 * Immutable.
 */
public final class Column {
  private final Input data;
  private final Input offsets;
  private final Input validity;
  private final SortOrder order;
  private final NullOrder nulls;
  private final NanOrder nans;

  private Column(
      Input data, Input offsets, Input validity, SortOrder order, NullOrder nulls, NanOrder nans) {
    this.data = Objects.requireNonNull(data, "data");
    this.offsets = offsets;
    this.validity = validity;
    this.order = order;
    this.nulls = nulls;
    this.nans = nans;
  }

  private static Column made(Input data, Input offsets) {
    return new Column(
        data,
        offsets,
        null,
        SortOrder.SORT_ORDER_ASCENDING,
        NullOrder.NULL_ORDER_LAST,
        NanOrder.GREATEST);
  }

  /** A column of numbers, or of records, which compare as unsigned bytes. */
  public static Column of(Input data) {
    return made(data, null);
  }

  /** A column of strings, which compare as their UTF-8 bytes do: by code point. */
  public static Column of(List<String> strings) {
    byte[][] encoded = new byte[strings.size()][];
    long[] offsets = new long[strings.size() + 1];
    int at = 0;
    for (String each : strings) {
      encoded[at] = each.getBytes(StandardCharsets.UTF_8);
      offsets[at + 1] = offsets[at] + encoded[at].length;
      ++at;
    }
    if (offsets[at] > Integer.MAX_VALUE - 8) {
      throw new CorankException.InvalidArgument(
          "strings: they have " + offsets[at] + " bytes, more than a Java array holds; split them",
          "key_columns");
    }
    byte[] joined = new byte[(int) offsets[at]];
    for (int i = 0; i < at; ++i) {
      System.arraycopy(encoded[i], 0, joined, (int) offsets[i], encoded[i].length);
    }
    return of(Elements.of(ElementType.UINT8, joined), Elements.of(offsets));
  }

  /**
   * A column of byte strings: string i is data[offsets[i]] to data[offsets[i + 1]].
   *
   * @param data UINT8, all strings one after the other
   * @param offsets INT64, one more than there are strings; they rise from 0 to the number of bytes
   */
  public static Column of(Input data, Input offsets) {
    return made(data, Objects.requireNonNull(offsets, "offsets"));
  }

  /** The same column, greatest first. */
  public Column descending() {
    return new Column(data, offsets, validity, SortOrder.SORT_ORDER_DESCENDING, nulls, nans);
  }

  /**
   * The same column with nulls. They are equal, whatever the column holds for them, and come last
   * unless {@link #nullsFirst} is called.
   *
   * @param validity UINT8, a bitmap as in Apache Arrow, one byte for each 8 rows or part of 8: row
   *     i is null if bit i % 8 of byte i / 8 is 0, where bit 0 is the least significant one; see
   *     {@link #packValidity}
   */
  public Column validity(Input validity) {
    return new Column(
        data, offsets, Objects.requireNonNull(validity, "validity"), order, nulls, nans);
  }

  /** The same column with nulls before all other rows, also if it is descending. */
  public Column nullsFirst() {
    return new Column(data, offsets, validity, order, NullOrder.NULL_ORDER_FIRST, nans);
  }

  /** The same column with NaNs at this place. */
  public Column nans(NanOrder nans) {
    return new Column(data, offsets, validity, order, nulls, Objects.requireNonNull(nans, "nans"));
  }

  /** The validity of a column: whether each row is not null. */
  public static Elements packValidity(boolean... valid) {
    byte[] packed = new byte[(valid.length + 7) / 8];
    for (int i = 0; i < valid.length; ++i) {
      if (valid[i]) {
        packed[i / 8] |= (byte) (1 << i % 8);
      }
    }
    return Elements.of(ElementType.UINT8, packed);
  }

  Input data() {
    return data;
  }

  Input offsets() {
    return offsets;
  }

  /** Null: no row is null. */
  Input validity() {
    return validity;
  }

  /**
   * Adds the arrays and the order to a request. Defaults stay unset: the server takes the order of
   * needles from the haystack.
   */
  void addTo(Task task, String path, KeyColumn.Builder message) {
    if (order != SortOrder.SORT_ORDER_ASCENDING) {
      message.setOrder(order);
    }
    if (nulls != NullOrder.NULL_ORDER_LAST) {
      message.setNulls(nulls);
    }
    if (nans != NanOrder.GREATEST) {
      message.setNans(nans.wire());
    }
    task.pieces(path + "data", data, message.getDataBuilder());
    if (offsets != null) {
      task.integers(path + "offsets", offsets, message.getOffsetsBuilder());
    }
    if (validity != null) {
      task.pieces(path + "validity", validity, message.getValidityBuilder());
    }
  }

  long rows() {
    if (offsets == null) {
      return data.count();
    }
    return offsets.count() < 0 ? -1 : Math.max(offsets.count() - 1, 0);
  }
}
