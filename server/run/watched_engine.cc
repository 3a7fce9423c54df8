// Wraps the engine and its streams, with every call under a DeviceWatch.
#include <memory>
#include <type_traits>
#include <utility>

#include "kernels/engine/forwarding_engine.h"
#include "server/base/status_macros.h"
#include "server/run/device_watch.h"

namespace corank {
namespace {

const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// Makes a call and converts its error. `line`: null if the call never counts as hanging.
template <typename Call>
std::invoke_result_t<Call> Judged(DeviceWatch& watch, DeviceWatch::Line* line, const Call& call) {
  if (line != nullptr) line->Enter();
  std::invoke_result_t<Call> result = call();
  if (line != nullptr) line->Leave();
  if (StatusOf(result).ok()) return result;
  return watch.Judge(StatusOf(result));
}

class WatchedStream final : public InterceptingStream<WatchedStream> {
 public:
  WatchedStream(std::unique_ptr<EngineStream> stream, DeviceWatch* watch, bool can_hang)
      : InterceptingStream(std::move(stream)), line_(watch), hanging_line_(can_hang ? &line_ : nullptr) {}

  int device() const override { return line_.watch().device(); }
  absl::StatusOr<PhaseTimes> Finish() override {
    // Also after the device is lost: copies in flight access the request's memory.
    return Judged(line_.watch(), hanging_line_, [&] { return next().Finish(); });
  }
  void End() override {
    Free([&] { next().End(); });
  }
  void Trim() override {
    Free([&] { next().Trim(); });
  }
  template <typename Call>
  std::invoke_result_t<Call> Intercept(const char*, const Call& call) {
    if (line_.watch().lost()) return line_.watch().Lost();
    return Judged(line_.watch(), hanging_line_, call);
  }

 private:
  // Freeing pinned memory waits for the device, for ever if that hangs.
  template <typename Call>
  void Free(const Call& call) {
    if (line_.watch().lost()) return;
    if (hanging_line_ != nullptr) hanging_line_->Enter();
    call();
    if (hanging_line_ != nullptr) hanging_line_->Leave();
  }

  DeviceWatch::Line line_;
  DeviceWatch::Line* const hanging_line_;
};

class WatchedEngine final : public ForwardingEngine {
 public:
  WatchedEngine(std::unique_ptr<Engine> engine, DeviceWatch* watch)
      : ForwardingEngine(std::move(engine)), watch_(watch), can_hang_(info().kind == EngineKind::kCuda) {}

  absl::StatusOr<std::unique_ptr<EngineStream>> CreateStream() override {
    CORANK_ASSIGN_OR_RETURN(auto stream, Start([&] { return ForwardingEngine::CreateStream(); }));
    return std::make_unique<WatchedStream>(std::move(stream), watch_, can_hang_);
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateHost(int64_t bytes) override {
    return Start([&] { return ForwardingEngine::AllocateHost(bytes); });
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateDevice(int64_t bytes) override {
    return Start([&] { return ForwardingEngine::AllocateDevice(bytes); });
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> PinHost(void* h_bytes, int64_t bytes) override {
    return Start([&] { return ForwardingEngine::PinHost(h_bytes, bytes); });
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> OpenIpc(absl::string_view handle, int64_t offset_bytes,
                                                        int64_t size_bytes) override {
    return Start([&] { return ForwardingEngine::OpenIpc(handle, offset_bytes, size_bytes); });
  }

 private:
  template <typename Call>
  std::invoke_result_t<Call> Start(const Call& call) {
    if (watch_->lost()) return watch_->Lost();
    if (!can_hang_) return Judged(*watch_, nullptr, call);
    DeviceWatch::Line line(watch_);
    return Judged(*watch_, &line, call);
  }

  DeviceWatch* const watch_;
  const bool can_hang_;
};

}  // namespace

std::unique_ptr<Engine> Watched(std::unique_ptr<Engine> engine, DeviceWatch* watch) {
  return std::make_unique<WatchedEngine>(std::move(engine), watch);
}

}  // namespace corank
