// Requests of a few bytes that are much work: sorts of arrays that the server keeps, of which only the least keys come
// back. What overloads the server is then its work, not the messages on their way.
#ifndef CORANK_BENCH_OVERLOAD_KEPT_SORTS_H_
#define CORANK_BENCH_OVERLOAD_KEPT_SORTS_H_

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/overload/open_loop.h"

namespace corank::bench {

/// Has the server keep `arrays` different arrays of `keys` random u64 each, and returns for each the request to sort it
/// (MERGESORT) and give back the 16 least keys, with the check of these against std::partial_sort.
absl::StatusOr<std::vector<Request>> KeepAndAsk(const std::shared_ptr<grpc::Channel>& channel, int arrays,
                                                int64_t keys);

}  // namespace corank::bench

#endif  // CORANK_BENCH_OVERLOAD_KEPT_SORTS_H_
