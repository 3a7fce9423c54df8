import io.github.corank.CallOptions;
import io.github.corank.Client;
import io.github.corank.Elements;
import io.github.corank.Sort;
import io.github.corank.SortResult;
import java.util.Arrays;
import java.util.Random;

/** Sorts 10 million floats, and then some of them with their row numbers. */
public final class SortFloats {
  private SortFloats() {}

  /** Runs the example against the server that CORANK_SERVER names. */
  public static void main(String[] arguments) {
    float[] keys = new float[10_000_000];
    Random random = new Random(1);
    for (int i = 0; i < keys.length; ++i) {
      keys[i] = random.nextFloat();
    }

    try (Client client = Client.connect()) {
      float[] sorted = client.sort(keys);
      float[] expected = keys.clone();
      Arrays.parallelSort(expected);
      if (!Arrays.equals(sorted, expected)) {
        throw new IllegalStateException("the server returned another order than Arrays.sort");
      }

      CallOptions told = CallOptions.none().onStats(stats -> System.out.println(stats.algorithm()));
      SortResult greatest =
          client.run(Sort.of(Elements.of(keys)).descending().withIndices().limit(3), told);
      float[] found = greatest.keys().floatArray();
      int[] rows = greatest.indices().intArray();
      for (int i = 0; i < 3; ++i) {
        System.out.printf("%.6f at %d%n", found[i], rows[i]);
      }
    }
  }
}
