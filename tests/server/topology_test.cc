// The choice of devices that work together, by fake topologies; and the NUMA nodes of devices, by a fake sysfs.
#include "server/memory/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/engine/forwarding_engine.h"
#include "kernels/engine/numa.h"
#include "server/observe/log.h"
#include "server/observe/nvml.h"
#include "server/server_devices.h"
#include "tests/server/running_server.h"

namespace corank::testing {
namespace {

std::vector<uint64_t> AllReach(size_t devices) { return std::vector<uint64_t>(devices, (uint64_t{1} << devices) - 1); }

Topology WithLinks(size_t devices) {
  Topology topology(AllReach(devices));
  topology.links.assign(devices, std::vector<DeviceLink>(devices));
  return topology;
}

void Connect(Topology& topology, size_t one, size_t other, DeviceLink link) {
  topology.links[one][other] = topology.links[other][one] = link;
}

TEST(Topology, TakesTheFirstDevicesWhereNothingTellsThemApart) {
  const Topology topology(AllReach(8));
  EXPECT_EQ(topology.Choose(0xFF, 8), 0xFFU);
  EXPECT_EQ(topology.Choose(0xFF, 3), 0b111U);
  EXPECT_EQ(topology.Choose(0b10110100, 2), 0b10100U);
  EXPECT_EQ(topology.Choose(0xFF, 0), 0U);
  EXPECT_EQ(topology.Choose(0, 8), 0U);
}

TEST(Topology, TakesTheLargestSetThatIsLinked) {
  const Topology topology({0b00011, 0b00011, 0b11100, 0b11100, 0b11100});
  EXPECT_EQ(topology.Choose(0b11111, 5), 0b11100U);
  EXPECT_EQ(topology.Choose(0b11111, 2), 0b00011U);
  EXPECT_EQ(topology.Choose(0b11111, 5, /*are_linked=*/false), 0b11111U);
  EXPECT_TRUE(topology.AreLinked(0b10100));
  EXPECT_FALSE(topology.AreLinked(0b00110));
}

// As in a DGX-1: GPU 0 has two links to 3 and 4, and one to 1 and 2.
TEST(Topology, TakesThePairWithMostNvLinks) {
  Topology topology = WithLinks(5);
  for (const size_t other : {1, 2}) Connect(topology, 0, other, {1, false});
  for (const size_t other : {3, 4}) Connect(topology, 0, other, {2, false});
  EXPECT_EQ(topology.Choose(0b11111, 2), 0b01001U);
  EXPECT_EQ(topology.Choose(0b10111, 2), 0b10001U);
  EXPECT_EQ(topology.Choose(0b00111, 2), 0b00011U);
  EXPECT_EQ(topology.Choose(0b11110, 2), 0b00110U) << "none has any";
}

TEST(Topology, JudgesASetByItsWorstPair) {
  Topology topology = WithLinks(6);
  // A chain of strong links, whose ends have none, and a triangle of weaker ones.
  for (const size_t one : {0, 1}) Connect(topology, one, one + 1, {8, false});
  for (const size_t one : {3, 4}) Connect(topology, one, one + 1, {2, false});
  Connect(topology, 3, 5, {2, false});
  EXPECT_EQ(topology.Choose(0b111111, 2), 0b000011U);
  EXPECT_EQ(topology.Choose(0b111111, 3), 0b111000U);
}

TEST(Topology, AvoidsASharedBusAndThenAnotherNumaNode) {
  Topology topology = WithLinks(8);
  topology.numa_nodes = {0, 0, 0, 0, 1, 1, 1, 1};
  for (const size_t one : {0, 2, 4, 6}) Connect(topology, one, one + 1, {0, true});
  EXPECT_EQ(topology.Choose(0xFF, 2), 0b101U) << "on the same node, by buses of their own";
  EXPECT_EQ(topology.Choose(0xFF, 4), 0b01010101U) << "by buses of their own, on both nodes";
  EXPECT_EQ(topology.Choose(0b01110011, 2), 0b01010000U);
  EXPECT_EQ(topology.Choose(0b00010011, 2), 0b00010001U) << "better on two nodes than on one bus";
  EXPECT_EQ(topology.Choose(0b00000011, 2), 0b11U) << "there are no others";
  // Links count more.
  Connect(topology, 0, 1, {4, true});
  EXPECT_EQ(topology.Choose(0xFF, 2), 0b11U);
}

TEST(Topology, KeepsTheFirstDeviceOfEachBus) {
  EXPECT_EQ(Topology(AllReach(3)).OnOwnBuses(0b110), 0b110U) << "unknown links";
  Topology topology = WithLinks(6);
  EXPECT_EQ(topology.OnOwnBuses(0b111111), 0b111111U);
  for (const size_t one : {0, 1}) {
    for (size_t other = one + 1; other < 3; ++other) Connect(topology, one, other, {0, true});
  }
  Connect(topology, 3, 5, {0, true});
  EXPECT_EQ(topology.OnOwnBuses(0b111111), 0b011001U);
  EXPECT_EQ(topology.OnOwnBuses(0b110110), 0b110010U);
  EXPECT_EQ(topology.OnOwnBuses(0), 0U);
}

TEST(Topology, TakesNoNodeForKnownThatIsNot) {
  Topology topology(AllReach(3));
  topology.numa_nodes = {-1, -1, -1};
  EXPECT_EQ(topology.Choose(0b111, 2), 0b011U);
  topology.numa_nodes = {-1, 1, 1};
  EXPECT_EQ(topology.Choose(0b111, 2), 0b110U);
}

class GpuInTest final : public ForwardingEngine {
 public:
  GpuInTest(int ordinal, const std::string& uuid, int numa_node)
      : ForwardingEngine(CpuEngine().engine), info_(ForwardingEngine::info()) {
    info_.ordinal = ordinal;
    info_.device_uuid = uuid;
    info_.numa_node = numa_node;
  }
  const EngineInfo& info() const override { return info_; }

 private:
  EngineInfo info_;
};

TEST(ServerDevices, ReadAndLogHowGpusAreConnected) {
  std::vector<ChosenEngine> engines;
  for (const char* const uuid : {"GPU-1", "GPU-near", "GPU-far"}) {
    ChosenEngine& engine = engines.emplace_back();
    engine.ordinal = static_cast<int>(engines.size()) - 1;
    engine.engine = std::make_unique<GpuInTest>(engine.ordinal, uuid, engine.ordinal / 2);
  }
  std::string lines;
  const Logger logger(LogLevel::kInfo, [&lines](absl::string_view line) { lines += std::string(line); });
  ServerDevices devices(std::move(engines), &logger, {[](int) {}, [] {}});
  EXPECT_EQ(devices.set().topology().Choose(0b111, 2), 0b011U) << "on one node";
  const auto nvml = Nvml::Load(FAKE_NVML);
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  devices.ReadLinks(nvml->get());
  EXPECT_EQ(devices.set().topology().Choose(0b111, 2), 0b101U) << "6 links instead of 4";
  for (const char* const part :
       {"device_links", R"("reaches":"1,2")", R"("nvlinks":"4,6")", R"("nvlinks":"6,6")", R"("numa_node":1)"}) {
    EXPECT_THAT(lines, ::testing::HasSubstr(part));
  }
  lines.clear();
  devices.ReadLinks(nullptr);
  EXPECT_THAT(lines, ::testing::HasSubstr(R"("nvlinks":"")"));
}

class NumaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sys_ = ::testing::TempDir() + "/numa-test-" + std::to_string(getpid());
    std::filesystem::create_directories(sys_ + "/devices/system/node");
    std::filesystem::create_directories(sys_ + "/bus/pci/devices/0000:0f:00.0");
  }
  void TearDown() override { std::filesystem::remove_all(sys_); }
  void Write(const std::string& file, const std::string& line) const { std::ofstream(sys_ + file) << line << "\n"; }

  std::string sys_;
};

TEST_F(NumaTest, FindsTheNodeOfADevice) {
  Write("/devices/system/node/online", "0-1");
  Write("/bus/pci/devices/0000:0f:00.0/numa_node", "1");
  EXPECT_EQ(NumaNodeOf("0000:0F:00.0", sys_), 1);
  EXPECT_EQ(NumaNodeOf("0000:10:00.0", sys_), -1) << "no such device";
  Write("/bus/pci/devices/0000:0f:00.0/numa_node", "-1");
  EXPECT_EQ(NumaNodeOf("0000:0f:00.0", sys_), -1);
}

TEST_F(NumaTest, NeedsNoNodeWhereThereIsOne) {
  Write("/bus/pci/devices/0000:0f:00.0/numa_node", "0");
  EXPECT_EQ(NumaNodeOf("0000:0f:00.0", sys_), -1) << "nothing tells how many there are";
  Write("/devices/system/node/online", "0");
  EXPECT_EQ(NumaNodeOf("0000:0f:00.0", sys_), -1);
}

TEST_F(NumaTest, ThePolicyOfAThreadIsAsBefore) {
  int before = 0, inside = 0, after = 0;
  const auto read = [](int* mode) { syscall(SYS_get_mempolicy, mode, nullptr, 0UL, nullptr, 0UL); };
  read(&before);
  {
    const PreferNumaNode here(0);
    read(&inside);
  }
  read(&after);
  EXPECT_EQ(after, before);
  EXPECT_TRUE(inside == MPOL_PREFERRED || !PreferNumaNode::IsAllowed());
  { const PreferNumaNode anywhere(-1); }
  { const PreferNumaNode nowhere(1 << 20); }
  read(&after);
  EXPECT_EQ(after, before);
}

TEST_F(NumaTest, AThreadKeepsThePolicyThatTheUserChose) {
  if (!PreferNumaNode::IsAllowed()) GTEST_SKIP() << "the system does not let the process choose, or it runs by numactl";
  std::thread([] {                                      // Policies belong to threads.
    std::array<unsigned long, 16> nodes{};              // NOLINT(google-runtime-int): the system call's
    constexpr unsigned long kBits = 8 * sizeof(nodes);  // NOLINT(google-runtime-int)
    ASSERT_EQ(syscall(SYS_get_mempolicy, nullptr, nodes.data(), kBits, nullptr, MPOL_F_MEMS_ALLOWED), 0);
    for (const int chosen : {MPOL_BIND, MPOL_INTERLEAVE}) {
      ASSERT_EQ(syscall(SYS_set_mempolicy, chosen, nodes.data(), kBits), 0) << chosen;
      EXPECT_FALSE(PreferNumaNode::IsAllowed());
      const PreferNumaNode other(0);
      int inside = -1;
      syscall(SYS_get_mempolicy, &inside, nullptr, 0UL, nullptr, 0UL);
      EXPECT_EQ(inside, chosen);
    }
  })
      .join();
}

}  // namespace
}  // namespace corank::testing
