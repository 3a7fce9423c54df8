package io.github.corank;

/** Sums and checks of counts that lie in this process. */
final class Counts {
  private Counts() {}

  /**
   * The sum of counts; -1 if they are on the server, or one is negative, which the server refuses
   * by its index.
   *
   * @throws CorankException.InvalidArgument the sum is more than 2^63 - 1
   */
  static long total(Input counts) {
    if (!(counts instanceof Elements elements) || counts.type() != ElementType.INT64) {
      return -1;
    }
    long total = 0;
    for (long each : elements.longArray()) {
      if (each < 0) {
        return -1;
      }
      total += each;
      if (total < 0) {
        throw new CorankException.InvalidArgument(
            "counts: they add up to more than 2^63 - 1", "counts");
      }
    }
    return total;
  }

  /**
   * Refuses a count that no offset can serve, before memory is made for the result.
   *
   * @throws CorankException.InvalidArgument a count is more than the length of the source
   */
  static void checkReach(Input source, Input counts) {
    boolean isHere = counts instanceof Elements && counts.type() == ElementType.INT64;
    if (!isHere || source.count() < 0) {
      return;
    }
    long[] found = ((Elements) counts).longArray();
    for (int at = 0; at < found.length; ++at) {
      if (found[at] > source.count()) {
        String field = "counts[" + at + "]";
        throw new CorankException.InvalidArgument(
            field
                + ": "
                + found[at]
                + " elements, more than the "
                + source.count()
                + " of the source",
            field);
      }
    }
  }
}
