// Arguments and results of the operators.
//
// A Request names every argument of an operator and holds views of arrays of any type. Options hold the arguments that
// the typed calls of client.h take beside the arrays. Spans and views borrow: the caller keeps the arrays unchanged
// until the call returns. Results own their arrays. proto/corank/v1/operators.proto specifies each operator, its
// limits and its errors.
#ifndef CORANK_OPERATORS_H_
#define CORANK_OPERATORS_H_

#include <atomic>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "corank/element.h"
#include "corank/types.h"

namespace corank::client {

class Cancellation;

/// Which of the waiting requests the server takes first.
enum class Priority : uint8_t { kLow, kNormal, kHigh };

/// How the arrays of a call travel.
enum class Place : uint8_t {
  kAuto,          // the client chooses by size and host: see "How arrays travel" in client.h
  kInline,        // in one message each way
  kStream,        // in chunks of a stream
  kSharedMemory,  // through a region of shared memory that the client makes for the call
};

/// The progress of a call. Other threads may read it while the call runs.
struct TransferProgress {
  std::atomic<int64_t> bytes_to_send{0};
  std::atomic<int64_t> bytes_sent{0};
  std::atomic<int64_t> bytes_to_receive{0};  // 0 while the client does not know the size of the results
  std::atomic<int64_t> bytes_received{0};
  std::atomic<int32_t> attempt{1};      // the current or next attempt, from 1; each resets the counters
  std::atomic<bool> is_waiting{false};  // the client waits before that attempt
};

/// Options of one call.
struct CallOptions {
  /// The time that the call may take, retries included. Zero or less: the call fails immediately; infinite: no limit.
  /// Unset: ClientOptions::deadline.
  std::optional<absl::Duration> deadline;
  /// Which requests the server takes first when some wait.
  Priority priority = Priority::kNormal;
  /// At most 128 printable ASCII characters. RequestStats and the server's log show it. Empty: the server makes one.
  std::string request_id;
  /// The W3C traceparent of the caller's span, "00-<trace>-<span>-<flags>". The server's log names the trace. Empty:
  /// ClientOptions::traceparent.
  std::string traceparent;
  /// How arrays travel that lie neither in a registered region nor on the server. kAuto: as ClientOptions::place says.
  Place place = Place::kAuto;
  /// Connections for streamed arrays, 1 to 64. Unset: ClientOptions::connections.
  std::optional<int> connections;
  /// Ends the call from another thread; see cancellation.h. Borrowed; must outlive the call.
  Cancellation* cancellation = nullptr;
  /// Where the call counts its bytes. Borrowed; must outlive the call.
  TransferProgress* progress = nullptr;
};

/// The health of a service of the server.
enum class Health : uint8_t {
  kServing,     // it takes requests
  kNotServing,  // it takes no requests
  kUnknown,     // the server has no service of this name
};

/// What a call cost. Times are in nanoseconds. Unless the call streams, the stages queue, copy_in, kernel and copy_out
/// follow each other, so their sum is the time inside the server.
struct RequestStats {
  std::string engine;            // "cuda" or "cpu"
  std::string device;            // the name of the device
  int32_t device_ordinal = 0;    // its number in ServerInfo::devices
  int32_t devices = 0;           // that did parts of the work, that one included
  std::string request_id;        // the caller's, or the one that the server made
  int64_t queue_ns = 0;          // from the arrival of the request to the start of its work
  int64_t copy_in_ns = 0;        // host memory to device; 0 on the CPU engine
  int64_t kernel_ns = 0;         // the work itself
  int64_t copy_out_ns = 0;       // device to host memory; 0 on the CPU engine
  int64_t workspace_bytes = 0;   // device memory beyond inputs and outputs
  int32_t batch_size = 0;        // requests that went to the device together
  int32_t runs = 0;              // sorted runs that a sort in pieces merged at its end; otherwise 0
  bool out_of_core = false;      // some arrays stayed in host memory because they exceed the device's share
  int64_t receive_ns = 0;        // of a stream: from the first to the last input chunk at the server
  int64_t send_ns = 0;           // of a stream: from the first to the last result chunk at the server
  int64_t round_trip_ns = 0;     // at the client, for the attempt that succeeded: transfers and server
  int32_t attempts = 1;          // attempts, refused ones included
  Place place = Place::kInline;  // how the arrays travelled; never kAuto
  int32_t connections = 1;       // connections that the arrays used
};

/// Where a result goes. By default, into memory that the result owns.
struct Output {
  /// The caller's memory for the whole result. Borrowed until the call returns; it may overlap inputs of the call. The
  /// server writes there directly if it lies in a registered region (Client::Register).
  absl::Span<char> memory;
  /// The name under which the server stores the result. A successful call replaces an array of that name.
  std::string stored;
  /// The server keeps the stored result only until the end of the chain (chain.h).
  bool temporary = false;
  /// The server divides the stored result among its GPUs (Client::StoreSharded).
  bool sharded = false;
};

/// An Output into a contiguous range of trivially copyable elements.
template <typename Range>
Output Into(Range& range) {
  return {absl::MakeSpan(reinterpret_cast<char*>(std::data(range)), std::size(range) * sizeof(*std::data(range))), "",
          false};
}

/// How to sort.
struct SortOptions {
  Order order = Order::kAscending;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  /// Sorts each segment on its own: segment s is [offsets[s], offsets[s + 1]). The first offset is 0, the last the
  /// number of keys.
  std::optional<absl::Span<const int64_t>> segment_offsets;
  /// Returns only the first `limit` results in sorted order. With segments, returns the first `limit` results of each
  /// segment, one segment after the other; LimitedSegments returns their offsets.
  std::optional<int64_t> limit;
  /// Leaves out the first `offset` results, 0 or more, before the limit counts. Not together with segments.
  int64_t offset = 0;
};

/// The segments of the result of a sort with these segments and this limit: the results of segment s are
/// [result[s], result[s + 1]).
std::vector<int64_t> LimitedSegments(absl::Span<const int64_t> segment_offsets, int64_t limit);

/// What a sort returns. kIndices is the stable permutation: keys[indices[i]] is the key at position i of the order.
/// kRanks, of a sort of columns, is the dense rank of each row of the input, from 1. Ranks can be the keys of joins,
/// groups, merges and searches in place of several columns.
enum class SortOutput : uint8_t { kKeys, kIndices, kKeysAndIndices, kRanks };

constexpr bool HasKeys(SortOutput output) {
  return output == SortOutput::kKeys || output == SortOutput::kKeysAndIndices;
}
constexpr bool HasIndices(SortOutput output) {
  return output == SortOutput::kIndices || output == SortOutput::kKeysAndIndices;
}

/// Sorts keys. Stable.
struct SortRequest : SortOptions {
  ArrayView keys;
  /// One value for each key. Not together with an output of indices.
  std::optional<ArrayView> values;
  SortOutput output = SortOutput::kKeys;
  Output keys_output = {}, values_output = {}, indices_output = {};
};

/// How to merge.
struct MergeOptions {
  Order order = Order::kAscending;
  MergeAlgorithm algorithm = MergeAlgorithm::kAuto;
  /// Skips the check that the inputs are sorted. If they are not, the result is a permutation in no particular order.
  bool assume_sorted = false;
};

/// Merges sorted inputs. Equal keys of an earlier input come first.
struct MergeRequest : MergeOptions {
  std::vector<ArrayView> keys;    // 2 to 1024 inputs of one type, each sorted in `order`
  std::vector<ArrayView> values;  // empty, or one array for each input, with one value for each key
  Output keys_output = {}, values_output = {};
};

/// Repeats values[i] counts[i] times, for each i.
struct ExpandRequest {
  ArrayView values;
  absl::Span<const int64_t> counts;
  Output output = {};
};

/// The destination before a move or scatter: this many elements that are zero, or a copy of an array.
using InitialDestination = std::variant<int64_t, ArrayView>;

/// Copies counts[i] elements from source[source_offsets[i]] to destination[destination_offsets[i]], for each i.
struct MoveRequest {
  ArrayView source;
  absl::Span<const int64_t> source_offsets;
  absl::Span<const int64_t> destination_offsets;
  absl::Span<const int64_t> counts;
  InitialDestination destination;
  /// Skips the check that destination intervals are disjoint. Where they overlap, each byte comes from one of the
  /// intervals.
  bool allow_overlap = false;
  Output output = {};
};

/// Concatenates the intervals of counts[i] elements from source[source_offsets[i]] on.
struct GatherRequest {
  ArrayView source;
  absl::Span<const int64_t> source_offsets;
  absl::Span<const int64_t> counts;
  Output output = {};
};

/// Cuts the source into intervals of counts[i] elements and copies each to destination[destination_offsets[i]].
struct ScatterRequest {
  ArrayView source;
  absl::Span<const int64_t> destination_offsets;
  absl::Span<const int64_t> counts;
  InitialDestination destination;
  bool allow_overlap = false;  // as in MoveRequest
  Output output = {};
};

/// Maps each work item to its object and its rank there. Object i makes counts[i] items.
struct LoadBalanceRequest {
  absl::Span<const int64_t> counts;
  Output objects_output = {}, ranks_output = {};
};

/// How to search.
struct SearchOptions {
  Order order = Order::kAscending;
  /// kLower: the first position whose key does not come before the needle; kUpper: the first whose key comes after it.
  SearchBound bound = SearchBound::kLower;
  /// Skips the check that the haystack is sorted.
  bool assume_sorted = false;
};

/// Finds the position of each needle in a haystack that is sorted in `order`.
struct SearchRequest : SearchOptions {
  ArrayView haystack;
  ArrayView needles;
  Output output = {};
};

/// The answer to a SortRequest. Arrays that the request did not ask for are unset. Indices are UINT32 or UINT64, as the
/// server chose; ToIndices (element.h) reads both.
struct RawSortResult {
  std::optional<Array> keys;
  std::optional<Array> values;
  std::optional<Array> indices;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;  // the algorithm that the server used
  RequestStats stats;
};

/// The answer to a MergeRequest.
struct RawMergeResult {
  Array keys;
  std::optional<Array> values;
  MergeAlgorithm algorithm = MergeAlgorithm::kAuto;  // the algorithm that the server used
  RequestStats stats;
};

/// The answer to a request with one result.
struct RawResult {
  Array array;
  RequestStats stats;
};

/// The answer to a LoadBalanceRequest. Both arrays are UINT32 or UINT64.
struct RawLoadBalanceResult {
  Array objects;
  Array ranks;
  RequestStats stats;
};

/// The type of values that a call does not have.
struct NoValues {};

/// The answer to the typed sorts.
template <typename Key, typename Value = NoValues>
struct SortResult {
  std::vector<Key> keys;
  std::vector<Value> values;  // empty with NoValues
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  RequestStats stats;
};

/// The answer to the typed merges.
template <typename Key, typename Value = NoValues>
struct MergeResult {
  std::vector<Key> keys;
  std::vector<Value> values;  // empty with NoValues
  MergeAlgorithm algorithm = MergeAlgorithm::kAuto;
  RequestStats stats;
};

/// The answer to the typed ExpandIntervals, MoveIntervals, GatherIntervals and ScatterIntervals.
template <typename T>
struct ElementsResult {
  std::vector<T> elements;
  RequestStats stats;
};

/// The answer to Argsort and to the typed Search.
struct IndicesResult {
  std::vector<int64_t> indices;
  RequestStats stats;
};

/// The answer to the typed LoadBalance: for each work item its object, and its rank within that object.
struct LoadBalanceResult {
  std::vector<int64_t> objects;
  std::vector<int64_t> ranks;
  RequestStats stats;
};

/// One setting of the server's configuration.
struct ServerSetting {
  std::string group;          // such as "queue"
  std::string name;           // such as "max-queued-bytes"
  std::string value;          // empty if `hidden`
  std::string default_value;  // the value where nothing sets it
  std::string source;         // "default", "file", "environment" or "flag"
  bool hidden = false;        // the server does not show the value to callers
};

/// A device of the server.
struct ServerDevice {
  int32_t ordinal = 0;       // names the device in responses, metrics, health services and logs
  std::string name;          // as the driver or the operating system gives it
  std::string uuid;          // of a GPU; callers register CUDA IPC memory of this GPU
  int64_t memory_bytes = 0;  // its memory
  bool up = false;           // it takes work
};

/// What a server is, and its limits. Sizes are in bytes.
struct ServerInfo {
  std::string version;
  std::string engine;               // "cuda" or "cpu"
  std::string device;               // the first device
  std::string engine_reason;        // why the server chose this engine
  int64_t device_memory_bytes = 0;  // the memory of the first device
  int32_t lanes = 0;                // requests that run concurrently on each device
  int64_t max_request_bytes = 0;
  int64_t max_response_bytes = 0;
  int32_t max_queued_requests = 0;
  int64_t max_queued_bytes = 0;
  int64_t max_chunk_bytes = 0;
  int32_t max_merge_inputs = 0;
  int32_t max_parts = 0;                            // connections of one streamed call
  int64_t stream_window_bytes = 0;                  // host memory that buffers the chunks of one stream
  int64_t max_device_bytes = 0;                     // device memory for the arrays of one request
  std::vector<std::string> places;                  // "inline", "stream", "shared_memory", "cuda_ipc", "stored"
  std::vector<std::string> shared_memory_prefixes;  // prefixes of the keys that callers may register
  std::string device_uuid;                          // of the first device, if it is a GPU
  std::vector<ServerDevice> devices;                // ordered by ordinal
  absl::Duration uptime;
  std::vector<ServerSetting> settings;  // the effective configuration, ordered by group
};

}  // namespace corank::client

#endif  // CORANK_OPERATORS_H_
