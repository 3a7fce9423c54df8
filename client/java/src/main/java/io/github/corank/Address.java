package io.github.corank;

import java.util.List;
import java.util.Locale;

/** Reads an address without looking a name up. */
final class Address {
  static final String DEFAULT = "127.0.0.1:50051";

  private Address() {}

  /**
   * An address that was given, if it is one.
   *
   * @throws CorankException.InvalidArgument it has no port
   */
  static String checked(String address) {
    if (address.startsWith("dns:///")) {
      checked(address.substring("dns:///".length()));
      return address;
    }
    if (address.contains("/")) {
      throw invalid("'" + address + "' is no address; write HOST:PORT or dns:///HOST:PORT");
    }
    for (String each : split(address)) {
      if (each.chars().filter(c -> c == ':').count() > 1 && !each.startsWith("[")) {
        throw invalid("'" + each + "' has no port; write [" + each + "]:50051");
      }
      String port = each.startsWith("[") ? after(each, "]:") : after(each, ":");
      if (!port.matches("[0-9]{1,5}") || Integer.parseInt(port) > 65535) {
        String host =
            each.contains(":") && !each.startsWith("[")
                ? each.substring(0, each.indexOf(':'))
                : each;
        throw invalid("'" + each + "' has no port; write " + host + ":50051");
      }
    }
    return address;
  }

  static List<String> split(String address) {
    return List.of(address.split(",", -1));
  }

  /** The host of HOST:PORT or [HOST]:PORT. */
  static String host(String address) {
    return address.startsWith("[")
        ? address.substring(1, Math.max(address.indexOf(']'), 1))
        : address.substring(0, address.indexOf(':') < 0 ? address.length() : address.indexOf(':'));
  }

  /** The port of a checked address. */
  static int port(String address) {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  /** Whether the address may name several servers. */
  static boolean isSeveral(String address) {
    return address.contains(",") || address.contains("/");
  }

  /**
   * Whether every address is one of this host: localhost, 127.0.0.0/8, ::1. A name that is only
   * known to mean this host by looking it up does not count.
   */
  static boolean isThisHost(String address) {
    String plain = address.startsWith("dns:///") ? address.substring(7) : address;
    return !plain.contains("/") && split(plain).stream().allMatch(Address::isLoopback);
  }

  private static boolean isLoopback(String address) {
    String host = host(address).toLowerCase(Locale.ROOT);
    return host.equals("localhost") || host.equals("::1") || host.matches("127(\\.[0-9]{1,3}){3}");
  }

  private static String after(String text, String mark) {
    int at = text.lastIndexOf(mark);
    return at < 0 ? "" : text.substring(at + mark.length());
  }

  private static CorankException invalid(String message) {
    return new CorankException.InvalidArgument("address: " + message, "address");
  }
}
