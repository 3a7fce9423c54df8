// Key columns in messages, and the job of Search by columns.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/cpp/job.h"
#include "client/cpp/messages.h"

namespace corank::client {

int64_t RowsOf(const ColumnView& column) {
  if (!column.offsets.has_value()) return column.data.count();
  return std::max<int64_t>(static_cast<int64_t>(column.offsets->size()) - 1, 0);
}

void AddColumn(Job* job, const ColumnView& column, const std::string& field, v1::KeyColumn* to) {
  // The server takes unset options of needles from the haystack, and the defaults elsewhere.
  if (column.order != Order::kAscending) to->set_order(ToProto(column.order));
  if (column.nulls != NullOrder::kLast) to->set_nulls(ToProto(column.nulls));
  if (column.nans != NanOrder::kGreatest) to->set_nans(ToProto(column.nans));
  if (column.offsets.has_value()) {
    AddInput(job, ViewOf(*column.offsets), to->mutable_offsets(), field + ".offsets", true);
  }
  AddInput(job, column.data, to->mutable_data(), field + ".data");
  if (column.validity.has_value()) {
    AddInput(job, ViewOf(*column.validity), to->mutable_validity(), field + ".validity");
  }
}

std::unique_ptr<Job> MakeJob(const ColumnSearchRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::SearchRequest* message = job->operation.mutable_search();
  *message->mutable_options() = ToProto(call);
  message->set_bound(request.bound == SearchBound::kLower ? v1::SEARCH_BOUND_LOWER : v1::SEARCH_BOUND_UPPER);
  message->set_assume_sorted(request.assume_sorted);
  int64_t rows = 0, needles = 0;
  for (const ColumnView& column : request.haystack) {
    const std::string field = absl::StrCat("haystack_columns[", message->haystack_columns_size(), "]");
    AddColumn(job.get(), column, field, message->add_haystack_columns());
    rows = RowsOf(column);
  }
  for (const ColumnView& column : request.needles) {
    const std::string field = absl::StrCat("needle_columns[", message->needle_columns_size(), "]");
    AddColumn(job.get(), column, field, message->add_needle_columns());
    needles = RowsOf(column);
  }
  AddResult(
      job.get(), "positions", message->mutable_destination(),
      [](const v1::OperationResult& r, int) { return r.search().has_positions() ? &r.search().positions() : nullptr; },
      request.output, IndexType(rows), needles, true);
  return job;
}

}  // namespace corank::client
