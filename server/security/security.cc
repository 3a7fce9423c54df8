#include "server/security/security.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/status_macros.h"

namespace corank {

absl::Status CheckSecurity(const SecurityOptions& options, const ListenAddress& listen) {
  const TlsFiles& tls = options.tls;
  if (tls.certificate.empty() != tls.key.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(tls.key.empty() ? "--tls-key" : "--tls-certificate",
                                                   ": TLS needs --tls-certificate and --tls-key together"));
  }
  if (!tls.is_on() && !tls.client_ca.empty()) {
    return absl::InvalidArgumentError("--tls-client-ca: client certificates need --tls-certificate and --tls-key");
  }
  if (!tls.is_on() && !listen.IsLocal() && !options.insecure) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--listen: ", listen.ToString(),
        " is open to other hosts, which would send arrays and tokens in plain text without TLS; set --tls-certificate "
        "and --tls-key, listen on 127.0.0.1, or set --insecure if something else protects the network"));
  }
  if (tls.is_on()) CORANK_RETURN_IF_ERROR(TlsMaterial::Read(tls, absl::Now()).status());
  return options.tokens_file.empty() ? absl::OkStatus() : Authenticator::Check(options.tokens_file);
}

absl::StatusOr<std::unique_ptr<Security>> Security::Create(const SecurityOptions& options, const Logger* logger) {
  std::unique_ptr<Security> security(new Security());
  if (options.tls.is_on()) {
    security->watcher_.Watch(options.tls.Paths(), [raw = security.get()] { return raw->tls_->Reload(); });
    CORANK_ASSIGN_OR_RETURN(security->tls_, TlsCredentials::Create(options.tls, logger));
  }
  if (!options.tokens_file.empty() || !options.tls.client_ca.empty()) {
    if (!options.tokens_file.empty()) {
      security->watcher_.Watch({options.tokens_file}, [raw = security.get()] { return raw->authenticator_->Reload(); });
    }
    CORANK_ASSIGN_OR_RETURN(security->authenticator_, Authenticator::Create(options.tokens_file, logger));
  }
  security->watcher_.Start();
  return security;
}

}  // namespace corank
