// TLS for a listening port, from files that may change while the server runs.
#ifndef CORANK_SERVER_SECURITY_TLS_CREDENTIALS_H_
#define CORANK_SERVER_SECURITY_TLS_CREDENTIALS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpc/grpc_security.h"
#include "grpcpp/security/server_credentials.h"
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

/// TLS 1.2 and 1.3. A connection keeps the material that was in force when its handshake began. Must outlive its
/// server, and serve one port only. Thread-safe.
class TlsCredentials final : public grpc::ServerCredentials {
 public:
  static absl::StatusOr<std::shared_ptr<TlsCredentials>> Create(const TlsFiles& files, const Logger* logger);
  ~TlsCredentials() override;

  /// Reads the files again. Contents that are broken, or not valid at this time, are only logged, and the result is
  /// false.
  bool Reload();
  /// Whether the last Reload accepted the files.
  bool is_current() const { return is_current_.load(std::memory_order_relaxed); }
  absl::Time expiry() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  TlsCredentials(TlsFiles files, TlsMaterial material, const Logger* logger);

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}
  int AddPortToServer(const std::string& address, grpc_server* server) override;
  // gRPC calls this at each handshake.
  static grpc_ssl_certificate_config_reload_status Fetch(void* self, grpc_ssl_server_certificate_config** config);

  const TlsFiles files_;
  const Logger& logger_;
  grpc_server_credentials* credentials_ = nullptr;
  std::atomic<bool> is_current_{true};
  mutable absl::Mutex mutex_;
  TlsMaterial material_ ABSL_GUARDED_BY(mutex_);
  bool handed_out_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace corank

#endif  // CORANK_SERVER_SECURITY_TLS_CREDENTIALS_H_
