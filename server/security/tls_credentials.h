// TLS for a listening port, from files that may change while the server runs.
#ifndef CORANK_SERVER_SECURITY_TLS_CREDENTIALS_H_
#define CORANK_SERVER_SECURITY_TLS_CREDENTIALS_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/observe/log.h"

namespace corank {

struct TlsFiles {
  std::string certificate;  // PEM: the server's, then intermediate ones
  std::string key;          // PEM, without a password
  std::string client_ca;    // PEM: roots for client certificates, which callers must then present; empty: none needed

  bool is_on() const { return !certificate.empty(); }
  std::vector<std::string> Paths() const;
};

/// The checked contents of the files: the certificate parses, is valid now and matches the key; the roots parse.
struct TlsMaterial {
  std::string certificate, key, client_ca;
  std::string subject;
  absl::Time expiry;

  /// INVALID_ARGUMENT with the flag, the file and the reason. `now`: the time at which it must be valid.
  static absl::StatusOr<TlsMaterial> Read(const TlsFiles& files, absl::Time now);
};

/// The material in force. Thread-safe.
class TlsCredentials {
 public:
  static absl::StatusOr<std::unique_ptr<TlsCredentials>> Create(const TlsFiles& files, const Logger* logger);

  /// Reads the files again. Contents that are broken, or not valid at this time, are only logged, and the result is
  /// false.
  bool Reload();
  /// Whether the last Reload accepted the files.
  bool is_current() const { return is_current_.load(std::memory_order_relaxed); }
  absl::Time expiry() const { return material()->expiry; }
  /// What the next connection is secured with. Another object once the files have changed.
  std::shared_ptr<const TlsMaterial> material() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  TlsCredentials(TlsFiles files, TlsMaterial material, const Logger* logger);

  const TlsFiles files_;
  const Logger& logger_;
  std::atomic<bool> is_current_{true};
  mutable absl::Mutex mutex_;
  std::shared_ptr<const TlsMaterial> material_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank

#endif  // CORANK_SERVER_SECURITY_TLS_CREDENTIALS_H_
