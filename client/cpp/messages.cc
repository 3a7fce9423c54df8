#include "client/cpp/messages.h"

#include "absl/strings/str_cat.h"
#include "proto/wire_enums.h"

namespace corank::client {
namespace {

void Fill(const ArrayView& view, v1::Array* array) {
  if (view.type.is_record()) {
    array->set_type(v1::ELEMENT_TYPE_RECORD);
    array->set_record_bytes(view.type.bytes());
  } else {
    array->set_type(static_cast<v1::ElementType>(view.type.key_type()));
  }
  array->set_count(view.count());
  array->set_inline_data(view.bytes.data(), view.bytes.size());
}

void Fill(absl::Span<const int64_t> counts, v1::Array* array) { Fill(ViewOf(counts), array); }

template <typename Message>
void FillInitial(const InitialDestination& initial, Message* message) {
  if (const int64_t* count = std::get_if<int64_t>(&initial)) {
    message->set_destination_count(*count);
  } else {
    Fill(std::get<ArrayView>(initial), message->mutable_destination());
  }
}

v1::SortOrder ToProto(Order order) {
  return order == Order::kAscending ? v1::SORT_ORDER_ASCENDING : v1::SORT_ORDER_DESCENDING;
}

v1::SortOutput ToProto(SortOutput output) {
  switch (output) {
    case SortOutput::kKeys:
      return v1::SORT_OUTPUT_KEYS;
    case SortOutput::kIndices:
      return v1::SORT_OUTPUT_INDICES;
    case SortOutput::kKeysAndIndices:
      return v1::SORT_OUTPUT_KEYS_AND_INDICES;
  }
  return v1::SORT_OUTPUT_UNSPECIFIED;
}

std::string EngineName(v1::Engine engine) {
  return engine == v1::ENGINE_CUDA ? "cuda" : engine == v1::ENGINE_CPU ? "cpu" : "unknown";
}

absl::Status Malformed(absl::string_view what) {
  return absl::InternalError(absl::StrCat("the server sent a malformed array: ", what));
}

}  // namespace

v1::SortRequest ToProto(const SortRequest& request) {
  v1::SortRequest message;
  Fill(request.keys, message.mutable_keys());
  if (request.values.has_value()) Fill(*request.values, message.mutable_values());
  message.set_order(ToProto(request.order));
  message.set_algorithm(ToWire(request.algorithm));
  message.set_output(ToProto(request.output));
  if (request.segment_offsets.has_value()) Fill(*request.segment_offsets, message.mutable_segment_offsets());
  if (request.limit.has_value()) message.set_limit(*request.limit);
  return message;
}

v1::SortRequest ToProto(const ColumnSortRequest& request) {
  v1::SortRequest message;
  for (const ColumnView& column : request.columns) {
    v1::KeyColumn* to = message.add_key_columns();
    Fill(column.data, to->mutable_data());
    if (column.offsets.has_value()) Fill(*column.offsets, to->mutable_offsets());
    to->set_order(ToProto(column.order));
  }
  if (request.values.has_value()) Fill(*request.values, message.mutable_values());
  message.set_algorithm(ToWire(request.algorithm));
  message.set_output(ToProto(request.output));
  if (request.limit.has_value()) message.set_limit(*request.limit);
  return message;
}

v1::MergeRequest ToProto(const MergeRequest& request) {
  v1::MergeRequest message;
  for (const ArrayView& keys : request.keys) Fill(keys, message.add_keys());
  for (const ArrayView& values : request.values) Fill(values, message.add_values());
  message.set_order(ToProto(request.order));
  message.set_algorithm(ToWire(request.algorithm));
  message.set_assume_sorted(request.assume_sorted);
  return message;
}

v1::ExpandIntervalsRequest ToProto(const ExpandRequest& request) {
  v1::ExpandIntervalsRequest message;
  Fill(request.values, message.mutable_values());
  Fill(request.counts, message.mutable_counts());
  return message;
}

v1::MoveIntervalsRequest ToProto(const MoveRequest& request) {
  v1::MoveIntervalsRequest message;
  Fill(request.source, message.mutable_source());
  Fill(request.source_offsets, message.mutable_source_offsets());
  Fill(request.destination_offsets, message.mutable_destination_offsets());
  Fill(request.counts, message.mutable_counts());
  FillInitial(request.destination, &message);
  message.set_allow_overlap(request.allow_overlap);
  return message;
}

v1::GatherIntervalsRequest ToProto(const GatherRequest& request) {
  v1::GatherIntervalsRequest message;
  Fill(request.source, message.mutable_source());
  Fill(request.source_offsets, message.mutable_source_offsets());
  Fill(request.counts, message.mutable_counts());
  return message;
}

v1::ScatterIntervalsRequest ToProto(const ScatterRequest& request) {
  v1::ScatterIntervalsRequest message;
  Fill(request.source, message.mutable_source());
  Fill(request.destination_offsets, message.mutable_destination_offsets());
  Fill(request.counts, message.mutable_counts());
  FillInitial(request.destination, &message);
  message.set_allow_overlap(request.allow_overlap);
  return message;
}

v1::LoadBalanceRequest ToProto(const LoadBalanceRequest& request) {
  v1::LoadBalanceRequest message;
  Fill(request.counts, message.mutable_counts());
  return message;
}

v1::SearchRequest ToProto(const SearchRequest& request) {
  v1::SearchRequest message;
  Fill(request.haystack, message.mutable_haystack());
  Fill(request.needles, message.mutable_needles());
  message.set_bound(request.bound == SearchBound::kLower ? v1::SEARCH_BOUND_LOWER : v1::SEARCH_BOUND_UPPER);
  message.set_order(ToProto(request.order));
  message.set_assume_sorted(request.assume_sorted);
  return message;
}

v1::RequestOptions ToProto(const CallOptions& options) {
  v1::RequestOptions message;
  message.set_priority(options.priority == Priority::kHigh  ? v1::PRIORITY_HIGH
                       : options.priority == Priority::kLow ? v1::PRIORITY_LOW
                                                            : v1::PRIORITY_NORMAL);
  message.set_request_id(options.request_id);
  return message;
}

absl::StatusOr<Array> FromProto(v1::Array* array) {
  Array result;
  if (array->type() == v1::ELEMENT_TYPE_RECORD) {
    if (array->record_bytes() < 1 || array->record_bytes() > kMaxRecordBytes) return Malformed("record size");
    result.type = ElementType::Record(static_cast<int>(array->record_bytes()));
  } else {
    if (array->type() < v1::ELEMENT_TYPE_INT8 || array->type() > v1::ELEMENT_TYPE_FLOAT64) {
      return Malformed("unknown type");
    }
    result.type = static_cast<KeyType>(array->type());
  }
  if (array->place_case() != v1::Array::kInlineData && array->place_case() != v1::Array::PLACE_NOT_SET) {
    return Malformed("its bytes are not in the message");
  }
  if (array->place_case() == v1::Array::kInlineData) result.bytes = std::move(*array->mutable_inline_data());
  if (result.bytes.size() % result.type.bytes() != 0) return Malformed("not a whole number of elements");
  if (array->has_count() && array->count() != result.count()) return Malformed("its count is not that of its bytes");
  return result;
}

RequestStats FromProto(const v1::RequestStats& stats) {
  RequestStats result;
  result.engine = EngineName(stats.engine());
  result.device = stats.device();
  result.queue_ns = stats.queue_ns();
  result.copy_in_ns = stats.copy_in_ns();
  result.kernel_ns = stats.kernel_ns();
  result.copy_out_ns = stats.copy_out_ns();
  result.workspace_bytes = stats.workspace_bytes();
  result.batch_size = stats.batch_size();
  return result;
}

ServerInfo FromProto(const v1::GetServerInfoResponse& info) {
  ServerInfo result;
  result.version = info.version();
  result.engine = EngineName(info.engine());
  result.device = info.device();
  result.engine_reason = info.engine_reason();
  result.device_memory_bytes = info.device_memory_bytes();
  result.lanes = info.lanes();
  result.max_request_bytes = info.limits().max_request_bytes();
  result.max_response_bytes = info.limits().max_response_bytes();
  result.max_queued_requests = info.limits().max_queued_requests();
  result.max_queued_bytes = info.limits().max_queued_bytes();
  result.max_chunk_bytes = info.limits().max_chunk_bytes();
  result.max_merge_inputs = info.limits().max_merge_inputs();
  result.places.assign(info.places().begin(), info.places().end());
  result.uptime = absl::Seconds(info.uptime_seconds());
  return result;
}

}  // namespace corank::client
