#include "tests/engine/fake_cuda_runtime.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace corank::testing {
namespace {

struct Step {
  bool is_done = false;
  std::shared_ptr<Step> after;  // of another stream
  bool copies = false;
  FakeCopy copy;
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0;
};
struct Stream {
  int device = 0;
  std::deque<std::shared_ptr<Step>> steps;  // not done
};
struct Event {
  int device = 0;
  std::shared_ptr<Step> last;  // the last step before it
};
struct Range {
  const char* end = nullptr;
  int device = 0;
};

struct State {
  std::mt19937_64 random;
  int device = 0;
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::map<const char*, Range> d_memory;
  std::map<const char*, const char*> h_memory;  // begin and end
  int64_t allocations = 0;
  int64_t calls = 0, fails_at = 0;
  std::string failed;
};
State state;

bool Fails(const char* name) {
  if (++state.calls != state.fails_at) return false;
  state.failed = name;
  return true;
}

Stream& StreamOf(cudaStream_t stream) { return *reinterpret_cast<Stream*>(stream); }
Event& EventOf(cudaEvent_t event) { return *reinterpret_cast<Event*>(event); }

int DeviceOf(const void* memory, size_t bytes) {
  const auto* const begin = static_cast<const char*>(memory);
  auto range = state.d_memory.upper_bound(begin);
  if (range == state.d_memory.begin() || (--range)->second.end < begin + bytes) return -1;
  return range->second.device;
}
bool IsPinned(const void* memory, size_t bytes) {
  const auto* const begin = static_cast<const char*>(memory);
  auto range = state.h_memory.upper_bound(begin);
  return range != state.h_memory.begin() && (--range)->second >= begin + bytes;
}

void Check(const Step& step, const Stream& stream) {
  const bool from_host = step.copy.kind == cudaMemcpyHostToDevice, to_host = step.copy.kind == cudaMemcpyDeviceToHost;
  EXPECT_TRUE(from_host ? IsPinned(step.from, step.bytes) : DeviceOf(step.from, step.bytes) == stream.device);
  EXPECT_TRUE(to_host ? IsPinned(step.to, step.bytes) : DeviceOf(step.to, step.bytes) == stream.device);
  EXPECT_EQ(state.device, stream.device) << "another GPU is current";
}

bool MayBegin(const Step& step, const std::function<bool(const FakeCopy&)>& may_begin) {
  return (step.after == nullptr || step.after->is_done) && (!step.copies || may_begin(step.copy));
}

}  // namespace

void StartFakeCuda(uint64_t seed) {
  EXPECT_EQ(FakeObjects(), 0);
  state = State();
  state.random.seed(seed);
}

void OwnFakeMemory(const void* d_memory, int64_t bytes, int device) {
  const auto* const begin = static_cast<const char*>(d_memory);
  state.d_memory[begin] = {begin + bytes, device};
}

int64_t RunFakeWork(int64_t most, const std::function<bool(const FakeCopy&)>& may_begin) {
  int64_t copies = 0;
  for (; most > 0; --most) {
    std::vector<Stream*> ready;
    for (Stream* const stream : state.streams) {
      if (!stream->steps.empty() && MayBegin(*stream->steps.front(), may_begin)) ready.push_back(stream);
    }
    if (ready.empty()) break;
    Stream& stream = *ready[state.random() % ready.size()];
    Step& step = *stream.steps.front();
    if (step.copies) {
      std::memcpy(step.to, step.from, step.bytes);
      ++copies;
    }
    step.is_done = true;
    step.after.reset();
    stream.steps.pop_front();
  }
  return copies;
}

int64_t FakeCopiesLeft(cudaStream_t besides) {
  int64_t left = 0;
  for (const Stream* const stream : state.streams) {
    if (stream == &StreamOf(besides)) continue;
    for (const std::shared_ptr<Step>& step : stream->steps) left += step->copies ? 1 : 0;
  }
  return left;
}

void FailFakeCall(int64_t n) {
  state.failed.clear();
  state.fails_at = n == 0 ? 0 : state.calls + n;
}
std::string FailedFakeCall() { return state.failed; }

int64_t FakeObjects() {
  return static_cast<int64_t>(state.streams.size() + state.events.size() + state.h_memory.size());
}
int64_t FakeAllocations() { return state.allocations; }

}  // namespace corank::testing

using namespace corank::testing;  // NOLINT(google-build-using-namespace): the functions of CUDA are in none

extern "C" {

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorNotSupported"; }
const char* cudaGetErrorString(cudaError_t) { return "as planned"; }

cudaError_t cudaSetDevice(int device) {
  if (Fails("cudaSetDevice")) return cudaErrorNotSupported;
  state.device = device;
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** h_memory, size_t bytes, unsigned) {
  if (Fails("cudaHostAlloc")) return cudaErrorMemoryAllocation;
  auto* const begin = static_cast<char*>(std::malloc(bytes));
  state.h_memory[begin] = begin + bytes;
  ++state.allocations;
  *h_memory = begin;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* h_memory) {
  EXPECT_EQ(state.h_memory.erase(static_cast<const char*>(h_memory)), 1);
  std::free(h_memory);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  if (Fails("cudaPointerGetAttributes")) return cudaErrorNotSupported;
  attributes->device = DeviceOf(memory, 1);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  if (Fails("cudaStreamCreateWithFlags")) return cudaErrorNotSupported;
  auto* const made = new Stream{state.device, {}};
  state.streams.insert(made);
  *stream = reinterpret_cast<cudaStream_t>(made);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  for (const std::shared_ptr<Step>& step : StreamOf(stream).steps) EXPECT_FALSE(step->copies) << "in progress";
  EXPECT_EQ(state.streams.erase(&StreamOf(stream)), 1);
  delete &StreamOf(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  // What a step waits for was enqueued before it, so that there is always a step that may begin.
  while (!StreamOf(stream).steps.empty()) RunFakeWork(1);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (Fails("cudaStreamWaitEvent")) return cudaErrorNotSupported;
  auto step = std::make_shared<Step>();
  step->after = EventOf(event).last;
  StreamOf(stream).steps.push_back(std::move(step));
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (Fails("cudaEventCreateWithFlags")) return cudaErrorNotSupported;
  auto* const made = new Event{state.device, nullptr};
  state.events.insert(made);
  *event = reinterpret_cast<cudaEvent_t>(made);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  EXPECT_EQ(state.events.erase(&EventOf(event)), 1);
  delete &EventOf(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (Fails("cudaEventRecord")) return cudaErrorNotSupported;
  EXPECT_EQ(EventOf(event).device, StreamOf(stream).device);
  EXPECT_EQ(state.device, StreamOf(stream).device) << "another GPU is current";
  const auto& steps = StreamOf(stream).steps;
  EventOf(event).last = steps.empty() ? nullptr : steps.back();
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (Fails("cudaMemcpyAsync")) return cudaErrorNotSupported;
  auto step = std::make_shared<Step>();
  step->copies = true;
  step->copy = {stream, kind};
  step->to = to;
  step->from = from;
  step->bytes = bytes;
  Check(*step, StreamOf(stream));
  StreamOf(stream).steps.push_back(std::move(step));
  return cudaSuccess;
}

}  // extern "C"
