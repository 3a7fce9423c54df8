package io.github.corank;

import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;

/**
 * Settings of a {@link Client}. Where one is not given, the environment decides: CORANK_SERVER,
 * CORANK_SERVER_CA, CORANK_CLIENT_CERTIFICATE, CORANK_CLIENT_KEY, CORANK_TOKEN. Not thread-safe.
 */
public final class ClientBuilder {
  String address;
  boolean tls;
  Path ca;
  Path certificate;
  Path key;
  String serverName;
  String token;
  Path tokenFile;
  private CallOptions defaults = CallOptions.none();
  private Map<String, String> environment = System.getenv();
  private Clock clock = new Clock();

  ClientBuilder() {}

  /**
   * Names the server. Default: 127.0.0.1:50051.
   *
   * @param address HOST:PORT; several of them with commas, which take turns; or a gRPC target such
   *     as {@code dns:///HOST:PORT}, whose addresses take turns
   */
  public ClientBuilder address(String address) {
    this.address = Objects.requireNonNull(address, "address");
    return this;
  }

  /** Uses TLS, and trusts the authorities of Java unless {@link #trust} names others. */
  public ClientBuilder tls() {
    tls = true;
    return this;
  }

  /** Uses TLS, and trusts the authorities whose certificates are in this PEM file. */
  public ClientBuilder trust(Path authorities) {
    ca = Objects.requireNonNull(authorities, "authorities");
    return this;
  }

  /**
   * Uses TLS, and shows the server a certificate of the client (mutual TLS); both files are PEM.
   */
  public ClientBuilder clientCertificate(Path certificate, Path key) {
    this.certificate = certificate;
    this.key = key;
    return this;
  }

  /**
   * Uses TLS, and expects this name in the server's certificate instead of the host of the address.
   */
  public ClientBuilder serverName(String serverName) {
    this.serverName = Objects.requireNonNull(serverName, "serverName");
    return this;
  }

  /** Sends this token with each call. Without TLS it goes to this host only. */
  public ClientBuilder token(String token) {
    this.token = Objects.requireNonNull(token, "token");
    return this;
  }

  /**
   * Sends the token in this file with each call, and reads the file again when the server refuses
   * the token.
   */
  public ClientBuilder tokenFile(Path tokenFile) {
    this.tokenFile = Objects.requireNonNull(tokenFile, "tokenFile");
    return this;
  }

  /** Sets options of all calls that do not set them themselves. */
  public ClientBuilder defaults(CallOptions defaults) {
    if (defaults.isSharded()) {
      throw new CorankException.InvalidArgument(
          "sharded: is an option of store and keep, not of a client", "sharded");
    }
    this.defaults = defaults;
    return this;
  }

  ClientBuilder environment(Map<String, String> environment) {
    this.environment = environment;
    return this;
  }

  ClientBuilder clock(Clock clock) {
    this.clock = clock;
    return this;
  }

  /**
   * Makes the client. It connects at the first call.
   *
   * @throws CorankException.InvalidArgument a file cannot be used, the address has no port, or a
   *     token would leave this host in the clear
   */
  public Client build() {
    String named = environment.getOrDefault("CORANK_SERVER", "");
    String server =
        Address.checked(address != null ? address : named.isEmpty() ? Address.DEFAULT : named);
    Credentials credentials = new Credentials(server, this, environment);
    return new Client(new Calls(new Channels(server, credentials), defaults, clock));
  }
}
