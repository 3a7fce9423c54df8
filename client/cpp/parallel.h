// Work on several threads, as far as there are any to be had.
#ifndef CORANK_CLIENT_CPP_PARALLEL_H_
#define CORANK_CLIENT_CPP_PARALLEL_H_

#include "absl/functional/function_ref.h"

namespace corank::client {

/// Calls `work` on this thread and at the same time on up to threads - 1 others, on fewer where the system gives none;
/// returns when all are through. The calls share what there is to do among them.
void InParallel(int threads, absl::FunctionRef<void()> work);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_PARALLEL_H_
