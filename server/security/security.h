// What guards the server's ports, put together: TLS, tokens, and the rule for plaintext.
#ifndef CORANK_SERVER_SECURITY_SECURITY_H_
#define CORANK_SERVER_SECURITY_SECURITY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/security/server_credentials.h"
#include "server/observe/log.h"
#include "server/security/authenticator.h"
#include "server/security/listener.h"
#include "server/security/read_file.h"
#include "server/security/tls_credentials.h"

namespace corank {

struct SecurityOptions {
  TlsFiles tls;
  std::string tokens_file;  // empty: no tokens
  /// Whether others than this host's processes may call without TLS.
  bool insecure = false;
};

/// That the files hold what they should, and that nobody can listen in who is not meant to. INVALID_ARGUMENT with the
/// flag, the file, the line where there is one, and the reason.
absl::Status CheckSecurity(const SecurityOptions& options, const ListenAddress& listen);

/// Reads the files, and reads them again when they change. Must outlive the server that it guards.
class Security {
 public:
  /// INVALID_ARGUMENT as above. `logger` outlives the object.
  static absl::StatusOr<std::unique_ptr<Security>> Create(const SecurityOptions& options, const Logger* logger);

  /// For one port.
  std::shared_ptr<grpc::ServerCredentials> credentials() const;
  /// Null where calls are anonymous.
  const Authenticator* authenticator() const { return authenticator_.get(); }
  /// Null where there is no TLS.
  const TlsCredentials* tls() const { return tls_.get(); }

 private:
  Security() = default;

  std::shared_ptr<TlsCredentials> tls_;
  std::unique_ptr<Authenticator> authenticator_;
  FileWatcher watcher_;  // stops before what it tells
};

}  // namespace corank

#endif  // CORANK_SERVER_SECURITY_SECURITY_H_
