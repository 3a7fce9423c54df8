#include "tests/fuzz/world.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "google/protobuf/stubs/logging.h"
#include "kernels/cpu/cpu_engine.h"
#include "tests/fuzz/fuzz_target.h"

namespace corank::fuzz {
namespace {

std::unique_ptr<Engine> OneThread() {
  auto engine = CreateCpuEngine({1});
  FUZZ_CHECK(engine.ok(), engine.status().ToString());
  return *std::move(engine);
}

RegionRegistry::Options RegionOptions() {
  RegionRegistry::Options options;
  options.shared_memory_prefixes = {kRegionPrefix};
  options.cuda_ipc = true;
  options.max_regions = 8;
  return options;
}

ArrayStore::Options StoreOptions() {
  ArrayStore::Options options;
  options.max_bytes = 1 << 20;
  options.quota_bytes = 256 << 10;
  return options;
}

void Keep(ArrayStore& arrays, const std::string& name, int64_t count) {
  auto room = arrays.Reserve("", /*device=*/0, count * 4, "keys");
  FUZZ_CHECK(room.ok(), room.status().ToString());
  auto array = arrays.Make(*room, count, /*element_bytes=*/4);
  FUZZ_CHECK(array.ok(), array.status().ToString());
  (*array)->type = v1::ELEMENT_TYPE_INT32;
  auto* const elements = reinterpret_cast<int32_t*>((*array)->parts[0].data());
  std::iota(elements, elements + count, 0);
  FUZZ_CHECK(arrays.Keep("", name, *array).ok(), name);
}

}  // namespace

OwnLane::OwnLane(Engine* engine) : engine_(engine) { static_cast<void>(ExtraStream(0)); }

absl::StatusOr<EngineStream*> OwnLane::ExtraStream(int i) {
  while (static_cast<int>(streams_.size()) < i + 2) {  // stream() precedes the extra streams
    auto stream = engine_->CreateStream();
    FUZZ_CHECK(stream.ok(), stream.status().ToString());
    streams_.push_back(*std::move(stream));
  }
  return streams_[static_cast<size_t>(i) + 1].get();
}

World::World()
    : logger(LogLevel::kDebug, [](absl::string_view) {}),
      engine(OneThread()),
      devices({engine.get()}),
      pool(HostPool::Create(&devices, {4 << 20, 1 << 20})),
      regions(RegionOptions(), &devices, &clock),
      arrays(StoreOptions(), &devices, &clock),
      lane(engine.get()) {
  FUZZ_CHECK(devices.MakeCopiers().ok(), "copiers");
  google::protobuf::SetLogHandler(nullptr);  // strings that are not UTF-8
  limits.max_request_bytes = 64 << 10;
  limits.max_response_bytes = 64 << 10;
  limits.max_chunk_bytes = 1 << 10;
  const int object = shm_open(OwnRegionKey().c_str(), O_RDWR | O_CREAT, 0600);
  FUZZ_CHECK(object >= 0 && ftruncate(object, kRegionBytes) == 0, "shm_open");
  close(object);
  std::atexit([] { shm_unlink(OwnRegionKey().c_str()); });
  RegisterRegion();
  Reset();
}

World& World::Get() {
  static World* const world = new World;
  return *world;
}

void World::RegisterRegion() {
  v1::RegisterSharedMemoryRequest request;
  request.set_name("r");
  request.set_key(OwnRegionKey());
  request.set_size_bytes(kRegionBytes);
  const auto registered = regions.Register("", request);
  FUZZ_CHECK(registered.ok(), registered.status().ToString());
}

void World::Reset() {
  FUZZ_CHECK(pool->bytes_in_use() == 0, absl::StrCat(pool->bytes_in_use(), " bytes of buffers are still in use"));
  const auto region = regions.Find("", "r", v1::REGION_KIND_SHARED_MEMORY, "name");
  FUZZ_CHECK(region.ok(), region.status().ToString());
  std::memset((*region)->data(), 7, kRegionBytes);
  const v1::ListArraysResponse kept = arrays.List("");
  for (const v1::StoredArray& array : kept.arrays()) {
    const absl::Status deleted = arrays.Delete("", array.name());
    FUZZ_CHECK(deleted.ok(), deleted.ToString());
  }
  FUZZ_CHECK(arrays.used_bytes() == 0, absl::StrCat(arrays.used_bytes(), " bytes are still kept"));
  Keep(arrays, "a", 16);
  Keep(arrays, "s", 64);
}

const std::string& OwnRegionKey() {
  static const auto* const key = new std::string(absl::StrFormat("%s%06x", kRegionPrefix, getpid() & 0xffffff));
  return *key;
}

ReceivedMessage Sliced(absl::string_view bytes, uint8_t cuts) {
  // A vector with one element for each of millions of bytes is more than a target may take.
  constexpr size_t kMostPieces = 1 << 16;
  const size_t step =
      cuts == 0 ? std::max<size_t>(1, bytes.size()) : std::max<size_t>(cuts, bytes.size() / kMostPieces);
  ReceivedMessage message;
  while (!bytes.empty()) {
    message.bytes.Append(Bytes(std::string(bytes.substr(0, step))));
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
  return message;
}

}  // namespace corank::fuzz
