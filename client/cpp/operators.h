// Arguments and results of the operators, as the client library takes and gives them.
//
// What each operator means, its limits and its errors are in proto/corank/v1/operators.proto. Here, Requests name every
// argument of an operator and hold views of arrays of any type; Options hold the part of them that the typed calls of
// client.h take beside the arrays. Spans and views borrow: what they refer to stays unchanged until the call returns.
// Results own their arrays.
#ifndef CORANK_CLIENT_CPP_OPERATORS_H_
#define CORANK_CLIENT_CPP_OPERATORS_H_

#include <atomic>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/cpp/element.h"
#include "kernels/common/types.h"

namespace corank::client {

class Cancellation;

enum class Priority : uint8_t { kLow, kNormal, kHigh };

/// How the arrays of a call travel.
enum class Place : uint8_t {
  kAuto,          // the client chooses by size and host: see "Places" in client.h
  kInline,        // in one message each way
  kStream,        // in chunks of an Execute call
  kSharedMemory,  // through a region of shared memory that the client makes for the call
};

/// How far the arrays of a call have come, for a progress line. Another thread may read it while the call runs.
struct TransferProgress {
  std::atomic<int64_t> bytes_to_send{0};
  std::atomic<int64_t> bytes_sent{0};
  std::atomic<int64_t> bytes_to_receive{0};  // 0: not known before the answer
  std::atomic<int64_t> bytes_received{0};
  std::atomic<int32_t> attempt{1};      // the try that is under way, or next; each begins to count anew
  std::atomic<bool> is_waiting{false};  // for the time of that try
};

/// How one call is handled.
struct CallOptions {
  /// The time that the call may take, retries included: none where it is zero or less, no limit where it is infinite.
  /// Unset: ClientOptions::deadline.
  std::optional<absl::Duration> deadline;
  /// What the server takes first when requests wait.
  Priority priority = Priority::kNormal;
  /// At most 128 printable ASCII characters; comes back in RequestStats and in the server's log. Empty: the server
  /// makes one.
  std::string request_id;
  /// W3C traceparent of the span that makes the call, "00-<trace>-<span>-<flags>": the server's log names the trace.
  /// Empty: ClientOptions::traceparent.
  std::string traceparent;
  /// How arrays travel that lie neither in a registered region nor on the server. kAuto: as ClientOptions::place says.
  Place place = Place::kAuto;
  /// Connections for streamed arrays, 1 to 64. Unset: ClientOptions::connections.
  std::optional<int> connections;
  /// Ends the call from another thread; see cancellation.h. Outlives the call.
  Cancellation* cancellation = nullptr;
  /// Where the call counts its bytes. Outlives the call.
  TransferProgress* progress = nullptr;
};

/// What a server says of one of its services.
enum class Health : uint8_t {
  kServing,
  kNotServing,
  kUnknown,  // it has none of this name
};

/// What a call cost. Of a call that does not stream the server's stages follow each other: their sum is the time inside
/// the server.
struct RequestStats {
  std::string engine;  // "cuda" or "cpu"
  std::string device;
  int32_t device_ordinal = 0;  // of ServerInfo::devices
  std::string request_id;
  int64_t queue_ns = 0;
  int64_t copy_in_ns = 0;
  int64_t kernel_ns = 0;
  int64_t copy_out_ns = 0;
  int64_t workspace_bytes = 0;
  int32_t batch_size = 0;        // requests that went to the device together
  int32_t runs = 0;              // sorted runs that were merged at the end, where a sort worked in pieces
  bool out_of_core = false;      // arrays waited in host memory: see operators.proto
  int64_t receive_ns = 0;        // of a stream, in the server: first to last chunk of the inputs
  int64_t send_ns = 0;           // of a stream, in the server: first to last chunk of the results
  int64_t round_trip_ns = 0;     // here, for the attempt that succeeded: transfer and server
  int32_t attempts = 1;          // calls made, refused ones included
  Place place = Place::kInline;  // how the arrays travelled; never kAuto
  int32_t connections = 1;
};

/// Where a result goes. As made: into memory that the result owns.
struct Output {
  /// Into this memory, which holds the whole result and stays until the call returns; it may share bytes with inputs of
  /// the call. The server writes there itself where it lies in a registered region (Client::Register).
  absl::Span<char> memory;
  /// Kept on the server under this name; an array of that name is replaced once the call succeeds.
  std::string stored;
  /// Kept until the end of the chain only (chain.h).
  bool temporary = false;
};

/// An Output of a contiguous range of trivially copyable elements.
template <typename Range>
Output Into(Range& range) {
  return {absl::MakeSpan(reinterpret_cast<char*>(std::data(range)), std::size(range) * sizeof(*std::data(range))), "",
          false};
}

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
  Output keys_output = {}, values_output = {}, indices_output = {};
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
  Output keys_output = {}, values_output = {};
};

struct ExpandRequest {
  ArrayView values;
  absl::Span<const int64_t> counts;
  Output output = {};
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
  Output output = {};
};

struct GatherRequest {
  ArrayView source;
  absl::Span<const int64_t> source_offsets;
  absl::Span<const int64_t> counts;
  Output output = {};
};

struct ScatterRequest {
  ArrayView source;
  absl::Span<const int64_t> destination_offsets;
  absl::Span<const int64_t> counts;
  InitialDestination destination;
  bool allow_overlap = false;  // as in MoveRequest
  Output output = {};
};

struct LoadBalanceRequest {
  absl::Span<const int64_t> counts;
  Output objects_output = {}, ranks_output = {};
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
  Output output = {};
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

/// One setting of the server's configuration.
struct ServerSetting {
  std::string group;          // such as "queue"
  std::string name;           // such as "max-queued-bytes"
  std::string value;          // empty where hidden
  std::string default_value;  // where nobody sets it
  std::string source;         // "default", "file", "environment" or "flag"
  bool hidden = false;        // callers are not told the value
};

/// A device that does the work of a server.
struct ServerDevice {
  int32_t ordinal = 0;  // by which responses, metrics, health services and logs name it
  std::string name;
  std::string uuid;  // of a GPU: where CUDA IPC memory may be registered
  int64_t memory_bytes = 0;
  bool up = false;  // it takes work
};

/// What a server is and what it takes. Sizes in bytes.
struct ServerInfo {
  std::string version;
  std::string engine;  // "cuda" or "cpu"
  std::string device;  // the first, where there are several, as all of these
  std::string engine_reason;
  int64_t device_memory_bytes = 0;
  int32_t lanes = 0;  // requests that run at the same time on each device
  int64_t max_request_bytes = 0;
  int64_t max_response_bytes = 0;
  int32_t max_queued_requests = 0;
  int64_t max_queued_bytes = 0;
  int64_t max_chunk_bytes = 0;
  int32_t max_merge_inputs = 0;
  int32_t max_parts = 0;            // connections of one streamed job
  int64_t stream_window_bytes = 0;  // host memory in which the chunks of one stream wait
  int64_t max_device_bytes = 0;     // of one request; what works out of core: see corank_service.proto
  std::vector<std::string> places;
  std::vector<std::string> shared_memory_prefixes;  // of the objects that may be registered
  std::string device_uuid;
  std::vector<ServerDevice> devices;  // that share the work, ordered by ordinal
  absl::Duration uptime;
  std::vector<ServerSetting> settings;  // the effective configuration, ordered by group
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_OPERATORS_H_
