// From an outcome to the response message: one copy of each result.
#ifndef CORANK_SERVER_RESPOND_RESPONSES_H_
#define CORANK_SERVER_RESPOND_RESPONSES_H_

#include "corank/v1/operators.pb.h"
#include "server/respond/outcome.h"

namespace corank {

/// Fills an empty response from the outcome of a request that succeeded. Moves `outcome.stats` out.
void FillResponse(Outcome& outcome, v1::SortResponse* response);
void FillResponse(Outcome& outcome, v1::MergeResponse* response);
void FillResponse(Outcome& outcome, v1::ExpandIntervalsResponse* response);
void FillResponse(Outcome& outcome, v1::MoveIntervalsResponse* response);
void FillResponse(Outcome& outcome, v1::GatherIntervalsResponse* response);
void FillResponse(Outcome& outcome, v1::ScatterIntervalsResponse* response);
void FillResponse(Outcome& outcome, v1::LoadBalanceResponse* response);
void FillResponse(Outcome& outcome, v1::SearchResponse* response);

}  // namespace corank

#endif  // CORANK_SERVER_RESPOND_RESPONSES_H_
