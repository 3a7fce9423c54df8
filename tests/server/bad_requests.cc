#include "tests/server/bad_requests.h"

#include <map>
#include <variant>

#include "tests/server/request_table.h"

namespace corank::testing {
namespace {

using google::protobuf::Value;

/// An empty request of a name in the table.
AnyRequest Empty(const std::string& name) {
  static const auto* const all = new std::map<std::string, AnyRequest>{
      {"Sort", v1::SortRequest()},
      {"ColumnSort", v1::SortRequest()},
      {"Merge", v1::MergeRequest()},
      {"ExpandIntervals", v1::ExpandIntervalsRequest()},
      {"MoveIntervals", v1::MoveIntervalsRequest()},
      {"GatherIntervals", v1::GatherIntervalsRequest()},
      {"ScatterIntervals", v1::ScatterIntervalsRequest()},
      {"LoadBalance", v1::LoadBalanceRequest()},
      {"Search", v1::SearchRequest()},
      {"ColumnSearch", v1::SearchRequest()},
      {"Group", v1::GroupRequest()},
      {"CombineSets", v1::CombineSetsRequest()},
      {"Join", v1::JoinRequest()},
      {"Select", v1::SelectRequest()},
      {"Rank", v1::RankRequest()},
  };
  return all->at(name);
}

BadRequest ReadRow(const std::string& good, const Value& row) {
  const auto& fields = row.struct_value().fields();
  Value json = GoodJson(good);
  Patch(fields.at("change"), &json);
  BadRequest bad{fields.at("name").string_value(), Empty(good), absl::StatusCode::kInvalidArgument,
                 fields.at("field").string_value()};
  if (fields.contains("code")) bad.code = absl::StatusCode::kUnimplemented;  // the only other one
  std::visit([&json](auto& request) { ReadRequest(json, &request); }, bad.request);
  return bad;
}

/// The rows whose fault is in the data, or the others.
std::vector<BadRequest> Rows(bool in_data) {
  std::vector<BadRequest> rows;
  for (const auto& [good, listed] : RequestTable().fields().at("bad").struct_value().fields()) {
    for (const Value& row : listed.list_value().values()) {
      if (row.struct_value().fields().contains("in") == in_data) rows.push_back(ReadRow(good, row));
    }
  }
  return rows;
}

}  // namespace

Limits TableLimits() {
  Limits limits;
  limits.max_request_bytes = limits.max_response_bytes = 65'536;
  return limits;
}

std::vector<BadRequest> MalformedRequests() { return Rows(/*in_data=*/false); }

std::vector<BadRequest> FaultyRequests() { return Rows(/*in_data=*/true); }

}  // namespace corank::testing
