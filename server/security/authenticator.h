// Finds the caller of a call from its credentials.
#ifndef CORANK_SERVER_SECURITY_AUTHENTICATOR_H_
#define CORANK_SERVER_SECURITY_AUTHENTICATOR_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/observe/log.h"
#include "server/security/caller.h"
#include "server/security/token_table.h"

namespace corank {

/// The credentials of a call. Borrowed during a call of Authenticate.
struct Credentials {
  /// All values of the metadata `authorization`.
  std::vector<absl::string_view> authorization;
  /// Names in the verified client certificate: URIs, then DNS names, or the common name if it has neither.
  std::vector<absl::string_view> certificate_names;
};

/// A token names the tenant; without a token, the client certificate does. With a tokens file, both must be in it.
/// Without one, the tenant is a certificate's first name, with all permissions that the server's flags allow.
/// Thread-safe.
class Authenticator {
 public:
  /// `tokens_file`: empty if only client certificates name tenants. INVALID_ARGUMENT with the file, the line and the
  /// reason. `logger` outlives the authenticator.
  static absl::StatusOr<std::unique_ptr<Authenticator>> Create(const std::string& tokens_file, const Logger* logger);

  /// Whether Create would accept the file.
  static absl::Status Check(const std::string& tokens_file) { return Read(tokens_file).status(); }

  /// UNAUTHENTICATED, saying what to send instead; the message never contains a token.
  absl::StatusOr<std::shared_ptr<const Caller>> Authenticate(const Credentials& credentials) const;

  /// Reads the tokens file again. A broken file is only logged, and the result is false. Running calls continue.
  bool Reload();
  /// Whether the last Reload accepted the file.
  bool is_current() const { return is_current_.load(std::memory_order_relaxed); }

 private:
  Authenticator(std::string tokens_file, const Logger* logger)
      : tokens_file_(std::move(tokens_file)), logger_(*logger) {}

  static absl::StatusOr<std::shared_ptr<const TokenTable>> Read(const std::string& tokens_file);
  // If other users of the machine can read or change the tokens file.
  void WarnIfOpen() const;
  std::shared_ptr<const TokenTable> table() const ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string tokens_file_;
  const Logger& logger_;
  std::atomic<bool> is_current_{true};
  mutable absl::Mutex mutex_;
  std::shared_ptr<const TokenTable> table_ ABSL_GUARDED_BY(mutex_);  // null: there is no tokens file
};

}  // namespace corank

#endif  // CORANK_SERVER_SECURITY_AUTHENTICATOR_H_
