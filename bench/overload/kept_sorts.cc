#include "bench/overload/kept_sorts.h"

#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/service/closed_loop.h"
#include "bench/service/inline_work.h"
#include "corank/v1/corank_service.pb.h"
#include "corank/v1/memory_service.grpc.pb.h"

namespace corank::bench {
namespace {

constexpr int64_t kAnswerKeys = 16;
constexpr int64_t kChunkKeys = 1 << 17;

std::vector<uint64_t> RandomKeys(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> keys(static_cast<size_t>(count));
  std::generate(keys.begin(), keys.end(), [&random] { return random(); });
  return keys;
}

std::string Bytes(const uint64_t* keys, int64_t count) {
  return {reinterpret_cast<const char*>(keys), static_cast<size_t>(count) * sizeof(uint64_t)};
}

absl::Status Keep(v1::MemoryService::Stub& stub, const std::string& name, const std::vector<uint64_t>& keys) {
  const auto count = static_cast<int64_t>(keys.size());
  grpc::ClientContext context;
  v1::StoreArrayResponse response;
  const auto writer = stub.StoreArray(&context, &response);
  v1::StoreArrayRequest message;
  message.mutable_header()->set_name(name);
  v1::Array* const array = message.mutable_header()->mutable_array();
  array->set_type(v1::ELEMENT_TYPE_UINT64);
  array->set_count(count);
  array->mutable_stream()->set_stream_id(0);
  bool open = writer->Write(message);
  for (int64_t first = 0; open && first < count; first += kChunkKeys) {
    v1::ArrayChunk* const chunk = message.mutable_chunk();
    chunk->set_first_element(first);
    chunk->set_data(Bytes(&keys[static_cast<size_t>(first)], std::min(kChunkKeys, count - first)));
    open = writer->Write(message);
  }
  writer->WritesDone();
  return FromGrpc(writer->Finish());
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
    if (absl::Status kept = Keep(*stub, name, array); !kept.ok()) return kept;
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
