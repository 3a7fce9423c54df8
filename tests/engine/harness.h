// Runs operators on an engine as the server does, and detects violations: changed inputs, writes outside the outputs,
// more workspace than announced.
#ifndef CORANK_TESTS_ENGINE_HARNESS_H_
#define CORANK_TESTS_ENGINE_HARNESS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/engine/engine.h"
#include "tests/support/real_keys.h"
#include "tests/support/rows.h"

namespace corank::testing {

/// The engine that a conformance binary tests. Each binary links one definition.
absl::StatusOr<std::unique_ptr<Engine>> CreateEngineUnderTest();
/// Engines of several devices that exchange memory: `count`, or as many as the machine has.
absl::StatusOr<std::vector<std::unique_ptr<Engine>>> CreateEnginesUnderTest(int count);

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
  int64_t offset = 0;
};

struct ColumnSortCase {
  std::vector<TestColumn> columns;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  Bytes values;
  int value_bytes = 0;
  bool want_columns = true;
  bool want_indices = false;
  bool want_ranks = false;
  int64_t limit = -1;
  std::vector<int64_t> run_offsets;  // empty: rows are in no order
  std::vector<int64_t> segment_offsets = {};
  int64_t offset = 0;
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
  Bytes destination;  // before the move
  int element_bytes = 4;
  std::vector<int64_t> source_offsets;       // empty with counts: dense
  std::vector<int64_t> destination_offsets;  // empty with counts: dense
  std::vector<int64_t> counts;
  bool check_overlap = true;
  bool checks_alone = false;  // moves nothing
};

struct SearchCase {
  KeyType type = KeyType::kUint32;
  Order order = Order::kAscending;
  SearchBound bound = SearchBound::kLower;
  Bytes haystack;
  Bytes needles;
  bool check_sorted = true;
};

/// Both tables have the same kinds, types and orders.
struct ColumnSearchCase {
  std::vector<TestColumn> haystack, needles;
  SearchBound bound = SearchBound::kLower;
  bool check_sorted = true;
};

/// Without values: no reductions.
struct GroupCase {
  KeyType type = KeyType::kUint32;
  Order order = Order::kAscending;
  Bytes keys;
  bool check_sorted = true;
  bool want_keys = true;
  bool want_counts = true;
  bool want_firsts = true;
  std::vector<int64_t> indices;  // empty: none
  KeyType value_type = KeyType::kUint32;
  Bytes values;
  std::vector<bool> valid;                // which values are not null; empty: they have no validity
  std::optional<RankMethod> rank_method;  // unset: no ranks
  std::vector<int64_t> segment_offsets = {};
};

/// `predicate`: one flag for each element, or a bitmap.
struct SelectCase {
  SelectBy by = SelectBy::kFlags;
  bool negate = false;
  bool partition = false;
  KeyType type = KeyType::kUint32;  // with kThreshold
  Bytes elements;
  int element_bytes = 4;
  Bytes values;
  int value_bytes = 0;  // 0: none
  Bytes predicate;
  std::vector<int64_t> positions;
  Comparison comparison = Comparison::kLess;
  Bytes threshold;
  bool want_elements = true;
  bool want_indices = false;
};

struct SetCase {
  SetOperation operation = SetOperation::kUnion;
  KeyType type = KeyType::kUint32;
  Order order = Order::kAscending;
  Bytes left, right;
  bool want_keys = true;
  Bytes left_values, right_values;
  int value_bytes = 0;  // 0: none
};

struct JoinCase {
  JoinKind kind = JoinKind::kInner;
  KeyType type = KeyType::kUint32;
  Bytes left, right;
  bool right_sorted = false;
  bool count_only = false;
  int64_t max_rows = 0;
};

/// An operator's outputs, in the order of the Args struct. Outputs that the case does not request are empty.
struct Outcome {
  OperatorReport report;
  GroupReport group;    // of Group alone
  SelectReport select;  // of Select alone
  SetReport set;        // of CombineSets alone
  JoinReport join;      // of Join alone
  std::vector<Bytes> outputs;
  PhaseTimes times;
};

/// Expects the wanted outputs to hold these rows of the input, in this order.
void ExpectRows(const SortCase& test, const Outcome& outcome, const std::vector<int64_t>& rows);

/// Holds one stream for all cases, which also tests the reuse of memory. Violations are test failures (EXPECT).
class Harness {
 public:
  explicit Harness(Engine* engine);

  Outcome Sort(const SortCase& test);  // keys, values, indices
  /// values, indices, then for each column its data, for strings its offsets, and with validity that.
  Outcome SortColumns(const ColumnSortCase& test);
  Outcome Merge(const MergeCase& test);  // keys, values
  Outcome Expand(const Bytes& values, int element_bytes, const std::vector<int64_t>& counts);
  Outcome Move(const MoveCase& test);
  Outcome LoadBalance(const std::vector<int64_t>& counts, int least_index_bytes = 4);  // objects, ranks
  Outcome Search(const SearchCase& test);
  Outcome SearchColumns(const ColumnSearchCase& test);
  Outcome Select(const SelectCase& test);    // elements, values, indices: the rows of the result
  Outcome CombineSets(const SetCase& test);  // keys, values: the elements of the result
  Outcome Join(const JoinCase& test);        // left, right: the rows of the result, if there is room for them
  Outcome Group(const GroupCase& test);  // keys, counts, firsts, sums, minima, maxima, value counts: for each group;
                                         // ranks: one for each key

 private:
  class Request;

  Engine* engine_;
  std::unique_ptr<EngineStream> stream_;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_ENGINE_HARNESS_H_
