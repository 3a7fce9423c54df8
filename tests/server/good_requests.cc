#include "tests/server/good_requests.h"

#include <string>

#include "tests/server/request_table.h"

namespace corank::testing {
namespace {

template <typename Request>
Request Good(const std::string& name) {
  Request request;
  ReadRequest(GoodJson(name), &request);
  return request;
}

}  // namespace

v1::SortRequest GoodSort() { return Good<v1::SortRequest>("Sort"); }
v1::SortRequest GoodColumnSort() { return Good<v1::SortRequest>("ColumnSort"); }
v1::MergeRequest GoodMerge() { return Good<v1::MergeRequest>("Merge"); }
v1::ExpandIntervalsRequest GoodExpand() { return Good<v1::ExpandIntervalsRequest>("ExpandIntervals"); }
v1::MoveIntervalsRequest GoodMove() { return Good<v1::MoveIntervalsRequest>("MoveIntervals"); }
v1::GatherIntervalsRequest GoodGather() { return Good<v1::GatherIntervalsRequest>("GatherIntervals"); }
v1::ScatterIntervalsRequest GoodScatter() { return Good<v1::ScatterIntervalsRequest>("ScatterIntervals"); }
v1::LoadBalanceRequest GoodBalance() { return Good<v1::LoadBalanceRequest>("LoadBalance"); }
v1::SearchRequest GoodSearch() { return Good<v1::SearchRequest>("Search"); }
v1::SearchRequest GoodColumnSearch() { return Good<v1::SearchRequest>("ColumnSearch"); }
v1::GroupRequest GoodGroup() { return Good<v1::GroupRequest>("Group"); }
v1::CombineSetsRequest GoodSets() { return Good<v1::CombineSetsRequest>("CombineSets"); }
v1::JoinRequest GoodJoin() { return Good<v1::JoinRequest>("Join"); }
v1::SelectRequest GoodSelect() { return Good<v1::SelectRequest>("Select"); }
v1::RankRequest GoodRank() { return Good<v1::RankRequest>("Rank"); }

std::vector<AnyRequest> GoodRequests() {
  return {GoodSort(),    GoodMerge(),   GoodExpand(), GoodMove(),       GoodGather(),
          GoodScatter(), GoodBalance(), GoodSearch(), GoodGroup(),      GoodSets(),
          GoodJoin(),    GoodSelect(),  GoodRank(),   GoodColumnSort(), GoodColumnSearch()};
}

}  // namespace corank::testing
