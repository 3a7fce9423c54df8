package io.github.corank;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * Inserts elements before many positions at once. Both arrays are in this process: the call is a
 * {@link Gather} of a copy of both. For arrays on the server, a {@link Move} and a {@link Scatter}
 * in one {@link Chain} do the same.
 */
public final class Insert extends Operator<Elements> {
  private final Elements elements;
  private final long[] positions;
  private final Elements inserted;

  private Insert(Elements elements, long[] positions, Elements inserted) {
    this.elements = Objects.requireNonNull(elements, "elements");
    this.positions = Objects.requireNonNull(positions, "positions");
    this.inserted = Objects.requireNonNull(inserted, "inserted");
  }

  /**
   * Inserts elements, of any type, records included.
   *
   * @param positions for each inserted element, the position of the element that it goes before, or
   *     the number of elements, to go behind them all; in any order. Inserted elements for the same
   *     position keep their order.
   * @param inserted of the type of the elements
   */
  public static Insert of(Elements elements, long[] positions, Elements inserted) {
    return new Insert(elements, positions, inserted);
  }

  @Override
  Task task() {
    if (inserted.type() != elements.type() || inserted.elementBytes() != elements.elementBytes()) {
      throw new CorankException.InvalidArgument(
          "inserted: is " + inserted + ", elements is " + elements + "; they need one type",
          "inserted");
    }
    long count = elements.count();
    if (positions.length != inserted.count()) {
      throw new CorankException.InvalidArgument(
          "positions: "
              + positions.length
              + " for "
              + inserted.count()
              + " inserted elements; each needs one",
          "positions");
    }
    for (int i = 0; i < positions.length; ++i) {
      if (positions[i] < 0 || positions[i] > count) {
        String field = "positions[" + i + "]";
        throw new CorankException.InvalidArgument(
            field + ": is " + positions[i] + ", must be 0 to " + count, field);
      }
    }
    Elements both = elements.followedBy(inserted);
    Intervals intervals = new Intervals((int) Math.min(2L * positions.length + 1, both.count()));
    long done = 0;
    for (int i : order()) {
      intervals.add(done, positions[i] - done);
      intervals.add(count + i, 1);
      done = positions[i];
    }
    intervals.add(done, count - done);
    return Gather.of(both, intervals.offsets(), intervals.counts()).task();
  }

  /** The inserted elements in the order of the result. */
  private int[] order() {
    IntStream all = IntStream.range(0, positions.length);
    for (int i = 1; i < positions.length; ++i) {
      if (positions[i] < positions[i - 1]) {
        Comparator<Integer> byPosition = Comparator.comparingLong(at -> positions[at]);
        return all.boxed().sorted(byPosition).mapToInt(Integer::intValue).toArray(); // is stable
      }
    }
    return all.toArray();
  }

  @Override
  Elements result(List<Elements> outputs) {
    return outputs.get(0);
  }

  /** The intervals of the elements, with the inserted ones behind them, that make up the result. */
  private static final class Intervals {
    private final long[] offsets;
    private final long[] counts;
    private int size;

    Intervals(int most) {
      offsets = new long[most];
      counts = new long[most];
    }

    void add(long offset, long count) {
      if (count == 0) {
        return;
      }
      if (size > 0 && offsets[size - 1] + counts[size - 1] == offset) {
        counts[size - 1] += count;
        return;
      }
      offsets[size] = offset;
      counts[size++] = count;
    }

    long[] offsets() {
      return Arrays.copyOf(offsets, size);
    }

    long[] counts() {
      return Arrays.copyOf(counts, size);
    }
  }
}
