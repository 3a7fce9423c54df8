package io.github.corank;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Pattern;

/** TLS and the token of one client. Files are read when it is made. Thread-safe. */
final class Credentials {
  private static final Pattern TOKEN = Pattern.compile("[!-~]+");
  private static final String CERTIFICATE = "-----BEGIN CERTIFICATE-----";
  private static final String KEY = "PRIVATE KEY-----";

  private final boolean tls;
  private final byte[] ca;
  private final byte[] certificate;
  private final byte[] key;
  private final String serverName;
  private final Path tokenFile;
  private volatile String authorization = "";

  /**
   * Reads the files.
   *
   * @param environment where CORANK_SERVER_CA, CORANK_CLIENT_CERTIFICATE, CORANK_CLIENT_KEY and
   *     CORANK_TOKEN are, which stand for settings that were not given
   * @throws CorankException.InvalidArgument a file cannot be used; a token would leave this host in
   *     the clear
   */
  Credentials(String address, ClientBuilder given, Map<String, String> environment) {
    Path caFile = or(given.ca, environment.get("CORANK_SERVER_CA"));
    Path certificateFile = or(given.certificate, environment.get("CORANK_CLIENT_CERTIFICATE"));
    Path keyFile = or(given.key, environment.get("CORANK_CLIENT_KEY"));
    serverName = given.serverName;
    tls =
        given.tls
            || caFile != null
            || certificateFile != null
            || keyFile != null
            || serverName != null;
    if ((certificateFile == null) != (keyFile == null)) {
      throw invalid(
          "clientCertificate: give the certificate and its key, or none", "clientCertificate");
    }
    ca = caFile == null ? null : contents("trust", caFile, CERTIFICATE);
    certificate =
        certificateFile == null
            ? null
            : contents("clientCertificate", certificateFile, CERTIFICATE);
    key = keyFile == null ? null : contents("clientCertificate", keyFile, KEY);
    if (given.token != null && given.tokenFile != null) {
      throw invalid("token: give token or tokenFile, not both", "token");
    }
    tokenFile = given.tokenFile;
    String token = given.token;
    if (token == null && tokenFile == null) {
      token = environment.get("CORANK_TOKEN");
      token = token == null || token.isEmpty() ? null : token;
    }
    if (token == null && tokenFile == null) {
      return;
    }
    if (!tls && !Address.isThisHost(address)) {
      throw invalid(
          "token: anyone on the way to "
              + address
              + " could read it, for there is no TLS; switch TLS on (trust, tls), "
              + "or use an address of this host",
          "token");
    }
    authorization = tokenFile != null ? read(tokenFile) : bearer("token", token);
  }

  boolean tls() {
    return tls;
  }

  /** The authorities to trust, in PEM; null: those of Java. */
  byte[] ca() {
    return ca;
  }

  byte[] certificate() {
    return certificate;
  }

  byte[] key() {
    return key;
  }

  /** The name to expect in the server's certificate; null: the host of the address. */
  String serverName() {
    return serverName;
  }

  /** The header's value; empty: there is no token. */
  String authorization() {
    return authorization;
  }

  /** Reads the token's file again; whether it holds another token than the one that was refused. */
  boolean reload(String refused) {
    if (tokenFile == null) {
      return false;
    }
    try {
      authorization = read(tokenFile);
    } catch (CorankException error) {
      return false;
    }
    return !authorization.equals(refused);
  }

  private static Path or(Path given, String named) {
    return given != null ? given : named == null || named.isEmpty() ? null : Path.of(named);
  }

  private static String read(Path file) {
    return bearer(
        "tokenFile", new String(contents("tokenFile", file, ""), StandardCharsets.ISO_8859_1));
  }

  private static byte[] contents(String option, Path file, String mark) {
    byte[] data;
    try {
      data = Files.readAllBytes(file);
    } catch (IOException error) {
      String why =
          error instanceof NoSuchFileException ? "there is no such file" : error.getMessage();
      CorankException failed = invalid(option + ": cannot read " + file + ": " + why, option);
      failed.initCause(error);
      throw failed;
    }
    if (!new String(data, StandardCharsets.ISO_8859_1).contains(mark)) {
      throw invalid(option + ": " + file + " has no '" + mark + "'; it must be PEM", option);
    }
    return data;
  }

  private static String bearer(String option, String text) {
    String token = text.strip();
    if (!TOKEN.matcher(token).matches()) {
      throw invalid(
          option + ": a token is one word of printable ASCII characters, and not empty", option);
    }
    return "Bearer " + token;
  }

  private static CorankException invalid(String message, String field) {
    return new CorankException.InvalidArgument(message, field);
  }
}
