// A lane for one operation at a time, on devices whose streams count what they hand out, and fail when a test says so.
#ifndef CORANK_TESTS_SERVER_COUNTED_LANE_H_
#define CORANK_TESTS_SERVER_COUNTED_LANE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "kernels/engine/forwarding_engine.h"
#include "server/run/operation.h"

namespace corank::testing {

/// Lets the calls before some call of all streams of a lane pass, and fails that one and all later ones.
struct FailingCalls {
  std::atomic<int64_t> left{-1};  // calls that pass; -1: all
  absl::Status status = absl::UnavailableError("off the bus");

  absl::Status Next() {
    int64_t now = left;
    while (now > 0 && !left.compare_exchange_weak(now, now - 1)) {
    }
    return now == 0 ? status : absl::OkStatus();
  }
};

/// Does on a CPU engine what it is asked to at the latest moment: in Finish, or when a stream that waits for a point of
/// this one does. So nobody can read what has not finished. Threads use their own streams at the same time.
class LateStream final : public ForwardingStream {
 public:
  using ForwardingStream::ForwardingStream;
  absl::Status Begin(Pace pace) override {
    {
      const absl::MutexLock lock(&mutex_);
      late_.clear();
      points_.clear();
      done_ = 0;
      ++request_;
    }
    return ForwardingStream::Begin(pace);
  }
  absl::StatusOr<const void*> MarkPoint() override {
    const absl::MutexLock lock(&mutex_);
    return &points_.emplace_back(Point{this, request_, late_.size()});
  }
  absl::Status After(const void* point) override {
    if (point == nullptr) return absl::OkStatus();
    return Later([at = *static_cast<const Point*>(point)] { return at.stream->RunTo(at); });
  }
  absl::Status Iota(void* d_out, int element_bytes, int64_t first, int64_t count) override {
    return Later([=] { return ForwardingStream::Iota(d_out, element_bytes, first, count); });
  }
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) override {
    return Later([=] { return ForwardingStream::Copy(d_to, d_from, bytes); });
  }
  absl::Status CopyToDevice(void* d_to, const void* h_from, int64_t bytes) override {
    return Later([=] { return ForwardingStream::CopyToDevice(d_to, h_from, bytes); });
  }
  absl::Status CopyToHost(void* h_to, const void* d_from, int64_t bytes) override {
    return Later([=] { return ForwardingStream::CopyToHost(h_to, d_from, bytes); });
  }
  absl::Status Expand(const ExpandArgs& args, OperatorReport* report) override {
    return Later([=] { return ForwardingStream::Expand(args, report); });
  }
  absl::Status LoadBalance(const LoadBalanceArgs& args, OperatorReport* report) override {
    return Later([=] { return ForwardingStream::LoadBalance(args, report); });
  }
  absl::Status Move(const MoveArgs& args, OperatorReport* report) override {
    return Later([=] { return ForwardingStream::Move(args, report); });
  }
  absl::Status SortColumns(const ColumnSortArgs& args, OperatorReport* report) override {
    // The caller may release these after the return.
    const std::vector<KeyColumn> columns(args.columns, args.columns + args.column_count);
    std::vector<int64_t> offsets;
    if (args.run_count > 0) offsets.assign(args.run_offsets, args.run_offsets + args.run_count + 1);
    return Later([=] {
      ColumnSortArgs late = args;
      late.columns = columns.data();
      if (args.run_count > 0) late.run_offsets = offsets.data();
      return ForwardingStream::SortColumns(late, report);
    });
  }
  absl::StatusOr<PhaseTimes> Finish() override {
    {
      const absl::MutexLock lock(&mutex_);
      if (absl::Status status = RunTo({this, request_, late_.size()}); !status.ok()) return status;
    }
    return ForwardingStream::Finish();
  }

 private:
  // So much work since a Begin.
  struct Point {
    LateStream* stream = nullptr;
    int64_t request = 0;
    size_t work = 0;
  };

  absl::Status Later(std::function<absl::Status()> work) {
    const absl::MutexLock lock(&mutex_);
    late_.push_back(std::move(work));
    return absl::OkStatus();
  }
  // Needs the mutex.
  absl::Status RunTo(const Point& point) {
    while (request_ == point.request && done_ < point.work) {
      if (absl::Status status = late_[done_++](); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  inline static absl::Mutex mutex_{absl::kConstInit};  // of all streams, because they run each other's work
  std::vector<std::function<absl::Status()>> late_;
  std::deque<Point> points_;
  int64_t request_ = 0;
  size_t done_ = 0;
};

class CountedStream final : public InterceptingStream<CountedStream> {
 public:
  CountedStream(std::unique_ptr<EngineStream> stream, int device, FailingCalls* calls)
      : InterceptingStream(std::move(stream)), device_(device), calls_(calls) {}
  int device() const override { return device_; }
  absl::Status Begin(Pace pace) override {
    most_ = bytes();
    most_host_ = host_bytes();
    given_ = given_host_ = 0;
    absl::Status begun = InterceptingStream::Begin(pace);
    if (begun.ok()) is_open_ = true;
    return begun;
  }
  absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t bytes) override {
    given_ += bytes;  // as on a GPU
    return InterceptingStream::Upload(h_bytes, bytes);
  }
  absl::StatusOr<void*> AllocateDevice(int64_t bytes) override {
    given_ += bytes;
    return InterceptingStream::AllocateDevice(bytes);
  }
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override {
    given_host_ += bytes;
    return InterceptingStream::AllocateHost(bytes);
  }
  absl::StatusOr<PhaseTimes> Finish() override {
    is_open_ = false;
    const absl::StatusOr<PhaseTimes> times = next().Finish();
    absl::Status status = calls_->Next();
    if (!status.ok()) return status;
    return times;
  }
  template <typename Call>
  std::invoke_result_t<Call> Intercept(const char*, const Call& call) {
    absl::Status status = calls_->Next();
    if (!status.ok()) return status;
    return call();
  }
  /// The most device and pinned memory that it has handed out at a time.
  int64_t bytes() const { return std::max(most_, given_ + workspace_bytes()); }
  int64_t host_bytes() const { return std::max(most_host_, given_host_); }
  /// Whether it has begun and not finished.
  bool is_open() const { return is_open_; }

 private:
  const int device_;
  FailingCalls* const calls_;
  int64_t given_ = 0, most_ = 0;
  int64_t given_host_ = 0, most_host_ = 0;
  bool is_open_ = false;
};

class CountedLane final : public Lane {
 public:
  /// `engines`: of the devices; where there are fewer, one stands for several. `is_late`: with a LateStream in each.
  explicit CountedLane(std::vector<Engine*> engines, bool is_late = false)
      : engines_(std::move(engines)), is_late_(is_late) {}
  EngineStream& stream() override { return **StreamOn(0, 0); }
  Engine& engine() override { return *engines_[0]; }
  absl::StatusOr<EngineStream*> ExtraStream(int i) override { return StreamOn(0, i + 1); }
  absl::StatusOr<EngineStream*> StreamOn(int device, int i) override {
    const auto known = streams_.find({device, i});
    if (known != streams_.end()) return known->second.get();
    if (absl::Status status = calls_.Next(); !status.ok()) return status;
    absl::StatusOr<std::unique_ptr<EngineStream>> made =
        engines_[static_cast<size_t>(device) % engines_.size()]->CreateStream();
    if (!made.ok()) return made.status();
    if (is_late_) made = std::make_unique<LateStream>(*std::move(made));
    std::unique_ptr<CountedStream>& stream = streams_[{device, i}];
    stream = std::make_unique<CountedStream>(*std::move(made), device, &calls_);
    return stream.get();
  }
  absl::Status CheckWanted() override {
    if (!caller_) return absl::OkStatus();
    if (std::this_thread::get_id() != *caller_) {
      thread_local AtEnd at_end;
      at_end.has_ended = &has_ended_;
      return calls_.status;
    }
    has_ended_.WaitForNotification();
    ++checks_;
    return absl::OkStatus();
  }
  /// For work of two devices, on this thread and on another. CheckWanted fails on the other one; on this one it waits
  /// until the other one has ended.
  void FailOtherThread() { caller_ = std::this_thread::get_id(); }
  /// Calls of CheckWanted on this thread since then.
  int checks() const { return checks_; }

  /// The most device memory of any device, and the pinned memory of all.
  int64_t bytes() const {
    std::map<int, int64_t> bytes;
    for (const auto& [place, stream] : streams_) bytes[place.first] += stream->bytes();
    int64_t most = 0;
    for (const auto& [device, of_device] : bytes) most = std::max(most, of_device);
    return most;
  }
  int64_t host_bytes() const {
    int64_t bytes = 0;
    for (const auto& [place, stream] : streams_) bytes += stream->host_bytes();
    return bytes;
  }
  int open_streams() const {
    return static_cast<int>(
        std::count_if(streams_.begin(), streams_.end(), [](const auto& stream) { return stream.second->is_open(); }));
  }
  FailingCalls& calls() { return calls_; }

 private:
  // Of a thread.
  struct AtEnd {
    absl::Notification* has_ended = nullptr;
    ~AtEnd() { has_ended->Notify(); }
  };

  const std::vector<Engine*> engines_;
  const bool is_late_;
  FailingCalls calls_;
  std::optional<std::thread::id> caller_;
  absl::Notification has_ended_;
  int checks_ = 0;
  std::map<std::pair<int, int>, std::unique_ptr<CountedStream>> streams_;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_COUNTED_LANE_H_
