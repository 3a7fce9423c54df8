package io.github.corank;

import io.grpc.Attributes;
import io.grpc.EquivalentAddressGroup;
import io.grpc.NameResolver;
import io.grpc.NameResolverProvider;
import io.grpc.NameResolverRegistry;
import io.grpc.Status;
import io.grpc.StatusOr;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;

/** Resolves a list of addresses, which take turns. gRPC for Java has no target for one. */
final class AddressList extends NameResolverProvider {
  private static final String SCHEME = "corank";

  static {
    NameResolverRegistry.getDefaultRegistry().register(new AddressList());
  }

  /** The target of HOST:PORT,HOST:PORT. */
  static String target(String addresses) {
    return SCHEME + ":///" + addresses.replace("[", "%5B").replace("]", "%5D");
  }

  @Override
  protected boolean isAvailable() {
    return true;
  }

  @Override
  protected int priority() {
    return 4;
  }

  @Override
  public String getDefaultScheme() {
    return SCHEME;
  }

  @Override
  public NameResolver newNameResolver(URI target, NameResolver.Args args) {
    return SCHEME.equals(target.getScheme())
        ? new Resolver(Address.split(target.getPath().substring(1)), args.getOffloadExecutor())
        : null;
  }

  private static final class Resolver extends NameResolver {
    private final List<String> addresses;
    private final Executor executor;
    private Listener2 listener;

    Resolver(List<String> addresses, Executor executor) {
      this.addresses = addresses;
      this.executor = executor == null ? Runnable::run : executor;
    }

    @Override
    public String getServiceAuthority() {
      return addresses.get(0);
    }

    @Override
    public void start(Listener2 listener) {
      this.listener = listener;
      refresh();
    }

    @Override
    public void refresh() {
      executor.execute(this::resolve);
    }

    private void resolve() {
      List<EquivalentAddressGroup> found = new ArrayList<>();
      Status failed = Status.UNAVAILABLE;
      for (String each : addresses) {
        try {
          // The certificate of each server holds its own name.
          Attributes own =
              Attributes.newBuilder()
                  .set(EquivalentAddressGroup.ATTR_AUTHORITY_OVERRIDE, each)
                  .build();
          for (InetAddress host : InetAddress.getAllByName(Address.host(each))) {
            found.add(
                new EquivalentAddressGroup(new InetSocketAddress(host, Address.port(each)), own));
          }
        } catch (UnknownHostException error) {
          failed =
              failed.withDescription("no host has the name " + Address.host(each)).withCause(error);
        }
      }
      listener.onResult(
          ResolutionResult.newBuilder()
              .setAddressesOrError(
                  found.isEmpty() ? StatusOr.fromStatus(failed) : StatusOr.fromValue(found))
              .build());
    }

    @Override
    public void shutdown() {}
  }
}
