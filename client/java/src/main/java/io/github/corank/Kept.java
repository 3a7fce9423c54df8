package io.github.corank;

import io.github.corank.v1.ArrayChunk;
import io.github.corank.v1.DeleteArrayRequest;
import io.github.corank.v1.FetchArrayRequest;
import io.github.corank.v1.FetchArrayResponse;
import io.github.corank.v1.ListArraysRequest;
import io.github.corank.v1.ListArraysResponse;
import io.github.corank.v1.MemoryServiceGrpc;
import io.github.corank.v1.StoreArrayHeader;
import io.github.corank.v1.StoreArrayRequest;
import io.github.corank.v1.StoreArrayResponse;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

/** Stores, fetches, lists and deletes arrays that the server keeps. Thread-safe. */
final class Kept {
  private static final long RELEASE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Calls calls;

  Kept(Calls calls) {
    this.calls = calls;
  }

  CompletableFuture<StoredArray> store(
      String name, Elements array, Duration expires, CallOptions given, Scope scope) {
    CallOptions options = calls.withDefaults(given);
    Limit limit = calls.limit(options, array.byteSize());
    Caller caller = calls.caller("StoreArray", options, array.byteSize());
    StoreArrayHeader.Builder header = StoreArrayHeader.newBuilder().setName(name);
    header.setSharded(options.isSharded());
    header
        .getArrayBuilder()
        .setType(array.type().wire())
        .setCount(array.count())
        .getStreamBuilder()
        .setStreamId(0);
    if (array.type() == ElementType.RECORD) {
      header.getArrayBuilder().setRecordBytes(array.elementBytes());
    }
    if (expires != null) {
      if (expires.isNegative() || expires.isZero()) {
        throw new CorankException.InvalidArgument(
            "expires: must be more than 0, is " + expires, "expires");
      }
      header.getExpiryBuilder().setSeconds(expires.getSeconds()).setNanos(expires.getNano());
    }
    Meter meter = new Meter(options.onProgress(), array.byteSize(), 0);
    return calls
        .server(options, limit, scope)
        .thenCompose(
            server ->
                calls
                    .retrier()
                    .run(
                        attempt -> {
                          meter.restart(attempt);
                          List<StoreArrayResponse> found = new ArrayList<>(1);
                          Iterator<StoreArrayRequest> requests =
                              new Upload(header.build(), array, calls.chunkBytes(server), meter);
                          return new Rpc<>(
                                  calls.channels(),
                                  0,
                                  MemoryServiceGrpc.getStoreArrayMethod(),
                                  requests,
                                  found::add,
                                  caller,
                                  limit,
                                  scope,
                                  null)
                              .start()
                              .thenApply(id -> one(found));
                        },
                        caller,
                        limit,
                        options.retries(),
                        // A second try could replace an array that another caller stored under the
                        // name in between.
                        Retrier.Repeat.UNLESS_LOST,
                        scope));
  }

  private static StoredArray one(List<StoreArrayResponse> found) {
    if (found.size() != 1) {
      throw new CorankException.Internal(
          "StoreArray: the server answered " + found.size() + " messages, not one");
    }
    return StoredArray.of(found.get(0).getArray());
  }

  CompletableFuture<Elements> fetch(
      String name, StoredArray expected, CallOptions given, Scope scope) {
    CallOptions options = calls.withDefaults(given);
    long bytes = expected == null ? 0 : expected.byteSize();
    Limit limit = calls.limit(options, bytes);
    Caller caller = calls.caller("FetchArray", options, bytes);
    FetchArrayRequest request = FetchArrayRequest.newBuilder().setName(name).build();
    Meter meter = new Meter(options.onProgress(), 0, bytes);
    return calls
        .retrier()
        .run(
            attempt -> {
              meter.restart(attempt);
              Download download = new Download(expected, meter);
              return new Rpc<>(
                      calls.channels(),
                      0,
                      MemoryServiceGrpc.getFetchArrayMethod(),
                      new Rpc.One<>(request),
                      download::take,
                      caller,
                      limit,
                      scope,
                      null)
                  .start()
                  .thenApply(id -> download.result());
            },
            caller,
            limit,
            options.retries(),
            Retrier.Repeat.ALWAYS,
            scope);
  }

  CompletableFuture<StoredArrays> list(CallOptions given, Scope scope) {
    CallOptions options = calls.withDefaults(given);
    return list(options, calls.limit(options, 0), scope, "", new ArrayList<>());
  }

  /** Asks for a page, and for all that follow it. */
  private CompletableFuture<StoredArrays> list(
      CallOptions options, Limit limit, Scope scope, String page, List<StoredArray> found) {
    return calls
        .unary(
            MemoryServiceGrpc.getListArraysMethod(),
            ListArraysRequest.newBuilder().setPageToken(page).build(),
            calls.caller("ListArrays", options, 0),
            limit,
            options.retries(),
            Retrier.Repeat.ALWAYS,
            scope,
            null)
        .thenCompose(
            answer -> {
              ListArraysResponse response = answer.message();
              response.getArraysList().forEach(each -> found.add(StoredArray.of(each)));
              return response.getNextPageToken().isEmpty()
                  ? CompletableFuture.completedFuture(
                      new StoredArrays(found, response.getUsedBytes(), response.getQuotaBytes()))
                  : list(options, limit, scope, response.getNextPageToken(), found);
            });
  }

  CompletableFuture<Void> delete(String name, CallOptions given, Scope scope) {
    CallOptions options = calls.withDefaults(given);
    Limit limit = calls.limit(options, 0);
    CompletableFuture<Void> out = new CompletableFuture<>();
    delete(name, options, limit, scope, calls.retrier().clock.nanos(), 1_000_000, out);
    return out;
  }

  /** Deletes, and repeats briefly, for a request that was answered may still hold the array. */
  private void delete(
      String name,
      CallOptions options,
      Limit limit,
      Scope scope,
      long begin,
      long pause,
      CompletableFuture<Void> out) {
    Clock clock = calls.retrier().clock;
    calls
        .unary(
            MemoryServiceGrpc.getDeleteArrayMethod(),
            DeleteArrayRequest.newBuilder().setName(name).build(),
            calls.caller("DeleteArray", options, 0),
            limit,
            options.retries(),
            // A second try could delete an array that another caller stored under the name in
            // between.
            Retrier.Repeat.UNLESS_LOST,
            scope,
            null)
        .whenComplete(
            (answer, thrown) -> {
              Throwable error = thrown instanceof CompletionException ? thrown.getCause() : thrown;
              boolean inUse =
                  error instanceof CorankException failed
                      && failed.code() == Status.Code.FAILED_PRECONDITION;
              if (inUse && clock.nanos() - begin < RELEASE_NANOS && !scope.isCancelled()) {
                clock.after(
                    pause, () -> delete(name, options, limit, scope, begin, 2 * pause, out));
              } else if (error != null) {
                out.completeExceptionally(error);
              } else {
                out.complete(null);
              }
            });
  }

  /** The header, and then all chunks. */
  private static final class Upload implements Iterator<StoreArrayRequest> {
    private final Chunks chunks;
    private final Meter meter;
    private StoreArrayHeader header;

    Upload(StoreArrayHeader header, Elements array, int chunkBytes, Meter meter) {
      this.header = header;
      this.meter = meter;
      chunks = new Chunks(List.of(new Chunks.Source(0, array)), 0, 1, chunkBytes);
    }

    @Override
    public boolean hasNext() {
      return header != null || chunks.hasNext();
    }

    @Override
    public StoreArrayRequest next() {
      StoreArrayRequest.Builder made = StoreArrayRequest.newBuilder();
      if (header != null) {
        made.setHeader(header);
        header = null;
        return made.build();
      }
      ArrayChunk chunk = chunks.next();
      meter.add(chunk.getData().size(), 0);
      return made.setChunk(chunk).build();
    }
  }

  /** The array that FetchArray answers with. */
  private static final class Download {
    private final StoredArray expected;
    private final Meter meter;
    private StoredArray found;
    private Sink sink;

    Download(StoredArray expected, Meter meter) {
      this.expected = expected;
      this.meter = meter;
    }

    void take(FetchArrayResponse response) {
      if (response.hasArray()) {
        found = StoredArray.of(response.getArray());
        if (expected != null
            && (found.type() != expected.type()
                || found.elementBytes() != expected.elementBytes())) {
          throw new CorankException.NotFound(
              found.name() + ": is another array now, of " + found.type() + "; ask for it again");
        }
        sink = new Sink(found.type(), found.elementBytes(), found.count());
      }
      if (response.hasChunk() && sink != null) {
        sink.write(response.getChunk().getFirstElement(), response.getChunk().getData());
        meter.add(0, response.getChunk().getData().size());
      }
    }

    Elements result() {
      if (sink == null) {
        throw new CorankException.Internal("FetchArray: the server did not say what it keeps");
      }
      return sink.result(found.count());
    }
  }
}
