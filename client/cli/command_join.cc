// corank join.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"
#include "client/cli/text_array.h"

namespace corank::cli {
namespace {

absl::StatusOr<client::JoinRequest> ReadJoinOptions(const Arguments& arguments) {
  client::JoinRequest request;
  absl::StatusOr<client::JoinKind> kind = Choice<client::JoinKind>(arguments, "kind",
                                                                   {{"inner", client::JoinKind::kInner},
                                                                    {"left", client::JoinKind::kLeft},
                                                                    {"right", client::JoinKind::kRight},
                                                                    {"full", client::JoinKind::kFull},
                                                                    {"semi", client::JoinKind::kSemi},
                                                                    {"anti", client::JoinKind::kAnti}});
  if (!kind.ok()) return kind.status();
  request.kind = *kind;
  request.right_sorted = arguments.Has("right-sorted");
  request.count_only = arguments.Has("count");
  absl::StatusOr<std::optional<int64_t>> max_rows = arguments.GetCount("max-rows");
  if (!max_rows.ok()) return max_rows.status();
  request.max_rows = *max_rows;
  if (request.count_only) {
    for (const char* other : {"output", "right-output", "max-rows"}) {
      if (arguments.Has(other)) return UsageError(absl::StrCat("--count prints a number; leave out --", other));
    }
  }
  if (arguments.Has("right-output") && (*kind == client::JoinKind::kSemi || *kind == client::JoinKind::kAnti)) {
    return UsageError("a semi or anti join has rows of LEFT alone; leave out --right-output");
  }
  return request;
}

absl::Status RunJoin(const Arguments& arguments) {
  absl::StatusOr<client::JoinRequest> request = ReadJoinOptions(arguments);
  if (!request.ok()) return request.status();
  absl::StatusOr<std::optional<client::ElementType>> type = TypeOption(arguments, "type", nullptr);
  if (!type.ok()) return type.status();
  std::vector<const char*> outputs;
  if (!request->count_only) outputs = {"output", "right-output"};
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
  if (request->right_sorted) {
    const absl::Status sorted = CheckTextIsSorted(sides[1], paths[1], Order::kAscending);
    if (!sorted.ok()) return sorted;
  }
  request->left = sides[0].view();
  request->right = sides[1].view();
  absl::StatusOr<client::RawJoinResult> result = (*session)->Call(
      [&](const client::Client& client, const client::CallOptions& call) { return client.Join(*request, call); });
  if (!result.ok()) return result.status();
  if (result->count.has_value()) {
    absl::StatusOr<std::vector<int64_t>> count = client::ToVector<int64_t>(*result->count);
    if (!count.ok()) return count.status();
    std::printf("%lld\n", static_cast<long long>(count->front()));
  }
  for (const auto& [option, array] :
       {std::pair("output", &result->left_rows), std::pair("right-output", &result->right_rows)}) {
    if (!array->has_value()) continue;
    if (const absl::Status saved = (*session)->Save(option, **array); !saved.ok()) return saved;
  }
  return (*session)->Finish(
      {"join", request->left.count() + request->right.count(), sides[0].type.Name(), "", std::move(result->stats)});
}

}  // namespace

Command JoinCommand() {
  return {{"join", "find the rows of two arrays that have equal keys", "LEFT RIGHT", 2, 2,
           "The keys may be in any order. Rows are numbered from 0. The result has the rows of LEFT in their order,\n"
           "each with its partners in RIGHT, then, for right and full, the rows of RIGHT without a partner. -1 stands\n"
           "for a missing partner. Row numbers are int32, or int64 if an input has 2^31 keys or more.",
           "corank join orders.npy customers.npy -o orders.rows.npy \\\n"
           "    --right-output customers.rows.npy\n"
           "corank join orders.txt customers.txt --kind anti\n"
           "corank join orders.npy customers.npy --kind full --count",
           WithOperatorOptions(
               {{"output", 'o', "FILE",
                 "file for the row numbers of LEFT: .npy, .txt or raw by its name; - is\nstandard output (default: "
                 "standard output if the input is text)"},
                {"right-output", 0, "FILE", "file for the row numbers of RIGHT, as many as of LEFT"},
                {"kind", 0, "NAME",
                 "inner, left, right, full; or rows of LEFT alone: semi with, anti without\na partner (default: inner)",
                 false, "inner left right full semi anti"},
                {"count", 0, nullptr, "print the number of rows in place of the rows"},
                {"right-sorted", 0, nullptr, "RIGHT is in ascending order, which saves a sort"},
                {"max-rows", 0, "N", "fail if there are more than N rows (default: no limit)"},
                kKeyTypeOption,
                kFormatOption})},
          RunJoin};
}

}  // namespace corank::cli
