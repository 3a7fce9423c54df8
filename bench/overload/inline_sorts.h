// Requests that carry their arrays in the message. Both the work and the transfer of messages overload the server.
#ifndef CORANK_BENCH_OVERLOAD_INLINE_SORTS_H_
#define CORANK_BENCH_OVERLOAD_INLINE_SORTS_H_

#include <cstdint>
#include <vector>

#include "bench/overload/open_loop.h"

namespace corank::bench {

/// Requests to sort `arrays` different arrays of `keys` random u32 each; checks all keys of the answers.
std::vector<Request> InlineSorts(int arrays, int64_t keys);

}  // namespace corank::bench

#endif  // CORANK_BENCH_OVERLOAD_INLINE_SORTS_H_
