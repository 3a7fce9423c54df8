// Work that travels in one message each way, for each operator that the benchmarks of the service call.
#ifndef CORANK_BENCH_SERVICE_INLINE_WORK_H_
#define CORANK_BENCH_SERVICE_INLINE_WORK_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <string>
#include <vector>

namespace corank::bench {

inline constexpr char kSortMethod[] = "/corank.v1.CorankService/Sort";

enum class InlineOperator {
  kSort,
  kSortPairs,  // u32 keys with u32 values
  kMerge,      // of two halves
  kSearch,     // as many needles as the haystack has keys
  kExpand,     // u32 values, each three times on average, so that as many bytes return as were sent
};

struct InlineWork {
  std::string type, distribution;  // of a row
  std::string method;
  grpc::ByteBuffer request;
  int stats_field = 0;                                  // the response's field of RequestStats
  const google::protobuf::Message* response = nullptr;  // an instance of the response type
  std::vector<std::string> results;                     // the arrays of the right answer, by std::
};

/// Work on `keys` uniform keys: the sum of a merge's inputs, or the haystack of a search.
InlineWork MakeInlineWork(InlineOperator op, int64_t keys, uint64_t seed = 1);

/// Whether the arrays of an answer are right. Copies none of them. Thread-safe.
bool IsAnswer(const InlineWork& work, const grpc::ByteBuffer& answer);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_INLINE_WORK_H_
