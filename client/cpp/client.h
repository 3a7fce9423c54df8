// corank's C++ client: sort, merge and move arrays on a corank server.
//
//   corank::client::ClientOptions options;
//   options.address = "127.0.0.1:50051";
//   absl::StatusOr<corank::Client> client = corank::Client::Create(options);
//   std::vector<float> keys = ...;
//   auto sorted = client->Sort(keys);           // StatusOr<SortResult<float>>
//   if (sorted.ok()) Use(sorted->keys, sorted->stats.kernel_ns);
//
// Two forms of every operator. The typed calls take any contiguous range (std::vector, absl::Span, std::array) of the
// 12 key types, for values also of any trivially copyable record of at most 256 bytes, and return vectors. The calls
// that take a Request (operators.h) name every argument, hold types that are known only at run time, and return Arrays.
//
// Memory: a call copies its arrays into one message, and the answer out of one. A message, and with it all arrays of a
// call together, has at most ClientOptions::max_message_bytes here and ServerInfo::max_request_bytes there.
//
// Threading: a Client is thread-safe; calls run at the same time over one connection and may finish in any order.
//
// Errors: the codes of proto/corank/v1/corank_service.proto. INVALID_ARGUMENT names the field (ViolatedField in
// errors.h). UNAVAILABLE without RetryInfo: no server answered at this address. A call that failed has changed nothing.
#ifndef CORANK_CLIENT_CPP_CLIENT_H_
#define CORANK_CLIENT_CPP_CLIENT_H_

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/cpp/columns.h"
#include "client/cpp/element.h"
#include "client/cpp/operators.h"
#include "client/cpp/retry.h"

namespace corank::client {

struct ClientOptions {
  /// host:port, or any other gRPC target such as unix:/run/corank.sock.
  std::string address = "127.0.0.1:50051";
  /// Time that a call may take, retries included, where CallOptions does not say.
  absl::Duration deadline = absl::Minutes(5);
  /// Largest request and response, 1 byte to 2 GiB - 1 (the most that gRPC carries in one message).
  int64_t max_message_bytes = std::numeric_limits<int32_t>::max();
  /// What is done about refused calls.
  RetryOptions retry;
};

/// A connection to one server. Move-only; a moved-from Client may only be destroyed or assigned to.
class Client {
 public:
  /// Returns at once: the connection is made by the first call. INVALID_ARGUMENT if an option is out of range.
  static absl::StatusOr<Client> Create(const ClientOptions& options = {});

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // With every argument by name, for types known at run time.

  absl::StatusOr<RawSortResult> Sort(const SortRequest& request, const CallOptions& call = {}) const;
  absl::StatusOr<ColumnSortResult> SortColumns(const ColumnSortRequest& request, const CallOptions& call = {}) const;
  absl::StatusOr<RawMergeResult> Merge(const MergeRequest& request, const CallOptions& call = {}) const;
  absl::StatusOr<RawResult> ExpandIntervals(const ExpandRequest& request, const CallOptions& call = {}) const;
  absl::StatusOr<RawResult> MoveIntervals(const MoveRequest& request, const CallOptions& call = {}) const;
  absl::StatusOr<RawResult> GatherIntervals(const GatherRequest& request, const CallOptions& call = {}) const;
  absl::StatusOr<RawResult> ScatterIntervals(const ScatterRequest& request, const CallOptions& call = {}) const;
  absl::StatusOr<RawLoadBalanceResult> LoadBalance(const LoadBalanceRequest& request,
                                                   const CallOptions& call = {}) const;
  absl::StatusOr<RawResult> Search(const SearchRequest& request, const CallOptions& call = {}) const;
  absl::StatusOr<ServerInfo> GetServerInfo(const CallOptions& call = {}) const;

  // Typed. Key, T and Value are deduced from the ranges.

  /// The keys in order. Stable.
  template <typename Keys, typename Key = internal::KeyOf<Keys>>
  absl::StatusOr<SortResult<Key>> Sort(const Keys& keys, const SortOptions& options = {},
                                       const CallOptions& call = {}) const;

  /// The keys in order and the values in the order of their keys: values[i] belongs to keys[i]. Stable.
  template <typename Keys, typename Values, typename Key = internal::KeyOf<Keys>,
            typename Value = internal::ElementOf<Values>>
  absl::StatusOr<SortResult<Key, Value>> SortWithValues(const Keys& keys, const Values& values,
                                                        const SortOptions& options = {},
                                                        const CallOptions& call = {}) const;

  /// The stable permutation: indices[i] is the position in `keys` of the key at position i of the order.
  template <typename Keys, typename Key = internal::KeyOf<Keys>>
  absl::StatusOr<IndicesResult> Argsort(const Keys& keys, const SortOptions& options = {},
                                        const CallOptions& call = {}) const;

  /// All keys of 2 to 1024 sorted inputs in order; equal keys are taken from the earlier input first.
  template <typename Inputs, typename Key = internal::KeyOf<internal::ElementOf<Inputs>>>
  absl::StatusOr<MergeResult<Key>> Merge(const Inputs& inputs, const MergeOptions& options = {},
                                         const CallOptions& call = {}) const;

  /// The same with values: values[i] has one value for each key of keys[i].
  template <typename Inputs, typename Values, typename Key = internal::KeyOf<internal::ElementOf<Inputs>>,
            typename Value = internal::ElementOf<internal::ElementOf<Values>>>
  absl::StatusOr<MergeResult<Key, Value>> MergeWithValues(const Inputs& keys, const Values& values,
                                                          const MergeOptions& options = {},
                                                          const CallOptions& call = {}) const;

  /// values[i], counts[i] times, for every i.
  template <typename Values, typename T = internal::ElementOf<Values>>
  absl::StatusOr<ElementsResult<T>> ExpandIntervals(const Values& values, absl::Span<const int64_t> counts,
                                                    const CallOptions& call = {}) const;

  /// `destination` after counts[i] elements went from source_offsets[i] of `source` to destination_offsets[i] of it,
  /// for every i. `destination` is a number of elements, all zero, or a range of the source's type, which is not
  /// changed.
  template <typename Source, typename Destination, typename T = internal::ElementOf<Source>>
  absl::StatusOr<ElementsResult<T>> MoveIntervals(const Source& source, absl::Span<const int64_t> source_offsets,
                                                  absl::Span<const int64_t> destination_offsets,
                                                  absl::Span<const int64_t> counts, const Destination& destination,
                                                  const CallOptions& call = {}) const;

  /// counts[i] elements from source_offsets[i] on, for every i, one after the other.
  template <typename Source, typename T = internal::ElementOf<Source>>
  absl::StatusOr<ElementsResult<T>> GatherIntervals(const Source& source, absl::Span<const int64_t> source_offsets,
                                                    absl::Span<const int64_t> counts,
                                                    const CallOptions& call = {}) const;

  /// `destination`, as in MoveIntervals, after the source, cut into intervals of counts[i] elements, went to
  /// destination_offsets[i] of it.
  template <typename Source, typename Destination, typename T = internal::ElementOf<Source>>
  absl::StatusOr<ElementsResult<T>> ScatterIntervals(const Source& source,
                                                     absl::Span<const int64_t> destination_offsets,
                                                     absl::Span<const int64_t> counts, const Destination& destination,
                                                     const CallOptions& call = {}) const;

  /// For each work item the object that made it and its rank there; object i makes counts[i] items.
  absl::StatusOr<LoadBalanceResult> LoadBalance(absl::Span<const int64_t> counts, const CallOptions& call = {}) const;

  /// Where each needle belongs in the sorted haystack.
  template <typename Haystack, typename Needles, typename Key = internal::KeyOf<Haystack>>
  absl::StatusOr<IndicesResult> Search(const Haystack& haystack, const Needles& needles,
                                       const SearchOptions& options = {}, const CallOptions& call = {}) const;

 private:
  class Connection;
  explicit Client(std::unique_ptr<Connection> connection);

  template <typename Key, typename Value, typename Result, typename Raw>
  static absl::StatusOr<Result> TypedKeys(absl::StatusOr<Raw> raw);
  template <typename Key, typename Value, typename Result>
  static absl::Status FillKeys(const Array* keys, const Array* values, Result* result);
  static const Array* Pointer(const std::optional<Array>& array) { return array.has_value() ? &*array : nullptr; }
  static const Array* Pointer(const Array& array) { return &array; }
  template <typename T>
  static absl::StatusOr<ElementsResult<T>> TypedElements(absl::StatusOr<RawResult> raw);
  static absl::StatusOr<IndicesResult> TypedIndices(const Array& indices, RequestStats stats);
  template <typename Destination>
  static InitialDestination Initial(const Destination& destination);

  std::unique_ptr<Connection> connection_;
};

}  // namespace corank::client

namespace corank {
using client::Client;
}  // namespace corank

#include "client/cpp/client_typed.h"  // IWYU pragma: export

#endif  // CORANK_CLIENT_CPP_CLIENT_H_
