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
// Places. Small arrays travel in one message each way; larger ones (ClientOptions::stream_bytes of them in a call, or
// more than the server takes in a message) as a stream of chunks, over several connections from 256 MiB on; to a server
// on the same host that takes shared memory, all but small ones (512 KiB) through regions that the client makes and
// keeps for later calls.
// CallOptions::place says otherwise. Arrays that lie in a region of the caller's own (Register) are not copied, but for
// counts and offsets, nor are those that the server keeps (Store).
//
// Memory: beside the caller's arrays and the results, a call holds its message, or of a stream two chunks for each
// direction and connection and what gRPC has on its way (some MiB), or a region as large as arrays and results
// together.
//
// Threading: a Client is thread-safe; calls run at the same time and may finish in any order.
//
// Errors: the codes of proto/corank/v1/corank_service.proto. INVALID_ARGUMENT names the field (ViolatedField in
// errors.h). UNAVAILABLE without RetryInfo: the server was not reached, or the connection broke. A call that failed has
// changed nothing, but for the bytes of an Output in the caller's memory; one whose connection broke may have been
// done. What a busy or absent server did not do is tried again within the deadline, where that can do no harm:
// README.md has the table, ClientOptions::retry the limits. Messages say how often a call was tried, and name its
// request and trace.
#ifndef CORANK_CLIENT_CPP_CLIENT_H_
#define CORANK_CLIENT_CPP_CLIENT_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/cpp/cancellation.h"
#include "client/cpp/chain.h"
#include "client/cpp/client_options.h"
#include "client/cpp/columns.h"
#include "client/cpp/element.h"
#include "client/cpp/memory.h"
#include "client/cpp/operators.h"
#include "client/cpp/result_buffer.h"
#include "client/cpp/retry.h"
#include "client/cpp/shared_memory.h"

namespace corank::client {

class Runner;

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
  /// A chain of 1 to 16 operators, one after the other, in one call; see chain.h. Always a stream.
  absl::StatusOr<std::vector<OperatorResult>> Run(const std::vector<AnyRequest>& operators,
                                                  const CallOptions& call = {}) const;
  absl::StatusOr<ServerInfo> GetServerInfo(const CallOptions& call = {}) const;
  /// What the server says of one of its services: "ready" (it takes requests), "live" (the process answers), or a
  /// device such as "engine.cuda.0".
  absl::StatusOr<Health> CheckHealth(const std::string& service, const CallOptions& call = {}) const;
  /// Waits until the service is kServing, also for a server that is not there yet. At the deadline: what it was last,
  /// or why the server could not be asked. What time does not mend, such as a certificate that is not trusted, is
  /// returned at once.
  absl::StatusOr<Health> AwaitHealth(const std::string& service, const CallOptions& call = {}) const;

  // Memory that outlives calls. UNIMPLEMENTED where the server has it switched off.

  /// Lets the server map the memory, and returns the region's name. From then on every array of a call that lies in it
  /// is read there, and every Output in it written there, without a copy; two calls at the same time must not use the
  /// same bytes unless both only read. It ends with Unregister, with this Client, or with this process; until then the
  /// memory stays mapped here, also when `memory` goes. Its key may be unlinked now. Where the server forgets it,
  /// because it was started anew or could not be reached, a call that is on its way then fails with NOT_FOUND or
  /// UNAVAILABLE; later ones send and receive these bytes like any others, until they are registered again.
  absl::StatusOr<std::string> Register(const SharedMemory& memory, const CallOptions& call = {}) const;
  /// NOT_FOUND if there is no such region, FAILED_PRECONDITION while a call uses it.
  absl::Status Unregister(const std::string& region, const CallOptions& call = {}) const;
  absl::StatusOr<std::vector<RegionInfo>> ListRegions(const CallOptions& call = {}) const;

  /// Keeps an array on the server under this name, 1 to 128 characters of [A-Za-z0-9._-]; one of that name is replaced.
  /// It is forgotten when it is not used for `expiry`; zero: for as long as the server has it.
  absl::StatusOr<StoredArray> Store(const std::string& name, const ArrayView& array,
                                    absl::Duration expiry = absl::ZeroDuration(), const CallOptions& call = {}) const;
  absl::StatusOr<Array> Fetch(const std::string& name, const CallOptions& call = {}) const;
  absl::StatusOr<StoredArrays> ListArrays(const CallOptions& call = {}) const;
  absl::Status DeleteArray(const std::string& name, const CallOptions& call = {}) const;

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

  /// Sort into memory of the caller's, as many elements as there are keys (or options.limit).
  template <typename Keys, typename Key = internal::KeyOf<Keys>>
  absl::StatusOr<RequestStats> SortInto(const Keys& keys, absl::Span<Key> sorted, const SortOptions& options = {},
                                        const CallOptions& call = {}) const;

  /// All keys of 2 to 1024 sorted inputs in order; equal keys are taken from the earlier input first.
  template <typename Inputs, typename Key = internal::KeyOf<internal::ElementOf<Inputs>>>
  absl::StatusOr<MergeResult<Key>> Merge(const Inputs& inputs, const MergeOptions& options = {},
                                         const CallOptions& call = {}) const;

  /// Merge into memory of the caller's, as many elements as there are keys.
  template <typename Inputs, typename Key = internal::KeyOf<internal::ElementOf<Inputs>>>
  absl::StatusOr<RequestStats> MergeInto(const Inputs& inputs, absl::Span<Key> merged, const MergeOptions& options = {},
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
  /// What a call gave besides its arrays.
  struct Outcome {
    SortAlgorithm sort_algorithm = SortAlgorithm::kAuto;
    MergeAlgorithm merge_algorithm = MergeAlgorithm::kAuto;
    RequestStats stats;
  };

  explicit Client(std::unique_ptr<Runner> runner);

  /// Runs any Request of operators.h or columns.h; one buffer for each result (job.h).
  template <typename Request>
  absl::StatusOr<Outcome> RunInto(const Request& request, const CallOptions& call,
                                  const std::vector<ResultBuffer*>& buffers) const;
  template <typename Request>
  absl::StatusOr<RawResult> RunRaw(const Request& request, const CallOptions& call) const;
  template <typename T, typename Request>
  absl::StatusOr<ElementsResult<T>> RunElements(const Request& request, const CallOptions& call) const;
  static absl::StatusOr<IndicesResult> TypedIndices(const Array& indices, RequestStats stats);
  template <typename Destination>
  static InitialDestination Initial(const Destination& destination);

  std::unique_ptr<Runner> runner_;
};

}  // namespace corank::client

namespace corank {
using client::Client;
}  // namespace corank

#include "client/cpp/client_typed.h"  // IWYU pragma: export

#endif  // CORANK_CLIENT_CPP_CLIENT_H_
