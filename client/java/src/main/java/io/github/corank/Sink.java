package io.github.corank;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** Takes the bytes of one result, in any order and from any thread, into a new primitive array. */
final class Sink {
  private static final long UNKNOWN = -1;

  private final ElementType type;
  private final int width;
  private final boolean grows;
  private Object into;
  private long capacity;
  private long received;

  /**
   * Makes the array.
   *
   * @param count the number of elements; -1: it is not known, and the array grows
   * @throws CorankException.ResourceExhausted there is no memory, or Java has no array as long
   */
  Sink(ElementType type, int width, long count) {
    this.type = type;
    this.width = width;
    grows = count == UNKNOWN;
    capacity = Math.max(count, 0);
    into = made(capacity);
  }

  /** All of one message as a result. */
  static Elements whole(ElementType type, int width, ByteString data) {
    if (data.size() % width != 0) {
      throw partial(data.size(), width);
    }
    long count = data.size() / width;
    Sink sink = new Sink(type, width, count);
    sink.copy(sink.into, 0, (int) count, data);
    return Elements.result(type, width, count, sink.into);
  }

  private static CorankException partial(int size, int width) {
    return new CorankException.Internal(
        "the server sent " + size + " bytes for elements of " + width + " bytes");
  }

  private Object made(long count) {
    long length = type == ElementType.RECORD ? count * width : count;
    try {
      int all = Math.toIntExact(length);
      return switch (type) {
        case INT8, UINT8, RECORD -> new byte[all];
        case INT16, UINT16, FLOAT16, BFLOAT16 -> new short[all];
        case INT32, UINT32 -> new int[all];
        case INT64, UINT64 -> new long[all];
        case FLOAT32 -> new float[all];
        case FLOAT64 -> new double[all];
      };
    } catch (OutOfMemoryError | ArithmeticException error) {
      CorankException full =
          new CorankException.ResourceExhausted(
              "the result: this process has no array for its " + count + " elements of " + type);
      full.initCause(error);
      throw full;
    }
  }

  /** Forgets what came: the call is tried once more. */
  synchronized void restart() {
    received = 0;
  }

  /**
   * Writes a chunk.
   *
   * @throws CorankException.Internal it is no part of the result
   */
  void write(long first, ByteString data) {
    if (data.size() % width != 0) {
      throw partial(data.size(), width);
    }
    int count = data.size() / width;
    synchronized (this) {
      if (grows && first >= 0 && first + count > capacity) {
        long more = Math.max(first + count, Math.min(2 * capacity, Integer.MAX_VALUE - 8));
        Object grown = made(more);
        System.arraycopy(into, 0, grown, 0, java.lang.reflect.Array.getLength(into));
        into = grown;
        capacity = more;
      }
      if (first < 0 || first + count > capacity) {
        throw new CorankException.Internal(
            "the server sent element " + (first + count - 1) + " of a result of " + capacity);
      }
      received += count;
      if (grows) {
        // A larger array must not replace this one meanwhile.
        copy(into, first, count, data);
        return;
      }
    }
    copy(into, first, count, data);
  }

  private void copy(Object array, long first, int count, ByteString data) {
    int at = (int) first;
    if (array instanceof byte[] bytes) {
      data.copyTo(bytes, at * width);
      return;
    }
    ByteBuffer from = data.asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    if (array instanceof int[] ints) {
      from.asIntBuffer().get(ints, at, count);
    } else if (array instanceof float[] floats) {
      from.asFloatBuffer().get(floats, at, count);
    } else if (array instanceof long[] longs) {
      from.asLongBuffer().get(longs, at, count);
    } else if (array instanceof double[] doubles) {
      from.asDoubleBuffer().get(doubles, at, count);
    } else {
      from.asShortBuffer().get((short[]) array, at, count);
    }
  }

  /**
   * The result, once all chunks have come.
   *
   * @param count the number of its elements, as the answer says it
   * @throws CorankException.Internal not all of it came
   */
  synchronized Elements result(long count) {
    if (received != count || (!grows && count != capacity)) {
      throw new CorankException.Internal(
          "the server sent " + received + " of the " + count + " elements of a result");
    }
    return Elements.result(type, width, count, count == capacity ? into : trimmed(count));
  }

  private Object trimmed(long count) {
    int length = Math.toIntExact(type == ElementType.RECORD ? count * width : count);
    if (into instanceof byte[] bytes) {
      return Arrays.copyOf(bytes, length);
    }
    if (into instanceof int[] ints) {
      return Arrays.copyOf(ints, length);
    }
    if (into instanceof float[] floats) {
      return Arrays.copyOf(floats, length);
    }
    if (into instanceof long[] longs) {
      return Arrays.copyOf(longs, length);
    }
    if (into instanceof double[] doubles) {
      return Arrays.copyOf(doubles, length);
    }
    return Arrays.copyOf((short[]) into, length);
  }
}
