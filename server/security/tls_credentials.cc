#include "server/security/tls_credentials.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/status_macros.h"

namespace corank {
namespace {

std::string InUtc(absl::Time time) { return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone()); }

}  // namespace

absl::StatusOr<std::unique_ptr<TlsCredentials>> TlsCredentials::Create(const TlsFiles& files, const Logger* logger) {
  CORANK_ASSIGN_OR_RETURN(TlsMaterial material, TlsMaterial::Read(files, absl::Now()));
  return std::unique_ptr<TlsCredentials>(new TlsCredentials(files, std::move(material), logger));
}

TlsCredentials::TlsCredentials(TlsFiles files, TlsMaterial material, const Logger* logger)
    : files_(std::move(files)), logger_(*logger), material_(std::make_shared<const TlsMaterial>(std::move(material))) {}

bool TlsCredentials::Reload() {
  absl::StatusOr<TlsMaterial> read = TlsMaterial::Read(files_, absl::Now());
  is_current_ = read.ok();
  if (!read.ok()) {
    logger_.Log(LogLevel::kError, "tls_kept",
                {{"message", absl::StrCat("the previous certificate, valid until ", InUtc(expiry()),
                                          ", stays in force: ", read.status().message())}});
    return false;
  }
  const auto material = std::make_shared<const TlsMaterial>(*std::move(read));
  {
    absl::MutexLock lock(&mutex_);
    material_ = material;
  }
  logger_.Log(LogLevel::kInfo, "tls_read", {{"subject", material->subject}, {"valid_until", InUtc(material->expiry)}});
  return true;
}

std::shared_ptr<const TlsMaterial> TlsCredentials::material() const {
  absl::MutexLock lock(&mutex_);
  return material_;
}

}  // namespace corank
