// Arrays that a benchmark lets corankd keep.
#ifndef CORANK_BENCH_SERVICE_KEPT_ARRAY_H_
#define CORANK_BENCH_SERVICE_KEPT_ARRAY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "corank/v1/array.pb.h"
#include "corank/v1/memory_service.grpc.pb.h"

namespace corank::bench {

struct KeptArray {
  std::string name;
  v1::ElementType type = v1::ELEMENT_TYPE_UINT32;
  int element_bytes = 4;
  bool sharded = false;
};

/// Stores the elements, whose bytes `data` has.
absl::Status Keep(v1::MemoryService::Stub& stub, const KeptArray& array, const void* data, int64_t count);

/// INTERNAL unless the kept array has these bytes.
absl::Status CheckKept(v1::MemoryService::Stub& stub, const std::string& name, absl::string_view bytes);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_KEPT_ARRAY_H_
