package io.github.corank;

import io.grpc.Metadata;
import java.time.Duration;

/** The state that all tries of one call share. Not thread-safe: one try at a time. */
final class Caller {
  static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  static final Metadata.Key<String> TRACEPARENT =
      Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER);

  private final String operator;
  private final Channels channels;
  private final Duration deadline;
  private final String traceparent;
  private final String requestId;
  private String sent = "";

  Caller(String operator, Channels channels, Duration deadline, CallOptions options) {
    this.operator = operator;
    this.channels = channels;
    this.deadline = deadline;
    traceparent = options.traceparent();
    requestId = options.requestId();
  }

  String operator() {
    return operator;
  }

  String address() {
    return channels.address();
  }

  boolean tls() {
    return channels.credentials().tls();
  }

  Duration deadline() {
    return deadline;
  }

  String traceId() {
    return traceparent == null ? "" : traceparent.substring(3, 35);
  }

  /** The metadata of a try. */
  Metadata metadata() {
    Metadata made = new Metadata();
    sent = channels.credentials().authorization();
    if (!sent.isEmpty()) {
      made.put(AUTHORIZATION, sent);
    }
    if (traceparent != null) {
      made.put(TRACEPARENT, traceparent);
    }
    if (requestId != null) {
      made.put(Errors.REQUEST_ID, requestId);
    }
    return made;
  }

  /** Whether the token file holds another token than the one that the server refused. */
  boolean reload(CorankException error) {
    return error.code() == io.grpc.Status.Code.UNAUTHENTICATED
        && channels.credentials().reload(sent);
  }
}
