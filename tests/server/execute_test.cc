// execute: the phases of a request on a lane, and the effects of a failure in each of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/engine/forwarding_engine.h"
#include "server/base/errors.h"
#include "server/run/device_ops/merge.h"
#include "server/run/device_ops/move.h"
#include "server/run/device_ops/search.h"
#include "server/run/device_ops/sort.h"
#include "server/run/packed_stream.h"
#include "tests/server/doubles.h"
#include "tests/server/lane_pool_fixture.h"

namespace corank::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(LanePoolTest, RunsThePhasesInOrderAndReportsThem) {
  PuppetEngine engine;
  auto task = request_.MakeTask(SortOf(keys_, 4));
  task->request.arrival = clock_.Now();
  clock_.Advance(std::chrono::nanoseconds(70));
  work_.Add(std::move(task));
  RunAll(engine);
  EXPECT_THAT(engine.phases(),
              ElementsAre("Begin", "Upload", "AllocateResult", "EndCopyIn", "Run", "EndKernels", "Download", "Finish"));
  ASSERT_TRUE(request_.status.ok()) << request_.status;
  EXPECT_EQ(request_.outcome.stats.queue_ns(), 70);
  EXPECT_EQ(request_.outcome.stats.copy_in_ns(), 1);
  EXPECT_EQ(request_.outcome.stats.kernel_ns(), 2);
  EXPECT_EQ(request_.outcome.stats.copy_out_ns(), 3);
  EXPECT_EQ(request_.outcome.stats.workspace_bytes(), 4);
  EXPECT_EQ(request_.outcome.stats.batch_size(), 1);
  EXPECT_EQ(request_.outcome.stats.device(), "puppet");
  EXPECT_EQ(request_.outcome.sort_algorithm, v1::SORT_ALGORITHM_COPY);
}

TEST_F(LanePoolTest, BatchSizeIsWhatWentTogether) {
  PuppetEngine engine;
  std::vector<std::unique_ptr<Task>> batch;
  batch.push_back(request_.MakeTask());
  batch.push_back(second_.MakeTask());
  work_.Add(std::move(batch));
  RunAll(engine);
  EXPECT_EQ(request_.outcome.stats.batch_size(), 2);
  EXPECT_EQ(second_.outcome.stats.batch_size(), 2);
}

TEST_F(LanePoolTest, AlikeSortsRunAsOne) {
  PuppetEngine engine;
  const uint64_t more[2] = {9, 8};
  std::vector<std::unique_ptr<Task>> batch;
  batch.push_back(request_.MakeTask(SortOf(keys_, 4)));
  batch.push_back(second_.MakeTask(SortOf(nullptr, 0)));
  RecordedRequest third;
  batch.push_back(third.MakeTask(SortOf(more, 2)));
  work_.Add(std::move(batch));
  RunAll(engine);
  EXPECT_THAT(engine.phases(), ElementsAre("Begin", "AllocateHost", "Upload", "AllocateResult", "EndCopyIn", "Run",
                                           "EndKernels", "Download", "Finish"));
  // The puppet copies: each member gets its own input.
  EXPECT_THAT(request_.bytes, ElementsAre(std::string(reinterpret_cast<const char*>(keys_), 32)));
  EXPECT_THAT(second_.bytes, ElementsAre(""));
  EXPECT_THAT(third.bytes, ElementsAre(std::string(reinterpret_cast<const char*>(more), 16)));
  EXPECT_EQ(third.outcome.stats.batch_size(), 3);
  EXPECT_EQ(third.outcome.stats.kernel_ns(), 2);
  EXPECT_EQ(third.outcome.sort_algorithm, v1::SORT_ALGORITHM_COPY);
}

TEST_F(LanePoolTest, OnlyAlikeNeighboursRunAsOne) {
  PuppetEngine engine;
  SortOperation::Spec descending;
  descending.keys = Operand{v1::ELEMENT_TYPE_UINT64, 8, 4, keys_};
  descending.order = Order::kDescending;
  std::vector<std::unique_ptr<Task>> batch;
  batch.push_back(request_.MakeTask(SortOf(keys_, 4)));
  batch.push_back(second_.MakeTask(std::make_unique<SortOperation>(descending)));
  work_.Add(std::move(batch));
  RunAll(engine);
  const std::vector<std::string> phases = engine.phases();
  EXPECT_EQ(std::count(phases.begin(), phases.end(), "Run"), 2);
}

TEST_F(LanePoolTest, AMemberThatIsNotWantedLeavesTheOthersAlone) {
  PuppetEngine engine;
  second_.cancelled = true;
  std::vector<std::unique_ptr<Task>> batch;
  batch.push_back(request_.MakeTask(SortOf(keys_, 4)));
  batch.push_back(second_.MakeTask(SortOf(keys_, 3)));
  work_.Add(std::move(batch));
  RunAll(engine);
  EXPECT_TRUE(request_.status.ok());
  EXPECT_THAT(request_.bytes, ElementsAre(std::string(reinterpret_cast<const char*>(keys_), 32)));
  EXPECT_EQ(second_.status.code(), absl::StatusCode::kCancelled);
}

TEST_F(LanePoolTest, AnErrorOfTheEngineIsThatOfEveryMember) {
  PuppetEngine engine([](const std::string& phase, OperatorReport*) {
    return phase == "Finish" ? absl::InternalError("broken") : absl::OkStatus();
  });
  std::vector<std::unique_ptr<Task>> batch;
  batch.push_back(request_.MakeTask(SortOf(keys_, 4)));
  batch.push_back(second_.MakeTask(SortOf(keys_, 3)));
  work_.Add(std::move(batch));
  RunAll(engine);
  EXPECT_EQ(request_.status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(second_.status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(second_.bytes.empty());
}

TEST_F(LanePoolTest, CopiesWhatIsNotAligned) {
  PuppetEngine engine;
  alignas(8) char bytes[33] = {};
  work_.Add(request_.MakeTask(SortOf(bytes + 1, 4)));
  RunAll(engine);
  EXPECT_TRUE(request_.status.ok());
  EXPECT_TRUE(engine.uploads_were_aligned());
  EXPECT_THAT(engine.phases(), Contains("AllocateHost"));
}

TEST_F(LanePoolTest, DoesNotStartWhatIsNotWanted) {
  PuppetEngine engine;
  request_.cancelled = true;
  work_.Add(request_.MakeTask());
  auto late = second_.MakeTask();
  late->request.deadline = clock_.Now();
  work_.Add(std::move(late));
  RunAll(engine);
  EXPECT_EQ(request_.status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(second_.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(engine.phases().empty());
}

TEST_F(LanePoolTest, CancelledDuringCopyInNeverRunsButFinishes) {
  PuppetEngine engine([this](const std::string& phase, OperatorReport*) {
    if (phase == "Upload") request_.cancelled = true;
    return absl::OkStatus();
  });
  work_.Add(request_.MakeTask(SortOf(keys_, 4)));
  RunAll(engine);
  EXPECT_EQ(request_.status.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(engine.phases(), Not(Contains("Run")));
  EXPECT_EQ(engine.phases().back(), "Finish");
}

TEST_F(LanePoolTest, LateAfterTheKernelsIsNotDownloaded) {
  PuppetEngine engine([this](const std::string& phase, OperatorReport*) {
    if (phase == "Run") clock_.Advance(std::chrono::seconds(2));
    return absl::OkStatus();
  });
  auto task = request_.MakeTask(SortOf(keys_, 4));
  task->request.deadline = clock_.Now() + std::chrono::seconds(1);
  work_.Add(std::move(task));
  RunAll(engine);
  EXPECT_EQ(request_.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(engine.phases(), Not(Contains("Download")));
}

TEST_F(LanePoolTest, ShortMemoryIsResourceExhaustedAndTheLaneGoesOn) {
  int left = 2;
  PuppetEngine engine([&left](const std::string& phase, OperatorReport*) {
    if (phase != "AllocateResult" || left == 0) return absl::OkStatus();
    --left;
    return absl::ResourceExhaustedError("cudaMalloc(0x7f00) failed");
  });
  work_.Add(request_.MakeTask(SortOf(keys_, 4)));
  work_.Add(second_.MakeTask(SortOf(keys_, 4)));
  RunAll(engine);
  EXPECT_EQ(request_.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(request_.status.GetPayload("type.googleapis.com/google.rpc.RetryInfo").has_value());
  EXPECT_THAT(std::string(request_.status.message()), Not(HasSubstr("0x7f00"))) << "for the log only";
  EXPECT_THAT(log_, HasSubstr("0x7f00"));
  EXPECT_TRUE(second_.status.ok());
}

TEST_F(LanePoolTest, AQuotaOfTheCallersIsToldAsItIsAndNotAskedForAgain) {
  int asked = 0;
  PuppetEngine engine([&asked](const std::string& phase, OperatorReport*) {
    if (phase != "AllocateResult") return absl::OkStatus();
    ++asked;
    return FieldError(v1::ERROR_REASON_QUOTA_EXCEEDED, "keys_destination", "the caller keeps too much");
  });
  work_.Add(request_.MakeTask(SortOf(keys_, 4)));
  RunAll(engine);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(request_.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(NamedField(request_.status), "keys_destination");
  EXPECT_FALSE(HasRetryDelay(request_.status)) << "no wait helps";
  EXPECT_THAT(log_, Not(HasSubstr("memory_short")));
}

TEST_F(LanePoolTest, MemoryThatIsShortOnceIsAskedForAgain) {
  bool first = true;
  PuppetEngine engine([&first](const std::string& phase, OperatorReport*) {
    return phase == "AllocateResult" && std::exchange(first, false) ? absl::ResourceExhaustedError("full")
                                                                    : absl::OkStatus();
  });
  work_.Add(request_.MakeTask(SortOf(keys_, 4)));
  RunAll(engine);
  EXPECT_TRUE(request_.status.ok()) << request_.status;
  EXPECT_THAT(request_.bytes, ElementsAre(std::string(reinterpret_cast<const char*>(keys_), 32)));
}

TEST_F(LanePoolTest, ABatchIsOneRoundTripAndABadMemberFailsAlone) {
  together_ = true;
  int runs = 0;
  PuppetEngine engine([&runs](const std::string& phase, OperatorReport* report) {
    if (phase == "Run" && ++runs == 2) report->fault = OperatorReport::Fault::kUnsorted;
    return absl::OkStatus();
  });
  std::array<RecordedRequest, 3> members;
  std::vector<std::unique_ptr<Task>> batch;
  for (RecordedRequest& member : members) {
    SearchOperation::Spec spec;
    spec.haystack = spec.needles = Operand{v1::ELEMENT_TYPE_UINT64, 8, 4, keys_};
    batch.push_back(member.MakeTask(std::make_unique<SearchOperation>(spec)));
  }
  work_.Add(std::move(batch));
  RunAll(engine);
  EXPECT_THAT(engine.phases(), ElementsAre("Begin", "AllocateHost", "AllocateResult", "EndCopyIn", "Run", "Run", "Run",
                                           "EndKernels", "Download", "Finish"));
  EXPECT_TRUE(members[0].status.ok()) << members[0].status;
  EXPECT_EQ(members[1].status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(NamedField(members[1].status), "haystack");
  EXPECT_TRUE(members[2].status.ok()) << members[2].status;
  EXPECT_EQ(members[2].outcome.stats.batch_size(), 3);
}

TEST_F(LanePoolTest, MembersOfABatchThatIsShortOfMemoryRunAlone) {
  for (const bool fused : {false, true}) {
    SCOPED_TRACE(fused ? "fused" : "together");
    together_ = true;
    bool first = true;
    PuppetEngine engine([&first](const std::string& phase, OperatorReport*) {
      return phase == "AllocateResult" && std::exchange(first, false) ? absl::ResourceExhaustedError("full")
                                                                      : absl::OkStatus();
    });
    std::array<RecordedRequest, 3> members;
    std::vector<std::unique_ptr<Task>> batch;
    for (RecordedRequest& member : members) {
      SearchOperation::Spec spec;
      spec.haystack = spec.needles = Operand{v1::ELEMENT_TYPE_UINT64, 8, 4, keys_};
      batch.push_back(fused ? member.MakeTask(SortOf(keys_, 4))
                            : member.MakeTask(std::make_unique<SearchOperation>(spec)));
    }
    work_.Add(std::move(batch));
    RunAll(engine);
    EXPECT_FALSE(first);
    for (const RecordedRequest& member : members) EXPECT_TRUE(member.status.ok()) << member.status;
  }
}

TEST_F(LanePoolTest, MembersThatRunTogetherGetTheirOwnAnswers) {
  together_ = true;
  EngineOptions options;
  options.choice = EngineChoice::kCpu;
  options.cpu_threads = 1;
  const auto cpu = ChooseEngines(options);
  ASSERT_TRUE(cpu.ok());
  const uint64_t sorted[4] = {10, 20, 30, 40}, unsorted[4] = {10, 20, 5, 40}, needles[2] = {20, 35}, more[1] = {41};
  std::array<RecordedRequest, 3> members;
  const auto search = [&](RecordedRequest& member, const uint64_t* haystack, const uint64_t* wanted, int64_t count) {
    SearchOperation::Spec spec;
    spec.haystack = Operand{v1::ELEMENT_TYPE_UINT64, 8, 4, haystack};
    spec.needles = Operand{v1::ELEMENT_TYPE_UINT64, 8, count, wanted};
    return member.MakeTask(std::make_unique<SearchOperation>(spec));
  };
  std::vector<std::unique_ptr<Task>> batch;
  batch.push_back(search(members[0], sorted, needles, 2));
  batch.push_back(search(members[1], unsorted, needles, 2));
  batch.push_back(search(members[2], sorted, more, 1));
  work_.Add(std::move(batch));
  RunAll(*cpu->front().engine);
  const uint32_t first[2] = {1, 3}, last[1] = {4};
  EXPECT_THAT(members[0].bytes, ElementsAre(std::string(reinterpret_cast<const char*>(first), 8)));
  EXPECT_EQ(NamedField(members[1].status), "haystack");
  EXPECT_THAT(members[2].bytes, ElementsAre(std::string(reinterpret_cast<const char*>(last), 4)));
}

TEST_F(LanePoolTest, ALostDeviceEndsEveryRequestWithUnavailable) {
  auto puppet = std::make_unique<PuppetEngine>([](const std::string& phase, OperatorReport*) {
    return phase == "Finish" ? absl::UnavailableError("an illegal address") : absl::OkStatus();
  });
  const PuppetEngine& engine = *puppet;
  int device_losses = 0;
  DeviceWatch watch([&device_losses](const std::string&) { ++device_losses; }, &logger_);
  watch_ = &watch;
  const std::unique_ptr<Engine> watched = Watched(std::move(puppet), &watch);
  work_.Add(request_.MakeTask());
  work_.Add(second_.MakeTask());
  RunAll(*watched);
  EXPECT_EQ(request_.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(second_.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(second_.status.GetPayload("type.googleapis.com/google.rpc.RetryInfo").has_value());
  EXPECT_EQ(device_losses, 1);
  EXPECT_THAT(engine.phases(), ElementsAre("Begin", "EndCopyIn", "Run", "EndKernels", "Finish"))
      << "the device is left alone";
}

TEST_F(LanePoolTest, OtherErrorsOfTheEngineAreInternal) {
  PuppetEngine engine([](const std::string& phase, OperatorReport*) {
    return phase == "Run" ? absl::InvalidArgumentError("misuse") : absl::OkStatus();
  });
  work_.Add(request_.MakeTask());
  RunAll(engine);
  EXPECT_EQ(request_.status.code(), absl::StatusCode::kInternal);
}

TEST_F(LanePoolTest, AFaultInTheReportIsTheCallersError) {
  PuppetEngine engine([](const std::string&, OperatorReport* report) {
    if (report != nullptr) report->fault = OperatorReport::Fault::kUnsorted;
    return absl::OkStatus();
  });
  work_.Add(request_.MakeTask());
  RunAll(engine);
  EXPECT_EQ(request_.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(NamedField(request_.status), "keys");
}

TEST(Faults, NameTheInputAndTheIndex) {
  OperatorReport report;
  report.fault = OperatorReport::Fault::kUnsorted;
  report.input = 2;
  report.index = 17;
  MergeOperation::Spec merge;
  merge.keys.resize(3, Operand{v1::ELEMENT_TYPE_INT8, 1, 0, nullptr});
  const absl::Status unsorted = MergeOperation(merge).FaultStatus(report);
  EXPECT_EQ(NamedField(unsorted), "keys[2]");
  EXPECT_THAT(std::string(unsorted.message()), HasSubstr("index 17"));

  SearchOperation::Spec search;
  search.haystack = search.needles = merge.keys[0];
  EXPECT_EQ(NamedField(SearchOperation(search).FaultStatus(report)), "haystack");

  report.fault = OperatorReport::Fault::kOverlapping;
  report.index = 5;
  report.other = 3;
  MoveOperation::Spec move;
  move.source = move.counts = merge.keys[0];
  const absl::Status overlap = MoveOperation(move).FaultStatus(report);
  EXPECT_EQ(NamedField(overlap), "destination_offsets[5]");
  EXPECT_THAT(std::string(overlap.message()), HasSubstr("interval 3"));
}

TEST(Faults, ThatAnOperatorCannotHaveAreInternal) {
  OperatorReport report;
  report.fault = OperatorReport::Fault::kUnsorted;
  SortOperation::Spec sort;
  sort.keys = Operand{v1::ELEMENT_TYPE_INT8, 1, 0, nullptr};
  EXPECT_EQ(SortOperation(sort).FaultStatus(report).code(), absl::StatusCode::kInternal);
}

TEST(EngineChoice, CpuOnRequestAndAutoSayWhy) {
  EngineOptions options;
  options.choice = EngineChoice::kCpu;
  options.cpu_threads = 1;
  const auto cpu = ChooseEngines(options);
  ASSERT_TRUE(cpu.ok()) << cpu.status();
  EXPECT_EQ(cpu->front().engine->info().kind, EngineKind::kCpu);
  EXPECT_THAT(cpu->front().reason, HasSubstr("--engine=cpu"));
  options.choice = EngineChoice::kAuto;
  const auto automatic = ChooseEngines(options);
  ASSERT_TRUE(automatic.ok()) << automatic.status();
  EXPECT_THAT(automatic->front().reason, HasSubstr("--engine=auto"));
}

// It determines the place of a kept result.
TEST(PackedStream, IsOfTheDeviceOfItsStream) {
  class OnTheFourth final : public ForwardingStream {
   public:
    using ForwardingStream::ForwardingStream;
    int device() const override { return 3; }
  };
  PuppetEngine engine;
  OnTheFourth stream(*engine.CreateStream());
  EXPECT_EQ(PackedStream(&stream, 1000).device(), 3);
}

}  // namespace
}  // namespace corank::testing
