// The C++ client of corank: sorts, merges and moves arrays on a corank server.
//
//   corank::client::ClientOptions options;
//   options.address = "127.0.0.1:50051";
//   absl::StatusOr<corank::Client> client = corank::Client::Create(options);
//   if (!client.ok()) return client.status();
//   std::vector<float> keys = {3, 1, 2};
//   auto sorted = client->Sort(keys);  // absl::StatusOr<SortResult<float>>
//   if (sorted.ok()) Use(sorted->keys);
//
// **Two forms of every operator.** Typed calls take any contiguous range (std::vector, absl::Span, std::array) of one
// of the 12 key types and return vectors. Their values may also be records: any trivially copyable type of at most 256
// bytes. Calls that take a Request (operators.h) name every argument, take types that are known only at run time, and
// return Arrays.
//
// **Shapes and units.** Every array is one-dimensional, dense and little-endian. Counts and offsets are in elements
// unless a name ends in `bytes`.
//
// **How arrays travel.** Small arrays travel in one message each way, large ones as a stream of chunks. To a server on
// the same host that accepts shared memory, arrays of more than 512 KiB go through regions that the client makes and
// reuses. CallOptions::place overrides this choice. Arrays in a region that the caller registered (Register) and
// arrays that the server stores (Store) are not copied; counts and offsets always travel.
//
// **Ownership.** Arguments borrow: the caller keeps them unchanged until the call returns. Results own their memory,
// unless a Request names an Output.
//
// **Memory.** Besides the caller's arrays and the results, a call holds one of these: its message; for a stream, two
// chunks for each direction and connection, plus a few MiB that gRPC buffers; or a region as large as arrays and
// results together.
//
// **Threading.** Client is thread-safe. Calls block, run concurrently and may finish in any order.
//
// **Errors.** Calls return the codes that proto/corank/v1/corank_service.proto lists and throw nothing of their own
// (std::bad_alloc apart). INVALID_ARGUMENT names the argument: ViolatedField in errors.h returns it. UNAVAILABLE means
// that the client could not reach the server or lost the connection. A failed call has stored, replaced and deleted
// nothing on the server, unless the connection was lost or the deadline passed: the work may then have been done. The
// bytes of an Output in the caller's memory may have changed. The client retries within the deadline where a retry does
// no harm; ClientOptions::retry sets the limits. Messages say how often the client tried, and name the request.
#ifndef CORANK_CLIENT_H_
#define CORANK_CLIENT_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "corank/cancellation.h"
#include "corank/chain.h"
#include "corank/client_options.h"
#include "corank/columns.h"
#include "corank/element.h"
#include "corank/errors.h"
#include "corank/groups.h"
#include "corank/insert.h"
#include "corank/internal/result_buffer.h"
#include "corank/join.h"
#include "corank/memory.h"
#include "corank/operators.h"
#include "corank/rank.h"
#include "corank/select.h"
#include "corank/sets.h"
#include "corank/shared_memory.h"

namespace corank::client {

class Runner;

/// A connection to one server. Move-only; a moved-from Client may only be destroyed or assigned to.
class Client {
 public:
  /// Makes a client. Returns immediately, because the first call connects. INVALID_ARGUMENT if an option is out of
  /// range, if the address has no port, or if a certificate or token file cannot be read.
  static absl::StatusOr<Client> Create(const ClientOptions& options = {});

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  /// Ends the regions that this client registered. No call may be running.
  ~Client();

  // Calls with named arguments. operators.h, columns.h, groups.h, sets.h, join.h, select.h, rank.h and
  // chain.h document the requests.

  /// Sorts keys, with values or as indices.
  absl::StatusOr<RawSortResult> Sort(const SortRequest& request, const CallOptions& call = {}) const;
  /// Sorts rows by several columns: numbers, records or strings.
  absl::StatusOr<ColumnSortResult> SortColumns(const ColumnSortRequest& request, const CallOptions& call = {}) const;
  /// Merges sorted inputs.
  absl::StatusOr<RawMergeResult> Merge(const MergeRequest& request, const CallOptions& call = {}) const;
  /// Repeats each value as often as its count says.
  absl::StatusOr<RawResult> ExpandIntervals(const ExpandRequest& request, const CallOptions& call = {}) const;
  /// Copies intervals of a source to intervals of a destination.
  absl::StatusOr<RawResult> MoveIntervals(const MoveRequest& request, const CallOptions& call = {}) const;
  /// Concatenates intervals of a source.
  absl::StatusOr<RawResult> GatherIntervals(const GatherRequest& request, const CallOptions& call = {}) const;
  /// Cuts a source into intervals and copies each to a place in a destination.
  absl::StatusOr<RawResult> ScatterIntervals(const ScatterRequest& request, const CallOptions& call = {}) const;
  /// Maps each work item to the object that made it.
  absl::StatusOr<RawLoadBalanceResult> LoadBalance(const LoadBalanceRequest& request,
                                                   const CallOptions& call = {}) const;
  /// Finds the position of each needle in a sorted haystack.
  absl::StatusOr<RawResult> Search(const SearchRequest& request, const CallOptions& call = {}) const;
  /// Finds where rows belong in a table that is sorted by several columns.
  absl::StatusOr<RawResult> SearchColumns(const ColumnSearchRequest& request, const CallOptions& call = {}) const;
  /// Finds the groups of equal keys, and reduces the values of each.
  absl::StatusOr<RawGroupResult> Group(const GroupRequest& request, const CallOptions& call = {}) const;
  /// Combines two sorted arrays as multisets: union, intersection, difference or symmetric difference.
  absl::StatusOr<RawCombineSetsResult> CombineSets(const CombineSetsRequest& request,
                                                   const CallOptions& call = {}) const;
  /// Finds the rows of two arrays that have equal keys. Without max_rows, calls a second time if the join has more rows
  /// than both sides together.
  absl::StatusOr<RawJoinResult> Join(const JoinRequest& request, const CallOptions& call = {}) const;
  /// Selects elements by flags, bits, positions or a comparison, on request followed by the others.
  absl::StatusOr<RawSelectResult> Select(const SelectRequest& request, const CallOptions& call = {}) const;
  /// Ranks each key.
  absl::StatusOr<RawResult> Rank(const RankRequest& request, const CallOptions& call = {}) const;
  /// Runs a chain of 1 to 16 operators in one call; see chain.h. The arrays always travel as a stream.
  absl::StatusOr<std::vector<OperatorResult>> Run(const std::vector<AnyRequest>& operators,
                                                  const CallOptions& call = {}) const;

  // The server.

  /// What the server is, which devices it has, and its limits.
  absl::StatusOr<ServerInfo> GetServerInfo(const CallOptions& call = {}) const;
  /// The health of a service of the server: "ready" (it takes requests), "live" (the process answers), or a device such
  /// as "engine.cuda.0".
  absl::StatusOr<Health> CheckHealth(const std::string& service, const CallOptions& call = {}) const;
  /// Waits until the service is kServing; the server need not be up yet. At the deadline returns the last health that
  /// the server reported, or the error of the last attempt. Returns an error that waiting cannot mend, such as an
  /// untrusted certificate, immediately.
  absl::StatusOr<Health> AwaitHealth(const std::string& service, const CallOptions& call = {}) const;

  // Memory that outlives calls. UNIMPLEMENTED where the server has it switched off.

  /// Lets the server map the memory, and returns the name of the region. From then on, the server reads every array of
  /// a call that lies in the region, and writes every Output in it, without a copy. Two concurrent calls must not use
  /// the same bytes unless both only read them.
  ///
  /// The region ends with Unregister, with this Client or with this process. Until then the memory stays mapped here,
  /// even if `memory` is destroyed. The caller may unlink the key of `memory` now.
  ///
  /// The server forgets the region if it restarts or loses the connection. A call that then runs fails with NOT_FOUND
  /// or UNAVAILABLE. Later calls send and receive these bytes like any others, until the caller registers them again.
  absl::StatusOr<std::string> Register(const SharedMemory& memory, const CallOptions& call = {}) const;
  /// Ends a region. NOT_FOUND if there is no such region, FAILED_PRECONDITION while a call uses it.
  absl::Status Unregister(const std::string& region, const CallOptions& call = {}) const;
  /// The regions of this caller.
  absl::StatusOr<std::vector<RegionInfo>> ListRegions(const CallOptions& call = {}) const;

  /// Stores an array on the server under a name of 1 to 128 characters of [A-Za-z0-9._-], and replaces an array of that
  /// name. The server deletes the array once nothing has used it for `expiry`; zero: for as long as the server's
  /// configuration says.
  absl::StatusOr<StoredArray> Store(const std::string& name, const ArrayView& array,
                                    absl::Duration expiry = absl::ZeroDuration(), const CallOptions& call = {}) const;
  /// The same for an array that the server divides among its GPUs, so that it may be larger than the memory of one. It
  /// can be fetched, listed and deleted. All GPUs work on a Merge, on a Sort of keys and on operators on
  /// intervals; other operators bring its parts to one GPU, which must have room for them. On N GPUs, a Merge with
  /// sharded arrays takes at most 32 / N arrays.
  absl::StatusOr<StoredArray> StoreSharded(const std::string& name, const ArrayView& array,
                                           absl::Duration expiry = absl::ZeroDuration(),
                                           const CallOptions& call = {}) const;
  /// A copy of a stored array. NOT_FOUND if there is no array of this name.
  absl::StatusOr<Array> Fetch(const std::string& name, const CallOptions& call = {}) const;
  /// The stored arrays of this caller, and their quota.
  absl::StatusOr<StoredArrays> ListArrays(const CallOptions& call = {}) const;
  /// Deletes a stored array. NOT_FOUND if there is no array of this name.
  absl::Status DeleteArray(const std::string& name, const CallOptions& call = {}) const;

  // Typed calls. The compiler deduces Key, Value and T from the ranges.

  /// The keys in order. Stable.
  template <typename Keys, typename Key = internal::KeyOf<Keys>>
  absl::StatusOr<SortResult<Key>> Sort(const Keys& keys, const SortOptions& options = {},
                                       const CallOptions& call = {}) const;

  /// The keys in order, and the values in the order of their keys: values[i] belongs to keys[i]. Stable.
  template <typename Keys, typename Values, typename Key = internal::KeyOf<Keys>,
            typename Value = internal::ElementOf<Values>>
  absl::StatusOr<SortResult<Key, Value>> SortWithValues(const Keys& keys, const Values& values,
                                                        const SortOptions& options = {},
                                                        const CallOptions& call = {}) const;

  /// The stable permutation: keys[indices[i]] is the key at position i of the order.
  template <typename Keys, typename Key = internal::KeyOf<Keys>>
  absl::StatusOr<IndicesResult> Argsort(const Keys& keys, const SortOptions& options = {},
                                        const CallOptions& call = {}) const;

  /// Sorts into the caller's memory. `sorted` has as many elements as `keys`, or options.limit.
  template <typename Keys, typename Key = internal::KeyOf<Keys>>
  absl::StatusOr<RequestStats> SortInto(const Keys& keys, absl::Span<Key> sorted, const SortOptions& options = {},
                                        const CallOptions& call = {}) const;

  /// All keys of 2 to 1024 sorted inputs in order. Equal keys of an earlier input come first.
  template <typename Inputs, typename Key = internal::KeyOf<internal::ElementOf<Inputs>>>
  absl::StatusOr<MergeResult<Key>> Merge(const Inputs& inputs, const MergeOptions& options = {},
                                         const CallOptions& call = {}) const;

  /// Merges into the caller's memory. `merged` has as many elements as the inputs together.
  template <typename Inputs, typename Key = internal::KeyOf<internal::ElementOf<Inputs>>>
  absl::StatusOr<RequestStats> MergeInto(const Inputs& inputs, absl::Span<Key> merged, const MergeOptions& options = {},
                                         const CallOptions& call = {}) const;

  /// Merge with values: values[i] has one value for each key of keys[i].
  template <typename Inputs, typename Values, typename Key = internal::KeyOf<internal::ElementOf<Inputs>>,
            typename Value = internal::ElementOf<internal::ElementOf<Values>>>
  absl::StatusOr<MergeResult<Key, Value>> MergeWithValues(const Inputs& keys, const Values& values,
                                                          const MergeOptions& options = {},
                                                          const CallOptions& call = {}) const;

  /// Each values[i], counts[i] times: ExpandIntervals({7, 8}, {2, 1}) is 7, 7, 8.
  template <typename Values, typename T = internal::ElementOf<Values>>
  absl::StatusOr<ElementsResult<T>> ExpandIntervals(const Values& values, absl::Span<const int64_t> counts,
                                                    const CallOptions& call = {}) const;

  /// Copies counts[i] elements, for each i, from source[source_offsets[i]] to destination[destination_offsets[i]], and
  /// returns the destination. `destination` is a number of elements, all zero at first, or a range of the type of the
  /// source, which the call does not change.
  template <typename Source, typename Destination, typename T = internal::ElementOf<Source>>
  absl::StatusOr<ElementsResult<T>> MoveIntervals(const Source& source, absl::Span<const int64_t> source_offsets,
                                                  absl::Span<const int64_t> destination_offsets,
                                                  absl::Span<const int64_t> counts, const Destination& destination,
                                                  const CallOptions& call = {}) const;

  /// For each i the counts[i] elements from source[source_offsets[i]] on, one interval after the other.
  template <typename Source, typename T = internal::ElementOf<Source>>
  absl::StatusOr<ElementsResult<T>> GatherIntervals(const Source& source, absl::Span<const int64_t> source_offsets,
                                                    absl::Span<const int64_t> counts,
                                                    const CallOptions& call = {}) const;

  /// Cuts the source into intervals of counts[i] elements, copies each to destination[destination_offsets[i]], and
  /// returns the destination. `destination` is as in MoveIntervals.
  template <typename Source, typename Destination, typename T = internal::ElementOf<Source>>
  absl::StatusOr<ElementsResult<T>> ScatterIntervals(const Source& source,
                                                     absl::Span<const int64_t> destination_offsets,
                                                     absl::Span<const int64_t> counts, const Destination& destination,
                                                     const CallOptions& call = {}) const;

  /// For each work item the object that made it and its rank within that object; object i makes counts[i] items.
  absl::StatusOr<LoadBalanceResult> LoadBalance(absl::Span<const int64_t> counts, const CallOptions& call = {}) const;

  /// The position in the sorted haystack at which each needle belongs.
  template <typename Haystack, typename Needles, typename Key = internal::KeyOf<Haystack>>
  absl::StatusOr<IndicesResult> Search(const Haystack& haystack, const Needles& needles,
                                       const SearchOptions& options = {}, const CallOptions& call = {}) const;

  /// The distinct keys, or the keys of the runs, and how many there are of each.
  template <typename Keys, typename Key = internal::KeyOf<Keys>>
  absl::StatusOr<GroupResult<Key>> Group(const Keys& keys, const GroupOptions& options = {},
                                         const CallOptions& call = {}) const;

  /// The same with the sum, the minimum and the maximum of the values of each key: values[i] belongs to keys[i].
  template <typename Keys, typename Values, typename Key = internal::KeyOf<Keys>,
            typename Value = internal::KeyOf<Values>>
  absl::StatusOr<GroupValuesResult<Key, Value>> GroupValues(const Keys& keys, const Values& values,
                                                            const GroupOptions& options = {},
                                                            const CallOptions& call = {}) const;

  /// Union, intersection, difference or symmetric difference of two sorted arrays, as multisets.
  template <typename Left, typename Right, typename Key = internal::KeyOf<Left>>
  absl::StatusOr<CombineSetsResult<Key>> CombineSets(SetOperation operation, const Left& left, const Right& right,
                                                     Order order = Order::kAscending,
                                                     const CallOptions& call = {}) const;

  /// The number of keys that CombineSets would return.
  template <typename Left, typename Right>
  absl::StatusOr<CountSetsResult> CountSets(SetOperation operation, const Left& left, const Right& right,
                                            Order order = Order::kAscending, const CallOptions& call = {}) const;

  /// The rows of two arrays, in any order, that have equal keys.
  template <typename Left, typename Right>
  absl::StatusOr<JoinResult> Join(JoinKind kind, const Left& left, const Right& right, const JoinOptions& options = {},
                                  const CallOptions& call = {}) const;

  /// The number of rows that Join would return.
  template <typename Left, typename Right>
  absl::StatusOr<CountJoinResult> CountJoin(JoinKind kind, const Left& left, const Right& right,
                                            bool right_sorted = false, const CallOptions& call = {}) const;

  /// The elements whose flag (uint8_t) is not 0, in their order.
  template <typename Elements, typename T = internal::ElementOf<Elements>>
  absl::StatusOr<ElementsResult<T>> Select(const Elements& elements, absl::Span<const uint8_t> flags,
                                           const CallOptions& call = {}) const;

  /// The keys that compare with the threshold as the comparison says, in their order.
  template <typename Keys, typename Key = internal::KeyOf<Keys>>
  absl::StatusOr<ElementsResult<Key>> SelectWhere(const Keys& keys, Comparison comparison,
                                                  internal::KeyOf<Keys> threshold, const CallOptions& call = {}) const;

  /// All elements but those at these positions, which may be in any order.
  template <typename Elements, typename T = internal::ElementOf<Elements>>
  absl::StatusOr<ElementsResult<T>> Remove(const Elements& elements, absl::Span<const int64_t> positions,
                                           const CallOptions& call = {}) const;

  /// The elements with inserted[i] before positions[i], or behind the end if that is the number of elements. Positions
  /// may be in any order; elements for the same position keep their order. A call of GatherIntervals (insert.h).
  template <typename Elements, typename Inserted, typename T = internal::ElementOf<Elements>>
  absl::StatusOr<ElementsResult<T>> Insert(const Elements& elements, absl::Span<const int64_t> positions,
                                           const Inserted& inserted, const CallOptions& call = {}) const;

  /// The rank of each key, from 1, with any method but kAverage.
  template <typename Keys, typename Key = internal::KeyOf<Keys>>
  absl::StatusOr<IndicesResult> Rank(const Keys& keys, const RankOptions& options, const CallOptions& call = {}) const;

  /// The rank of each key, from 1, where equal keys have the mean of their ranks, whatever options.method is.
  template <typename Keys, typename Key = internal::KeyOf<Keys>>
  absl::StatusOr<ElementsResult<double>> AverageRank(const Keys& keys, const RankOptions& options = {},
                                                     const CallOptions& call = {}) const;

  /// The elements whose flag is not 0 in their order, then the others in theirs.
  template <typename Elements, typename T = internal::ElementOf<Elements>>
  absl::StatusOr<PartitionResult<T>> Partition(const Elements& elements, absl::Span<const uint8_t> flags,
                                               const CallOptions& call = {}) const;

 private:
  /// What a call returned besides its arrays.
  struct Outcome {
    SortAlgorithm sort_algorithm = SortAlgorithm::kAuto;
    MergeAlgorithm merge_algorithm = MergeAlgorithm::kAuto;
    RequestStats stats;
  };

  explicit Client(std::unique_ptr<Runner> runner);

  /// Runs any Request of operators.h or columns.h, with one buffer for each result.
  template <typename Request>
  absl::StatusOr<Outcome> RunInto(const Request& request, const CallOptions& call,
                                  const std::vector<ResultBuffer*>& buffers) const;
  /// The same for a request that may not want every result. Sets the results that it wants.
  template <typename Request>
  absl::StatusOr<RequestStats> RunWanted(const Request& request, const CallOptions& call,
                                         std::initializer_list<std::pair<bool, std::optional<Array>*>> results) const;
  template <typename Request>
  absl::StatusOr<RawResult> RunRaw(const Request& request, const CallOptions& call) const;
  template <typename T, typename Request>
  absl::StatusOr<ElementsResult<T>> RunElements(const Request& request, const CallOptions& call) const;
  static absl::StatusOr<JoinResult> TypedRows(RawJoinResult raw);
  static absl::StatusOr<IndicesResult> TypedIndices(const Array& indices, RequestStats stats);
  template <typename Destination>
  static InitialDestination Initial(const Destination& destination);

  std::unique_ptr<Runner> runner_;
};

}  // namespace corank::client

namespace corank {
using client::Client;
}  // namespace corank

#include "corank/internal/client_typed.h"  // IWYU pragma: export

#endif  // CORANK_CLIENT_H_
