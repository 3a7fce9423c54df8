// Arguments and results of the operators, as the client library takes and gives them.
//
// What each operator means, its limits and its errors are in proto/corank/v1/operators.proto. Here, Requests name every
// argument of an operator and hold views of arrays of any type; Options hold the part of them that the typed calls of
// client.h take beside the arrays. Spans and views borrow: what they refer to stays unchanged until the call returns.
// Results own their arrays.
#ifndef CORANK_CLIENT_CPP_OPERATORS_H_
#define CORANK_CLIENT_CPP_OPERATORS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/cpp/element.h"
#include "kernels/common/types.h"

namespace corank::client {

enum class Priority : uint8_t { kLow, kNormal, kHigh };

/// How one call is handled.
struct CallOptions {
  /// The time that the call may take, retries included. Unset: ClientOptions::deadline.
  std::optional<absl::Duration> deadline;
  /// What the server takes first when requests wait.
  Priority priority = Priority::kNormal;
  /// At most 128 printable ASCII characters; comes back in RequestStats and in the server's log. Empty: the server
  /// makes one.
  std::string request_id;
};

/// What a call cost. The server's stages follow each other: their sum is the time inside the server.
struct RequestStats {
  std::string engine;  // "cuda" or "cpu"
  std::string device;
  std::string request_id;
  int64_t queue_ns = 0;
  int64_t copy_in_ns = 0;
  int64_t kernel_ns = 0;
  int64_t copy_out_ns = 0;
  int64_t workspace_bytes = 0;
  int32_t batch_size = 0;     // requests that went to the device together
  int64_t round_trip_ns = 0;  // here, for the attempt that succeeded: transfer and server
  int32_t attempts = 1;       // calls made, refused ones included
};

struct SortOptions {
  Order order = Order::kAscending;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  /// One more than there are segments, from 0 up to the number of keys: each segment is sorted for itself.
  std::optional<absl::Span<const int64_t>> segment_offsets;
  /// Only the first `limit` results of the order. Not together with segments.
  std::optional<int64_t> limit;
};

enum class SortOutput : uint8_t { kKeys, kIndices, kKeysAndIndices };

struct SortRequest : SortOptions {
  ArrayView keys;
  /// One for each key. Not together with an output of indices.
  std::optional<ArrayView> values;
  SortOutput output = SortOutput::kKeys;
};

struct MergeOptions {
  Order order = Order::kAscending;
  MergeAlgorithm algorithm = MergeAlgorithm::kAuto;
  /// The server does not check that the inputs are sorted.
  bool assume_sorted = false;
};

struct MergeRequest : MergeOptions {
  std::vector<ArrayView> keys;    // 2 to 1024, of one type
  std::vector<ArrayView> values;  // none, or one array for each input
};

struct ExpandRequest {
  ArrayView values;
  absl::Span<const int64_t> counts;
};

/// What the destination of a move or scatter holds before the copies: zeros, this many elements, or a copy of an array.
using InitialDestination = std::variant<int64_t, ArrayView>;

struct MoveRequest {
  ArrayView source;
  absl::Span<const int64_t> source_offsets;
  absl::Span<const int64_t> destination_offsets;
  absl::Span<const int64_t> counts;
  InitialDestination destination;
  /// The server does not check that destination intervals are disjoint.
  bool allow_overlap = false;
};

struct GatherRequest {
  ArrayView source;
  absl::Span<const int64_t> source_offsets;
  absl::Span<const int64_t> counts;
};

struct ScatterRequest {
  ArrayView source;
  absl::Span<const int64_t> destination_offsets;
  absl::Span<const int64_t> counts;
  InitialDestination destination;
  bool allow_overlap = false;  // as in MoveRequest
};

struct LoadBalanceRequest {
  absl::Span<const int64_t> counts;
};

struct SearchOptions {
  Order order = Order::kAscending;
  SearchBound bound = SearchBound::kLower;
  /// The server does not check that the haystack is sorted.
  bool assume_sorted = false;
};

struct SearchRequest : SearchOptions {
  ArrayView haystack;
  ArrayView needles;
};

/// Answers to Requests. Index arrays are UINT32 or UINT64, as the server chose: their type says which.
struct RawSortResult {
  std::optional<Array> keys;
  std::optional<Array> values;
  std::optional<Array> indices;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;  // what was taken
  RequestStats stats;
};

struct RawMergeResult {
  Array keys;
  std::optional<Array> values;
  MergeAlgorithm algorithm = MergeAlgorithm::kAuto;  // what was taken
  RequestStats stats;
};

struct RawResult {
  Array array;
  RequestStats stats;
};

struct RawLoadBalanceResult {
  Array objects;
  Array ranks;
  RequestStats stats;
};

/// Stands for the type of values that were not given.
struct NoValues {};

/// Answers to the typed calls.
template <typename Key, typename Value = NoValues>
struct SortResult {
  std::vector<Key> keys;
  std::vector<Value> values;  // empty with NoValues
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  RequestStats stats;
};

template <typename Key, typename Value = NoValues>
struct MergeResult {
  std::vector<Key> keys;
  std::vector<Value> values;  // empty with NoValues
  MergeAlgorithm algorithm = MergeAlgorithm::kAuto;
  RequestStats stats;
};

/// Of ExpandIntervals, MoveIntervals, GatherIntervals and ScatterIntervals.
template <typename T>
struct ElementsResult {
  std::vector<T> elements;
  RequestStats stats;
};

/// Of Argsort and Search.
struct IndicesResult {
  std::vector<int64_t> indices;
  RequestStats stats;
};

struct LoadBalanceResult {
  std::vector<int64_t> objects;
  std::vector<int64_t> ranks;
  RequestStats stats;
};

/// What a server is and what it takes. Sizes in bytes.
struct ServerInfo {
  std::string version;
  std::string engine;  // "cuda" or "cpu"
  std::string device;
  std::string engine_reason;
  int64_t device_memory_bytes = 0;
  int32_t lanes = 0;  // requests that run at the same time
  int64_t max_request_bytes = 0;
  int64_t max_response_bytes = 0;
  int32_t max_queued_requests = 0;
  int64_t max_queued_bytes = 0;
  int64_t max_chunk_bytes = 0;
  int32_t max_merge_inputs = 0;
  std::vector<std::string> places;
  absl::Duration uptime;
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_OPERATORS_H_
