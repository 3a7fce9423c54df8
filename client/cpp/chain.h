// A short chain of operators in one call, whose intermediate arrays never leave the server.
//
//   SortRequest sort;
//   sort.keys = ViewOf(keys);
//   sort.keys_output = Temporary("sorted");
//   MergeRequest merge;
//   merge.keys = {TemporaryView("sorted", KeyType::kUint32, keys.size()), stored.view()};
//   auto results = client->Run({sort, merge});          // results->back().arrays[0] holds the merged keys
#ifndef CORANK_CLIENT_CPP_CHAIN_H_
#define CORANK_CLIENT_CPP_CHAIN_H_

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/cpp/columns.h"
#include "client/cpp/operators.h"

namespace corank::client {

/// One operator of a chain.
using AnyRequest = std::variant<SortRequest, ColumnSortRequest, MergeRequest, ExpandRequest, MoveRequest, GatherRequest,
                                ScatterRequest, LoadBalanceRequest, SearchRequest>;

/// What one operator of a chain gave.
struct OperatorResult {
  /// In the order of the fields of its Result (RawSortResult, ...), those that were asked for; of sorted columns data
  /// and offsets of each come first. A result that went elsewhere is an Array with `placed`.
  std::vector<Array> arrays;
  RequestStats stats;
};

/// Keeps a result under this name until the chain ends, for later operators of it.
inline Output Temporary(std::string name) { return {{}, std::move(name), true}; }

/// Keeps a result under this name, until it is deleted or expires.
inline Output Stored(std::string name) { return {{}, std::move(name), false}; }

/// What an earlier operator kept with Temporary: its type and its number of elements.
inline ArrayView TemporaryView(std::string name, ElementType type, int64_t count) {
  return {type, {}, std::move(name), count, true};
}

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_CHAIN_H_
