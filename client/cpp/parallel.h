// Runs work on several threads.
#ifndef CORANK_CLIENT_CPP_PARALLEL_H_
#define CORANK_CLIENT_CPP_PARALLEL_H_

#include "absl/functional/function_ref.h"

namespace corank::client {

/// Calls `work` on this thread and concurrently on up to threads - 1 others, or fewer if the system has no threads
/// left. Returns when all calls have. The calls divide the work among themselves.
void InParallel(int threads, absl::FunctionRef<void()> work);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_PARALLEL_H_
