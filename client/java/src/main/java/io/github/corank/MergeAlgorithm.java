package io.github.corank;

/** How the server merges. The result is the same with each. */
public enum MergeAlgorithm {
  /** The server chooses. */
  AUTO,
  /** Each thread merges a few elements out of device memory, pairwise. */
  BASIC,
  /** Tiles in shared memory of the GPU, pairwise. */
  TILED,
  /** As {@link #TILED}, with circular buffers. */
  CIRCULAR_BUFFER,
  /** Merge path, up to 32 inputs at once. */
  MERGE_PATH;

  io.github.corank.v1.MergeAlgorithm wire() {
    return io.github.corank.v1.MergeAlgorithm.valueOf("MERGE_ALGORITHM_" + name());
  }
}
