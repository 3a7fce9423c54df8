// corank select.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/numbers.h"
#include "client/cli/session.h"

namespace corank::cli {
namespace {

absl::StatusOr<client::SelectRequest> ReadSelectOptions(const Arguments& arguments) {
  client::SelectRequest request;
  const int predicates = static_cast<int>(arguments.Has("flags")) + static_cast<int>(arguments.Has("positions")) +
                         static_cast<int>(arguments.Has("threshold"));
  if (predicates != 1) return UsageError("give one of --flags FILE, --positions FILE and --threshold NUMBER");
  if (arguments.Has("comparison") != arguments.Has("threshold")) {
    return UsageError("--comparison NAME and --threshold NUMBER go together");
  }
  absl::StatusOr<client::Comparison> comparison =
      Choice<client::Comparison>(arguments, "comparison",
                                 {{"less", client::Comparison::kLess},
                                  {"equal", client::Comparison::kEqual},
                                  {"less-or-equal", client::Comparison::kLessOrEqual},
                                  {"greater", client::Comparison::kGreater},
                                  {"not-equal", client::Comparison::kNotEqual},
                                  {"greater-or-equal", client::Comparison::kGreaterOrEqual}});
  if (!comparison.ok()) return comparison.status();
  request.comparison = *comparison;
  request.negate = arguments.Has("negate");
  request.partition = arguments.Has("partition");
  request.wants.indices = arguments.Has("indices-output");
  request.wants.count = arguments.Has("count");
  // --count alone prints a number in place of the elements.
  request.wants.elements = !request.wants.count || arguments.Has("output");
  if (arguments.Has("values") != arguments.Has("values-output")) {
    return UsageError("--values FILE and --values-output FILE go together");
  }
  return request;
}

// One uint8 for each flag, which is 1 if the flag is not 0.
absl::StatusOr<std::string> FlagBytes(const InputArray& flags, const std::string& path) {
  if (flags.type.is_record() || IsFloat(flags.type.key_type())) {
    return FileError(absl::StrCat(path, ": flags are integers, not ", flags.type.Name()));
  }
  const client::ArrayView view = flags.view();
  const auto width = static_cast<size_t>(flags.type.bytes());
  std::string bytes(static_cast<size_t>(view.count()), '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    const absl::string_view element = view.bytes.substr(i * width, width);
    bytes[i] = element.find_first_not_of('\0') == absl::string_view::npos ? '\0' : '\1';
  }
  return bytes;
}

absl::Status RunSelect(const Arguments& arguments) {
  absl::StatusOr<client::SelectRequest> request = ReadSelectOptions(arguments);
  if (!request.ok()) return request.status();
  absl::StatusOr<std::optional<client::ElementType>> type = TypeOption(arguments, "type", "record-bytes");
  if (!type.ok()) return type.status();
  absl::StatusOr<std::optional<client::ElementType>> values_type = TypeOption(arguments, "values-type", nullptr);
  if (!values_type.ok()) return values_type.status();
  std::vector<const char*> outputs;
  if (request->wants.elements) outputs.push_back("output");  // the main one comes first
  outputs.insert(outputs.end(), {"values-output", "indices-output"});
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, outputs);
  if (!session.ok()) return session.status();

  absl::StatusOr<InputArray> elements =
      request->wants.elements ? (*session)->LoadMain(arguments.positional()[0], *type, "--type or --record-bytes")
                              : (*session)->Load(arguments.positional()[0], *type, "--type or --record-bytes");
  if (!elements.ok()) return elements.status();
  request->elements = elements->view();
  absl::StatusOr<InputArray> values = InputArray();
  if (const std::optional<std::string> path = arguments.Get("values"); path.has_value()) {
    values = (*session)->Load(*path, *values_type, "--values-type");
    if (!values.ok()) return values.status();
    request->values = values->view();
    if (const absl::Status like = (*session)->OutputIsLike("values-output", *values); !like.ok()) return like;
  }
  absl::StatusOr<std::string> predicate = std::string();
  std::vector<int64_t> positions;
  if (const std::optional<std::string> path = arguments.Get("flags"); path.has_value()) {
    absl::StatusOr<InputArray> flags = (*session)->Load(*path, client::ElementType(KeyType::kUint8), "");
    if (!flags.ok()) flags = (*session)->Load(*path, std::nullopt, "");
    if (!flags.ok()) return flags.status();
    predicate = FlagBytes(*flags, *path);
    if (!predicate.ok()) return predicate.status();
    request->flags = client::ArrayView{KeyType::kUint8, *predicate};
  } else if (arguments.Has("positions")) {
    absl::StatusOr<std::vector<int64_t>> loaded = (*session)->LoadInt64Option("positions");
    if (!loaded.ok()) return loaded.status();
    positions = *std::move(loaded);
    request->positions = client::ViewOf(positions);
  } else {
    if (elements->type.is_record()) return UsageError("records have no order; use --flags or --positions");
    predicate = ReadElement(elements->type.key_type(), arguments.GetOr("threshold", ""));
    if (!predicate.ok()) return UsageError(absl::StrCat("--threshold: ", predicate.status().message()));
    request->threshold = client::ArrayView{elements->type, *predicate};
  }

  absl::StatusOr<client::RawSelectResult> result = (*session)->Call(
      [&](const client::Client& client, const client::CallOptions& call) { return client.Select(*request, call); });
  if (!result.ok()) return result.status();
  if (result->count.has_value()) {
    absl::StatusOr<std::vector<int64_t>> count = client::ToVector<int64_t>(*result->count);
    if (!count.ok()) return count.status();
    std::printf("%lld\n", static_cast<long long>(count->front()));
  }
  for (const auto& [option, array] :
       {std::pair("output", &result->elements), std::pair("values-output", &result->values),
        std::pair("indices-output", &result->indices)}) {
    if (!array->has_value()) continue;
    if (const absl::Status saved = (*session)->Save(option, **array); !saved.ok()) return saved;
  }
  return (*session)->Finish({"select", request->elements.count(), elements->type.Name(), "", std::move(result->stats)});
}

}  // namespace

Command SelectCommand() {
  return {{"select", "keep the elements that flags, positions or a comparison choose", "ELEMENTS", 1, 1,
           "Elements keep their order. With --negate the others are kept: --positions removes elements then. With\n"
           "--partition the others follow. Numbers compare as sort orders them: NaN is greater than every number.",
           "corank select keys.npy --threshold 100 --comparison less -o small.npy\n"
           "corank select keys.npy --flags flags.npy --partition -o parted.npy\n"
           "corank select keys.npy --positions gone.npy --negate -o rest.npy\n"
           "corank select nums.txt --threshold 0 --comparison equal --count",
           WithOperatorOptions(
               {kOutputOption,
                {"flags", 0, "FILE", "an integer for each element, which is kept if it is not 0"},
                {"positions", 0, "FILE", "positions of the elements, from 0, in any order (int64)"},
                {"threshold", 0, "NUMBER", "the number to compare each element with"},
                {"comparison", 0, "NAME",
                 "less, equal, less-or-equal, greater, not-equal or greater-or-equal:\nhow a kept element compares",
                 false, "less equal less-or-equal greater not-equal greater-or-equal"},
                {"negate", 0, nullptr, "keep the other elements"},
                {"partition", 0, nullptr, "let the other elements follow"},
                {"values", 0, "FILE", "one value for each element, which travels with it"},
                {"values-type", 0, "TYPE", "type of the values in a raw file", false, kTypeNames},
                {"values-output", 0, "FILE", "file for the values"},
                {"indices-output", 0, "FILE", "file for the positions of the elements"},
                {"count", 0, nullptr, "print the number of kept elements; without -o in place of them"},
                kElementTypeOption,
                kRecordOption,
                kFormatOption})},
          RunSelect};
}

}  // namespace corank::cli
