package io.github.corank;

/**
 * How far a call is. Each try counts from nothing.
 *
 * @param sent bytes of arrays that went to the server so far
 * @param toSend bytes of arrays to send
 * @param received bytes of arrays that came back so far
 * @param toReceive bytes of arrays to come back; 0 if their length is not known
 * @param attempt the number of the try, from 1
 */
public record Progress(long sent, long toSend, long received, long toReceive, int attempt) {}
