#include "server/respond/responses.h"

#include <utility>

namespace corank {
namespace {

// Field returns the response's field for a role.
v1::Array* Field(v1::SortResponse* response, ResultRole role) {
  if (role == ResultRole::kIndices) return response->mutable_indices();
  return role == ResultRole::kValues ? response->mutable_values() : response->mutable_keys();
}
v1::Array* Field(v1::MergeResponse* response, ResultRole role) {
  return role == ResultRole::kValues ? response->mutable_values() : response->mutable_keys();
}
v1::Array* Field(v1::ExpandIntervalsResponse* response, ResultRole) { return response->mutable_values(); }
v1::Array* Field(v1::MoveIntervalsResponse* response, ResultRole) { return response->mutable_result(); }
v1::Array* Field(v1::GatherIntervalsResponse* response, ResultRole) { return response->mutable_result(); }
v1::Array* Field(v1::ScatterIntervalsResponse* response, ResultRole) { return response->mutable_result(); }
v1::Array* Field(v1::LoadBalanceResponse* response, ResultRole role) {
  return role == ResultRole::kRanks ? response->mutable_ranks() : response->mutable_objects();
}
v1::Array* Field(v1::SearchResponse* response, ResultRole) { return response->mutable_positions(); }

template <typename Response>
void Fill(Outcome& outcome, Response* response) {
  for (const ResultArray& result : outcome.results) {
    v1::Array* array = Field(response, result.role);
    array->set_type(result.type);
    array->set_count(result.count);
    if (result.type == v1::ELEMENT_TYPE_RECORD) array->set_record_bytes(static_cast<uint32_t>(result.element_bytes));
    const int64_t bytes = result.count * result.element_bytes;
    if (bytes > 0) {
      array->mutable_inline_data()->assign(static_cast<const char*>(result.bytes), static_cast<size_t>(bytes));
    } else {
      array->mutable_inline_data();
    }
  }
  *response->mutable_stats() = std::move(outcome.stats);
}

}  // namespace

void FillResponse(Outcome& outcome, v1::SortResponse* response) {
  Fill(outcome, response);
  response->set_algorithm(outcome.sort_algorithm);
}
void FillResponse(Outcome& outcome, v1::MergeResponse* response) {
  Fill(outcome, response);
  response->set_algorithm(outcome.merge_algorithm);
}
void FillResponse(Outcome& outcome, v1::ExpandIntervalsResponse* response) { Fill(outcome, response); }
void FillResponse(Outcome& outcome, v1::MoveIntervalsResponse* response) { Fill(outcome, response); }
void FillResponse(Outcome& outcome, v1::GatherIntervalsResponse* response) { Fill(outcome, response); }
void FillResponse(Outcome& outcome, v1::ScatterIntervalsResponse* response) { Fill(outcome, response); }
void FillResponse(Outcome& outcome, v1::LoadBalanceResponse* response) { Fill(outcome, response); }
void FillResponse(Outcome& outcome, v1::SearchResponse* response) { Fill(outcome, response); }

}  // namespace corank
