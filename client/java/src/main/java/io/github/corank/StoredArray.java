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
  private final boolean sharded;

  StoredArray(String name, ElementType type, int elementBytes, long count, boolean sharded) {
    this.name = name;
    this.type = type;
    this.elementBytes = elementBytes;
    this.count = count;
    this.sharded = sharded;
  }

  static StoredArray of(io.github.corank.v1.StoredArray found) {
    ElementType type = ElementType.of(found.getType());
    int bytes = type == ElementType.RECORD ? found.getRecordBytes() : type.bytes();
    return new StoredArray(found.getName(), type, bytes, found.getCount(), found.getShards() > 0);
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

  /** Whether the server divides the array among its GPUs; see {@link CallOptions#sharded}. */
  public boolean isSharded() {
    return sharded;
  }

  StoredPlace place() {
    return StoredPlace.newBuilder().setName(name).build();
  }

  @Override
  public String toString() {
    return "StoredArray(" + name + ", " + count + " x " + type + (sharded ? ", sharded)" : ")");
  }
}
