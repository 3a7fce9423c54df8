package io.github.corank;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Set;
import javax.net.ssl.SSLException;

/** Makes exceptions of gRPC's statuses. */
final class Errors {
  static final Metadata.Key<String> REQUEST_ID =
      Metadata.Key.of("x-request-id", Metadata.ASCII_STRING_MARSHALLER);

  private static final Set<String> LOST_PARTS = Set.of("CALLER_CANCELLED", "REQUEST_INCOMPLETE");

  private Errors() {}

  /** What a status carries beside its code and its message. */
  private record Details(
      String field, String reason, String cause, long rows, Duration retryAfter) {}

  private static Details details(Status status, Metadata trailers) {
    String field = "";
    String reason = "";
    String cause = "";
    long rows = 0;
    Duration retryAfter = null;
    try {
      for (Any detail : StatusProto.fromStatusAndTrailers(status, trailers).getDetailsList()) {
        if (detail.is(BadRequest.class)) {
          BadRequest request = detail.unpack(BadRequest.class);
          field =
              request.getFieldViolationsCount() > 0
                  ? request.getFieldViolations(0).getField()
                  : field;
        } else if (detail.is(RetryInfo.class)) {
          com.google.protobuf.Duration delay = detail.unpack(RetryInfo.class).getRetryDelay();
          retryAfter = Duration.ofSeconds(delay.getSeconds(), delay.getNanos());
        } else if (detail.is(ErrorInfo.class)) {
          ErrorInfo info = detail.unpack(ErrorInfo.class);
          if (info.getDomain().equals("corank")) {
            reason = info.getReason();
            cause = info.getMetadataOrDefault("cause", "");
            if (reason.equals("TOO_MANY_ROWS")) {
              rows = Long.parseLong(info.getMetadataOrDefault("rows", "0"));
            }
          }
        }
      }
    } catch (InvalidProtocolBufferException | IllegalArgumentException error) {
      // Details of a proxy, not of corankd: the status code and the message stand without them.
    }
    return new Details(field, reason, cause, rows, retryAfter);
  }

  /**
   * The status with the code of a lost connection where it tells of one. gRPC calls a connection
   * that closed UNKNOWN if it noticed the close before it knew why; a status of the server has no
   * cause.
   */
  private static Status ofConnection(Status status) {
    if (status.getCode() != Status.Code.UNKNOWN) {
      return status;
    }
    for (Throwable cause = status.getCause(); cause != null; cause = cause.getCause()) {
      if (cause instanceof IOException) {
        return Status.UNAVAILABLE
            .withDescription(status.getDescription())
            .withCause(status.getCause());
      }
    }
    return status;
  }

  /**
   * The exception for a failed try.
   *
   * @param sent whether the request went into a connection
   */
  static CorankException of(Status ended, Metadata trailers, Caller caller, boolean sent) {
    Status status = ofConnection(ended);
    Metadata metadata = trailers == null ? new Metadata() : trailers;
    String given = metadata.get(REQUEST_ID);
    String requestId = given == null ? "" : given;
    Details details = details(status, metadata);
    CorankException made = made(status, details, caller, sent, requestId);
    if (status.getCause() != null) {
      made.initCause(status.getCause());
    }
    return made.told(details.field(), details.reason(), requestId, caller.traceId())
        .withRows(details.rows());
  }

  private static CorankException made(
      Status status, Details details, Caller caller, boolean sent, String requestId) {
    String text =
        status.getDescription() == null ? status.getCode().name() : status.getDescription();
    String named = caller.operator() + ": ";
    if (!sent && status.getCode() == Status.Code.INTERNAL && status.getCause() != null) {
      // The connection failed in its first bytes: HTTP/2 is not what the server speaks.
      return unavailable(status, text, details, caller, false, requestId);
    }
    switch (status.getCode()) {
      case INVALID_ARGUMENT, OUT_OF_RANGE -> {
        boolean said = details.field().isEmpty() || text.contains(details.field());
        return new CorankException.InvalidArgument(
            status.getCode(), named + (said ? "" : details.field() + ": ") + text);
      }
      case RESOURCE_EXHAUSTED -> {
        // An error without a delay means a message that is too large, or the caller's own quota.
        return new CorankException.ResourceExhausted(named + text)
            .with(
                details.retryAfter() == null
                    ? CorankException.Failure.FINAL
                    : CorankException.Failure.REFUSED,
                details.retryAfter());
      }
      case UNAVAILABLE -> {
        return unavailable(status, text, details, caller, sent, requestId);
      }
      case DEADLINE_EXCEEDED -> {
        // Only the server knows why it did not begin, or that the caller stood still.
        boolean explains =
            !details.reason().isEmpty() && !details.reason().equals("DEADLINE_PASSED");
        return new CorankException.DeadlineExceeded(explains ? named + text : late(caller));
      }
      case CANCELLED -> {
        return new CorankException.Cancelled(named + text);
      }
      case NOT_FOUND -> {
        return new CorankException.NotFound(named + text);
      }
      case UNAUTHENTICATED -> {
        return new CorankException.PermissionDenied(
            status.getCode(),
            named + text + "; give a token that the server knows (token, tokenFile)");
      }
      case PERMISSION_DENIED -> {
        return new CorankException.PermissionDenied(
            status.getCode(), named + text + "; the operator of the server can allow it");
      }
      case UNIMPLEMENTED -> {
        return new CorankException.Unimplemented(named + text);
      }
      case INTERNAL, DATA_LOSS -> {
        return new CorankException.Internal(status.getCode(), named + text);
      }
      case ABORTED -> {
        // A part did not come, or its caller went away; any other cause would come again.
        boolean again =
            details.reason().equals("JOB_INCOMPLETE") || LOST_PARTS.contains(details.cause());
        return new CorankException(status.getCode(), named + text)
            .with(
                again ? CorankException.Failure.REFUSED : CorankException.Failure.FINAL,
                details.retryAfter());
      }
      default -> {
        return new CorankException(status.getCode(), named + text);
      }
    }
  }

  private static CorankException unavailable(
      Status status, String text, Details details, Caller caller, boolean sent, String requestId) {
    String named = caller.operator() + ": ";
    if (details.retryAfter() != null) {
      return new CorankException.Unavailable(named + text)
          .with(CorankException.Failure.REFUSED, details.retryAfter());
    }
    String tls = tlsText(status.getCause(), caller);
    if (!tls.isEmpty()) {
      return new CorankException.Unavailable(named + tls);
    }
    if (sent) {
      String said =
          requestId.isEmpty()
              ? "the connection to "
                  + caller.address()
                  + " broke before the answer came ("
                  + firstLine(text)
                  + ")"
              : text;
      return new CorankException.Unavailable(named + said).with(CorankException.Failure.LOST, null);
    }
    return new CorankException.Unavailable(named + notSentText(status, text, caller))
        .with(CorankException.Failure.NOT_SENT, null);
  }

  private static String notSentText(Status status, String text, Caller caller) {
    Throwable cause = last(status.getCause());
    String why = cause == null || cause.getMessage() == null ? firstLine(text) : cause.getMessage();
    if (cause instanceof UnknownHostException) {
      why = "no host has the name " + cause.getMessage();
    }
    if (text.contains("Network closed")
        || why.contains("reset by peer")
        || why.contains("First received frame")) {
      String may =
          caller.tls()
              ? "it may want a certificate that it trusts (clientCertificate)"
              : "it may want TLS (trust), or be no corank server";
      return "the server at " + caller.address() + " closed the connection before any call: " + may;
    }
    return "no answer from a corank server at "
        + caller.address()
        + " ("
        + why
        + "); is corankd running there? Set CORANK_SERVER or give the client another address";
  }

  private static String firstLine(String text) {
    return text.lines().findFirst().orElse("");
  }

  private static Throwable last(Throwable cause) {
    Throwable found = cause;
    while (found != null && found.getCause() != null) {
      found = found.getCause();
    }
    return found;
  }

  /** The fault of a connection that no retry can mend; empty: there is none. */
  private static String tlsText(Throwable cause, Caller caller) {
    boolean isTls = false;
    StringBuilder said = new StringBuilder();
    for (Throwable each = cause; each != null; each = each.getCause()) {
      isTls = isTls || each instanceof SSLException;
      said.append(each).append('\n');
    }
    if (!isTls) {
      return "";
    }
    if (said.indexOf("NotSslRecordException") >= 0) {
      return "the server at "
          + caller.address()
          + " does not speak TLS on this port; use its TLS port, or no TLS";
    }
    if (said.indexOf("No subject alternative") >= 0 || said.indexOf("No name matching") >= 0) {
      return "the certificate of the server at "
          + caller.address()
          + " does not hold the name that was asked for; use "
          + "an address that it holds, or say which name to expect (serverName)";
    }
    if (said.indexOf("CertificateExpired") >= 0) {
      return "the certificate of the server at "
          + caller.address()
          + " is not trusted: it has expired; have it renewed";
    }
    if (said.indexOf("PKIX") >= 0
        || said.indexOf("CertificateException") >= 0
        || said.indexOf("CertPathValidator") >= 0
        || said.indexOf("certificate") >= 0) {
      return "the certificate of the server at "
          + caller.address()
          + " is not trusted; give the certificate of the authority that signed it (trust), or have"
          + " it renewed; or the server wants a certificate that it trusts (clientCertificate): "
          + last(cause).getMessage();
    }
    return "";
  }

  /** The message of a call that missed its deadline. */
  static String late(Caller caller) {
    return caller.operator()
        + ": not done within its deadline"
        + (caller.deadline() == null ? "" : " of " + seconds(caller.deadline()) + " s");
  }

  private static String seconds(Duration duration) {
    String text = Double.toString(duration.toNanos() / 1e9);
    return text.endsWith(".0") ? text.substring(0, text.length() - 2) : text;
  }
}
