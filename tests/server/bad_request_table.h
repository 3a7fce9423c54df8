// Fills the table of bad_requests.h.
#ifndef CORANK_TESTS_SERVER_BAD_REQUEST_TABLE_H_
#define CORANK_TESTS_SERVER_BAD_REQUEST_TABLE_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/bad_requests.h"

namespace corank::testing {

// Collects requests that differ from a good one by one change each.
class Table {
 public:
  template <typename Request>
  void Add(const std::string& name, Request good, const std::function<void(Request&)>& spoil, const std::string& field,
           absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    spoil(good);
    rows_.push_back({name, std::move(good), code, field});
  }
  std::vector<BadRequest> Take() { return std::move(rows_); }

 private:
  std::vector<BadRequest> rows_;
};

/// Rows of Sort with key columns.
void AddBadColumnSorts(Table& table);

/// Rows of ExpandIntervals, Move-, Gather- and ScatterIntervals and LoadBalance.
void AddBadIntervals(Table& table);

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_BAD_REQUEST_TABLE_H_
