// A plain, stable Sort for the puppet: UINT32 keys with values of any type, or indices.
#ifndef CORANK_TESTS_CLIENT_PUPPET_SORT_H_
#define CORANK_TESTS_CLIENT_PUPPET_SORT_H_

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "tests/client/puppet_arrays.h"
#include "tests/client/puppet_service.h"

namespace corank::client {

template <typename T>
std::vector<T> FromBytes(const std::string& bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(T));
  return elements;
}

template <typename T>
std::string ToBytes(const std::vector<T>& elements) {
  return std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
}

inline std::vector<uint32_t> StableOrder(const std::vector<uint32_t>& keys) {
  std::vector<uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&keys](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
  return order;
}

/// Elements of `width` bytes each in this order.
inline std::string Gathered(const std::string& bytes, size_t width, const std::vector<uint32_t>& order) {
  std::string gathered;
  for (const uint32_t i : order) gathered.append(bytes, i * width, width);
  return gathered;
}

inline grpc::Status StandInSort(grpc::ServerContext*, const v1::SortRequest& request, v1::SortResponse* response) {
  std::vector<uint32_t> order = StableOrder(FromBytes<uint32_t>(request.keys().inline_data()));
  if (request.has_limit()) order.resize(std::min<size_t>(order.size(), static_cast<size_t>(request.limit())));
  const auto count = static_cast<int64_t>(order.size());
  if (request.output() != v1::SORT_OUTPUT_INDICES) {
    response->mutable_keys()->set_type(v1::ELEMENT_TYPE_UINT32);
    response->mutable_keys()->set_count(count);
    response->mutable_keys()->set_inline_data(Gathered(request.keys().inline_data(), sizeof(uint32_t), order));
  }
  if (request.has_values()) {
    *response->mutable_values() = request.values();
    response->mutable_values()->set_count(count);
    response->mutable_values()->set_inline_data(
        Gathered(request.values().inline_data(), static_cast<size_t>(ElementBytes(request.values())), order));
  }
  if (request.output() != v1::SORT_OUTPUT_KEYS) {
    response->mutable_indices()->set_type(v1::ELEMENT_TYPE_UINT32);
    response->mutable_indices()->set_count(count);
    response->mutable_indices()->set_inline_data(ToBytes(order));
  }
  response->mutable_stats()->set_engine(v1::ENGINE_CPU);
  return grpc::Status::OK;
}

/// The description of a server that has every place.
inline v1::GetServerInfoResponse InfoOfAllPlaces() {
  v1::GetServerInfoResponse info;
  info.mutable_limits()->set_max_request_bytes(int64_t{1} << 20);
  info.mutable_limits()->set_max_response_bytes(int64_t{1} << 20);
  info.mutable_limits()->set_max_chunk_bytes(4096);
  info.mutable_limits()->set_max_parts(8);
  for (const char* place : {"inline", "stream", "shared_memory", "stored"}) info.add_places(place);
  info.add_shared_memory_prefixes("/corank-puppet-");
  return info;
}

}  // namespace corank::client

#endif  // CORANK_TESTS_CLIENT_PUPPET_SORT_H_
