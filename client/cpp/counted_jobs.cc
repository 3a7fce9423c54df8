// The jobs of operators whose number of results only the answer tells.
#include <algorithm>
#include <memory>
#include <optional>

#include "client/cpp/job.h"
#include "client/cpp/messages.h"
#include "kernels/common/group.h"
#include "kernels/common/types.h"

namespace corank::client {

std::unique_ptr<Job> MakeJob(const GroupRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::GroupRequest* message = job->operation.mutable_group();
  *message->mutable_options() = ToProto(call);
  message->set_input(request.input == GroupInput::kSorted ? v1::GROUP_INPUT_SORTED
                     : request.input == GroupInput::kRuns ? v1::GROUP_INPUT_RUNS
                                                          : v1::GROUP_INPUT_UNSORTED);
  if (request.input != GroupInput::kRuns) message->set_order(ToProto(request.order));
  AddInput(job.get(), request.keys, message->mutable_keys(), "keys");
  if (request.values.has_value()) AddInput(job.get(), *request.values, message->mutable_values(), "values");
  const int64_t most = request.keys.count();
  const auto add = [&](bool is_wanted, v1::GroupOutput output, const char* name, v1::Destination* destination,
                       Finder find, const Output& place, ElementType type) {
    if (!is_wanted) return;
    message->add_outputs(output);
    AddResult(job.get(), name, destination, find, place, type, most, output == v1::GROUP_OUTPUT_FIRSTS).is_exact =
        false;
  };
  // A destination is in the message only if its result is wanted.
#define CORANK_ADD(NAME, name, type)                                                                          \
  add(                                                                                                        \
      request.wants.name, v1::GROUP_OUTPUT_##NAME, #name,                                                     \
      request.wants.name ? message->mutable_##name##_destination() : nullptr,                                 \
      [](const v1::OperationResult& r, int) { return r.group().has_##name() ? &r.group().name() : nullptr; }, \
      request.name##_output, type)
  CORANK_ADD(KEYS, keys, request.keys.type);
  CORANK_ADD(COUNTS, counts, KeyType::kInt64);
  CORANK_ADD(FIRSTS, firsts, IndexType(most - 1));
  const ElementType of = request.values.has_value() ? request.values->type : ElementType(KeyType::kInt64);
  CORANK_ADD(SUMS, sums, of.is_record() ? of : ElementType(SumType(of.key_type())));  // the server refuses records
  CORANK_ADD(MINIMA, minima, of);
  CORANK_ADD(MAXIMA, maxima, of);
#undef CORANK_ADD
  return job;
}

std::unique_ptr<Job> MakeJob(const CombineSetsRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::CombineSetsRequest* message = job->operation.mutable_combine_sets();
  *message->mutable_options() = ToProto(call);
  const int64_t left = request.left.count(), right = request.right.count();
  int64_t most = left + right;
  switch (request.operation) {
    case SetOperation::kUnion:
      message->set_operation(v1::SET_OPERATION_UNION);
      break;
    case SetOperation::kIntersection:
      message->set_operation(v1::SET_OPERATION_INTERSECTION);
      most = std::min(left, right);
      break;
    case SetOperation::kDifference:
      message->set_operation(v1::SET_OPERATION_DIFFERENCE);
      most = left;
      break;
    case SetOperation::kSymmetricDifference:
      message->set_operation(v1::SET_OPERATION_SYMMETRIC_DIFFERENCE);
      break;
  }
  message->set_order(ToProto(request.order));
  message->set_count_only(request.count_only);
  AddInput(job.get(), request.left, message->mutable_left(), "left");
  AddInput(job.get(), request.right, message->mutable_right(), "right");
  const std::optional<ArrayView>& values = request.left_values ? request.left_values : request.right_values;
  if (request.left_values) AddInput(job.get(), *request.left_values, message->mutable_left_values(), "left_values");
  if (request.right_values) {
    AddInput(job.get(), *request.right_values, message->mutable_right_values(), "right_values");
  }
  if (request.count_only) {
    AddResult(
        job.get(), "count", message->mutable_count_destination(),
        [](const v1::OperationResult& r, int) {
          return r.combine_sets().has_count() ? &r.combine_sets().count() : nullptr;
        },
        request.count_output, KeyType::kInt64, 1);
    return job;
  }
  AddResult(
      job.get(), "keys", message->mutable_keys_destination(),
      [](const v1::OperationResult& r, int) {
        return r.combine_sets().has_keys() ? &r.combine_sets().keys() : nullptr;
      },
      request.keys_output, request.left.type, most)
      .is_exact = false;
  if (!values) return job;
  AddResult(
      job.get(), "values", message->mutable_values_destination(),
      [](const v1::OperationResult& r, int) {
        return r.combine_sets().has_values() ? &r.combine_sets().values() : nullptr;
      },
      request.values_output, values->type, most)
      .is_exact = false;
  return job;
}

}  // namespace corank::client
