package io.github.corank;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * One sorted column.
 *
 * @param data the rows in order, or the bytes of all strings; null rows keep theirs
 * @param offsets where each string begins and the last one ends; null unless the column holds
 *     strings
 * @param validity which rows are not null, as {@link Column#validity} takes it; null unless the
 *     column has one
 */
public record SortedColumn(Elements data, Elements offsets, Elements validity) {
  /** Whether a row is null. */
  public boolean isNull(int row) {
    return validity != null && (validity.byteArray()[row / 8] >> row % 8 & 1) == 0;
  }

  /**
   * The strings in order, decoded as UTF-8.
   *
   * @throws IllegalStateException the column does not hold strings
   * @throws CorankException.Internal the server's offsets are not those of its bytes
   */
  public List<String> strings() {
    if (offsets == null) {
      throw new IllegalStateException("this column holds no strings");
    }
    byte[] bytes = data.byteArray();
    long[] ends = offsets.longArray();
    List<String> made = new ArrayList<>(Math.max(ends.length - 1, 0));
    for (int i = 0; i + 1 < ends.length; ++i) {
      if (ends[i] < 0 || ends[i] > ends[i + 1] || ends[i + 1] > bytes.length) {
        throw new CorankException.Internal(
            "the server answered strings whose offsets are not those of their bytes");
      }
      made.add(
          new String(bytes, (int) ends[i], (int) (ends[i + 1] - ends[i]), StandardCharsets.UTF_8));
    }
    return made;
  }
}
