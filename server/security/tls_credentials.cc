#include "server/security/tls_credentials.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpc/grpc.h"

namespace corank {
namespace {

std::string InUtc(absl::Time time) { return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone()); }

}  // namespace

absl::StatusOr<std::shared_ptr<TlsCredentials>> TlsCredentials::Create(const TlsFiles& files, const Logger* logger) {
  absl::StatusOr<TlsMaterial> material = TlsMaterial::Read(files, absl::Now());
  if (!material.ok()) return material.status();
  return std::shared_ptr<TlsCredentials>(new TlsCredentials(files, *std::move(material), logger));
}

TlsCredentials::TlsCredentials(TlsFiles files, TlsMaterial material, const Logger* logger)
    : files_(std::move(files)), logger_(*logger), material_(std::move(material)) {
  // gRPC's alternative, FileWatcherCertificateProvider, takes the files unchecked: a broken renewal would end all new
  // connections.
  const auto request = files_.client_ca.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                                : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  credentials_ = grpc_ssl_server_credentials_create_with_options(
      grpc_ssl_server_credentials_create_options_using_config_fetcher(request, Fetch, this));
}

TlsCredentials::~TlsCredentials() { grpc_server_credentials_release(credentials_); }

int TlsCredentials::AddPortToServer(const std::string& address, grpc_server* server) {
  return grpc_server_add_http2_port(server, address.c_str(), credentials_);
}

grpc_ssl_certificate_config_reload_status TlsCredentials::Fetch(void* self,
                                                                grpc_ssl_server_certificate_config** config) {
  auto* const credentials = static_cast<TlsCredentials*>(self);
  absl::MutexLock lock(&credentials->mutex_);
  if (credentials->handed_out_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  const TlsMaterial& material = credentials->material_;
  const grpc_ssl_pem_key_cert_pair pair = {material.key.c_str(), material.certificate.c_str()};
  // gRPC needs roots here even if it requests no client certificates; it then ignores them.
  const std::string& roots = material.client_ca.empty() ? material.certificate : material.client_ca;
  *config = grpc_ssl_server_certificate_config_create(roots.c_str(), &pair, 1);
  credentials->handed_out_ = true;
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

bool TlsCredentials::Reload() {
  absl::StatusOr<TlsMaterial> material = TlsMaterial::Read(files_, absl::Now());
  is_current_ = material.ok();
  if (!material.ok()) {
    logger_.Log(LogLevel::kError, "tls_kept",
                {{"message", absl::StrCat("the previous certificate, valid until ", InUtc(expiry()),
                                          ", stays in force: ", material.status().message())}});
    return false;
  }
  const std::string subject = material->subject;
  const std::string until = InUtc(material->expiry);
  {
    absl::MutexLock lock(&mutex_);
    material_ = *std::move(material);
    handed_out_ = false;
  }
  logger_.Log(LogLevel::kInfo, "tls_read", {{"subject", subject}, {"valid_until", until}});
  return true;
}

absl::Time TlsCredentials::expiry() const {
  absl::MutexLock lock(&mutex_);
  return material_.expiry;
}

}  // namespace corank
