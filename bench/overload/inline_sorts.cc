#include "bench/overload/inline_sorts.h"

#include <memory>

#include "bench/service/inline_work.h"

namespace corank::bench {

std::vector<Request> InlineSorts(int arrays, int64_t keys) {
  std::vector<Request> requests;
  for (int i = 0; i < arrays; ++i) {
    const auto work =
        std::make_shared<const InlineWork>(MakeInlineWork(InlineOperator::kSort, keys, static_cast<uint64_t>(i) + 1));
    requests.push_back({LightRequest(kSortMethod, work->request),
                        [work](grpc::ByteBuffer* response) { return IsAnswer(*work, *response); }});
  }
  return requests;
}

}  // namespace corank::bench
