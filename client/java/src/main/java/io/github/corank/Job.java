package io.github.corank;

import io.github.corank.v1.ArrayChunk;
import io.github.corank.v1.CorankServiceGrpc;
import io.github.corank.v1.ExecuteRequest;
import io.github.corank.v1.ExecuteResponse;
import io.github.corank.v1.Operation;
import io.github.corank.v1.OperationResult;
import io.github.corank.v1.Plan;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ThreadLocalRandom;

/** One try of an Execute call, or of several that are the parts of one job. */
final class Job {
  /** The results of all operations, and the name of the call in the server's log. */
  record Answer(List<OperationResult> results, String requestId) {}

  private final Channels channels;
  private final Plan plan;
  private final List<Chunks.Source> sources;
  private final Map<Integer, Sink> sinks;
  private final int parts;
  private final int chunkBytes;
  private final Meter meter;
  private final Scope scope = new Scope();
  private final List<OperationResult> results = new ArrayList<>();
  private Throwable error;

  Job(
      Channels channels,
      List<Operation> operations,
      List<Chunks.Source> sources,
      Map<Integer, Sink> sinks,
      int parts,
      int chunkBytes,
      Meter meter) {
    this.channels = channels;
    this.sources = sources;
    this.sinks = sinks;
    this.parts = parts;
    this.chunkBytes = chunkBytes;
    this.meter = meter;
    Plan.Builder made = Plan.newBuilder().addAllOperations(operations);
    if (parts > 1) {
      made.setJobId(Long.toHexString(ThreadLocalRandom.current().nextLong())).setParts(parts);
    }
    plan = made.build();
  }

  /**
   * Starts all parts. If one fails, the others are cancelled, and the future holds its error once
   * all have ended.
   */
  CompletableFuture<Answer> start(Caller caller, Limit limit, Scope outer) {
    Runnable onCancel = scope::cancel;
    outer.add(onCancel);
    List<CompletableFuture<String>> started = new ArrayList<>();
    for (int part = 0; part < parts; ++part) {
      int own = part;
      Rpc<ExecuteRequest, ExecuteResponse> rpc =
          new Rpc<>(
              channels,
              part,
              CorankServiceGrpc.getExecuteMethod(),
              new Requests(plan.toBuilder().setPart(part).build(), part),
              response -> take(response, own),
              caller,
              limit,
              scope,
              null);
      started.add(
          rpc.start()
              .whenComplete(
                  (id, thrown) -> {
                    if (thrown != null) {
                      fail(thrown);
                    }
                  }));
    }
    return CompletableFuture.allOf(started.toArray(CompletableFuture<?>[]::new))
        .handle(
            (none, thrown) -> {
              outer.remove(onCancel);
              Throwable first = failed();
              if (first != null) {
                throw first instanceof CompletionException wrapped
                    ? wrapped
                    : new CompletionException(first);
              }
              return new Answer(results, started.get(0).join());
            });
  }

  private synchronized Throwable failed() {
    return error;
  }

  private void fail(Throwable thrown) {
    synchronized (this) {
      error = error == null ? thrown : error;
    }
    scope.cancel();
  }

  private void take(ExecuteResponse response, int part) {
    switch (response.getPartCase()) {
      case CHUNK -> {
        ArrayChunk chunk = response.getChunk();
        Sink sink = sinks.get(chunk.getStreamId());
        if (sink == null) {
          throw new CorankException.Internal(
              "the server sent a chunk of stream " + chunk.getStreamId() + ", which is no result");
        }
        sink.write(chunk.getFirstElement(), chunk.getData());
        meter.add(0, chunk.getData().size());
      }
      case RESULT -> {
        if (part == 0) {
          results.add(response.getResult());
        }
      }
      default ->
          throw new CorankException.Internal(
              "the server sent a message that is neither chunk nor result");
    }
  }

  /** The plan, and then all chunks of a part. */
  private final class Requests implements Iterator<ExecuteRequest> {
    private final Chunks chunks;
    private Plan first;

    Requests(Plan first, int part) {
      this.first = first;
      chunks = new Chunks(sources, part, parts, chunkBytes);
    }

    @Override
    public boolean hasNext() {
      return first != null || chunks.hasNext();
    }

    @Override
    public ExecuteRequest next() {
      ExecuteRequest.Builder made = ExecuteRequest.newBuilder();
      if (first != null) {
        made.setPlan(first);
        first = null;
        return made.build();
      }
      ArrayChunk chunk = chunks.next();
      meter.add(chunk.getData().size(), 0);
      return made.setChunk(chunk).build();
    }
  }
}
