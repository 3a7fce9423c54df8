// corank sort, corank argsort.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"
#include "client/cli/sort_table.h"

namespace corank::cli {
namespace {

/// Reads the options that sort and argsort share. *segments holds the offsets that *options refers to.
absl::Status ReadSortOptions(Session* session, std::vector<int64_t>* segments, client::SortOptions* options) {
  const Arguments& arguments = session->arguments();
  absl::StatusOr<Order> order = OrderChoice(arguments);
  if (!order.ok()) return order.status();
  absl::StatusOr<SortAlgorithm> algorithm = SortAlgorithmChoice(arguments);
  if (!algorithm.ok()) return algorithm.status();
  absl::StatusOr<std::optional<int64_t>> limit = arguments.GetCount("limit");
  if (!limit.ok()) return limit.status();
  absl::StatusOr<std::optional<int64_t>> offset = arguments.GetCount("offset");
  if (!offset.ok()) return offset.status();
  *options = {*order, *algorithm, std::nullopt, *limit, offset->value_or(0)};
  return session->LoadSegments(segments, &options->segment_offsets);
}

absl::StatusOr<InputArray> LoadKeys(Session* session) {
  absl::StatusOr<std::optional<client::ElementType>> type = TypeOption(session->arguments(), "type", nullptr);
  if (!type.ok()) return type.status();
  return session->LoadMain(session->arguments().positional()[0], *type, "--type, for instance --type uint32");
}

absl::Status RunSort(const Arguments& arguments) {
  const absl::StatusOr<std::optional<Format>> table = TableFormat(arguments);
  if (!table.ok()) return table.status();
  if (table->has_value()) return RunSortTable(arguments, **table);
  if (arguments.Has("values") != arguments.Has("values-output")) {
    return UsageError("--values FILE and --values-output FILE go together");
  }
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, {"output", "values-output"});
  if (!session.ok()) return session.status();
  std::vector<int64_t> segments;
  client::SortRequest request;
  absl::Status status = ReadSortOptions(session->get(), &segments, &request);
  if (!status.ok()) return status;
  absl::StatusOr<std::optional<client::ElementType>> values_type =
      TypeOption(arguments, "values-type", "values-record-bytes");
  if (!values_type.ok()) return values_type.status();

  absl::StatusOr<InputArray> keys = LoadKeys(session->get());
  if (!keys.ok()) return keys.status();
  request.keys = keys->view();
  status = (*session)->OutputIsLike("output", *keys);
  if (!status.ok()) return status;
  absl::StatusOr<InputArray> values = InputArray();
  if (const std::optional<std::string> path = arguments.Get("values"); path.has_value()) {
    values = (*session)->Load(*path, *values_type, "--values-type or --values-record-bytes");
    if (!values.ok()) return values.status();
    request.values = values->view();
    status = (*session)->OutputIsLike("values-output", *values);
    if (!status.ok()) return status;
  }
  // The lines of a text go out as they came in, so that each number keeps its spelling.
  const bool keeps_lines =
      keys->format == Format::kText && !request.values.has_value() && (*session)->IsTextOutput("output");
  if (keeps_lines) request.output = client::SortOutput::kIndices;
  int64_t count = std::max<int64_t>(0, keys->view().count() - request.offset);
  if (request.limit.has_value()) {
    count =
        std::min(count, segments.empty() ? *request.limit : client::LimitedSegments(segments, *request.limit).back());
  }
  absl::StatusOr<client::Output> keys_output = (*session)->PlaceOutput("output", keys->type, count);
  if (!keys_output.ok()) return keys_output.status();
  request.keys_output = *std::move(keys_output);
  if (request.values.has_value()) {
    absl::StatusOr<client::Output> values_output = (*session)->PlaceOutput("values-output", values->type, count);
    if (!values_output.ok()) return values_output.status();
    request.values_output = *std::move(values_output);
  }
  absl::StatusOr<client::RawSortResult> result = (*session)->Call(
      [&](const client::Client& client, const client::CallOptions& call) { return client.Sort(request, call); });
  if (!result.ok()) return result.status();
  if (keeps_lines && result->indices.has_value()) {
    std::vector<absl::string_view> lines;
    for (const Cell& line : keys->lines.lines) lines.push_back(line.text);
    status = (*session)->SaveLines("output", "", lines, keys->lines.line_end, *result->indices, keys->type.Name());
  }
  if (result->keys.has_value()) status = (*session)->Save("output", *result->keys);
  if (status.ok() && result->values.has_value()) status = (*session)->Save("values-output", *result->values);
  if (!status.ok()) return status;
  return (*session)->Finish({"sort", request.keys.count(), keys->type.Name(), SortAlgorithmName(result->algorithm),
                             std::move(result->stats)});
}

absl::Status RunArgsort(const Arguments& arguments) {
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, {"output", "keys-output"});
  if (!session.ok()) return session.status();
  std::vector<int64_t> segments;
  client::SortRequest request;
  absl::Status status = ReadSortOptions(session->get(), &segments, &request);
  if (!status.ok()) return status;
  absl::StatusOr<InputArray> keys = LoadKeys(session->get());
  if (!keys.ok()) return keys.status();
  request.keys = keys->view();
  request.output = arguments.Has("keys-output") ? client::SortOutput::kKeysAndIndices : client::SortOutput::kIndices;
  status = (*session)->OutputIsLike("keys-output", *keys);
  if (!status.ok()) return status;
  absl::StatusOr<client::RawSortResult> result = (*session)->Call(
      [&](const client::Client& client, const client::CallOptions& call) { return client.Sort(request, call); });
  if (!result.ok()) return result.status();
  if (result->indices.has_value()) status = (*session)->Save("output", *result->indices);
  if (status.ok() && result->keys.has_value()) status = (*session)->Save("keys-output", *result->keys);
  if (!status.ok()) return status;
  return (*session)->Finish({"argsort", request.keys.count(), keys->type.Name(), SortAlgorithmName(result->algorithm),
                             std::move(result->stats)});
}

}  // namespace

Command SortCommand() {
  return {{"sort", "sort an array, lines of numbers, or the rows of a table", "INPUT", 1, 1,
           "INPUT is an array (.npy, or raw with --type), a text with one number per line (.txt), or a table (.csv,\n"
           ".tsv); - is standard input. The sort is stable in both directions. NaNs come last ascending and first\n"
           "descending.\n\n"
           "Text: numbers are int64, uint64 if one needs it, or float64 if one has a point, an exponent, nan or inf.\n"
           "Lines keep their spelling; blank lines are dropped.\n\n"
           "Tables: rows keep their spelling, and the header stays first. A column is compared as numbers if all its\n"
           "cells are numbers, else as text byte by byte. Rows with an empty cell there come last.",
           "corank sort nums.txt\n"
           "corank sort keys.npy -o sorted.npy\n"
           "corank sort people.csv --column age --descending -o oldest-first.csv\n"
           "corank sort keys.bin --type uint32 --descending --limit 100 -o top.bin\n"
           "corank sort nums.txt --offset 50 --limit 1\n"
           "corank sort keys.npy --values rows.bin --values-record-bytes 24 -o k.npy --values-output rows.sorted\n"
           "generate | corank sort - --type f64 -o - | consume",
           WithOperatorOptions(
               {kOutputOption,
                {"column", 'c', "NAME",
                 "sort a table by this column: a name in its header, or a number from 1;\n"
                 "give it again to order equal rows by another column",
                 true},
                kOrderOption,
                kDescendingOption,
                kLimitOption,
                kOffsetOption,
                {"format", 0, "FORMAT",
                 "text, csv, tsv, npy or raw: how INPUT is written (default: by its name\n"
                 ".txt, .csv, .tsv, .npy, .bin or .raw, else by its content)",
                 false, "text csv tsv npy raw"},
                {"delimiter", 0, "CHAR", "between the cells of a table (default: comma for csv, tab for tsv)"},
                {"header", 0, "WORD",
                 "yes or no: whether the first row of a table is a header (default: yes;\n"
                 "an error if that row has numbers only)",
                 false, "yes no"},
                kKeyTypeOption,
                kSortAlgorithmOption,
                {"values", 0, "FILE", "one value for each key, which moves with its key"},
                {"values-type", 0, "TYPE", "type of the values in a raw file", false, kTypeNames},
                {"values-record-bytes", 0, "N", "the values in a raw file are records of N bytes"},
                {"values-output", 0, "FILE", "file for the values, in the order of their keys"},
                kSegmentsOption})},
          RunSort};
}

Command ArgsortCommand() {
  return {{"argsort", "find the permutation that sorts keys", "KEYS", 1, 1,
           "Indices are uint32, or uint64 if there are more than 2^32 keys.",
           "corank argsort keys.npy -o order.npy\n"
           "corank argsort nums.txt -o order.txt\n"
           "corank argsort keys.bin --type f32 -o order.npy --keys-output sorted.bin",
           WithOperatorOptions({{"output", 'o', "FILE",
                                 "file for the indices: .npy, .txt or raw by its name; - is standard output\n"
                                 "(default: standard output if the input is text)"},
                                {"keys-output", 0, "FILE", "file for the sorted keys"},
                                kKeyTypeOption,
                                kFormatOption,
                                kOrderOption,
                                kDescendingOption,
                                kSortAlgorithmOption,
                                kSegmentsOption,
                                kLimitOption,
                                kOffsetOption})},
          RunArgsort};
}

}  // namespace corank::cli
