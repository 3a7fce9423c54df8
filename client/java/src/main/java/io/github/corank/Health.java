package io.github.corank;

/** The health of a service of the server. */
public enum Health {
  /** It takes calls. */
  SERVING,
  /** It takes none now: it starts, drains, or lost its device. */
  NOT_SERVING,
  /** The server does not know the service. */
  UNKNOWN
}
