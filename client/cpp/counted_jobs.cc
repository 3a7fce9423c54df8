// The jobs of operators whose number of results only the answer tells.
#include <algorithm>
#include <memory>
#include <optional>

#include "client/cpp/job.h"
#include "client/cpp/messages.h"
#include "kernels/common/group.h"
#include "kernels/common/join.h"
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
  if (request.values_validity.has_value()) {
    AddInput(job.get(), *request.values_validity, message->mutable_values_validity(), "values_validity");
  }
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
  CORANK_ADD(VALUE_COUNTS, value_counts, KeyType::kInt64);
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

std::unique_ptr<Job> MakeJob(const JoinRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::JoinRequest* message = job->operation.mutable_join();
  *message->mutable_options() = ToProto(call);
  // The numbers of the client's kinds, of the engines' and of the contract's follow each other.
  const auto kind = static_cast<corank::JoinKind>(static_cast<int>(request.kind) + 1);
  static_assert(static_cast<int>(JoinKind::kAnti) + 1 == v1::JOIN_KIND_ANTI);
  static_assert(static_cast<int>(corank::JoinKind::kAnti) == v1::JOIN_KIND_ANTI);
  message->set_kind(static_cast<v1::JoinKind>(kind));
  message->set_right_sorted(request.right_sorted);
  message->set_count_only(request.count_only);
  if (request.max_rows) message->set_max_rows(*request.max_rows);
  AddInput(job.get(), request.left, message->mutable_left(), "left");
  AddInput(job.get(), request.right, message->mutable_right(), "right");
  if (request.count_only) {
    AddResult(
        job.get(), "count", message->mutable_count_destination(),
        [](const v1::OperationResult& r, int) { return r.join().has_count() ? &r.join().count() : nullptr; },
        request.count_output, KeyType::kInt64, 1);
    return job;
  }
  const int64_t left = request.left.count(), right = request.right.count();
  const int64_t wanted = std::max<int64_t>(request.max_rows.value_or(left + right), 0);
  const int64_t most = std::min(wanted, MostJoinedRows(kind, left, right));
  const KeyType type = JoinIndexBytes(left, right) == 4 ? KeyType::kInt32 : KeyType::kInt64;
  const auto add = [&](const char* name, v1::Destination* destination, Finder find, const Output& place) {
    JobResult& result = AddResult(job.get(), name, destination, find, place, type, most);
    result.is_exact = false;
    result.is_bounded = !request.max_rows;
  };
  add(
      "left_rows", message->mutable_left_rows_destination(),
      [](const v1::OperationResult& r, int) { return r.join().has_left_rows() ? &r.join().left_rows() : nullptr; },
      request.left_rows_output);
  if (IsLeftOnly(kind)) return job;
  add(
      "right_rows", message->mutable_right_rows_destination(),
      [](const v1::OperationResult& r, int) { return r.join().has_right_rows() ? &r.join().right_rows() : nullptr; },
      request.right_rows_output);
  return job;
}

std::unique_ptr<Job> MakeJob(const SelectRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::SelectRequest* message = job->operation.mutable_select();
  *message->mutable_options() = ToProto(call);
  AddInput(job.get(), request.elements, message->mutable_elements(), "elements");
  if (request.values.has_value()) AddInput(job.get(), *request.values, message->mutable_values(), "values");
  if (request.flags.has_value()) AddInput(job.get(), *request.flags, message->mutable_flags(), "flags");
  if (request.bitmap.has_value()) AddInput(job.get(), *request.bitmap, message->mutable_bitmap(), "bitmap");
  if (request.positions.has_value()) AddInput(job.get(), *request.positions, message->mutable_positions(), "positions");
  if (request.threshold.has_value()) {
    AddInput(job.get(), *request.threshold, message->mutable_threshold(), "threshold");
    // The numbers of the client's comparisons and of the contract's follow each other.
    static_assert(static_cast<int>(Comparison::kGreaterOrEqual) + 1 == v1::COMPARISON_GREATER_OR_EQUAL);
    message->set_comparison(static_cast<v1::Comparison>(static_cast<int>(request.comparison) + 1));
  }
  message->set_negate(request.negate);
  message->set_partition(request.partition);
  const int64_t most = request.elements.count();
  const auto add = [&](const char* name, v1::Destination* destination, Finder find, const Output& place,
                       ElementType type, bool is_index = false) {
    JobResult& result = AddResult(job.get(), name, destination, find, place, type, most, is_index);
    result.is_exact = request.partition && result.is_exact;
  };
  if (request.wants.elements) {
    message->add_outputs(v1::SELECT_OUTPUT_ELEMENTS);
    add(
        "elements", message->mutable_elements_destination(),
        [](const v1::OperationResult& r, int) { return r.select().has_elements() ? &r.select().elements() : nullptr; },
        request.elements_output, request.elements.type);
  }
  if (request.values.has_value()) {
    add(
        "values", message->mutable_values_destination(),
        [](const v1::OperationResult& r, int) { return r.select().has_values() ? &r.select().values() : nullptr; },
        request.values_output, request.values->type);
  }
  if (request.wants.indices) {
    message->add_outputs(v1::SELECT_OUTPUT_INDICES);
    add(
        "indices", message->mutable_indices_destination(),
        [](const v1::OperationResult& r, int) { return r.select().has_indices() ? &r.select().indices() : nullptr; },
        request.indices_output, IndexType(most - 1), true);
  }
  if (request.wants.count) {
    message->add_outputs(v1::SELECT_OUTPUT_COUNT);
    AddResult(
        job.get(), "count", message->mutable_count_destination(),
        [](const v1::OperationResult& r, int) { return r.select().has_count() ? &r.select().count() : nullptr; },
        request.count_output, KeyType::kInt64, 1);
  }
  return job;
}

std::unique_ptr<Job> MakeJob(const RankRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::RankRequest* message = job->operation.mutable_rank();
  *message->mutable_options() = ToProto(call);
  // The numbers of the client's methods and of the contract's follow each other.
  static_assert(static_cast<int>(RankMethod::kOrdinal) + 1 == v1::RANK_METHOD_ORDINAL);
  message->set_method(static_cast<v1::RankMethod>(static_cast<int>(request.method) + 1));
  message->set_order(ToProto(request.order));
  message->set_keys_sorted(request.keys_sorted);
  AddInput(job.get(), request.keys, message->mutable_keys(), "keys");
  if (request.segment_offsets.has_value()) {
    AddInput(job.get(), ViewOf(*request.segment_offsets), message->mutable_segment_offsets(), "segment_offsets", true);
  }
  const int64_t count = request.keys.count();
  const bool is_average = request.method == RankMethod::kAverage;
  AddResult(
      job.get(), "ranks", message->mutable_ranks_destination(),
      [](const v1::OperationResult& r, int) { return r.rank().has_ranks() ? &r.rank().ranks() : nullptr; },
      request.output, is_average ? ElementType(KeyType::kFloat64) : IndexType(count), count, !is_average);
  return job;
}

}  // namespace corank::client
