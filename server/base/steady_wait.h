// Waits by the steady clock. A step of the wall clock shortens or lengthens the waits of absl::Mutex.
#ifndef CORANK_SERVER_BASE_STEADY_WAIT_H_
#define CORANK_SERVER_BASE_STEADY_WAIT_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace corank {

/// As mutex->AwaitWithTimeout: waits for the condition, and returns whether it holds at the end.
bool AwaitSteadily(absl::Mutex* mutex, const absl::Condition& condition, absl::Duration timeout)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

}  // namespace corank

#endif  // CORANK_SERVER_BASE_STEADY_WAIT_H_
