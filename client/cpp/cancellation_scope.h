// Registers the contexts of a call's attempts with its Cancellation.
#ifndef CORANK_CLIENT_CPP_CANCELLATION_SCOPE_H_
#define CORANK_CLIENT_CPP_CANCELLATION_SCOPE_H_

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "corank/cancellation.h"
#include "grpcpp/client_context.h"

namespace corank::client {

/// The contexts of one attempt, while it runs. Not thread-safe.
class CancellationScope {
 public:
  /// `cancellation` may be null.
  explicit CancellationScope(Cancellation* cancellation) : cancellation_(cancellation) {}
  ~CancellationScope();
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;

  /// Until the end of the scope, Cancel ends the call of this context.
  void Add(grpc::ClientContext* context);
  /// Waits for `time`. Returns false as soon as the cancellation, which may be null, is cancelled.
  static bool Sleep(Cancellation* cancellation, absl::Duration time);

 private:
  Cancellation* const cancellation_;
  absl::flat_hash_set<grpc::ClientContext*> contexts_;
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_CANCELLATION_SCOPE_H_
