package io.github.corank;

import io.github.corank.v1.StoredPlace;

/**
 * The handle of an array that the server keeps. Every operator takes it in place of elements.
 * Immutable.
 */
public final class StoredArray implements Input {
  private final String name;
  private final ElementType type;
  private final int elementBytes;
  private final long count;

  StoredArray(String name, ElementType type, int elementBytes, long count) {
    this.name = name;
    this.type = type;
    this.elementBytes = elementBytes;
    this.count = count;
  }

  static StoredArray of(io.github.corank.v1.StoredArray found) {
    ElementType type = ElementType.of(found.getType());
    int bytes = type == ElementType.RECORD ? found.getRecordBytes() : type.bytes();
    return new StoredArray(found.getName(), type, bytes, found.getCount());
  }

  /** The name under which the server keeps the array. */
  public String name() {
    return name;
  }

  @Override
  public ElementType type() {
    return type;
  }

  @Override
  public int elementBytes() {
    return elementBytes;
  }

  @Override
  public long count() {
    return count;
  }

  StoredPlace place() {
    return StoredPlace.newBuilder().setName(name).build();
  }

  @Override
  public String toString() {
    return "StoredArray(" + name + ", " + count + " x " + type + ")";
  }
}
