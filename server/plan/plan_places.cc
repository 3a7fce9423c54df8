#include "server/plan/plan_places.h"

#include <utility>

#include "absl/functional/function_ref.h"
#include "corank/v1/array.pb.h"
#include "google/protobuf/descriptor.h"

namespace corank {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Calls `visit` with every message that is set in a field of this one.
void ForEachMessage(const Message& message, absl::FunctionRef<void(const Message&)> visit) {
  const Reflection* const reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr) continue;
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      visit(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                 : reflection->GetMessage(message, field));
    }
  }
}

}  // namespace

bool ReadsStored(const Message& message) {
  if (message.GetDescriptor() == v1::Array::descriptor()) return static_cast<const v1::Array&>(message).has_stored();
  bool found = false;
  ForEachMessage(message, [&found](const Message& inner) { found = found || ReadsStored(inner); });
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
  ForEachMessage(message, [&](const Message& inner) { HoldPlaces(inner, places, tenant, held); });
}

}  // namespace corank
