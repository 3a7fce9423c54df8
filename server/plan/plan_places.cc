#include "server/plan/plan_places.h"

#include <utility>

#include "corank/v1/array.pb.h"
#include "google/protobuf/descriptor.h"

namespace corank {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void ForEachMessage(const Message& message, absl::FunctionRef<void(Field field, const Message& inner)> visit) {
  const Reflection* const reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) {
      visit({field->name()}, reflection->GetMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      visit({field->name(), i}, reflection->GetRepeatedMessage(message, field, i));
    }
  }
}

bool ReadsStored(const Message& message) {
  if (message.GetDescriptor() == v1::Array::descriptor()) return static_cast<const v1::Array&>(message).has_stored();
  bool found = false;
  ForEachMessage(message, [&found](Field, const Message& inner) { found = found || ReadsStored(inner); });
  return found;
}

void HoldPlaces(const Message& message, const SharedPlaces& places, const std::string& tenant,
                std::vector<std::shared_ptr<const void>>& held) {
  const auto hold = [&held](auto found) {
    if (found.ok()) held.push_back(*std::move(found));
  };
  const auto hold_region = [&](const auto& place) {
    if (place.has_shared_memory()) {
      hold(places.regions->Find(tenant, place.shared_memory().region(), v1::REGION_KIND_SHARED_MEMORY, ""));
    }
    if (place.has_cuda_ipc()) {
      hold(places.regions->Find(tenant, place.cuda_ipc().region(), v1::REGION_KIND_CUDA_IPC, ""));
    }
  };
  if (message.GetDescriptor() == v1::Destination::descriptor()) {
    return hold_region(static_cast<const v1::Destination&>(message));
  }
  if (message.GetDescriptor() == v1::Array::descriptor()) {
    const auto& array = static_cast<const v1::Array&>(message);
    hold_region(array);
    const bool is_kept = array.has_stored() && !array.stored().temporary();
    if (is_kept) hold(places.arrays->Find(tenant, array.stored().name(), ""));
    return;
  }
  ForEachMessage(message, [&](Field, const Message& inner) { HoldPlaces(inner, places, tenant, held); });
}

}  // namespace corank
