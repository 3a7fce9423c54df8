// corank search, corank load-balance.
#include <optional>
#include <string>
#include <vector>

#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"
#include "client/cli/text_array.h"

namespace corank::cli {
namespace {

absl::Status RunSearch(const Arguments& arguments) {
  absl::StatusOr<Order> order = OrderChoice(arguments);
  if (!order.ok()) return order.status();
  absl::StatusOr<SearchBound> bound = BoundChoice(arguments);
  if (!bound.ok()) return bound.status();
  absl::StatusOr<std::optional<client::ElementType>> type = TypeOption(arguments, "type", nullptr);
  if (!type.ok()) return type.status();
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, {"output"});
  if (!session.ok()) return session.status();
  absl::StatusOr<InputArray> haystack = (*session)->LoadMain(arguments.positional()[0], *type, "--type");
  if (!haystack.ok()) return haystack.status();
  absl::StatusOr<InputArray> needles = (*session)->Load(arguments.positional()[1], *type, "--type");
  if (!needles.ok()) return needles.status();

  const std::vector<std::string>& paths = arguments.positional();
  absl::Status checked = UnifyTextTypes({&*haystack, &*needles}, paths);
  if (checked.ok() && !arguments.Has("assume-sorted")) checked = CheckTextIsSorted(*haystack, paths[0], *order);
  if (!checked.ok()) return checked;
  client::SearchRequest request;
  request.order = *order;
  request.bound = *bound;
  request.assume_sorted = arguments.Has("assume-sorted");
  request.haystack = haystack->view();
  request.needles = needles->view();
  absl::StatusOr<client::RawResult> result = (*session)->Call(
      [&](const client::Client& client, const client::CallOptions& call) { return client.Search(request, call); });
  if (!result.ok()) return result.status();
  const absl::Status saved = (*session)->Save("output", result->array);
  if (!saved.ok()) return saved;
  return (*session)->Finish({"search", request.needles.count(), needles->type.Name(), "", std::move(result->stats)});
}

absl::Status RunLoadBalance(const Arguments& arguments) {
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, {"output", "ranks-output"});
  if (!session.ok()) return session.status();
  absl::StatusOr<std::vector<int64_t>> counts = (*session)->LoadMainInt64File(arguments.positional()[0]);
  if (!counts.ok()) return counts.status();
  absl::StatusOr<client::RawLoadBalanceResult> result =
      (*session)->Call([&](const client::Client& client, const client::CallOptions& call) {
        return client.LoadBalance(client::LoadBalanceRequest{*counts}, call);
      });
  if (!result.ok()) return result.status();
  absl::Status saved = (*session)->Save("output", result->objects);
  if (saved.ok()) saved = (*session)->Save("ranks-output", result->ranks);
  if (!saved.ok()) return saved;
  return (*session)->Finish(
      {"load-balance", static_cast<int64_t>(counts->size()), "int64", "", std::move(result->stats)});
}

}  // namespace

Command SearchCommand() {
  return {{"search", "find where each needle belongs in a sorted array", "HAYSTACK NEEDLES", 2, 2,
           "A position is the index where the needle would be inserted. Positions are uint32, or uint64 if the "
           "haystack has\n2^32 elements or more.",
           "corank search sorted.npy needles.npy -o positions.npy\n"
           "corank search sorted.bin needles.bin --type i64 --bound upper -o positions.npy",
           WithOperatorOptions({kOutputOption,
                                kKeyTypeOption,
                                kFormatOption,
                                {"bound", 'b', "BOUND", "lower or upper (default: lower)", false, "lower upper"},
                                kOrderOption,
                                kDescendingOption,
                                kAssumeSortedOption})},
          RunSearch};
}

Command LoadBalanceCommand() {
  return {
      {"load-balance", "find the object of each work item, and its rank there", "COUNTS", 1, 1,
       "Object i has counts[i] work items. Counts are int64.",
       "corank load-balance counts.npy -o objects.npy --ranks-output ranks.npy",
       WithOperatorOptions({{"output", 'o', "FILE", "file for the object of each item: .npy, .txt or raw by its name"},
                            {"ranks-output", 0, "FILE", "file for the rank of each item within its object"}})},
      RunLoadBalance};
}

}  // namespace corank::cli
