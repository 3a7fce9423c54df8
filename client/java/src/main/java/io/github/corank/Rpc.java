package io.github.corank;

import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * One gRPC call: sends requests as fast as the connection takes them, and hands each response on
 * before it asks for another.
 *
 * @param <Q> the requests
 * @param <A> the responses
 */
final class Rpc<Q, A> extends ClientCall.Listener<A> {
  private final Channels channels;
  private final Caller caller;
  private final Scope scope;
  private final Channels.Sent sent = new Channels.Sent();
  private final ClientCall<Q, A> call;
  private final Iterator<Q> requests;
  private final Consumer<A> responses;
  private final CompletableFuture<String> out = new CompletableFuture<>();
  private final Runnable onCancel = this::cancel;
  private boolean halfClosed;
  private RuntimeException failure;

  /**
   * Makes a call.
   *
   * @param executor runs the callbacks; null: gRPC's own threads for it
   */
  Rpc(
      Channels channels,
      int connection,
      MethodDescriptor<Q, A> method,
      Iterator<Q> requests,
      Consumer<A> responses,
      Caller caller,
      Limit limit,
      Scope scope,
      Executor executor) {
    this.channels = channels;
    this.caller = caller;
    this.scope = scope;
    this.requests = requests;
    this.responses = responses;
    call = channels.call(method, connection, limit, executor, sent);
  }

  /**
   * Starts the call. The future holds the request id, or the CorankException that the call ended
   * with.
   */
  CompletableFuture<String> start() {
    call.start(this, caller.metadata());
    scope.add(onCancel);
    call.request(2);
    if (requests instanceof One<Q>) {
      call.sendMessage(requests.next());
      halfClosed = true;
      call.halfClose();
    }
    return out;
  }

  private void cancel() {
    call.cancel("cancelled by the caller", null);
  }

  @Override
  public void onReady() {
    if (halfClosed || failure != null) {
      return;
    }
    try {
      while (call.isReady() && requests.hasNext()) {
        call.sendMessage(requests.next());
      }
    } catch (RuntimeException | OutOfMemoryError error) {
      fail(error);
      return;
    }
    if (!requests.hasNext()) {
      halfClosed = true;
      call.halfClose();
    }
  }

  @Override
  public void onMessage(A response) {
    if (failure != null) {
      return;
    }
    try {
      responses.accept(response);
    } catch (RuntimeException | OutOfMemoryError error) {
      fail(error);
      return;
    }
    call.request(1);
  }

  private void fail(Throwable error) {
    if (error instanceof RuntimeException found) {
      failure = found;
    } else {
      failure =
          new CorankException.ResourceExhausted(
              caller.operator() + ": this process has no memory left");
      failure.initCause(error);
    }
    call.cancel("the client cannot go on", failure);
  }

  @Override
  public void onClose(Status status, Metadata trailers) {
    scope.remove(onCancel);
    if (failure != null) {
      out.completeExceptionally(failure);
    } else if (status.isOk()) {
      String id = trailers.get(Errors.REQUEST_ID);
      out.complete(id == null ? "" : id);
    } else if (channels.isClosed()) {
      out.completeExceptionally(
          new CorankException.Cancelled(
              caller.operator() + ": the client was closed during the call"));
    } else {
      CorankException error = Errors.of(status, trailers, caller, sent.isSent());
      if (error.failure() == CorankException.Failure.NOT_SENT) {
        channels.reconnect();
      }
      out.completeExceptionally(error);
    }
  }

  /** An iterator of one request. */
  static final class One<Q> implements Iterator<Q> {
    private Q request;

    One(Q request) {
      this.request = request;
    }

    @Override
    public boolean hasNext() {
      return request != null;
    }

    @Override
    public Q next() {
      Q found = request;
      request = null;
      return found;
    }
  }
}
