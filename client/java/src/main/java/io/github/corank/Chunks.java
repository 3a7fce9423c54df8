package io.github.corank;

import com.google.protobuf.ByteString;
import io.github.corank.v1.ArrayChunk;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Queue;

/**
 * The chunks of one part of a job. All arrays advance together, so that the keys and the values of
 * one range of elements arrive one after the other.
 */
final class Chunks implements Iterator<ArrayChunk> {
  /** An array that is sent in chunks. */
  record Source(int streamId, Elements data) {}

  private record Range(int streamId, Elements data, long begin, long end) {}

  /** A piece that is not made yet. */
  private record Piece(int streamId, Elements data, long first, long count) {}

  private final List<Range> ranges = new ArrayList<>();
  private final Queue<Piece> next = new ArrayDeque<>();
  private long rounds;
  private long round;

  Chunks(List<Source> sources, int part, int parts, int chunkBytes) {
    for (Source source : sources) {
      long count = source.data().count();
      long begin = share(part, count, parts);
      long end = share(part + 1, count, parts);
      ranges.add(new Range(source.streamId(), source.data(), begin, end));
      long most = Math.max(1, chunkBytes / source.data().elementBytes());
      rounds = Math.max(rounds, (end - begin + most - 1) / most);
    }
  }

  /** The floor of part * count / parts, which does not overflow. */
  private static long share(long part, long count, long parts) {
    return count / parts * part + count % parts * part / parts;
  }

  @Override
  public boolean hasNext() {
    while (next.isEmpty() && round < rounds) {
      for (Range range : ranges) {
        long count = range.end() - range.begin();
        long first = range.begin() + share(round, count, rounds);
        long last = range.begin() + share(round + 1, count, rounds);
        if (last > first) {
          next.add(new Piece(range.streamId(), range.data(), first, last - first));
        }
      }
      ++round;
    }
    return !next.isEmpty();
  }

  @Override
  public ArrayChunk next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    Piece piece = next.remove();
    ByteString data = piece.data().slice(piece.first(), piece.count());
    return ArrayChunk.newBuilder()
        .setStreamId(piece.streamId())
        .setFirstElement(piece.first())
        .setData(data)
        .build();
  }
}
