package io.github.corank;

import io.grpc.ChannelCredentials;
import io.grpc.ClientCall;
import io.grpc.ClientStreamTracer;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.TlsChannelCredentials;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** The connections of one client, made when they are first used. Thread-safe. */
final class Channels {
  /** Bytes of chunks that may wait in this process for the connection to take them. */
  private static final int READY_BYTES = 4 << 20;

  private static final int WINDOW_BYTES = 8 << 20;
  private static final int KEEPALIVE_SECONDS = 20;
  private static final int KEEPALIVE_TIMEOUT_SECONDS = 10;
  private static final int CLOSE_SECONDS = 2;

  private final String address;
  private final Credentials credentials;
  private final Map<Integer, ManagedChannel> channels = new HashMap<>();
  private boolean closed;

  Channels(String address, Credentials credentials) {
    this.address = address;
    this.credentials = credentials;
  }

  String address() {
    return address;
  }

  Credentials credentials() {
    return credentials;
  }

  synchronized boolean isClosed() {
    return closed;
  }

  /** Refuses calls of a closed client. */
  void checkOpen() {
    if (isClosed()) {
      throw new IllegalStateException("the client is closed");
    }
  }

  /** Cancels all calls and ends all connections. */
  void close() {
    Map<Integer, ManagedChannel> found;
    synchronized (this) {
      closed = true;
      found = Map.copyOf(channels);
      channels.clear();
    }
    found.values().forEach(ManagedChannel::shutdownNow);
    try {
      for (ManagedChannel channel : found.values()) {
        channel.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS);
      }
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Lets connections that could not be made be tried at once, and not only after gRPC's own wait of
   * a second or more.
   */
  synchronized void reconnect() {
    channels.values().forEach(ManagedChannel::resetConnectBackoff);
  }

  /** A call that has not begun. */
  <Q, A> ClientCall<Q, A> call(
      MethodDescriptor<Q, A> method, int connection, Limit limit, Executor executor, Sent sent) {
    io.grpc.CallOptions options =
        io.grpc.CallOptions.DEFAULT.withStreamTracerFactory(sent).withOnReadyThreshold(READY_BYTES);
    if (limit.isSet()) {
      options = options.withDeadlineAfter(limit.left(), TimeUnit.NANOSECONDS);
    }
    if (executor != null) {
      options = options.withExecutor(executor);
    }
    return channel(connection).newCall(method, options);
  }

  private synchronized ManagedChannel channel(int connection) {
    if (closed) {
      throw new IllegalStateException("the client is closed");
    }
    return channels.computeIfAbsent(connection, at -> made());
  }

  private ManagedChannel made() {
    boolean isList = address.contains(",");
    NettyChannelBuilder builder =
        NettyChannelBuilder.forTarget(
                isList ? AddressList.target(address) : address, channelCredentials())
            // Retrier repeats calls, because it knows which are safe. gRPC's retries would multiply
            // them.
            .disableRetry()
            .disableServiceConfigLookUp()
            .maxInboundMessageSize(Integer.MAX_VALUE)
            .initialFlowControlWindow(WINDOW_BYTES)
            // While calls run: a network that drops every packet reports no error.
            .keepAliveTime(KEEPALIVE_SECONDS, TimeUnit.SECONDS)
            .keepAliveTimeout(KEEPALIVE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
            .userAgent("corank-java");
    if (Address.isSeveral(address)) {
      builder.defaultLoadBalancingPolicy("round_robin");
    }
    if (Address.isThisHost(address)) {
      builder.proxyDetector(target -> null);
    }
    if (credentials.serverName() != null) {
      builder.overrideAuthority(credentials.serverName());
    }
    return builder.build();
  }

  private ChannelCredentials channelCredentials() {
    if (!credentials.tls()) {
      return InsecureChannelCredentials.create();
    }
    TlsChannelCredentials.Builder builder = TlsChannelCredentials.newBuilder();
    try {
      if (credentials.ca() != null) {
        builder.trustManager(new ByteArrayInputStream(credentials.ca()));
      }
      if (credentials.certificate() != null) {
        builder.keyManager(
            new ByteArrayInputStream(credentials.certificate()),
            new ByteArrayInputStream(credentials.key()));
      }
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
    return builder.build();
  }

  /** Knows whether a call went into a connection. */
  static final class Sent extends ClientStreamTracer.Factory {
    private volatile boolean sent;

    @Override
    public ClientStreamTracer newClientStreamTracer(
        ClientStreamTracer.StreamInfo info, Metadata headers) {
      return new ClientStreamTracer() {
        @Override
        public void outboundHeaders() {
          sent = true;
        }
      };
    }

    boolean isSent() {
      return sent;
    }
  }
}
