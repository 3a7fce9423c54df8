#include "tests/client/puppet_arrays.h"

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace corank::client {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

const v1::Destination* DestinationOf(const Message& request, const FieldDescriptor* result) {
  const Descriptor* type = request.GetDescriptor();
  for (const std::string& name :
       {result->name() + "_destination", std::string("destination"), std::string("result_destination")}) {
    const FieldDescriptor* field = type->FindFieldByName(name);
    if (field != nullptr && field->message_type() == v1::Destination::descriptor()) {
      return static_cast<const v1::Destination*>(&request.GetReflection()->GetMessage(request, field));
    }
  }
  return &v1::Destination::default_instance();
}

}  // namespace

int64_t ElementBytes(const v1::Array& array) {
  switch (array.type()) {
    case v1::ELEMENT_TYPE_RECORD:
      return array.record_bytes();
    case v1::ELEMENT_TYPE_INT8:
    case v1::ELEMENT_TYPE_UINT8:
      return 1;
    case v1::ELEMENT_TYPE_INT16:
    case v1::ELEMENT_TYPE_UINT16:
    case v1::ELEMENT_TYPE_FLOAT16:
    case v1::ELEMENT_TYPE_BFLOAT16:
      return 2;
    case v1::ELEMENT_TYPE_INT64:
    case v1::ELEMENT_TYPE_UINT64:
    case v1::ELEMENT_TYPE_FLOAT64:
      return 8;
    default:
      return 4;
  }
}

std::vector<v1::Array*> ArraysOf(Message* message) {
  if (message->GetDescriptor() == v1::Array::descriptor()) return {static_cast<v1::Array*>(message)};
  std::vector<v1::Array*> arrays;
  std::vector<const FieldDescriptor*> fields;
  const Reflection* reflection = message->GetReflection();
  reflection->ListFields(*message, &fields);
  const auto add = [&arrays](Message* inner) {
    for (v1::Array* array : ArraysOf(inner)) arrays.push_back(array);
  };
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) {
      add(reflection->MutableMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      add(reflection->MutableRepeatedMessage(message, field, i));
    }
  }
  return arrays;
}

std::vector<std::pair<v1::Array*, const v1::Destination*>> ResultsOf(const Message& request, Message* response) {
  std::vector<std::pair<v1::Array*, const v1::Destination*>> results;
  std::vector<const FieldDescriptor*> fields;
  const Reflection* reflection = response->GetReflection();
  reflection->ListFields(*response, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() == v1::Array::descriptor()) {
      results.emplace_back(static_cast<v1::Array*>(reflection->MutableMessage(response, field)),
                           DestinationOf(request, field));
    } else if (field->message_type() == v1::SortedColumn::descriptor()) {
      const FieldDescriptor* columns = request.GetDescriptor()->FindFieldByName(field->name());
      for (int i = 0; i < reflection->FieldSize(*response, field); ++i) {
        const auto inner = ResultsOf(request.GetReflection()->GetRepeatedMessage(request, columns, i),
                                     reflection->MutableRepeatedMessage(response, field, i));
        results.insert(results.end(), inner.begin(), inner.end());
      }
    }
  }
  return results;
}

Message* InnerMessage(Message* operation, int number) {
  return operation->GetReflection()->MutableMessage(operation, operation->GetDescriptor()->FindFieldByNumber(number));
}

}  // namespace corank::client
