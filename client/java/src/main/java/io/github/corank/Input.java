package io.github.corank;

/**
 * An input of an operator: elements of this process, an array that the server keeps, or a result of
 * an earlier operator of the same chain.
 */
public sealed interface Input permits Elements, StoredArray, Pending {
  /** The type of the elements. */
  ElementType type();

  /** The number of elements; -1 of a result of a chain whose length only the answer tells. */
  long count();

  /** Bytes of one element. */
  int elementBytes();

  /** Bytes of all elements. */
  default long byteSize() {
    return count() * elementBytes();
  }
}
