package io.github.corank;

import com.google.protobuf.ByteString;
import io.github.corank.v1.Array;
import io.github.corank.v1.OperationResult;
import io.github.corank.v1.StoredPlace;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;

/** Gives the arrays of one call their places, and takes results from theirs. */
final class Placing {
  /**
   * Arrays of no more travel in messages, whatever the others do, but for rows that the server
   * works on in pieces.
   */
  static final int SMALL_BYTES = 64 << 10;

  private static final int MAX_STREAMS = 1024;

  /**
   * An operator of a call, and the names under which results stay on the server; null: that result
   * comes back.
   */
  record Step(Task task, List<StoredPlace> kept) {
    StoredPlace keptAt(int at) {
      return kept == null ? null : kept.get(at);
    }
  }

  private final List<Step> steps;
  final List<Chunks.Source> sources = new ArrayList<>();
  final Map<Integer, Sink> sinks = new HashMap<>();
  private final Map<Task.Out, Sink> streamed = new HashMap<>();

  Placing(List<Step> steps) {
    this.steps = steps;
  }

  /** Bytes of inputs that lie in this process. */
  long toSend() {
    return steps.stream()
        .flatMap(step -> step.task().inputs.stream())
        .mapToLong(Task.In::bytes)
        .sum();
  }

  /** Bytes of results that come back, as far as they are known. */
  long toReceive() {
    return sum(Task.Out::bytes);
  }

  /** The most bytes of results that come back, as far as that is known. */
  long mostToReceive() {
    return sum(Task.Out::mostBytes);
  }

  private long sum(ToLongFunction<Task.Out> bytesOf) {
    long sum = 0;
    for (Step step : steps) {
      for (int at = 0; at < step.task().outputs.size(); ++at) {
        long bytes = step.keptAt(at) == null ? bytesOf.applyAsLong(step.task().outputs.get(at)) : 0;
        sum = sum + bytes < 0 ? Long.MAX_VALUE : sum + bytes;
      }
    }
    return sum;
  }

  /** Whether it is known how long every result that comes back is at most. */
  boolean isReceiveKnown() {
    for (Step step : steps) {
      for (int at = 0; at < step.task().outputs.size(); ++at) {
        if (step.keptAt(at) == null && step.task().outputs.get(at).most() < 0) {
          return false;
        }
      }
    }
    return true;
  }

  /** Whether a named array of the server is replaced. */
  boolean keeps() {
    return keeps(place -> !place.getTemporary());
  }

  /** Whether the server divides a result among its GPUs. */
  boolean isSharded() {
    return keeps(StoredPlace::getSharded);
  }

  private boolean keeps(Predicate<StoredPlace> which) {
    return steps.stream()
        .filter(step -> step.kept() != null)
        .flatMap(step -> step.kept().stream())
        .anyMatch(place -> place != null && which.test(place));
  }

  /** Writes the places into the requests. */
  void put(boolean streams) {
    Set<Task.In> chosen = streams ? inputsToStream() : Set.of();
    for (Step step : steps) {
      for (Task.In in : step.task().inputs) {
        putInput(in, chosen.contains(in));
      }
      for (int at = 0; at < step.task().outputs.size(); ++at) {
        Task.Out out = step.task().outputs.get(at);
        if (step.keptAt(at) != null) {
          out.destination().setStored(step.keptAt(at));
        } else if (streams && isStreamed(step, out)) {
          Sink sink = new Sink(out.type(), out.elementBytes(), out.count());
          out.destination().getStreamBuilder().setStreamId(sinks.size());
          sinks.put(sinks.size(), sink);
          streamed.put(out, sink);
        }
      }
    }
  }

  private void putInput(Task.In in, boolean isStreamed) {
    if (in.value() instanceof StoredArray stored) {
      in.slot().setStored(stored.place());
    } else if (in.value() instanceof Pending pending) {
      in.slot().setStored(pending.place());
    } else if (isStreamed) {
      in.slot().getStreamBuilder().setStreamId(sources.size());
      sources.add(new Chunks.Source(sources.size(), (Elements) in.value()));
    } else {
      in.slot().setInlineData(((Elements) in.value()).slice(0, in.value().count()));
    }
  }

  /** The largest inputs, where they would be more than a call may have. */
  private Set<Task.In> inputsToStream() {
    List<Task.In> found = new ArrayList<>();
    for (Step step : steps) {
      List<Task.In> own =
          step.task().inputs.stream().filter(in -> in.value() instanceof Elements).toList();
      boolean isLarge = own.stream().anyMatch(in -> in.inPieces() && in.bytes() > SMALL_BYTES);
      own.stream()
          .filter(in -> in.bytes() > SMALL_BYTES || (isLarge && in.inPieces()))
          .forEach(found::add);
    }
    found.sort(Comparator.comparingLong(Task.In::bytes).reversed());
    return new HashSet<>(found.subList(0, Math.min(found.size(), MAX_STREAMS)));
  }

  private static boolean isStreamed(Step step, Task.Out out) {
    return out.inPieces() ? step.task().outputs.stream().anyMatch(Placing::isLarge) : isLarge(out);
  }

  private static boolean isLarge(Task.Out out) {
    return out.most() < 0 || out.mostBytes() > SMALL_BYTES;
  }

  /** The results of one operator, in the order of its outputs; null: it stayed on the server. */
  List<Elements> results(Step step, OperationResult answer) {
    List<Elements> made = new ArrayList<>();
    step.task().counts = new long[step.task().outputs.size()];
    for (int at = 0; at < step.task().outputs.size(); ++at) {
      Task.Out out = step.task().outputs.get(at);
      Array found = out.found().apply(answer);
      check(out, found);
      step.task().counts[at] = found.getCount();
      Sink sink = streamed.get(out);
      if (step.keptAt(at) != null) {
        made.add(null);
      } else if (sink != null) {
        made.add(sink.result(found.getCount()));
      } else {
        made.add(inline(out, found));
      }
    }
    return made;
  }

  private static Elements inline(Task.Out out, Array found) {
    ByteString data = found.getInlineData();
    Elements made = Sink.whole(ElementType.of(found.getType()), out.elementBytes(), data);
    long count =
        out.count() >= 0 ? out.count() : found.hasCount() ? found.getCount() : made.count();
    if (count != made.count()) {
      throw new CorankException.Internal(
          "the server sent " + made.count() + " of the " + count + " elements of " + out.field());
    }
    return made;
  }

  private static void check(Task.Out out, Array found) {
    if (found.getType() == io.github.corank.v1.ElementType.ELEMENT_TYPE_UNSPECIFIED) {
      throw new CorankException.Internal("the server's answer lacks " + out.field());
    }
    if (ElementType.of(found.getType()) != out.type()) {
      throw new CorankException.Internal(
          "the server answered "
              + out.field()
              + " of type "
              + found.getType()
              + ", not of "
              + out.type());
    }
    boolean isOther = out.count() >= 0 && found.getCount() != out.count();
    boolean isTooLong = out.most() >= 0 && found.getCount() > out.most();
    if (found.hasCount() && (isOther || isTooLong)) {
      throw new CorankException.Internal(
          "the server answered "
              + found.getCount()
              + " elements of "
              + out.most()
              + " of "
              + out.field());
    }
  }
}
