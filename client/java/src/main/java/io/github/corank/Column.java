package io.github.corank;

import io.github.corank.v1.SortOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/** One column of a key of {@link SortColumns}: numbers, records, or strings. Immutable. */
public final class Column {
  private final Input data;
  private final Input offsets;
  private final SortOrder order;

  private Column(Input data, Input offsets, SortOrder order) {
    this.data = Objects.requireNonNull(data, "data");
    this.offsets = offsets;
    this.order = order;
  }

  /** A column of numbers, or of records, which compare as unsigned bytes. */
  public static Column of(Input data) {
    return new Column(data, null, SortOrder.SORT_ORDER_ASCENDING);
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
    return new Column(
        data, Objects.requireNonNull(offsets, "offsets"), SortOrder.SORT_ORDER_ASCENDING);
  }

  /** The same column, greatest first. */
  public Column descending() {
    return new Column(data, offsets, SortOrder.SORT_ORDER_DESCENDING);
  }

  Input data() {
    return data;
  }

  Input offsets() {
    return offsets;
  }

  SortOrder order() {
    return order;
  }

  long rows() {
    if (offsets == null) {
      return data.count();
    }
    return offsets.count() < 0 ? -1 : Math.max(offsets.count() - 1, 0);
  }
}
