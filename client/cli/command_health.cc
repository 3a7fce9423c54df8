// corank health.
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/session.h"
#include "client/cli/text.h"

namespace corank::cli {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(5);

const char* Name(client::Health health) {
  return health == client::Health::kServing      ? "SERVING"
         : health == client::Health::kNotServing ? "NOT_SERVING"
                                                 : "SERVICE_UNKNOWN";
}

/// Why a service is not SERVING, as far as its name tells.
std::string Reason(const std::string& service, client::Health health) {
  if (health == client::Health::kUnknown) {
    return absl::StrCat("the server knows no service '", service,
                        "'; it has ready, live, and one for each device, such as engine.cuda.0");
  }
  if (absl::StartsWith(service, "engine.")) {
    return absl::StrCat("the device of '", service, "' is lost, or its last self-test failed");
  }
  return "the server accepts no requests: it is shutting down, or none of its devices works";
}

absl::StatusOr<client::ClientOptions> ReadOptions(const Arguments& arguments) {
  if (arguments.Has("wait") && arguments.Has("deadline")) {
    return UsageError("--wait already sets a time limit; give --wait or --deadline, not both");
  }
  if (arguments.Has("plaintext")) {
    for (const char* option : {"tls", "tls-ca", "tls-certificate", "tls-key", "tls-server-name"}) {
      if (arguments.Has(option)) return UsageError(absl::StrCat("--plaintext does not go together with --", option));
    }
  }
  absl::StatusOr<client::ClientOptions> options = ReadClientOptions(arguments);
  if (!options.ok()) return options.status();
  absl::StatusOr<std::optional<absl::Duration>> wait = arguments.GetDuration("wait");
  if (!wait.ok()) return wait.status();
  if (wait->has_value()) {
    options->deadline = **wait;
  } else if (!arguments.Has("deadline")) {
    options->deadline = kDeadline;
  }
  if (arguments.Has("plaintext")) options->tls.reset();
  // The health service needs no token, and a port for probes may have no TLS to protect one.
  options->token.clear();
  // A probe reports the state now. AwaitHealth retries by itself.
  options->retry.enabled = false;
  return options;
}

absl::Status RunHealth(const Arguments& arguments) {
  absl::StatusOr<client::ClientOptions> options = ReadOptions(arguments);
  if (!options.ok()) return options.status();
  absl::StatusOr<client::Client> client = Connect(*options);
  if (!client.ok()) return client.status();
  const std::string service = arguments.GetOr("service", "ready");
  const absl::StatusOr<client::Health> health =
      arguments.Has("wait") ? client->AwaitHealth(service) : client->CheckHealth(service);
  if (!health.ok()) return health.status();
  if (arguments.Has("json")) {
    JsonObject json;
    json.Add("server", options->address).Add("service", service).Add("status", Name(*health));
    std::puts(json.Text().c_str());
  } else if (*health == client::Health::kServing && !arguments.Has("quiet")) {
    std::puts(Name(*health));
  }
  if (*health == client::Health::kServing) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(Name(*health), ": ", Reason(service, *health)));
}

}  // namespace

Command HealthCommand() {
  return {{"health", "check whether the server is healthy, for probes", "", 0, 0,
           "Asks the server's grpc.health.v1 service. Prints SERVING, or the reason on standard error. Exit codes:\n"
           "0 SERVING, 1 not serving, 4 no server. Needs and sends no token. Services: ready (the server accepts\n"
           "requests), live (the process answers), and one for each device, such as engine.cuda.0.",
           "corank health\n"
           "corank health --server 127.0.0.1:50052 --plaintext --service live\n"
           "corank health --wait 2m && corank sort keys.npy -o sorted.npy",
           WithServerOptions(
               {{"service", 0, "NAME", "the service to check (default: ready)"},
                {"wait", 'w', "TIME", "wait until it is SERVING, at most this long, such as 30s"},
                {"deadline", 0, "TIME", "without --wait: give up after this time (default: 5s)"},
                {"plaintext", 0, nullptr, "no TLS, whatever the environment says: for the port of --health-listen"}})},
          RunHealth};
}

}  // namespace corank::cli
