// Requests and answers of the library as messages of corank.v1. The wire's payload bytes are copied once on each way.
#ifndef CORANK_CLIENT_CPP_MESSAGES_H_
#define CORANK_CLIENT_CPP_MESSAGES_H_

#include "absl/status/statusor.h"
#include "client/cpp/columns.h"
#include "client/cpp/operators.h"
#include "corank/v1/corank_service.pb.h"

namespace corank::client {

v1::SortRequest ToProto(const SortRequest& request);
v1::SortRequest ToProto(const ColumnSortRequest& request);
v1::MergeRequest ToProto(const MergeRequest& request);
v1::ExpandIntervalsRequest ToProto(const ExpandRequest& request);
v1::MoveIntervalsRequest ToProto(const MoveRequest& request);
v1::GatherIntervalsRequest ToProto(const GatherRequest& request);
v1::ScatterIntervalsRequest ToProto(const ScatterRequest& request);
v1::LoadBalanceRequest ToProto(const LoadBalanceRequest& request);
v1::SearchRequest ToProto(const SearchRequest& request);
v1::RequestOptions ToProto(const CallOptions& options);

/// An answer's array, its bytes moved out of it. INTERNAL if it is not an inline array of whole elements.
absl::StatusOr<Array> FromProto(v1::Array* array);
RequestStats FromProto(const v1::RequestStats& stats);
ServerInfo FromProto(const v1::GetServerInfoResponse& info);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_MESSAGES_H_
