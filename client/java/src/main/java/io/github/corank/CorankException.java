package io.github.corank;

import io.grpc.Status;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A call that failed. It has changed nothing.
 *
 * <p>The subclasses serve {@code catch}; {@link #code} tells the gRPC status of every failure.
 */
public class CorankException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The kinds of failure of one try. */
  enum Failure {
    /** It would fail again. */
    FINAL,
    /** There was no connection. */
    NOT_SENT,
    /** The server says when to retry. */
    REFUSED,
    /** The connection broke, and the server may have done the call. */
    LOST
  }

  private final Status.Code code;
  private String message;
  private String reason = "";
  private String field = "";
  private long rows;
  private Duration retryAfter;
  private String requestId = "";
  private String traceId = "";
  private int attempts = 1;
  private Failure failure = Failure.FINAL;

  CorankException(Status.Code code, String message) {
    super(message);
    this.code = code;
    this.message = message;
  }

  /** Names what the caller can change. */
  @Override
  public String getMessage() {
    return message;
  }

  /** The gRPC status, also of arguments that the client refused. */
  public Status.Code code() {
    return code;
  }

  /**
   * The server's reason, such as {@code KEYS_NOT_SORTED}, for programs; empty if the server gave
   * none, or if the client itself refused the call.
   */
  public String reason() {
    return reason;
  }

  /**
   * The field of the request to blame, such as {@code keys} or {@code counts[7]}; empty if there is
   * none.
   */
  public String field() {
    return field;
  }

  /**
   * The number of rows of a {@link Join} that has more than {@link Join#maxRows} (reason {@code
   * TOO_MANY_ROWS}); empty for other errors.
   */
  public OptionalLong rows() {
    return rows > 0 ? OptionalLong.of(rows) : OptionalLong.empty();
  }

  /** The time that the server asks to wait before another try. */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(retryAfter);
  }

  /** The name of the request in the server's log; empty if the server did not answer. */
  public String requestId() {
    return requestId;
  }

  /** The W3C trace that the call belongs to; empty without a traceparent. */
  public String traceId() {
    return traceId;
  }

  /** How often the call was tried. */
  public int attempts() {
    return attempts;
  }

  Failure failure() {
    return failure;
  }

  CorankException with(Failure failure, Duration retryAfter) {
    this.failure = failure;
    this.retryAfter = retryAfter;
    return this;
  }

  CorankException told(String field, String reason, String requestId, String traceId) {
    this.field = field;
    this.reason = reason;
    this.requestId = requestId;
    this.traceId = traceId;
    return this;
  }

  CorankException withRows(long rows) {
    this.rows = rows;
    return this;
  }

  /** Adds to the message how the call ended. */
  CorankException ended(int attempts, double seconds, String why, String before) {
    this.attempts = attempts;
    String last = before.isEmpty() ? "" : "the try before: " + before;
    String told = why.isEmpty() || last.isEmpty() ? why + last : why + "; " + last;
    if (attempts > 1) {
      message +=
          String.format(
              " (tried %d times in %.3g s%s)",
              attempts, seconds, told.isEmpty() ? "" : ": " + told);
    } else if (!why.isEmpty()) {
      message += " (not tried again: " + why + ")";
    }
    if (!requestId.isEmpty() || !traceId.isEmpty()) {
      String request = requestId.isEmpty() ? "" : "request " + requestId;
      String trace = traceId.isEmpty() ? "" : "trace " + traceId;
      message += " [" + request + (request.isEmpty() || trace.isEmpty() ? "" : ", ") + trace + "]";
    }
    return this;
  }

  /** Malformed, out of range, unsorted, overlapping, or larger than the server takes. */
  public static final class InvalidArgument extends CorankException {
    private static final long serialVersionUID = 1;

    InvalidArgument(String message, String field) {
      this(Status.Code.INVALID_ARGUMENT, message);
      told(field, "", "", "");
    }

    InvalidArgument(Status.Code code, String message) {
      super(code, message);
    }
  }

  /**
   * The server's queue or a memory budget is full, or this process has no memory for the result.
   */
  public static final class ResourceExhausted extends CorankException {
    private static final long serialVersionUID = 1;

    ResourceExhausted(String message) {
      super(Status.Code.RESOURCE_EXHAUSTED, message);
    }
  }

  /** The server cannot be reached, went away during the call, drains, or lost its device. */
  public static final class Unavailable extends CorankException {
    private static final long serialVersionUID = 1;

    Unavailable(String message) {
      super(Status.Code.UNAVAILABLE, message);
    }
  }

  /** The deadline passed before the answer was there. */
  public static final class DeadlineExceeded extends CorankException {
    private static final long serialVersionUID = 1;

    DeadlineExceeded(String message) {
      super(Status.Code.DEADLINE_EXCEEDED, message);
    }
  }

  /** The caller cancelled the call: by its future, by an interrupt, or by closing the client. */
  public static final class Cancelled extends CorankException {
    private static final long serialVersionUID = 1;

    Cancelled(String message) {
      super(Status.Code.CANCELLED, message);
    }
  }

  /** The server keeps no array of this name. */
  public static final class NotFound extends CorankException {
    private static final long serialVersionUID = 1;

    NotFound(String message) {
      super(Status.Code.NOT_FOUND, message);
    }
  }

  /** The credentials do not allow the call, or there are none (code UNAUTHENTICATED). */
  public static final class PermissionDenied extends CorankException {
    private static final long serialVersionUID = 1;

    PermissionDenied(Status.Code code, String message) {
      super(code, message);
    }
  }

  /** This server has the feature switched off, or does not know it. */
  public static final class Unimplemented extends CorankException {
    private static final long serialVersionUID = 1;

    Unimplemented(String message) {
      super(Status.Code.UNIMPLEMENTED, message);
    }
  }

  /** A fault of the server; its log has the request id. */
  public static final class Internal extends CorankException {
    private static final long serialVersionUID = 1;

    Internal(String message) {
      this(Status.Code.INTERNAL, message);
    }

    Internal(Status.Code code, String message) {
      super(code, message);
    }
  }
}
