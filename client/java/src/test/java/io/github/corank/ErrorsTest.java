package io.github.corank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.grpc.Metadata;
import io.grpc.Status;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ErrorsTest {
  private static CorankException made(Status status, boolean sent) {
    String address = "127.0.0.1:1";
    Channels channels = new Channels(address, new Credentials(address, Client.builder(), Map.of()));
    Caller caller = new Caller("Sort", channels, null, CallOptions.none());
    return Errors.of(status, new Metadata(), caller, sent);
  }

  @Test
  void closedConnectionIsUnavailableWhateverGrpcCallsIt() {
    // Both are how grpc-netty tells of a connection that closed between two of its steps.
    Status closed =
        Status.UNKNOWN.withDescription("channel closed").withCause(new ClosedChannelException());
    Status nested =
        Status.UNKNOWN.withCause(new RuntimeException(new IOException("Connection reset")));
    for (Status status : new Status[] {closed, nested}) {
      CorankException lost = made(status, true);
      assertInstanceOf(CorankException.Unavailable.class, lost);
      assertEquals(CorankException.Failure.LOST, lost.failure());
      assertEquals(CorankException.Failure.NOT_SENT, made(status, false).failure());
    }
  }

  @Test
  void unknownOfTheServerStaysUnknownAndFinal() {
    CorankException said = made(Status.UNKNOWN.withDescription("channel closed"), true);
    assertEquals(Status.Code.UNKNOWN, said.code());
    assertEquals(CorankException.Failure.FINAL, said.failure());
    Status own = Status.UNKNOWN.withCause(new IllegalStateException("a fault of this process"));
    assertEquals(Status.Code.UNKNOWN, made(own, true).code());
  }
}
