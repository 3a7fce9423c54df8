// Authentication: TLS and the caller's token.
#ifndef CORANK_CLIENT_CPP_CREDENTIALS_H_
#define CORANK_CLIENT_CPP_CREDENTIALS_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "corank/client_options.h"
#include "grpcpp/grpcpp.h"

namespace corank::client {

/// The channel credentials and the token of a client. Thread-safe.
class Credentials {
 public:
  /// Reads the files. INVALID_ARGUMENT names the option if a file cannot be read or is not PEM, if a key or certificate
  /// comes without the other, if no header can hold the token, or if the token would leave this host in plain text.
  static absl::StatusOr<std::unique_ptr<Credentials>> Create(const ClientOptions& options);

  const std::shared_ptr<grpc::ChannelCredentials>& channel() const { return channel_; }
  void Configure(grpc::ChannelArguments* arguments) const;
  /// "Bearer <token>"; empty if there is no token.
  std::string authorization() const;
  /// Reads the token file again. Whether its token differs from the refused authorization.
  bool Reload(const std::string& refused);

 private:
  Credentials() = default;

  std::shared_ptr<grpc::ChannelCredentials> channel_;
  std::string server_name_, token_file_;
  mutable absl::Mutex mutex_;
  std::string authorization_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_CREDENTIALS_H_
