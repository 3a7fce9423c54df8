#include <string>

#include "absl/flags/flag.h"
#include "server/base/status_macros.h"
#include "server/config/groups.h"

ABSL_FLAG(std::string, tls_certificate, "",
          "PEM file with the server's certificate, followed by its intermediate certificates. Together with --tls-key "
          "it turns TLS on. The server reloads the file when it changes; a file that is broken or not yet valid "
          "changes nothing.");
ABSL_FLAG(std::string, tls_key, "", "PEM file with the private key of --tls-certificate, without a password.");
ABSL_FLAG(std::string, tls_client_ca, "",
          "PEM file with root certificates. Callers must then present a client certificate from one of them. A name in "
          "it is the tenant (the first URI, else DNS name, else common name) unless a token names one. Empty: no "
          "client certificates.");
ABSL_FLAG(std::string, tokens_file, "",
          "File of the callers that are allowed. Each line has a tenant, the SHA-256 of a token or certificate:NAME, "
          "and permissions. Callers send the metadata `authorization: Bearer TOKEN`. The server reloads the file when "
          "it changes. Empty: no tokens.");
ABSL_FLAG(bool, insecure, false,
          "Allows --listen to be open to other hosts without TLS. Use it where something else protects the network.");

namespace corank {
namespace {

absl::Status ReadSecurity(Configuration& configuration) {
  SecurityOptions& security = configuration.server.security;
  security.tls.certificate = absl::GetFlag(FLAGS_tls_certificate);
  security.tls.key = absl::GetFlag(FLAGS_tls_key);
  security.tls.client_ca = absl::GetFlag(FLAGS_tls_client_ca);
  security.tokens_file = absl::GetFlag(FLAGS_tokens_file);
  security.insecure = absl::GetFlag(FLAGS_insecure);
  const absl::StatusOr<ListenAddress> listen = ListenAddress::Parse(configuration.server.listen);
  if (!listen.ok()) return absl::OkStatus();  // ReadListen has told
  CORANK_RETURN_IF_ERROR(CheckSecurity(security, *listen));
  if (security.insecure && !security.tls.is_on() && !security.tokens_file.empty()) {
    configuration.warnings.emplace_back("--insecure: tokens travel in plain text");
  }
  return absl::OkStatus();
}

}  // namespace

Group SecurityGroup() {
  return {"security",
          "TLS and authentication",
          {Hidden(FLAGS_tls_certificate), Hidden(FLAGS_tls_key), Hidden(FLAGS_tls_client_ca), Hidden(FLAGS_tokens_file),
           Shown(FLAGS_insecure)},
          ReadSecurity};
}

}  // namespace corank
