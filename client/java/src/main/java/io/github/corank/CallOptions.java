package io.github.corank;

import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/**
 * Options of a call, or the defaults of a client. Immutable: each method returns other options.
 * Options that a call does not set are those of its client.
 */
public final class CallOptions implements Cloneable {
  private static final CallOptions NONE = new CallOptions();
  private static final Pattern TRACEPARENT =
      Pattern.compile("00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}");
  private static final Pattern REQUEST_ID = Pattern.compile("[!-~]{1,128}");
  private static final Duration AUTO_DEADLINE = Duration.ofSeconds(60);
  private static final long AUTO_BYTES_PER_SECOND = 16 << 20;
  static final Duration MAX_DEADLINE = Duration.ofDays(365);

  private Duration deadline;
  private boolean noDeadline;
  private Integer retries;
  private Integer connections;
  private Place place;
  private Priority priority;
  private String requestId;
  private String traceparent;
  private boolean sharded;
  private Consumer<? super Progress> onProgress;
  private Consumer<? super Stats> onStats;

  private CallOptions() {}

  /** Options that set nothing. */
  public static CallOptions none() {
    return NONE;
  }

  /**
   * Limits the whole call: all its tries, and the waits between them. Default: a minute, and a
   * second more for each 16 MiB of arrays.
   *
   * @param deadline more than 0
   */
  public CallOptions deadline(Duration deadline) {
    if (deadline.isNegative() || deadline.isZero()) {
      throw invalid("deadline", "must be more than 0, is " + deadline);
    }
    CallOptions made = copy();
    made.deadline = deadline.compareTo(MAX_DEADLINE) > 0 ? MAX_DEADLINE : deadline;
    made.noDeadline = false;
    return made;
  }

  /** Lets the call take any time. */
  public CallOptions noDeadline() {
    CallOptions made = copy();
    made.deadline = null;
    made.noDeadline = true;
    return made;
  }

  /** Allows so many tries after the first. Default: 5. */
  public CallOptions retries(int retries) {
    if (retries < 0) {
      throw invalid("retries", "must be 0 or more, is " + retries);
    }
    CallOptions made = copy();
    made.retries = retries;
    return made;
  }

  /**
   * Lets streamed arrays travel over so many connections. Default: 4 for arrays above 128 MiB,
   * otherwise 1.
   */
  public CallOptions connections(int connections) {
    if (connections < 1) {
      throw invalid("connections", "must be 1 or more, is " + connections);
    }
    CallOptions made = copy();
    made.connections = connections;
    return made;
  }

  /** Says how arrays travel. Default: {@link Place#AUTO}. */
  public CallOptions place(Place place) {
    CallOptions made = copy();
    made.place = Objects.requireNonNull(place, "place");
    return made;
  }

  /** Sets the order among calls that wait in the server. Default: {@link Priority#NORMAL}. */
  public CallOptions priority(Priority priority) {
    CallOptions made = copy();
    made.priority = Objects.requireNonNull(priority, "priority");
    return made;
  }

  /**
   * Names the request in the server's log. Default: the server makes a name.
   *
   * @param requestId 1 to 128 printable ASCII characters without spaces
   */
  public CallOptions requestId(String requestId) {
    if (!REQUEST_ID.matcher(requestId).matches()) {
      throw invalid("request_id", "must be 1 to 128 printable ASCII characters without spaces");
    }
    CallOptions made = copy();
    made.requestId = requestId;
    return made;
  }

  /**
   * Names the span that makes the call, as W3C Trace Context does.
   *
   * @param traceparent such as {@code 00-<32 hex digits>-<16 hex digits>-01}
   */
  public CallOptions traceparent(String traceparent) {
    if (!TRACEPARENT.matcher(traceparent).matches()) {
      throw invalid(
          "traceparent",
          "must be a W3C traceparent, such as 00-<32 hex digits>-<16 hex digits>-01");
    }
    CallOptions made = copy();
    made.traceparent = traceparent;
    return made;
  }

  /**
   * Has the server divide what it keeps among its GPUs: the array of {@link Client#store}, or the
   * results of {@link Client#keep}; of no other call, and no default of a client. In chains, {@link
   * Chain#keepSharded} does so. Such an array may be larger than the memory of one GPU. It can be
   * fetched, listed and deleted. All GPUs work on {@link Merge}, {@link Sort}, {@link Expand},
   * {@link Gather}, {@link Move}, {@link Scatter} and {@link LoadBalance}; other operators bring
   * its parts to one GPU, which must have room for them.
   */
  public CallOptions sharded() {
    CallOptions made = copy();
    made.sharded = true;
    return made;
  }

  /**
   * Tells a function of every chunk, on threads of gRPC; it must not block. What it throws fails
   * the call.
   */
  public CallOptions onProgress(Consumer<? super Progress> onProgress) {
    CallOptions made = copy();
    made.onProgress = onProgress;
    return made;
  }

  /** Tells a function the cost of each operator, before the call returns. It must not block. */
  public CallOptions onStats(Consumer<? super Stats> onStats) {
    CallOptions made = copy();
    made.onStats = onStats;
    return made;
  }

  /** These options, and those of `defaults` where these say nothing. */
  CallOptions over(CallOptions defaults) {
    CallOptions made = copy();
    if (deadline == null && !noDeadline) {
      made.deadline = defaults.deadline;
      made.noDeadline = defaults.noDeadline;
    }
    made.retries = retries == null ? defaults.retries : retries;
    made.connections = connections == null ? defaults.connections : connections;
    made.place = place == null ? defaults.place : place;
    made.priority = priority == null ? defaults.priority : priority;
    made.requestId = requestId == null ? defaults.requestId : requestId;
    made.traceparent = traceparent == null ? defaults.traceparent : traceparent;
    made.onProgress = onProgress == null ? defaults.onProgress : onProgress;
    made.onStats = onStats == null ? defaults.onStats : onStats;
    return made;
  }

  /**
   * The deadline of a call whose arrays have so many bytes in the longer direction; null: there is
   * none.
   */
  Duration deadlineFor(long bytes) {
    if (noDeadline || deadline != null) {
      return deadline;
    }
    return AUTO_DEADLINE.plusSeconds(bytes / AUTO_BYTES_PER_SECOND);
  }

  int retries() {
    return retries == null ? 5 : retries;
  }

  /** The number of connections; 0: the client chooses. */
  int connections() {
    return connections == null ? 0 : connections;
  }

  Place place() {
    return place == null ? Place.AUTO : place;
  }

  Priority priority() {
    return priority;
  }

  String requestId() {
    return requestId;
  }

  String traceparent() {
    return traceparent;
  }

  boolean isSharded() {
    return sharded;
  }

  Consumer<? super Progress> onProgress() {
    return onProgress;
  }

  Consumer<? super Stats> onStats() {
    return onStats;
  }

  private CallOptions copy() {
    try {
      return (CallOptions) clone();
    } catch (CloneNotSupportedException error) {
      throw new AssertionError(error);
    }
  }

  private static CorankException invalid(String option, String why) {
    return new CorankException.InvalidArgument(option + ": " + why, option);
  }
}
