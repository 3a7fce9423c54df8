// Who makes a call, from its credentials.
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

/// What a call shows of its caller. Borrowed for the length of a call of Authenticate.
struct Credentials {
  /// All values of the metadata `authorization`.
  std::vector<absl::string_view> authorization;
  /// Names of the verified client certificate: URIs, then DNS names; where it has neither, the common name.
  std::vector<absl::string_view> certificate_names;
};

/// The rule: a token names the tenant; where none comes, the client certificate does. With a tokens file both must be
/// in it. Without one, a certificate's first name is the tenant's, who may do what the server's flags allow.
/// Thread-safe.
class Authenticator {
 public:
  /// `tokens_file`: empty where client certificates alone name tenants. INVALID_ARGUMENT with the file, the line and
  /// the reason. `logger` outlives the authenticator.
  static absl::StatusOr<std::unique_ptr<Authenticator>> Create(const std::string& tokens_file, const Logger* logger);

  /// Whether Create would take the file.
  static absl::Status Check(const std::string& tokens_file) { return Read(tokens_file).status(); }

  /// UNAUTHENTICATED, with what the caller is to send instead; never a token.
  absl::StatusOr<std::shared_ptr<const Caller>> Authenticate(const Credentials& credentials) const;

  /// Reads the tokens file again. A file that is broken changes nothing but the log; false. Calls that run go on.
  bool Reload();
  /// Whether the last Reload took the file.
  bool is_current() const { return is_current_.load(std::memory_order_relaxed); }

 private:
  Authenticator(std::string tokens_file, const Logger* logger)
      : tokens_file_(std::move(tokens_file)), logger_(*logger) {}

  static absl::StatusOr<std::shared_ptr<const TokenTable>> Read(const std::string& tokens_file);
  std::shared_ptr<const TokenTable> table() const ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string tokens_file_;
  const Logger& logger_;
  std::atomic<bool> is_current_{true};
  mutable absl::Mutex mutex_;
  std::shared_ptr<const TokenTable> table_ ABSL_GUARDED_BY(mutex_);  // null: there is no tokens file
};

}  // namespace corank

#endif  // CORANK_SERVER_SECURITY_AUTHENTICATOR_H_
