#include "client/cli/formats.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/choices.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"
#include "client/cli/text.h"

namespace corank::cli {
namespace {

/// How much of a file decides whether it is text.
constexpr size_t kJudgedBytes = 64 << 10;

struct Ending {
  const char* ending;
  Format format;
};
constexpr Ending kEndings[] = {{".npy", Format::kNpy}, {".txt", Format::kText}, {".csv", Format::kCsv},
                               {".tsv", Format::kTsv}, {".bin", Format::kRaw},  {".raw", Format::kRaw}};

/// What to do with a file that does not hold one array. FILE stands for its path.
struct Advice {
  const char* ending;
  const char* text;
};
constexpr Advice kAdvice[] = {
    {".npz",
     "holds several arrays; save one of them as .npy: python3 -c \"import numpy as np; f = np.load('FILE'); "
     "print(f.files); np.save('keys.npy', f[f.files[0]])\""},
    {".parquet",
     "is a table; sort it with the Python package: corank-table sort FILE --by COLUMN -o sorted.parquet, or save one "
     "column as .npy: python3 -c \"import numpy as np, pandas as pd; t = pd.read_parquet('FILE'); print(t.dtypes); "
     "np.save('keys.npy', t['COLUMN'].to_numpy())\""},
    {".feather",
     "is a table; save one column as .npy: python3 -c \"import numpy as np, pandas as pd; t = "
     "pd.read_feather('FILE'); print(t.dtypes); np.save('keys.npy', t['COLUMN'].to_numpy())\""},
    {".xlsx", "is a spreadsheet; save it as .csv first"},
    {".json", "is JSON; write its numbers to a .txt file, one per line, or its rows to a .csv file"},
    {".gz", "is compressed; unpack it into a pipe: gunzip -c FILE | corank sort -"},
    {".xz", "is compressed; unpack it into a pipe: xz -dc FILE | corank sort -"},
    {".zst", "is compressed; unpack it into a pipe: zstd -dc FILE | corank sort -"},
    {".zip", "is an archive; unpack it first"},
};

}  // namespace

absl::StatusOr<std::optional<Format>> FormatOption(const Arguments& arguments) {
  if (!arguments.Has("format")) return std::optional<Format>();
  const absl::StatusOr<Format> format = Choice<Format>(arguments, "format",
                                                       {{"text", Format::kText},
                                                        {"npy", Format::kNpy},
                                                        {"raw", Format::kRaw},
                                                        {"csv", Format::kCsv},
                                                        {"tsv", Format::kTsv}});
  if (!format.ok()) return format.status();
  return std::optional<Format>(*format);
}

std::optional<Format> FormatOfName(absl::string_view path) {
  for (const Ending& known : kEndings) {
    if (absl::EndsWithIgnoreCase(path, known.ending)) return known.format;
  }
  return std::nullopt;
}

bool LooksLikeText(absl::string_view bytes) {
  const bool is_cut = bytes.size() > kJudgedBytes;
  absl::string_view rest = bytes.substr(0, kJudgedBytes);
  if (rest.empty()) return false;
  bool has_lines = false;
  bool has_digits_only = true;
  while (!rest.empty()) {
    const char c = rest[0];
    const size_t size = Utf8Bytes(rest);
    // The last character may be cut.
    if (size == 0) return is_cut && rest.size() < 4 && has_lines;
    const bool is_space = c == '\n' || c == '\r' || c == '\t' || c == '\f';
    if (size == 1 && !is_space && absl::ascii_iscntrl(static_cast<unsigned char>(c))) return false;
    has_lines = has_lines || c == '\n';
    has_digits_only = has_digits_only && size == 1 &&
                      (is_space || absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
                       absl::StrContains(" +-.eE", absl::string_view(&c, 1)));
    rest.remove_prefix(size);
  }
  return has_lines || has_digits_only;
}

std::string DisplayName(const std::string& path) { return path == kStandardStream ? "standard input" : path; }

absl::Status CheckIsOneArray(const std::string& path, bool is_forced) {
  if (path == kStandardStream) return absl::OkStatus();
  struct stat info = {};
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return FileError(absl::StrCat(path, " is a folder; name one file in it, or sort each file and join the results ",
                                  "with corank merge"));
  }
  if (is_forced) return absl::OkStatus();
  for (const Advice& advice : kAdvice) {
    if (!absl::EndsWithIgnoreCase(path, advice.ending)) continue;
    return FileError(absl::StrCat(path, " ", absl::StrReplaceAll(advice.text, {{"FILE", path}})));
  }
  return absl::OkStatus();
}

}  // namespace corank::cli
