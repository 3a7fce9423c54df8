// Who the server is to this client, and who this client is to the server.
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

/// Thread-safe.
class Credentials {
 public:
  /// Reads the files. INVALID_ARGUMENT, naming the option: one cannot be read or is not PEM; a key without certificate
  /// or the other way round; a token that no header can hold; a token that would leave this host in the clear.
  static absl::StatusOr<std::unique_ptr<Credentials>> Create(const ClientOptions& options);

  const std::shared_ptr<grpc::ChannelCredentials>& channel() const { return channel_; }
  void Configure(grpc::ChannelArguments* arguments) const;
  /// "Bearer <token>"; empty: there is no token.
  std::string authorization() const;
  /// Reads the token's file again. True if it holds another token than the one that `refused` holds.
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
