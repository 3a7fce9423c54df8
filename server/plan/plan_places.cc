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

bool AnyStored(const Message& message, absl::FunctionRef<bool(const v1::StoredPlace& place, bool is_result)> is) {
  if (message.GetDescriptor() == v1::Array::descriptor()) {
    const auto& array = static_cast<const v1::Array&>(message);
    return array.has_stored() && is(array.stored(), /*is_result=*/false);
  }
  if (message.GetDescriptor() == v1::Destination::descriptor()) {
    const auto& destination = static_cast<const v1::Destination&>(message);
    return destination.has_stored() && is(destination.stored(), /*is_result=*/true);
  }
  bool found = false;
  ForEachMessage(message, [&](Field, const Message& inner) { found = found || AnyStored(inner, is); });
  return found;
}

bool ReadsStored(const Message& message) {
  return AnyStored(message, [](const v1::StoredPlace&, bool is_result) { return !is_result; });
}

uint64_t FindShardDevices(const v1::Plan& plan, const SharedPlaces& places, const std::string& tenant,
                          absl::FunctionRef<bool(const v1::StoredPlace& place)> is_control) {
  uint64_t devices = 0;
  const auto has_parts = [&](const v1::StoredPlace& place, bool is_result) {
    if (is_result || place.temporary() || is_control(place)) return false;
    const absl::StatusOr<std::shared_ptr<const KeptArray>> kept = places.arrays->Find(tenant, place.name(), "");
    if (kept.ok() && (*kept)->is_sharded) devices = (*kept)->devices();
    return devices != 0;
  };
  if (AnyStored(plan, has_parts)) return devices;
  const auto gets_parts = [](const v1::StoredPlace& place, bool is_result) { return is_result && place.sharded(); };
  return AnyStored(plan, gets_parts) ? places.arrays->ShardDevices() : 0;
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
