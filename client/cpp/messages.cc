#include "client/cpp/messages.h"

#include "absl/strings/str_cat.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "proto/durations.h"

namespace corank::client {
namespace {

std::string EngineName(v1::Engine engine) {
  return engine == v1::ENGINE_CUDA ? "cuda" : engine == v1::ENGINE_CPU ? "cpu" : "unknown";
}

}  // namespace

v1::SortOrder ToProto(Order order) {
  return order == Order::kAscending ? v1::SORT_ORDER_ASCENDING : v1::SORT_ORDER_DESCENDING;
}

v1::NullOrder ToProto(NullOrder nulls) {
  return nulls == NullOrder::kLast ? v1::NULL_ORDER_LAST : v1::NULL_ORDER_FIRST;
}

v1::NanOrder ToProto(NanOrder nans) {
  switch (nans) {
    case NanOrder::kGreatest:
      return v1::NAN_ORDER_GREATEST;
    case NanOrder::kBesideNulls:
      return v1::NAN_ORDER_BESIDE_NULLS;
    case NanOrder::kAsNulls:
      return v1::NAN_ORDER_AS_NULLS;
  }
  return v1::NAN_ORDER_UNSPECIFIED;
}

v1::SortOutput ToProto(SortOutput output) {
  switch (output) {
    case SortOutput::kKeys:
      return v1::SORT_OUTPUT_KEYS;
    case SortOutput::kIndices:
      return v1::SORT_OUTPUT_INDICES;
    case SortOutput::kKeysAndIndices:
      return v1::SORT_OUTPUT_KEYS_AND_INDICES;
    case SortOutput::kRanks:
      return v1::SORT_OUTPUT_RANKS;
  }
  return v1::SORT_OUTPUT_UNSPECIFIED;
}

v1::RequestOptions ToProto(const CallOptions& options) {
  v1::RequestOptions message;
  message.set_priority(options.priority == Priority::kHigh  ? v1::PRIORITY_HIGH
                       : options.priority == Priority::kLow ? v1::PRIORITY_LOW
                                                            : v1::PRIORITY_NORMAL);
  message.set_request_id(options.request_id);
  return message;
}

void FillType(ElementType type, v1::Array* array) {
  if (type.is_record()) {
    array->set_type(v1::ELEMENT_TYPE_RECORD);
    array->set_record_bytes(type.bytes());
  } else {
    array->set_type(static_cast<v1::ElementType>(type.key_type()));
  }
}

absl::StatusOr<ElementType> TypeFromProto(v1::ElementType type, uint32_t record_bytes) {
  if (type == v1::ELEMENT_TYPE_RECORD) {
    if (record_bytes < 1 || record_bytes > kMaxRecordBytes) return MalformedArray("record size");
    return ElementType::Record(static_cast<int>(record_bytes));
  }
  if (type < v1::ELEMENT_TYPE_INT8 || type > v1::ELEMENT_TYPE_FLOAT64) return MalformedArray("unknown type");
  return ElementType(static_cast<KeyType>(type));
}

RequestStats FromProto(const v1::RequestStats& stats) {
  RequestStats result;
  result.engine = EngineName(stats.engine());
  result.device = stats.device();
  result.device_ordinal = stats.device_ordinal();
  result.devices = stats.devices();
  result.queue_ns = stats.queue_ns();
  result.copy_in_ns = stats.copy_in_ns();
  result.kernel_ns = stats.kernel_ns();
  result.copy_out_ns = stats.copy_out_ns();
  result.workspace_bytes = stats.workspace_bytes();
  result.batch_size = stats.batch_size();
  result.runs = stats.runs();
  result.out_of_core = stats.out_of_core();
  result.receive_ns = stats.receive_ns();
  result.send_ns = stats.send_ns();
  return result;
}

const char* SourceName(v1::SettingSource source) {
  switch (source) {
    case v1::SETTING_SOURCE_DEFAULT:
      return "default";
    case v1::SETTING_SOURCE_FILE:
      return "file";
    case v1::SETTING_SOURCE_ENVIRONMENT:
      return "environment";
    case v1::SETTING_SOURCE_FLAG:
      return "flag";
    default:
      return "unknown";  // from a newer server
  }
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
  result.max_parts = info.limits().max_parts();
  result.stream_window_bytes = info.limits().stream_window_bytes();
  result.max_device_bytes = info.limits().max_device_bytes();
  result.places.assign(info.places().begin(), info.places().end());
  result.shared_memory_prefixes.assign(info.shared_memory_prefixes().begin(), info.shared_memory_prefixes().end());
  result.device_uuid = info.device_uuid();
  for (const v1::Device& device : info.devices()) {
    result.devices.push_back({device.ordinal(), device.name(), device.uuid(), device.memory_bytes(), device.up()});
  }
  result.uptime = DurationFromProto(info.uptime()).value_or(absl::ZeroDuration());
  for (const v1::Setting& setting : info.settings()) {
    result.settings.push_back({setting.group(), setting.name(), setting.value(), setting.default_value(),
                               SourceName(setting.source()), setting.hidden()});
  }
  return result;
}

grpc::ByteBuffer Encode(const google::protobuf::Message& message) {
  const grpc::Slice bytes(message.SerializeAsString());
  return grpc::ByteBuffer(&bytes, 1);
}

absl::Status Decode(grpc::ByteBuffer* bytes, google::protobuf::Message* message) {
  grpc::ProtoBufferReader reader(bytes);
  if (reader.status().ok() && message->ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the server's answer is not a ", message->GetTypeName()));
}

absl::Status MalformedArray(absl::string_view what) {
  return absl::InternalError(absl::StrCat("the server sent a malformed array: ", what));
}

}  // namespace corank::client
