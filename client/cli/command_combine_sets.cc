// corank combine-sets.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"
#include "client/cli/text_array.h"

namespace corank::cli {
namespace {

absl::StatusOr<client::CombineSetsRequest> ReadSetOptions(const Arguments& arguments) {
  client::CombineSetsRequest request;
  absl::StatusOr<Order> order = OrderChoice(arguments);
  if (!order.ok()) return order.status();
  request.order = *order;
  absl::StatusOr<client::SetOperation> operation =
      Choice<client::SetOperation>(arguments, "operation",
                                   {{"union", client::SetOperation::kUnion},
                                    {"intersection", client::SetOperation::kIntersection},
                                    {"difference", client::SetOperation::kDifference},
                                    {"symmetric-difference", client::SetOperation::kSymmetricDifference}});
  if (!operation.ok()) return operation.status();
  request.operation = *operation;
  request.count_only = arguments.Has("count");
  const bool from_left_only =
      *operation == client::SetOperation::kIntersection || *operation == client::SetOperation::kDifference;
  const bool has_left = arguments.Has("left-values"), has_right = arguments.Has("right-values");
  if (request.count_only) {
    for (const char* other : {"output", "left-values", "right-values", "values-output"}) {
      if (arguments.Has(other)) return UsageError(absl::StrCat("--count prints a number; leave out --", other));
    }
  }
  if (has_right && from_left_only) return UsageError("every key of the result is from LEFT; leave out --right-values");
  if (has_left != arguments.Has("values-output") || (!from_left_only && has_left != has_right)) {
    return UsageError(from_left_only ? "--left-values FILE and --values-output FILE go together"
                                     : "--left-values FILE, --right-values FILE and --values-output FILE go together");
  }
  return request;
}

absl::Status RunCombineSets(const Arguments& arguments) {
  absl::StatusOr<client::CombineSetsRequest> request = ReadSetOptions(arguments);
  if (!request.ok()) return request.status();
  absl::StatusOr<std::optional<client::ElementType>> type = TypeOption(arguments, "type", nullptr);
  if (!type.ok()) return type.status();
  absl::StatusOr<std::optional<client::ElementType>> values_type =
      TypeOption(arguments, "values-type", "values-record-bytes");
  if (!values_type.ok()) return values_type.status();
  std::vector<const char*> outputs;
  if (!request->count_only) outputs = {"output", "values-output"};
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, outputs);
  if (!session.ok()) return session.status();

  const std::vector<std::string>& paths = arguments.positional();
  std::vector<InputArray> sides;
  for (const std::string& path : paths) {
    absl::StatusOr<InputArray> side =
        request->count_only ? (*session)->Load(path, *type, "--type") : (*session)->LoadMain(path, *type, "--type");
    if (!side.ok()) return side.status();
    sides.push_back(*std::move(side));
  }
  InputArray* const both[] = {&sides[0], &sides[1]};
  if (const absl::Status unified = UnifyTextTypes(both, paths); !unified.ok()) return unified;
  for (size_t i = 0; i < 2; ++i) {
    if (const absl::Status sorted = CheckTextIsSorted(sides[i], paths[i], request->order); !sorted.ok()) return sorted;
  }
  request->left = sides[0].view();
  request->right = sides[1].view();
  absl::StatusOr<InputArray> left_values = InputArray(), right_values = InputArray();
  for (const auto& [option, array, view] : {std::tuple("left-values", &left_values, &request->left_values),
                                            std::tuple("right-values", &right_values, &request->right_values)}) {
    const std::optional<std::string> path = arguments.Get(option);
    if (!path.has_value()) continue;
    *array = (*session)->Load(*path, *values_type, "--values-type or --values-record-bytes");
    if (!array->ok()) return array->status();
    *view = (*array)->view();
  }
  absl::StatusOr<client::RawCombineSetsResult> result =
      (*session)->Call([&](const client::Client& client, const client::CallOptions& call) {
        return client.CombineSets(*request, call);
      });
  if (!result.ok()) return result.status();
  if (result->count.has_value()) {
    absl::StatusOr<std::vector<int64_t>> count = client::ToVector<int64_t>(*result->count);
    if (!count.ok()) return count.status();
    std::printf("%lld\n", static_cast<long long>(count->front()));
  }
  for (const auto& [option, array] :
       {std::pair("output", &result->keys), std::pair("values-output", &result->values)}) {
    if (!array->has_value()) continue;
    if (const absl::Status saved = (*session)->Save(option, **array); !saved.ok()) return saved;
  }
  return (*session)->Finish({"combine-sets", request->left.count() + request->right.count(), sides[0].type.Name(), "",
                             std::move(result->stats)});
}

}  // namespace

Command CombineSetsCommand() {
  return {
      {"combine-sets", "union, intersection or difference of two sorted arrays", "LEFT RIGHT", 2, 2,
       "Both inputs must be sorted in the chosen order. A key may occur several times: where it occurs M times on the\n"
       "left and N times on the right, a union has it max(M, N) times, an intersection min(M, N) times, a difference\n"
       "M - N times if M is more, and a symmetric difference |M - N| times.",
       "corank combine-sets monday.txt tuesday.txt\n"
       "corank combine-sets a.npy b.npy --operation intersection -o both.npy\n"
       "corank combine-sets a.npy b.npy --operation difference --count",
       WithOperatorOptions(
           {kOutputOption,
            {"operation", 0, "NAME", "union, intersection, difference or symmetric-difference\n(default: union)", false,
             "union intersection difference symmetric-difference"},
            {"count", 0, nullptr, "print the number of keys in the result in place of the keys"},
            {"left-values", 0, "FILE", "one value for each key of LEFT"},
            {"right-values", 0, "FILE", "one value for each key of RIGHT"},
            {"values-type", 0, "TYPE", "type of the values in raw files", false, kTypeNames},
            {"values-record-bytes", 0, "N", "the values in raw files are records of N bytes"},
            {"values-output", 0, "FILE", "file for the values, in the order of their keys"},
            kKeyTypeOption,
            kFormatOption,
            kOrderOption,
            kDescendingOption})},
      RunCombineSets};
}

}  // namespace corank::cli
