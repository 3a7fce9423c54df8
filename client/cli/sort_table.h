// Sorting the rows of a .csv or .tsv file by one or more of its columns.
#ifndef CORANK_CLIENT_CLI_SORT_TABLE_H_
#define CORANK_CLIENT_CLI_SORT_TABLE_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/formats.h"
#include "client/cli/options.h"

namespace corank::cli {

/// Whether `corank sort` has a table to sort: kCsv or kTsv by --format or by name; none otherwise. UsageError if an
/// option contradicts that.
absl::StatusOr<std::optional<Format>> TableFormat(const Arguments& arguments);

/// `corank sort` on a table. Rows go out as they came in. A column is compared as numbers if every cell that is not
/// empty is one, else as text; rows with an empty cell come last.
absl::Status RunSortTable(const Arguments& arguments, Format format);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_SORT_TABLE_H_
