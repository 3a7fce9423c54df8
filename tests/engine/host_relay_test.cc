// Copies between GPUs through the host, on a CUDA runtime that chooses the order of the work at random.
#include "kernels/cuda/engine/host_relay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/engine/relay_memory.h"
#include "kernels/engine/engine.h"
#include "tests/engine/fake_cuda_runtime.h"

namespace corank::testing {
namespace {

using cuda::HostRelay;
using cuda::PinnedMemory;
using cuda::RelayMemory;

constexpr int64_t kPieceBytes = HostRelay::kPieceBytes, kPieces = kRelayBytes / kPieceBytes;
constexpr int64_t kEverything = int64_t{1} << 40;
constexpr size_t kGpus = 3;

std::shared_ptr<RelayMemory> MakeMemory() { return std::make_shared<RelayMemory>(PinnedMemory(/*device=*/0)); }

// A relay of a stream of GPU 0, and GPUs with a stream and memory each.
class HostRelayTest : public ::testing::Test {
 protected:
  void SetUp() override { Start(/*seed=*/1, /*bytes=*/3 * kPieceBytes + 5); }
  void TearDown() override { Stop(); }

  void Start(uint64_t seed, int64_t bytes) {
    StartFakeCuda(seed);
    random_.seed(seed);
    for (size_t i = 0; i < kGpus; ++i) {
      Gpu& gpu = gpus_[i];
      gpu.memory.resize(static_cast<size_t>(bytes));
      std::generate(gpu.memory.begin(), gpu.memory.end(),
                    [byte = random_() | 1]() mutable { return static_cast<char>((byte = byte * 5 + 1) >> 32); });
      OwnFakeMemory(gpu.memory.data(), bytes, static_cast<int>(i));
      cudaSetDevice(static_cast<int>(i));
      cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking);
      cudaEventCreateWithFlags(&gpu.event, cudaEventDisableTiming);
    }
    cudaSetDevice(0);
    cudaEventCreateWithFlags(&point_, cudaEventDisableTiming);
    relay_.emplace(0, gpus_[0].stream, MakeMemory());
  }
  void Stop() {
    RunFakeWork(kEverything);
    relay_.reset();
    for (Gpu& gpu : gpus_) {
      cudaStreamDestroy(gpu.stream);
      cudaEventDestroy(gpu.event);
    }
    cudaEventDestroy(point_);
    EXPECT_EQ(FakeObjects(), 0);
  }
  char* Place(size_t gpu, size_t offset = 0) { return gpus_[gpu].memory.data() + offset; }
  // Work of a stream of the GPU on its own memory.
  void CopyWithin(size_t gpu, size_t to, size_t from, size_t bytes) {
    cudaSetDevice(static_cast<int>(gpu));
    cudaMemcpyAsync(Place(gpu, to), Place(gpu, from), bytes, cudaMemcpyDeviceToDevice, gpus_[gpu].stream);
  }
  // Work of another GPU's stream after what the relay's stream has got so far, and before what it gets next.
  void CopyWithinOther(size_t gpu, size_t to, size_t from, size_t bytes) {
    EXPECT_TRUE(relay_->Record(point_).ok());
    cudaStreamWaitEvent(gpus_[gpu].stream, point_, cudaEventWaitDefault);
    CopyWithin(gpu, to, from, bytes);
    WaitFor(gpu);
  }
  void WaitFor(size_t gpu) {
    cudaSetDevice(static_cast<int>(gpu));
    cudaEventRecord(gpus_[gpu].event, gpus_[gpu].stream);
    cudaStreamWaitEvent(gpus_[0].stream, gpus_[gpu].event, cudaEventWaitDefault);
  }
  void FinishAll() {
    EXPECT_TRUE(relay_->Join().ok());
    cudaStreamSynchronize(gpus_[0].stream);
  }

  struct Gpu {
    std::vector<char> memory;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
  };
  std::mt19937_64 random_;
  Gpu gpus_[kGpus];
  cudaEvent_t point_ = nullptr;
  std::optional<HostRelay> relay_;
};

TEST_F(HostRelayTest, CopiesAnyNumberOfBytes) {
  Stop();
  for (const int64_t bytes :
       {int64_t{1}, kPieceBytes - 1, kPieceBytes, kPieceBytes + 1, kRelayBytes, kRelayBytes + 1, 2 * kRelayBytes + 7}) {
    for (const size_t from : {0, 1}) {
      SCOPED_TRACE(::testing::Message() << bytes << " bytes from " << from);
      Start(/*seed=*/7, bytes);
      const std::vector<char> wanted = gpus_[from].memory, other = gpus_[2].memory;
      EXPECT_TRUE(relay_->Copy(Place(1 - from), Place(from), bytes).ok());
      FinishAll();
      EXPECT_TRUE(gpus_[1 - from].memory == wanted);
      EXPECT_TRUE(gpus_[2].memory == other);
      EXPECT_EQ(FakeCopiesLeft(gpus_[0].stream), 0) << "the stream has waited for all";
      Stop();
    }
  }
  Start(1, 1);
}

// Pieces leave the source as long as there is memory for them, though none has arrived.
TEST_F(HostRelayTest, ACopyDoesNotWaitForTheEndOfTheOneBefore) {
  const auto leaves = [](const FakeCopy& copy) { return copy.kind == cudaMemcpyDeviceToHost; };
  for (const size_t to : {1, 2, 1}) {
    EXPECT_TRUE(relay_->Copy(Place(to), Place(0), 10).ok());
    EXPECT_TRUE(relay_->Record(point_).ok());
    WaitFor(2);
  }
  EXPECT_TRUE(relay_->Copy(Place(1), Place(0), 2 * kPieceBytes).ok());
  EXPECT_EQ(RunFakeWork(kEverything, leaves), kPieces) << "of five";
  EXPECT_EQ(RunFakeWork(kEverything), 5 + 5 - kPieces);
}

TEST_F(HostRelayTest, APointComesAfterWorkThatTheStreamWaitsForSinceTheCopy) {
  EXPECT_TRUE(relay_->Copy(Place(1), Place(0), 10).ok());
  CopyWithin(2, 0, 10, 10);
  WaitFor(2);
  CopyWithinOther(1, 0, 10, 10);
  const auto is_no_work_of_2 = [&](const FakeCopy& copy) { return copy.stream != gpus_[2].stream; };
  EXPECT_EQ(RunFakeWork(kEverything, is_no_work_of_2), 2) << "the copy, but not what comes after the point";
  EXPECT_EQ(RunFakeWork(kEverything), 2);
}

TEST_F(HostRelayTest, KnowsTheGpusThatItHasCopiedBetween) {
  EXPECT_FALSE(*relay_->Knows(Place(0), Place(1)));
  EXPECT_TRUE(relay_->Copy(Place(0), Place(1), 10).ok());
  EXPECT_TRUE(*relay_->Knows(Place(0), Place(1)));
  EXPECT_TRUE(*relay_->Knows(Place(1), Place(0)));
  EXPECT_FALSE(*relay_->Knows(Place(0), Place(0, 10)));
  EXPECT_FALSE(*relay_->Knows(Place(0), Place(2)));
}

// Whatever the order of the work that the events allow, the result is that of one step after the other.
TEST_F(HostRelayTest, KeepsTheOrderOfTheStream) {
  Stop();
  constexpr size_t kCells = 5, kCellBytes = 8;  // few, so that most steps need an earlier one
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Start(seed, kCells * kCellBytes);
    std::vector<char> wanted[kGpus];
    for (size_t i = 0; i < kGpus; ++i) wanted[i] = gpus_[i].memory;
    for (int step = 0; step < 40; ++step) {
      const size_t bytes = 1 + random_() % kCellBytes, cell = random_() % kCells;
      const size_t to = cell * kCellBytes, from = (cell + 1 + random_() % (kCells - 1)) % kCells * kCellBytes;
      size_t to_gpu = random_() % kGpus, from_gpu = random_() % kGpus;
      const uint64_t kind = random_() % 5;
      if (kind == 0) {
        to_gpu = from_gpu = 0;
        EXPECT_TRUE(relay_->Join().ok());
        CopyWithin(0, to, from, bytes);
      } else if (kind == 1) {
        to_gpu = from_gpu = 1 + to_gpu % 2;
        CopyWithinOther(to_gpu, to, from, bytes);
      } else {
        EXPECT_TRUE(relay_->Copy(Place(to_gpu, to), Place(from_gpu, from), static_cast<int64_t>(bytes)).ok());
      }
      std::copy_n(wanted[from_gpu].data() + from, bytes, wanted[to_gpu].data() + to);
      if (random_() % 3 == 0) RunFakeWork(static_cast<int64_t>(random_() % 20));
    }
    FinishAll();
    for (size_t i = 0; i < kGpus; ++i) EXPECT_TRUE(gpus_[i].memory == wanted[i]) << "GPU " << i;
    Stop();
    if (HasFailure()) break;
  }
  Start(1, 1);
}

// The caller frees memory after an error.
TEST_F(HostRelayTest, LeavesNoCopyInProgressWhereACallFails) {
  Stop();
  constexpr int64_t kBytes = 100;
  int64_t n = 1;
  for (bool reached = true; reached; ++n) {
    Start(/*seed=*/1, kBytes);
    FailFakeCall(n);
    absl::Status status;
    for (int64_t copy = 0; copy <= kPieces && status.ok(); ++copy) {
      status = relay_->Copy(Place(1), Place(0), kBytes);
      if (!status.ok()) {
        EXPECT_EQ(FakeCopiesLeft(gpus_[0].stream), 0);
      }
    }
    if (status.ok()) status = relay_->Record(point_);
    if (status.ok()) status = relay_->Join();
    const std::string failed = FailedFakeCall();
    SCOPED_TRACE(::testing::Message() << "call " << n << ", " << failed);
    reached = !failed.empty();
    EXPECT_EQ(status.ok(), !reached);
    FailFakeCall(0);
    EXPECT_TRUE(relay_->Finish().ok());
    EXPECT_EQ(FakeCopiesLeft(gpus_[0].stream), 0);
    EXPECT_TRUE(relay_->Copy(Place(2), Place(0), kBytes).ok());
    FinishAll();
    EXPECT_TRUE(gpus_[2].memory == gpus_[0].memory) << "the next request";
    Stop();
    if (HasFailure()) break;
  }
  EXPECT_GT(n, 40);
  Start(1, 1);
}

TEST_F(HostRelayTest, GivesItsMemoryBackToOthers) {
  const auto memory = MakeMemory();
  HostRelay first(0, gpus_[0].stream, memory), second(1, gpus_[1].stream, memory);
  for (HostRelay* const relay : {&first, &second, &first}) {
    EXPECT_TRUE(relay->Copy(Place(1), Place(0), 10).ok());
    EXPECT_TRUE(relay->Finish().ok());
    relay->Release();
  }
  EXPECT_EQ(FakeAllocations(), 1);
}

class RelayMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override { StartFakeCuda(1); }
  void TearDown() override { EXPECT_EQ(FakeObjects(), 0); }
};

TEST_F(RelayMemoryTest, KeepsSoManyBlocksFromTheStart) {
  RelayMemory memory(PinnedMemory(0));
  EXPECT_TRUE(memory.Prepare().ok());
  EXPECT_EQ(FakeAllocations(), RelayMemory::kMostKept);
  for (int round = 1; round <= 2; ++round) {
    std::vector<char*> taken;
    for (int i = 0; i <= RelayMemory::kMostKept; ++i) taken.push_back(*memory.Take());
    EXPECT_EQ(FakeAllocations(), RelayMemory::kMostKept + round) << "one more for a while";
    for (char* const h_block : taken) memory.GiveBack(h_block);
    EXPECT_EQ(FakeObjects(), RelayMemory::kMostKept);
  }
}

TEST_F(RelayMemoryTest, StartsWithFewerBlocksIfMemoryIsShort) {
  RelayMemory memory(PinnedMemory(0));
  FailFakeCall(2 * RelayMemory::kMostKept);  // the last allocation: each also sets the GPU
  EXPECT_TRUE(memory.Prepare().ok());
  EXPECT_EQ(FailedFakeCall(), "cudaHostAlloc");
  FailFakeCall(0);
  EXPECT_EQ(FakeObjects(), RelayMemory::kMostKept - 1);
  EXPECT_TRUE(memory.Prepare().ok());
  EXPECT_EQ(FakeObjects(), RelayMemory::kMostKept);
}

}  // namespace
}  // namespace corank::testing
