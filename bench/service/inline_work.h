// Work that travels in one message each way, for each operator that the benchmarks of the service call.
#ifndef CORANK_BENCH_SERVICE_INLINE_WORK_H_
#define CORANK_BENCH_SERVICE_INLINE_WORK_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/service/closed_loop.h"

namespace corank::bench {

inline constexpr char kSortMethod[] = "/corank.v1.CorankService/Sort";

enum class InlineOperator {
  kSort,
  kSortPairs,  // u32 keys with u32 values
  kMerge,      // of two halves
  kSearch,     // as many needles as the haystack has keys
  kExpand,     // u32 values, three times each in the mean: as many bytes come back as went
};

struct InlineWork {
  std::string type, distribution;  // of a row
  UnaryCall call;
  const google::protobuf::Message* response = nullptr;  // an instance of what answers the call
  std::vector<std::string> results;                     // the arrays of the right answer, by std::
};

/// With uniform keys, `keys` of them: of a merge in all, of a search in the haystack.
InlineWork MakeInlineWork(InlineOperator op, int64_t keys, uint64_t seed = 1);

/// Whether the arrays of an answer are those of the right one. Copies none of them. Thread-safe.
bool IsAnswer(const InlineWork& work, const grpc::ByteBuffer& answer);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_INLINE_WORK_H_
