// The protection of the server's ports: TLS, tokens, and the rule for plaintext.
#ifndef CORANK_SERVER_SECURITY_SECURITY_H_
#define CORANK_SERVER_SECURITY_SECURITY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/observe/log.h"
#include "server/security/authenticator.h"
#include "server/security/listener.h"
#include "server/security/read_file.h"
#include "server/security/tls_credentials.h"

namespace corank {

struct SecurityOptions {
  TlsFiles tls;
  std::string tokens_file;  // empty: no tokens
  /// Whether other hosts may call without TLS.
  bool insecure = false;
};

/// Checks that the files are valid, and that no outsider can listen in. INVALID_ARGUMENT with the flag, the file, the
/// line if there is one, and the reason.
absl::Status CheckSecurity(const SecurityOptions& options, const ListenAddress& listen);

/// Reads the files, and reads them again when they change. Must outlive the server that it protects.
class Security {
 public:
  /// INVALID_ARGUMENT as above. `logger` outlives the object.
  static absl::StatusOr<std::unique_ptr<Security>> Create(const SecurityOptions& options, const Logger* logger);

  /// Null if calls are anonymous.
  const Authenticator* authenticator() const { return authenticator_.get(); }
  /// Null without TLS.
  const TlsCredentials* tls() const { return tls_.get(); }

 private:
  Security() = default;

  std::unique_ptr<TlsCredentials> tls_;
  std::unique_ptr<Authenticator> authenticator_;
  FileWatcher watcher_;  // stops before the objects that it notifies
};

}  // namespace corank

#endif  // CORANK_SERVER_SECURITY_SECURITY_H_
