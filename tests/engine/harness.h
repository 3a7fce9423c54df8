// Runs operators on an engine as the server does, and watches what an operator must not do: change its inputs, write
// outside its outputs, use more workspace than announced.
#ifndef CORANK_TESTS_ENGINE_HARNESS_H_
#define CORANK_TESTS_ENGINE_HARNESS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/engine/engine.h"
#include "tests/support/real_keys.h"
#include "tests/support/rows.h"

namespace corank::testing {

/// The engine that a conformance binary tests. Each binary links one definition.
absl::StatusOr<std::unique_ptr<Engine>> CreateEngineUnderTest();

struct SortCase {
  KeyType type = KeyType::kUint32;
  Order order = Order::kAscending;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  Bytes keys;
  Bytes values;
  int value_bytes = 0;
  bool want_keys = true;
  bool want_indices = false;
  std::vector<int64_t> segment_offsets;
  int64_t limit = -1;
};

struct ColumnSortCase {
  std::vector<TestColumn> columns;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  Bytes values;
  int value_bytes = 0;
  bool want_columns = true;
  bool want_indices = false;
  int64_t limit = -1;
};

struct MergeCase {
  KeyType type = KeyType::kUint32;
  Order order = Order::kAscending;
  MergeAlgorithm algorithm = MergeAlgorithm::kAuto;
  std::vector<Bytes> keys;
  std::vector<Bytes> values;
  int value_bytes = 0;
  bool check_sorted = true;
};

struct MoveCase {
  Bytes source;
  Bytes destination;  // what it holds before
  int element_bytes = 4;
  std::vector<int64_t> source_offsets;       // empty with counts: dense
  std::vector<int64_t> destination_offsets;  // empty with counts: dense
  std::vector<int64_t> counts;
  bool check_overlap = true;
};

struct SearchCase {
  KeyType type = KeyType::kUint32;
  Order order = Order::kAscending;
  SearchBound bound = SearchBound::kLower;
  Bytes haystack;
  Bytes needles;
  bool check_sorted = true;
};

/// An operator's outputs, in the order of the Args struct; those not asked for are empty.
struct Outcome {
  OperatorReport report;
  std::vector<Bytes> outputs;
  PhaseTimes times;
};

/// Holds one stream and uses it for all cases, so that reuse of memory is tested too. Faults of the watch are test
/// failures (EXPECT).
class Harness {
 public:
  explicit Harness(Engine* engine);

  Outcome Sort(const SortCase& test);  // keys, values, indices
  /// values, indices, then of each column its data and, of strings, their offsets.
  Outcome SortColumns(const ColumnSortCase& test);
  Outcome Merge(const MergeCase& test);  // keys, values
  Outcome Expand(const Bytes& values, int element_bytes, const std::vector<int64_t>& counts);
  Outcome Move(const MoveCase& test);
  Outcome LoadBalance(const std::vector<int64_t>& counts, int least_index_bytes = 4);  // objects, ranks
  Outcome Search(const SearchCase& test);

 private:
  class Request;

  Engine* engine_;
  std::unique_ptr<EngineStream> stream_;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_ENGINE_HARNESS_H_
