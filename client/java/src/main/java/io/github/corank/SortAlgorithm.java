package io.github.corank;

/** How the server sorts. The result is the same with each. */
public enum SortAlgorithm {
  /** The server chooses. */
  AUTO,
  /** Block sort, then merge-path passes. */
  MERGESORT,
  /** Radix sort; on the CPU engine, vectorised quicksort. */
  RADIX,
  /** Batcher's odd-even mergesort network. */
  ODD_EVEN_MERGESORT;

  io.github.corank.v1.SortAlgorithm wire() {
    return io.github.corank.v1.SortAlgorithm.valueOf("SORT_ALGORITHM_" + name());
  }
}
