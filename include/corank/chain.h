// Runs a chain of operators in one call. Intermediate arrays never leave the server.
//
//   SortRequest sort;
//   sort.keys = ViewOf(keys);
//   sort.keys_output = Temporary("sorted");
//   MergeRequest merge;
//   merge.keys = {TemporaryView("sorted", KeyType::kUint32, keys.size()), stored.view()};
//   auto results = client->Run({sort, merge});  // results->back().arrays[0] holds the merged keys
#ifndef CORANK_CHAIN_H_
#define CORANK_CHAIN_H_

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "corank/columns.h"
#include "corank/groups.h"
#include "corank/join.h"
#include "corank/operators.h"
#include "corank/rank.h"
#include "corank/select.h"
#include "corank/sets.h"

namespace corank::client {

/// One operator of a chain.
using AnyRequest = std::variant<SortRequest, ColumnSortRequest, MergeRequest, ExpandRequest, MoveRequest, GatherRequest,
                                ScatterRequest, LoadBalanceRequest, SearchRequest, ColumnSearchRequest, GroupRequest,
                                CombineSetsRequest, JoinRequest, SelectRequest, RankRequest>;

/// The results of one operator of a chain.
struct OperatorResult {
  /// The results that the request asked for, in the order of the fields of RawSortResult, RawMergeResult and so on. For
  /// sorted columns, the data, the offsets and the validity of each column come first. A result that an Output names is
  /// an Array with `placed` set.
  std::vector<Array> arrays;
  RequestStats stats;
};

/// Keeps a result on the server under this name until the chain ends, for its later operators.
inline Output Temporary(std::string name) { return {{}, std::move(name), true}; }

/// Stores a result on the server under this name until a caller deletes it or it expires.
inline Output Stored(std::string name) { return {{}, std::move(name), false}; }

/// An array that an earlier operator of the chain kept with Temporary, of `count` elements.
inline ArrayView TemporaryView(std::string name, ElementType type, int64_t count) {
  return {type, {}, std::move(name), count, true};
}

/// The same of at most `most` elements: a result of a GroupRequest, a CombineSetsRequest, a JoinRequest or a
/// SelectRequest, or what later operators made of it.
inline ArrayView TemporaryViewUpTo(std::string name, ElementType type, int64_t most) {
  ArrayView view = TemporaryView(std::move(name), type, most);
  view.is_bound = true;
  return view;
}

}  // namespace corank::client

#endif  // CORANK_CHAIN_H_
