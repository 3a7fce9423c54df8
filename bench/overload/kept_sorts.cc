#include "bench/overload/kept_sorts.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/service/closed_loop.h"
#include "bench/service/inline_work.h"
#include "bench/service/kept_array.h"
#include "corank/v1/corank_service.pb.h"
#include "corank/v1/memory_service.grpc.pb.h"

namespace corank::bench {
namespace {

constexpr int64_t kAnswerKeys = 16;

std::vector<uint64_t> RandomKeys(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> keys(static_cast<size_t>(count));
  std::generate(keys.begin(), keys.end(), [&random] { return random(); });
  return keys;
}

std::string Bytes(const uint64_t* keys, int64_t count) {
  return {reinterpret_cast<const char*>(keys), static_cast<size_t>(count) * sizeof(uint64_t)};
}

grpc::ByteBuffer AskFor(const std::string& name, int64_t count) {
  v1::SortRequest request;
  v1::Array* const array = request.mutable_keys();
  array->set_type(v1::ELEMENT_TYPE_UINT64);
  array->set_count(count);
  array->mutable_stored()->set_name(name);
  request.set_limit(kAnswerKeys);
  request.set_algorithm(v1::SORT_ALGORITHM_MERGESORT);
  grpc::ByteBuffer buffer;
  bool owned = false;
  (void)grpc::SerializationTraits<v1::SortRequest>::Serialize(request, &buffer, &owned);
  return buffer;
}

bool HoldsKeys(grpc::ByteBuffer* response, const std::string& expected) {
  v1::SortResponse answer;
  return grpc::SerializationTraits<v1::SortResponse>::Deserialize(response, &answer).ok() &&
         answer.keys().inline_data() == expected;
}

}  // namespace

absl::StatusOr<std::vector<Request>> KeepAndAsk(const std::shared_ptr<grpc::Channel>& channel, int arrays,
                                                int64_t keys) {
  const auto stub = v1::MemoryService::NewStub(channel);
  std::vector<Request> requests;
  for (int i = 0; i < arrays; ++i) {
    const std::string name = absl::StrCat("overload-", i);
    std::vector<uint64_t> array = RandomKeys(keys, static_cast<uint64_t>(i));
    const KeptArray kept{name, v1::ELEMENT_TYPE_UINT64, sizeof(uint64_t)};
    if (absl::Status status = Keep(*stub, kept, array.data(), keys); !status.ok()) return status;
    const int64_t count = std::min(keys, kAnswerKeys);
    std::partial_sort(array.begin(), array.begin() + count, array.end());
    requests.push_back({LightRequest(kSortMethod, AskFor(name, keys)),
                        [expected = Bytes(array.data(), count)](grpc::ByteBuffer* response) {
                          return HoldsKeys(response, expected);
                        }});
  }
  return requests;
}

}  // namespace corank::bench
