// Turns requests of unary methods into operations of an Execute plan, and the streamed answer back.
#ifndef CORANK_TESTS_SERVER_STREAMED_OPERATION_H_
#define CORANK_TESTS_SERVER_STREAMED_OPERATION_H_

#include <cstdint>

#include "corank/v1/corank_service.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "tests/server/streamed_call.h"

namespace corank::testing {

int32_t ElementBytes(const v1::Array& array);

/// Calls fn(field, message) for every set message field of `message`, in the order of the fields.
template <typename Fn>
void ForInner(google::protobuf::Message& message, const Fn& fn) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) {
      fn(field, *message.GetReflection()->MutableMessage(&message, field));
      continue;
    }
    for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
      fn(field, *message.GetReflection()->MutableRepeatedMessage(&message, field, i));
    }
  }
}

/// Calls fn(array) for every array of `message`, nested ones included.
template <typename Fn>
void ForArrays(google::protobuf::Message& message, const Fn& fn) {
  ForInner(message, [&fn](const google::protobuf::FieldDescriptor*, google::protobuf::Message& inner) {
    if (inner.GetDescriptor() != v1::Array::descriptor()) return ForArrays(inner, fn);
    fn(static_cast<v1::Array&>(inner));
  });
}

/// Calls fn(destination) for the destination of every array that `response` has, in the order of those arrays.
template <typename Fn>
void ForDestinations(google::protobuf::Message& request, google::protobuf::Message& response, const Fn& fn) {
  int column = 0;
  ForInner(response, [&](const google::protobuf::FieldDescriptor* field, google::protobuf::Message& inner) {
    if (inner.GetDescriptor() == v1::SortedColumn::descriptor()) {
      const auto* const columns = request.GetDescriptor()->FindFieldByName("key_columns");
      ForDestinations(*request.GetReflection()->MutableRepeatedMessage(&request, columns, column++), inner, fn);
    }
    if (inner.GetDescriptor() != v1::Array::descriptor()) return;
    const auto* destination = request.GetDescriptor()->FindFieldByName(field->name() + "_destination");
    if (destination == nullptr) destination = request.GetDescriptor()->FindFieldByName("destination");
    fn(static_cast<v1::Destination&>(*request.GetReflection()->MutableMessage(&request, destination)));
  });
}

/// Turns an inline array into stream `id`, with or without its count, and returns the bytes to send.
StreamedInput MakeStream(v1::Array& array, uint32_t id, bool announce);

/// Copies a request into the operation's field of its type.
google::protobuf::Message& OperationOf(v1::Operation& operation, const google::protobuf::Message& request);

/// The message of the operator that the result is set to.
google::protobuf::Message& ResultOf(v1::OperationResult& result);

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_STREAMED_OPERATION_H_
