// A small valid request for each operator.
#ifndef CORANK_TESTS_SERVER_GOOD_REQUESTS_H_
#define CORANK_TESTS_SERVER_GOOD_REQUESTS_H_

#include <variant>
#include <vector>

#include "corank/v1/group.pb.h"
#include "corank/v1/join.pb.h"
#include "corank/v1/operators.pb.h"
#include "corank/v1/rank.pb.h"
#include "corank/v1/select.pb.h"
#include "corank/v1/sets.pb.h"

namespace corank::testing {

using AnyRequest =
    std::variant<v1::SortRequest, v1::MergeRequest, v1::ExpandIntervalsRequest, v1::MoveIntervalsRequest,
                 v1::GatherIntervalsRequest, v1::ScatterIntervalsRequest, v1::LoadBalanceRequest, v1::SearchRequest,
                 v1::GroupRequest, v1::CombineSetsRequest, v1::JoinRequest, v1::SelectRequest, v1::RankRequest>;

v1::SortRequest GoodSort();
v1::SortRequest GoodColumnSort();
v1::MergeRequest GoodMerge();
v1::ExpandIntervalsRequest GoodExpand();
v1::MoveIntervalsRequest GoodMove();
v1::GatherIntervalsRequest GoodGather();
v1::ScatterIntervalsRequest GoodScatter();
v1::LoadBalanceRequest GoodBalance();
v1::SearchRequest GoodSearch();
/// A table of several columns, and two rows to find in it.
v1::SearchRequest GoodColumnSearch();
v1::GroupRequest GoodGroup();
v1::CombineSetsRequest GoodSets();
v1::JoinRequest GoodJoin();
v1::SelectRequest GoodSelect();
v1::RankRequest GoodRank();

/// One of each.
std::vector<AnyRequest> GoodRequests();

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_GOOD_REQUESTS_H_
