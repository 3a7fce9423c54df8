// Work that travels as streams of chunks, for each operator that service_bench streams.
#ifndef CORANK_BENCH_SERVICE_STREAM_WORK_H_
#define CORANK_BENCH_SERVICE_STREAM_WORK_H_

#include <cstdint>
#include <vector>

#include "corank/v1/corank_service.pb.h"

namespace corank::bench {

enum class StreamOperator {
  kSort,
  kMerge,  // of two halves
  kMove,   // intervals of 1024 on average, with offsets and counts in the plan
};

/// Sends and receives equally many u32; the answer is stream 0.
struct StreamWork {
  v1::Operation operation;
  std::vector<uint32_t> keys;    // of all inputs, one after the other
  std::vector<int64_t> counts;   // of the inputs; their streams are numbered from 0
  std::vector<uint32_t> result;  // the right one, by std::
};

StreamWork MakeStreamWork(StreamOperator op, int64_t keys);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_STREAM_WORK_H_
