// Requests of a few bytes for much work: sorts of kept arrays that return only the least keys. The work overloads the
// server, not the transfer of messages.
#ifndef CORANK_BENCH_OVERLOAD_KEPT_SORTS_H_
#define CORANK_BENCH_OVERLOAD_KEPT_SORTS_H_

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/overload/open_loop.h"

namespace corank::bench {

/// Stores `arrays` different arrays of `keys` random u64 each on the server. Returns for each the request that sorts it
/// (MERGESORT) and returns the 16 least keys, which are checked against std::partial_sort.
absl::StatusOr<std::vector<Request>> KeepAndAsk(const std::shared_ptr<grpc::Channel>& channel, int arrays,
                                                int64_t keys);

}  // namespace corank::bench

#endif  // CORANK_BENCH_OVERLOAD_KEPT_SORTS_H_
