// Properties of the CPU engine alone.
#include "kernels/cpu/cpu_engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/sorted_check.h"
#include "tests/engine/harness.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

TEST(CpuEngine, TellsWhatItRunsOn) {
  const auto engine = CreateCpuEngine({/*threads=*/3});
  ASSERT_TRUE(engine.ok()) << engine.status();
  EXPECT_EQ((*engine)->info().kind, EngineKind::kCpu);
  EXPECT_EQ((*engine)->info().parallelism, 3);
  EXPECT_FALSE((*engine)->info().device.empty());
  EXPECT_GT((*engine)->info().memory_bytes, 0);
}

TEST(CpuEngine, TakesAllCoresByDefaultAndRefusesNegativeThreads) {
  const auto engine = CreateCpuEngine({});
  ASSERT_TRUE(engine.ok()) << engine.status();
  EXPECT_GE((*engine)->info().parallelism, 1);
  EXPECT_EQ(CreateCpuEngine({/*threads=*/-1}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CpuEngine, MemoryThatDoesNotExistIsResourceExhaustedAndTheStreamGoesOn) {
  const auto engine = CreateCpuEngine({/*threads=*/2});
  ASSERT_TRUE(engine.ok()) << engine.status();
  auto stream = (*engine)->CreateStream();
  ASSERT_TRUE(stream.ok()) << stream.status();
  ASSERT_TRUE((*stream)->Begin().ok());
  for (int64_t bytes : {std::numeric_limits<int64_t>::max(), int64_t{1} << 60}) {
    EXPECT_EQ((*stream)->AllocateDevice(bytes).status().code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_TRUE((*stream)->AllocateDevice(100).ok());
}

TEST(CpuEngine, ReusesMemoryOfTheRequestBefore) {
  const auto engine = CreateCpuEngine({/*threads=*/2});
  ASSERT_TRUE(engine.ok()) << engine.status();
  auto stream = (*engine)->CreateStream();
  ASSERT_TRUE(stream.ok()) << stream.status();
  ASSERT_TRUE((*stream)->Begin().ok());
  void* first = *(*stream)->AllocateHost(5 << 20);
  ASSERT_TRUE((*stream)->Begin().ok());
  EXPECT_EQ(*(*stream)->AllocateHost(5 << 20), first);
}

// The resident anonymous memory of this process.
int64_t ResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib << 10;
  }
  return 0;
}

TEST(CpuEngine, GivesMemoryBackWhenTrimmed) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep freed memory";
#endif
  constexpr int64_t kBytes = 64 << 20;
  const auto engine = CreateCpuEngine({/*threads=*/2});
  ASSERT_TRUE(engine.ok()) << engine.status();
  auto stream = (*engine)->CreateStream();
  ASSERT_TRUE(stream.ok()) << stream.status();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE((*stream)->Begin().ok());
    const int64_t before = ResidentBytes();
    std::memset(*(*stream)->AllocateDevice(kBytes), 1, kBytes);
    EXPECT_GE(ResidentBytes() - before, kBytes / 2) << "taken anew";
    (*stream)->Trim();
    EXPECT_LE(ResidentBytes() - before, kBytes / 4);
  }
}

// The VmFlags of the mapping that contains an address, from /proc/self/smaps. Empty if the system provides none.
std::string MappingFlags(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    const size_t dash = line.find('-'), blank = line.find(' ');
    if (dash < blank && line.find(':') > blank) {
      const uintptr_t begin = std::stoull(line, nullptr, 16), end = std::stoull(line.substr(dash + 1), nullptr, 16);
      inside = begin <= wanted && wanted < end;
    } else if (inside && line.rfind("VmFlags:", 0) == 0) {
      return line + " ";
    }
  }
  return "";
}

TEST(CpuEngine, LargeMemoryLiesOnHugePages) {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) GTEST_SKIP() << "a system without huge pages";
  const auto engine = CreateCpuEngine({/*threads=*/2});
  ASSERT_TRUE(engine.ok()) << engine.status();
  // The size is not a multiple of the page size: the rest of the mapping is not part of the request.
  const auto memory = (*engine)->AllocateHost((16 << 20) + 12345);
  ASSERT_TRUE(memory.ok()) << memory.status();
  const char* const bytes = static_cast<const char*>((*memory)->data());
  EXPECT_NE(MappingFlags(bytes).find(" hg "), std::string::npos) << MappingFlags(bytes);
  EXPECT_NE(MappingFlags(bytes + (16 << 20) - 1).find(" hg "), std::string::npos);
  EXPECT_EQ(MappingFlags(bytes + (16 << 20)).find(" hg "), std::string::npos);
}

TEST(CpuEngine, StreamsKeepNoMoreTogetherThanTheEngineMay) {
  constexpr int64_t kBytes = 8 << 20;
  const auto engine = CreateCpuEngine({/*threads=*/2});
  ASSERT_TRUE(engine.ok()) << engine.status();
  (*engine)->LimitKept({/*device_bytes=*/2 * kBytes, /*host_bytes=*/0});
  auto first = *(*engine)->CreateStream(), second = *(*engine)->CreateStream(), third = *(*engine)->CreateStream();
  for (EngineStream* const stream : {first.get(), second.get(), third.get()}) {
    ASSERT_TRUE(stream->Begin().ok());
    ASSERT_TRUE(stream->AllocateDevice(kBytes).ok());
    stream->End();
    EXPECT_LE((*engine)->kept().device_bytes, 2 * kBytes);
  }
  EXPECT_GE((*engine)->kept().device_bytes, kBytes);
  for (EngineStream* const stream : {first.get(), second.get(), third.get()}) stream->Trim();
  EXPECT_EQ((*engine)->kept().device_bytes, 0);
  { ASSERT_TRUE((*engine)->AllocateDevice(kBytes).ok()); }
  EXPECT_EQ((*engine)->kept().device_bytes, kBytes) << "a freed block counts too";
}

TEST(CpuEngine, AnswersDoNotDependOnTheNumberOfThreads) {
  SortCase test;
  test.type = KeyType::kFloat32;
  test.keys = MakeKeys(test.type, Distribution::kSpecialFloats, 300007, 8);
  const Bytes expected = Gather(test.keys, 4, StableOrder(test.type, test.order, test.keys));
  for (int threads : {1, 2, 3, 16}) {
    const auto engine = CreateCpuEngine({threads});
    ASSERT_TRUE(engine.ok()) << engine.status();
    Harness harness(engine->get());
    for (SortAlgorithm algorithm : {SortAlgorithm::kRadix, SortAlgorithm::kMergesort}) {
      test.algorithm = algorithm;
      EXPECT_TRUE(harness.Sort(test).outputs[0] == expected) << threads << " threads";
    }
  }
}

TEST(CpuEngine, AutoCopiesWhatIsInOrderAlready) {
  const auto engine = CreateCpuEngine({/*threads=*/2});
  ASSERT_TRUE(engine.ok()) << engine.status();
  Harness harness(engine->get());
  for (int64_t count : {0, 1, 2, 4097, 100003}) {
    SortCase test;
    test.keys = MakeKeys(test.type, Distribution::kSorted, count, 50);
    test.value_bytes = 4;
    test.values = MakeBytes(count * 4, 51);
    const Outcome outcome = harness.Sort(test);
    EXPECT_EQ(outcome.report.sort_algorithm, SortAlgorithm::kCopy);
    EXPECT_TRUE(outcome.outputs[0] == test.keys);
    EXPECT_TRUE(outcome.outputs[1] == test.values);
  }
}

TEST(FirstOutOfOrder, LooksAtEveryNeighbourWhereverWorkIsCut) {
  for (int threads : {1, 2, 5}) {
    cpu::Parallel parallel(threads);
    for (int64_t count : {0, 1, 2, 64, 65, 66, 1024, 1025, 1088, 1089, 1090, 100003}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      const int64_t found = cpu::FirstOutOfOrder(count, parallel, [&](int64_t i) {
        seen[static_cast<size_t>(i)] = 1;
        return false;
      });
      EXPECT_EQ(found, count);
      for (size_t i = 1; i < seen.size(); ++i) ASSERT_EQ(seen[i], 1) << i << " of " << count;
    }
  }
}

TEST(CpuEngine, StreamsWorkAtTheSameTime) {
  const auto engine = CreateCpuEngine({/*threads=*/2});
  ASSERT_TRUE(engine.ok()) << engine.status();
  std::vector<std::thread> callers;
  for (uint64_t caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      Harness harness(engine->get());
      SortCase test;
      test.keys = MakeKeys(test.type, Distribution::kUniform, 100003, caller);
      const Bytes expected = Gather(test.keys, 4, StableOrder(test.type, test.order, test.keys));
      for (int round = 0; round < 3; ++round) EXPECT_TRUE(harness.Sort(test).outputs[0] == expected);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace corank::testing
