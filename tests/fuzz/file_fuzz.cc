// The inputs of the command line: .npy headers, whole files of arrays, raw files of counts, texts, tables, types,
// options; and the JSON that it writes.
//
// Input: the kind of input, then its content.
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/arrays.h"
#include "client/cli/choices.h"
#include "client/cli/failure.h"
#include "client/cli/npy.h"
#include "client/cli/numbers.h"
#include "client/cli/options.h"
#include "client/cli/progress.h"
#include "client/cli/table.h"
#include "client/cli/text.h"
#include "client/cli/text_array.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_file.h"

namespace corank::fuzz {
namespace {

using cli::Arguments;
using client::ElementType;

enum Reader { kHeader, kNpyFile, kRawFile, kInt64File, kInt64Npy, kOptions, kJson, kText, kTable, kReaders };

// A header describes what is in the file, and a header with the same description has the same length modulo 64.
void ReadHeader(absl::string_view bytes) {
  const absl::StatusOr<cli::NpyHeader> header = cli::ReadNpyHeader(bytes);
  if (!header.ok()) {
    FUZZ_CHECK(cli::ExitCodeOf(header.status()) == cli::kExitFile, header.status().ToString());
    return;
  }
  FUZZ_CHECK(cli::IsNpy(bytes), "no .npy file");
  FUZZ_CHECK(header->data_offset >= 10 && header->count >= 0, "bounds");
  FUZZ_CHECK(static_cast<int64_t>(bytes.size()) - header->data_offset == header->count * header->type.bytes(), "bytes");
  const absl::StatusOr<std::string> written = cli::NpyHeaderFor(header->type, header->count);
  FUZZ_CHECK(written.ok() && written->size() % 64 == 0, written.status().ToString());
  const absl::StatusOr<cli::NpyHeader> again =
      cli::ReadNpyHeader(absl::StrCat(*written, bytes.substr(static_cast<size_t>(header->data_offset))));
  FUZZ_CHECK(again.ok() && again->type == header->type && again->count == header->count, again.status().ToString());
}

void CheckArray(const absl::StatusOr<cli::InputArray>& array, absl::string_view file) {
  if (!array.ok()) return;
  const client::ArrayView view = array->view();
  FUZZ_CHECK(view.bytes.size() % static_cast<size_t>(view.type.bytes()) == 0, "a whole number of elements");
  FUZZ_CHECK(view.bytes == file.substr(static_cast<size_t>(array->data_offset)), "the file's bytes");
}

void ReadFile(Reader reader, Input& input) {
  static const ScratchFile npy(".npy"), raw(".raw");
  static auto* const progress = new cli::Progress(false);
  std::optional<ElementType> type;
  if (reader == kRawFile) {
    type = input.Bit() ? ElementType::Record(1 + input.Byte() % 256) : ElementType(kAllKeyTypes[input.Choice(12)]);
  }
  const absl::string_view bytes = input.Rest();
  const std::string& name = (reader == kNpyFile || reader == kInt64Npy ? npy : raw).Fill(bytes);
  if (reader == kNpyFile || reader == kRawFile)
    return CheckArray(cli::LoadArray({name, type, "--type"}, progress), bytes);
  std::vector<int64_t> numbers;
  if (!cli::LoadInt64s(name, &numbers, progress).ok()) return;
  FUZZ_CHECK(numbers.size() * sizeof(int64_t) <= bytes.size(), "as many as there are");
}

// One element per line, and each element as text reads back as a number.
void ReadText(absl::string_view text) {
  static_cast<void>(cli::LooksLikeText(text));
  const absl::StatusOr<cli::InputArray> array = cli::ParseTextArray(cli::FileBytes(std::string(text)), "text");
  if (!array.ok()) {
    FUZZ_CHECK(cli::ExitCodeOf(array.status()) == cli::kExitFile, array.status().ToString());
    return;
  }
  const client::ArrayView view = array->view();
  FUZZ_CHECK(static_cast<size_t>(view.count()) == array->lines.lines.size(), "one element per line");
  for (size_t i = 0; i < array->lines.lines.size(); ++i) {
    std::string number;
    cli::AppendNumber(view.type.key_type(), view.bytes.data() + i * static_cast<size_t>(view.type.bytes()), &number);
    FUZZ_CHECK(!cli::FirstNotANumber({{number, 1}}).has_value(), number);
  }
}

// Every row of the text, in order, with one cell for each column asked for.
void ReadRows(Input& input) {
  const char delimiter = ",\t;"[input.Choice(3)];
  const auto header = static_cast<cli::TableOptions::Header>(input.Choice(3));
  const absl::string_view text = input.Rest();
  const absl::StatusOr<cli::Table> table = cli::ReadTable(text, {delimiter, {"1", "2"}, header}, "table");
  if (!table.ok()) return;
  for (const std::vector<cli::Cell>& column : table->columns) {
    FUZZ_CHECK(column.size() == table->rows.size(), "one cell per row");
  }
  const char* end = text.data();
  for (const absl::string_view row : table->rows) {
    FUZZ_CHECK(row.data() >= end && row.data() + row.size() <= text.data() + text.size(), "a part of the text");
    end = row.data() + row.size();
  }
}

void ReadOptions(absl::string_view line) {
  static const auto* const spec = new cli::CommandSpec{"sort",
                                                       "",
                                                       "INPUT",
                                                       1,
                                                       2,
                                                       "",
                                                       "",
                                                       {cli::kOutputOption,
                                                        cli::kKeyTypeOption,
                                                        cli::kRecordOption,
                                                        cli::kOrderOption,
                                                        cli::kDescendingOption,
                                                        {"limit", 0, "N", ""},
                                                        {"timeout", 0, "TIME", ""}}};
  const std::vector<std::string> words = absl::StrSplit(line, '\n');
  const absl::StatusOr<Arguments> arguments = Arguments::Parse(*spec, words);
  if (!arguments.ok()) {
    FUZZ_CHECK(cli::ExitCodeOf(arguments.status()) == cli::kExitUsage, arguments.status().ToString());
    return;
  }
  FUZZ_CHECK(!arguments->positional().empty() && arguments->positional().size() <= 2, std::string(line));
  const absl::StatusOr<std::optional<int64_t>> limit = arguments->GetCount("limit");
  if (limit.ok() && limit->has_value()) FUZZ_CHECK(**limit >= 0, std::string(line));
  const absl::StatusOr<std::optional<absl::Duration>> timeout = arguments->GetDuration("timeout");
  if (timeout.ok() && timeout->has_value()) FUZZ_CHECK(**timeout > absl::ZeroDuration(), std::string(line));
  static_cast<void>(cli::OrderChoice(*arguments).ok());
  static_cast<void>(cli::TypeOption(*arguments, "type", "record-bytes").ok());
}

// One line, with balanced quotes.
void WriteJson(Input& input) {
  const int64_t number = input.Number();
  const std::string text = cli::JsonObject().Add("text", input.Rest()).Add("number", number).Text();
  FUZZ_CHECK(text.find('\n') == std::string::npos && text.front() == '{' && text.back() == '}', text);
  int quotes = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      ++quotes;
    }
  }
  FUZZ_CHECK(quotes == 6, text);
  FUZZ_CHECK(!cli::CountText(number).empty() && !cli::BytesText(static_cast<double>(number)).empty() &&
                 !cli::TimeText(static_cast<double>(number)).empty(),
             text);
}

std::string Npy(ElementType type, int64_t count) {
  return cli::NpyHeaderFor(type, count).value() + std::string(static_cast<size_t>(count * type.bytes()), 'x');
}

std::string Seed(Reader reader, absl::string_view content) {
  return absl::StrCat(std::string(1, static_cast<char>(reader)), content);
}

std::string WithHeader(const std::string& header, int version = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes += {static_cast<char>(version), '\0', static_cast<char>(header.size()), static_cast<char>(header.size() >> 8)};
  if (version == 2) bytes.append(2, '\0');
  return bytes + header;
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const KeyType type : kAllKeyTypes) {
    if (type != KeyType::kBfloat16) seeds.push_back(Seed(kHeader, Npy(type, 5)));
  }
  const std::string text = "{'descr': '<i8', 'fortran_order': False, 'shape': (0,), }\n";
  for (const std::string& npy :
       {Npy(ElementType::Record(12), 3), Npy(KeyType::kInt64, 4), WithHeader(text), WithHeader(text, 2),
        WithHeader("{'descr': '>i8', 'fortran_order': True, 'shape': (2, 3)}"),
        WithHeader("{\"descr\": [('a', '<i4')], \"fortran_order\": False, \"shape\": (1,)}")}) {
    for (const Reader reader : {kHeader, kNpyFile, kInt64Npy}) seeds.push_back(Seed(reader, npy));
  }
  seeds.push_back(Seed(kRawFile, std::string("\x01\x0bsome bytes, 24 of them ..", 27)));
  seeds.push_back(Seed(kInt64File, std::string(24, '\x01')));
  seeds.push_back(Seed(kOptions, "--type\nu32\n--limit=5\n-o\nout.npy\n--timeout\n1m30s\nin.npy"));
  seeds.push_back(Seed(kOptions, "--record-bytes\n12\n-d\n--\n-\n--ordr"));
  seeds.push_back(Seed(kText, "3\n-1.5e3\r\n\nnan\n"));
  seeds.push_back(Seed(kText, "18446744073709551615\n9007199254740993\n"));
  seeds.push_back(Seed(kTable, std::string(2, '\0') + "a,b\n\"x, \"\"y\"\"\nz\",2\r\n,3"));
  seeds.push_back(Seed(kTable, "\x01\x02 1\t2\n3\t4\n"));
  seeds.push_back(Seed(kJson, "\x05plain \"quoted\" \\ \x01 \xff"));
  return seeds;
}

}  // namespace corank::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace corank::fuzz;
  Input input(data, size);
  switch (const auto reader = static_cast<Reader>(input.Choice(kReaders))) {
    case kHeader:
      ReadHeader(input.Rest());
      break;
    case kOptions:
      ReadOptions(input.Rest());
      break;
    case kJson:
      WriteJson(input);
      break;
    case kText:
      ReadText(input.Rest());
      break;
    case kTable:
      ReadRows(input);
      break;
    default:
      ReadFile(reader, input);
  }
  return 0;
}
