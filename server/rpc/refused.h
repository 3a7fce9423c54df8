// Methods that this server does not have.
#ifndef CORANK_SERVER_RPC_REFUSED_H_
#define CORANK_SERVER_RPC_REFUSED_H_

#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/status.h"

namespace corank {

/// A reactor of any kind that ends its call with a status at once. Owns itself.
template <typename Reactor>
class Refused final : public Reactor {
 public:
  explicit Refused(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

/// UNIMPLEMENTED, in words that say what to do instead.
inline grpc::Status Unimplemented(const char* message) { return {grpc::StatusCode::UNIMPLEMENTED, message}; }

}  // namespace corank

#endif  // CORANK_SERVER_RPC_REFUSED_H_
