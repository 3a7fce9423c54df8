// Requests that carry what they ask for: sorts of arrays in the message. What overloads the server is then its work and
// the messages on their way.
#ifndef CORANK_BENCH_OVERLOAD_INLINE_SORTS_H_
#define CORANK_BENCH_OVERLOAD_INLINE_SORTS_H_

#include <cstdint>
#include <vector>

#include "bench/overload/open_loop.h"

namespace corank::bench {

/// Requests to sort `arrays` different arrays of `keys` random u32 each, with the check of all keys that come back.
std::vector<Request> InlineSorts(int arrays, int64_t keys);

}  // namespace corank::bench

#endif  // CORANK_BENCH_OVERLOAD_INLINE_SORTS_H_
