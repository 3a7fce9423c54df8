// observe: traces of callers, reports of GPUs and of the process, tenants.
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "prometheus/text_serializer.h"
#include "server/observe/metrics.h"
#include "server/observe/nvml.h"
#include "server/observe/process_metrics.h"
#include "server/observe/trace.h"

namespace corank::testing {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::Not;

std::string Scrape(const Metrics& metrics) { return prometheus::TextSerializer().Serialize(metrics.Collect()); }

constexpr char kTrace[] = "0af7651916cd43dd8448eb211c80319c";
constexpr char kParent[] = "b7ad6b7169203331";

// https://www.w3.org/TR/trace-context/#traceparent-header
TEST(TraceContext, ReadsWhatTheRecommendationAllows) {
  const std::string both = absl::StrCat(kTrace, "-", kParent);
  struct Case {
    std::string traceparent;
    bool sampled;
  };
  const std::vector<Case> good = {
      {"00-" + both + "-01", true},
      {"00-" + both + "-00", false},
      {"00-" + both + "-03", true},  // flags unknown to version 00 are ignored
      {"00-" + both + "-fe", false},
      {"cc-" + both + "-01", true},  // a future version
      {"cc-" + both + "-01-what-the-future-will-be-like", true},
      {"fe-" + both + "-01-", true},
  };
  for (const Case& test : good) {
    const TraceContext trace = TraceContext::Begin(test.traceparent, 0x1234);
    ASSERT_FALSE(trace.empty()) << test.traceparent;
    EXPECT_EQ(trace.trace_id(), kTrace) << test.traceparent;
    EXPECT_EQ(trace.parent_id(), kParent) << test.traceparent;
    EXPECT_EQ(trace.span_id(), "0000000000001234") << test.traceparent;
    EXPECT_EQ(trace.sampled(), test.sampled) << test.traceparent;
    EXPECT_EQ(trace.Traceparent(), absl::StrCat("00-", kTrace, "-0000000000001234-", test.sampled ? "01" : "00"));
  }
}

TEST(TraceContext, LeavesWhatIsMalformed) {
  const std::string both = absl::StrCat(kTrace, "-", kParent);
  const std::string no_trace(32, '0');
  const std::string no_parent(16, '0');
  const std::vector<std::string> bad = {
      "",
      "00",
      "00-" + both,               // no flags
      "00-" + both + "-0",        // half of them
      "00-" + both + "-01-more",  // more than version 00 has
      "00-" + both + "-01-",
      "00-" + both + "-011",
      "cc-" + both + "-01more",  // no dash before the fields of a future version
      "ff-" + both + "-01",      // forbidden
      "0-" + both + "-01",
      "000-" + both + "-01",
      "0x-" + both + "-01",
      "00-" + no_trace + "-" + kParent + "-01",  // all zero
      absl::StrCat("00-", kTrace, "-", no_parent, "-01"),
      "00-0AF7651916CD43DD8448EB211C80319C-" + std::string(kParent) + "-01",  // capitals
      absl::StrCat("00-", kTrace, "-B7AD6B7169203331-01"),
      "00-" + both + "-0G",
      "00-" + both + "-0A",
      "00_" + both + "-01",
      absl::StrCat("00-", kTrace, "_", kParent, "-01"),
      "00-" + both + "_01",
      absl::StrCat("00-", std::string(kTrace).substr(1), "-", kParent, "-01"),
      " 00-" + both + "-01",
      "00-" + both + "-01 ",
      std::string("00-\0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", 55),
      std::string(10'000, '0'),
  };
  for (const std::string& traceparent : bad) {
    const TraceContext trace = TraceContext::Begin(traceparent, 1);
    EXPECT_TRUE(trace.empty()) << traceparent;
    EXPECT_EQ(trace.trace_id(), "") << traceparent;
    EXPECT_EQ(trace.span_id(), "") << traceparent;
    EXPECT_EQ(trace.Traceparent(), "") << traceparent;
  }
}

TEST(Nvml, ReadsAGpuByItsUuid) {
  const auto nvml = Nvml::Load(FAKE_NVML);
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  const DeviceReadings readings = (*nvml)->Read("GPU-1");
  EXPECT_DOUBLE_EQ(readings.utilisation, 0.37);
  EXPECT_EQ(readings.memory_used_bytes, 20'000'000'000);
  EXPECT_EQ(readings.memory_total_bytes, 150'000'000'000);
  EXPECT_DOUBLE_EQ(readings.power_watts, 345.6);
  EXPECT_DOUBLE_EQ(readings.temperature_celsius, 61);
}

TEST(Nvml, WhatAGpuDoesNotSayIsNotShown) {
  const auto nvml = Nvml::Load(FAKE_NVML);
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  Metrics metrics;
  for (const char* uuid : {"GPU-mute", "no-such-gpu"}) metrics.SetDevice(0, (*nvml)->Read(uuid));
  EXPECT_THAT(Scrape(metrics), Not(HasSubstr("corank_device_")));
  metrics.SetDevice(0, (*nvml)->Read("GPU-1"));
  RecordProperty("scrape", Scrape(metrics));  // for promtool: tests/deploy/test_scrape.py
  EXPECT_THAT(Scrape(metrics), AllOf(HasSubstr("corank_device_utilisation_ratio{device=\"0\"} 0.37\n"),
                                     HasSubstr("corank_device_memory_used_bytes{device=\"0\"} 20000000000\n"),
                                     HasSubstr("corank_device_memory_total_bytes{device=\"0\"} 150000000000\n"),
                                     HasSubstr("corank_device_power_watts{device=\"0\"} 345.6"),
                                     HasSubstr("corank_device_temperature_celsius{device=\"0\"} 61\n")));
}

TEST(Nvml, TellsHowTwoGpusAreConnected) {
  const auto nvml = Nvml::Load(FAKE_NVML);
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  const DeviceLink near = (*nvml)->Link("GPU-1", "GPU-near"), far = (*nvml)->Link("GPU-1", "GPU-far");
  EXPECT_EQ(near.nvlinks, 4) << "those between them";
  EXPECT_TRUE(near.shares_bus);
  EXPECT_EQ(far.nvlinks, 6) << "those of the one that has fewer, by switches";
  EXPECT_FALSE(far.shares_bus);
  EXPECT_EQ((*nvml)->Link("GPU-far", "GPU-1").nvlinks, 6);
  for (const char* uuid : {"GPU-mute", "no-such-gpu"}) {
    EXPECT_EQ((*nvml)->Link("GPU-1", uuid).nvlinks, 0);
    EXPECT_FALSE((*nvml)->Link(uuid, "GPU-1").shares_bus);
  }
}

TEST(Nvml, IsStartedAndShutDown) {
  void* const library = dlopen(FAKE_NVML, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto starts = reinterpret_cast<int (*)()>(dlsym(library, "fakeNvmlStarts"));
  ASSERT_NE(starts, nullptr);
  {
    const auto nvml = Nvml::Load(FAKE_NVML);
    ASSERT_TRUE(nvml.ok()) << nvml.status();
    EXPECT_EQ(starts(), 1);
  }
  EXPECT_EQ(starts(), 0);
  dlclose(library);
}

TEST(Nvml, SaysWhyItIsNotThere) {
  EXPECT_THAT(Nvml::Load("libno-such-library.so.1").status().message(), HasSubstr("libno-such-library.so.1"));
  EXPECT_THAT(Nvml::Load("libdl.so.2").status().message(), HasSubstr("lacks a function"));
}

TEST(ProcessMetrics, SayWhatTheProcessTakes) {
  std::map<std::string, double> values;
  for (const prometheus::MetricFamily& family : ProcessMetrics()) {
    ASSERT_EQ(family.metric.size(), 1U) << family.name;
    const bool counts = family.type == prometheus::MetricType::Counter;
    values[family.name] = counts ? family.metric[0].counter.value : family.metric[0].gauge.value;
  }
  ASSERT_EQ(values.size(), 7U);
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  EXPECT_GE(values["process_threads"], 1);
  EXPECT_THAT(values["process_resident_memory_bytes"], AllOf(Gt(1e6), Lt(1e12)));
  EXPECT_GE(values["process_virtual_memory_bytes"], values["process_resident_memory_bytes"]);
  EXPECT_GE(values["process_cpu_seconds_total"], 0);
  EXPECT_THAT(values["process_open_fds"], AllOf(Gt(2), Lt(1000)));
  EXPECT_EQ(values["process_max_fds"], static_cast<double>(files.rlim_cur));
  EXPECT_THAT(values["process_start_time_seconds"],
              AllOf(Gt(static_cast<double>(now.tv_sec) - 3600), Lt(static_cast<double>(now.tv_sec) + 2)));
}

TEST(ProcessMetrics, CountOpenFiles) {
  const auto open_files = [] {
    for (const prometheus::MetricFamily& family : ProcessMetrics()) {
      if (family.name == "process_open_fds") return family.metric[0].gauge.value;
    }
    return -1.0;
  };
  int really = 0;
  for (int file = 0; file < 10'000; ++file) really += fcntl(file, F_GETFD) >= 0 ? 1 : 0;
  const double before = open_files();
  EXPECT_EQ(before, really);
  const int another = dup(0);
  EXPECT_EQ(open_files(), before + 1);
  close(another);
}

TEST(Tenants, AreCountedByName) {
  Metrics metrics;
  metrics.CountTenant("a", 100, 2'000'000'000);
  metrics.CountTenant("a", 11, 500'000'000);
  metrics.CountTenant("", 7, 0);
  EXPECT_THAT(Scrape(metrics), AllOf(HasSubstr("corank_tenant_bytes_total{tenant=\"a\"} 111\n"),
                                     HasSubstr("corank_tenant_lane_seconds_total{tenant=\"a\"} 2.5\n"),
                                     HasSubstr("corank_tenant_bytes_total{tenant=\"anonymous\"} 7\n")));
}

TEST(Tenants, BeyondTheFirstOnesShareALabel) {
  Metrics metrics;
  for (int i = 0; i < kMaxTenantLabels + 5; ++i) metrics.CountTenant(absl::StrCat("tenant-", i), 1, 0);
  metrics.CountTenant("tenant-0", 1, 0);  // it keeps its label
  const std::string text = Scrape(metrics);
  EXPECT_THAT(text, HasSubstr("corank_tenant_bytes_total{tenant=\"other\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("corank_tenant_bytes_total{tenant=\"tenant-0\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("{tenant=\"tenant-", kMaxTenantLabels - 1, "\"} 1\n")));
  EXPECT_THAT(text, Not(HasSubstr(absl::StrCat("{tenant=\"tenant-", kMaxTenantLabels, "\"}"))));
}

TEST(OnScrape, IsAskedAtEachScrape) {
  Metrics metrics;
  int scrapes = 0;
  metrics.OnScrape([&] { metrics.SetQueueAge("high", ++scrapes); });
  EXPECT_THAT(Scrape(metrics), HasSubstr("corank_queue_age_seconds{line=\"high\"} 1\n"));
  EXPECT_THAT(Scrape(metrics), HasSubstr("corank_queue_age_seconds{line=\"high\"} 2\n"));
}

}  // namespace
}  // namespace corank::testing
