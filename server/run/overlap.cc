#include "server/run/overlap.h"

#include <optional>

#include "server/memory/region_registry.h"

namespace corank {
namespace {

// Not by address: the same memory may be registered, and therefore mapped, twice.
struct ObjectPlaces {
  std::optional<ObjectPlace> from, to;

  bool is_same_object() const { return from && to && from->device == to->device && from->inode == to->inode; }
};

ObjectPlaces PlacesOf(const Operand& input, const std::shared_ptr<ResultTarget>& target) {
  if (!input.is_shared || input.size_bytes() == 0 || target == nullptr) return {};
  return {FindObjectPlace(input.bytes), FindObjectPlace(target->HostPlace())};
}

}  // namespace

bool Overlaps(const Operand& input, const std::shared_ptr<ResultTarget>& target, int64_t bytes) {
  if (!input.is_shared || input.size_bytes() == 0) return false;
  const ObjectPlaces places = PlacesOf(input, target);
  if (!places.to) return false;  // the response's own memory
  return !places.from || (places.is_same_object() && places.from->offset < places.to->offset + bytes &&
                          places.to->offset < places.from->offset + input.size_bytes());
}

bool BeginsWith(const Operand& input, const std::shared_ptr<ResultTarget>& target) {
  const ObjectPlaces places = PlacesOf(input, target);
  return places.is_same_object() && places.from->offset == places.to->offset;
}

}  // namespace corank
