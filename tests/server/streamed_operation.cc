#include "tests/server/streamed_operation.h"

#include <gtest/gtest.h>

#include "kernels/common/types.h"

namespace corank::testing {

using google::protobuf::Message;

int32_t ElementBytes(const v1::Array& array) {
  return array.type() == v1::ELEMENT_TYPE_RECORD ? static_cast<int32_t>(array.record_bytes())
                                                 : KeyBytes(static_cast<KeyType>(array.type()));
}

StreamedInput MakeStream(v1::Array& array, uint32_t id, bool announce) {
  StreamedInput input{id, ElementBytes(array), array.inline_data(), 0, !announce};
  if (announce) array.set_count(static_cast<int64_t>(input.bytes.size()) / input.element_bytes);
  array.mutable_stream()->set_stream_id(id);
  return input;
}

Message& OperationOf(v1::Operation& operation, const Message& request) {
  const auto* type = operation.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    if (type->field(i)->message_type() != request.GetDescriptor()) continue;
    Message& message = *operation.GetReflection()->MutableMessage(&operation, type->field(i));
    message.CopyFrom(request);
    return message;
  }
  ADD_FAILURE() << "no operation for " << request.GetTypeName();
  return operation;
}

Message& ResultOf(v1::OperationResult& result) {
  const auto* oneof = result.GetDescriptor()->oneof_decl(0);
  return *result.GetReflection()->MutableMessage(&result,
                                                 result.GetReflection()->GetOneofFieldDescriptor(result, oneof));
}

}  // namespace corank::testing
