// corank rank.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"
#include "client/cli/text_array.h"

namespace corank::cli {
namespace {

absl::Status RunRank(const Arguments& arguments) {
  client::RankRequest request;
  absl::StatusOr<client::RankMethod> method = Choice<client::RankMethod>(arguments, "method",
                                                                         {{"average", client::RankMethod::kAverage},
                                                                          {"min", client::RankMethod::kMin},
                                                                          {"max", client::RankMethod::kMax},
                                                                          {"dense", client::RankMethod::kDense},
                                                                          {"ordinal", client::RankMethod::kOrdinal}});
  if (!method.ok()) return method.status();
  request.method = *method;
  absl::StatusOr<Order> order = OrderChoice(arguments);
  if (!order.ok()) return order.status();
  request.order = *order;
  request.keys_sorted = arguments.Has("keys-sorted");
  absl::StatusOr<std::optional<client::ElementType>> type = TypeOption(arguments, "type", nullptr);
  if (!type.ok()) return type.status();
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, {"output"});
  if (!session.ok()) return session.status();
  std::vector<int64_t> segments;
  absl::Status loaded = (*session)->LoadSegments(&segments, &request.segment_offsets);
  if (!loaded.ok()) return loaded;
  const std::string& path = arguments.positional()[0];
  absl::StatusOr<InputArray> keys = (*session)->LoadMain(path, *type, "--type");
  if (!keys.ok()) return keys.status();
  if (request.keys_sorted && !request.segment_offsets) {
    if (const absl::Status sorted = CheckTextIsSorted(*keys, path, *order); !sorted.ok()) return sorted;
  }
  request.keys = keys->view();
  absl::StatusOr<client::RawResult> result = (*session)->Call(
      [&](const client::Client& client, const client::CallOptions& call) { return client.Rank(request, call); });
  if (!result.ok()) return result.status();
  if (const absl::Status saved = (*session)->Save("output", result->array); !saved.ok()) return saved;
  return (*session)->Finish({"rank", request.keys.count(), keys->type.Name(), "", std::move(result->stats)});
}

}  // namespace

Command RankCommand() {
  return {{"rank", "rank each key from 1, with a choice for equal keys", "KEYS", 1, 1,
           "average (float64), min and max are of the ranks that equal keys share; with dense, the next greater key\n"
           "has the next rank; with ordinal, equal keys are ranked in the order of the input. All but average are\n"
           "uint32, or uint64 if there are 2^32 keys or more. All NaNs are one key.",
           "corank rank scores.npy -o ranks.npy\n"
           "corank rank nums.txt --method dense --descending",
           WithOperatorOptions({kOutputOption,
                                {"method", 0, "METHOD", "average, min, max, dense or ordinal (default: average)", false,
                                 "average min max dense ordinal"},
                                {"keys-sorted", 0, nullptr, "the keys are in this order, which saves a sort"},
                                {"segments", 0, "FILE",
                                 "rank each segment separately: the file holds int64 offsets,\n"
                                 "one more than there are segments"},
                                kKeyTypeOption,
                                kFormatOption,
                                kOrderOption,
                                kDescendingOption})},
          RunRank};
}

}  // namespace corank::cli
