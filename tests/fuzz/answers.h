// Runs one request as a call does, from its bytes to the bytes of its response, and compares the result with plain
// std:: code.
#ifndef CORANK_TESTS_FUZZ_ANSWERS_H_
#define CORANK_TESTS_FUZZ_ANSWERS_H_

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "corank/v1/group.pb.h"
#include "corank/v1/join.pb.h"
#include "corank/v1/operators.pb.h"
#include "corank/v1/rank.pb.h"
#include "corank/v1/select.pb.h"
#include "corank/v1/sets.pb.h"

namespace corank::fuzz {

/// The number of operators. `op` counts from 0 in the contract's order.
inline constexpr int kOperators = 13;

/// For any bytes: the parser agrees with protobuf's own, and valid requests get the right result. `cuts`: the ends of
/// slices (see Sliced).
void RunRequestBytes(int op, absl::string_view bytes, uint8_t cuts);

// Whether the result is right if every array of the request is inline; true for all other requests.
bool IsRight(const v1::SortRequest& request, const v1::SortResponse& response);
bool IsRight(const v1::MergeRequest& request, const v1::MergeResponse& response);
bool IsRight(const v1::ExpandIntervalsRequest& request, const v1::ExpandIntervalsResponse& response);
bool IsRight(const v1::MoveIntervalsRequest& request, const v1::MoveIntervalsResponse& response);
bool IsRight(const v1::GatherIntervalsRequest& request, const v1::GatherIntervalsResponse& response);
bool IsRight(const v1::ScatterIntervalsRequest& request, const v1::ScatterIntervalsResponse& response);
bool IsRight(const v1::LoadBalanceRequest& request, const v1::LoadBalanceResponse& response);
bool IsRight(const v1::SearchRequest& request, const v1::SearchResponse& response);
bool IsRight(const v1::GroupRequest& request, const v1::GroupResponse& response);
bool IsRight(const v1::CombineSetsRequest& request, const v1::CombineSetsResponse& response);
bool IsRight(const v1::JoinRequest& request, const v1::JoinResponse& response);
bool IsRight(const v1::SelectRequest& request, const v1::SelectResponse& response);
bool IsRight(const v1::RankRequest& request, const v1::RankResponse& response);

}  // namespace corank::fuzz

#endif  // CORANK_TESTS_FUZZ_ANSWERS_H_
