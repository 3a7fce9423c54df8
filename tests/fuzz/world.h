// The server's resources for requests, without a network: the CPU engine on this thread, registered memory, kept
// arrays.
#ifndef CORANK_TESTS_FUZZ_WORLD_H_
#define CORANK_TESTS_FUZZ_WORLD_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/engine/budget.h"
#include "kernels/engine/engine.h"
#include "server/memory/array_store.h"
#include "server/memory/host_pool.h"
#include "server/memory/received_message.h"
#include "server/memory/region_registry.h"
#include "server/memory/run_buffers.h"
#include "server/observe/log.h"
#include "server/plan/parse/validate.h"
#include "server/plan/request_places.h"
#include "server/rpc/helpers.h"
#include "server/run/operation.h"

namespace corank::fuzz {

/// A lane on this thread. It calls `pump` wherever a lane checks whether it is still wanted; the rest of the world
/// proceeds there.
class OwnLane final : public Lane {
 public:
  explicit OwnLane(Engine* engine);
  void set_pump(std::function<absl::Status()> pump) { pump_ = std::move(pump); }

  EngineStream& stream() override { return *streams_[0]; }
  Engine& engine() override { return *engine_; }
  absl::StatusOr<EngineStream*> ExtraStream(int i) override;
  absl::Status CheckWanted() override { return pump_ == nullptr ? absl::OkStatus() : pump_(); }

 private:
  Engine* const engine_;
  std::vector<std::unique_ptr<EngineStream>> streams_;
  std::function<absl::Status()> pump_;
};

/// Time that stands still.
class StoppedClock final : public Clock {
 public:
  Instant Now() const override { return Instant(std::chrono::hours(1)); }
};

/// Made once for a process.
struct World {
  World();
  static World& Get();

  /// After a run, nothing of a request is left, and everything that outlives requests is unchanged.
  void Reset();
  /// Registers "r" again if a run has unregistered it.
  void RegisterRegion();
  SharedPlaces places() { return {&regions, &arrays, pool.get(), run_buffers.get(), &devices, &helpers}; }

  Limits limits;  // small, so that every bound is reached
  StoppedClock clock;
  const Logger logger;  // writes nowhere
  const std::unique_ptr<Engine> engine;
  DeviceSet devices;  // the engine
  Helpers helpers{0};
  const std::shared_ptr<HostPool> pool;
  const std::shared_ptr<Budget> buffered = Budget::Create(1 << 20);
  const std::shared_ptr<RunBuffers> run_buffers = RunBuffers::Create({});
  RegionRegistry regions;  // shared memory whose names begin with kRegionPrefix; one of them, "r", of 8192 bytes
  ArrayStore arrays;       // "a": 16 INT32, "s": 64 INT32 in order
  OwnLane lane;
};

inline constexpr char kRegionPrefix[] = "/corank-fuzz.";
/// The object of region "r", as inputs name it.
inline constexpr char kRegionKey[] = "/corank-fuzz.object";
/// The object's real name. It has the same length and belongs to this process, so that targets may run in parallel.
const std::string& OwnRegionKey();
inline constexpr int64_t kRegionBytes = 8192;

/// A message of these bytes, in pieces that end as `cuts` says.
ReceivedMessage Sliced(absl::string_view bytes, uint8_t cuts);

}  // namespace corank::fuzz

#endif  // CORANK_TESTS_FUZZ_WORLD_H_
