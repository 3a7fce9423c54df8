// Large sorts and merges in pieces that lose their deadline or their memory in the middle of the work. The right status
// comes back, and nothing is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tests/faults/fault_world.h"
#include "tests/server/doubles.h"
#include "tests/server/messages.h"
#include "tests/support/distributions.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

constexpr v1::ElementType kUint32 = v1::ELEMENT_TYPE_UINT32;
constexpr int64_t kCount = 20000;  // keys of a sort, or of both inputs of a merge
constexpr int64_t kPage = 4096;
constexpr char kStreamedMerge[] = "streamed merge";
constexpr int64_t kInCore = 1 << 20, kOutOfCore = 64 << 10;  // device memory of one request

Server::Options SceneOptions(int64_t max_device_bytes) {
  Server::Options options = FaultOptions();
  options.in_pieces = true;
  options.long_bytes = 1000;
  options.long_lanes = 1;
  options.streams.window_bytes = 32 << 10;
  options.streams.max_device_bytes = max_device_bytes;
  options.streams.idle_timeout = absl::Hours(24);  // the clock jumps
  return options;
}

std::vector<uint32_t> Uniform(int64_t count, uint64_t seed) {
  const Bytes bytes = MakeKeys(KeyType::kUint32, Distribution::kUniform, count, seed);
  std::vector<uint32_t> keys(static_cast<size_t>(count));
  std::memcpy(keys.data(), bytes.data(), bytes.size());
  return keys;
}

std::vector<uint32_t> Sorted(std::vector<uint32_t> keys) {
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::string AsBytes(const std::vector<uint32_t>& keys) {
  return {reinterpret_cast<const char*>(keys.data()), keys.size() * sizeof(uint32_t)};
}

v1::Array InRegion(const std::string& region, int64_t first, int64_t count) {
  v1::Array array;
  array.set_type(kUint32);
  array.set_count(count);
  array.mutable_shared_memory()->set_region(region);
  array.mutable_shared_memory()->set_offset_bytes(4 * first);
  return array;
}

v1::Destination ToRegion(const std::string& region) {
  v1::Destination destination;
  destination.mutable_shared_memory()->set_region(region);
  return destination;
}

struct Ended {
  grpc::Status status;
  std::string bytes;  // the bytes of the sorted keys
};

/// A large sort or merge of kCount keys.
struct Work {
  std::string name;
  // Streams carry their inputs; others read them from the region "in". Results in shared memory go to "r".
  std::function<Ended(World&, grpc::ClientContext*)> run;
  bool is_sort;
  const char* tile_call = "Merge";  // makes a tile of the result
  bool may_take_less = false;       // arrays that grow make do with less memory than they ask for first
};

template <typename Request>
Ended RunShared(World& world, const Request& request, grpc::ClientContext* context) {
  typename Unary<Request>::Response response;
  Ended ended;
  ended.status = Call(world.stub(), context, request, &response);
  // After a failure, the object may have lost these pages.
  if (ended.status.ok()) ended.bytes.assign(world.object().As<char>(), 4 * kCount);
  return ended;
}

v1::SortRequest SharedSort() {
  v1::SortRequest request;
  *request.mutable_keys() = InRegion("in", 0, kCount);
  *request.mutable_keys_destination() = ToRegion("r");
  return request;
}

// Sorts by two columns. All rows are equal in the second one.
v1::SortRequest SharedColumnSort() {
  v1::SortRequest request;
  *request.add_key_columns()->mutable_data() = InRegion("in", 0, kCount);
  *request.mutable_key_columns(0)->mutable_data_destination() = ToRegion("r");
  v1::Array& same = *request.add_key_columns()->mutable_data();
  same.set_type(v1::ELEMENT_TYPE_UINT8);
  same.set_inline_data(std::string(kCount, 'a'));
  return request;
}

v1::MergeRequest SharedMerge() {
  v1::MergeRequest request;
  for (const int64_t first : {int64_t{0}, kCount / 2}) *request.add_keys() = InRegion("in", first, kCount / 2);
  *request.mutable_keys_destination() = ToRegion("r");
  return request;
}

// The halves of an array, as the inputs of a merge.
std::vector<StreamedInput> Halves(const std::vector<uint32_t>& keys) {
  const auto middle = keys.begin() + static_cast<ptrdiff_t>(keys.size() / 2);
  return {{0, 4, AsBytes(Sorted({keys.begin(), middle}))}, {1, 4, AsBytes(Sorted({middle, keys.end()}))}};
}

Ended RunStream(World& world, const v1::Plan& plan, const std::vector<StreamedInput>& inputs,
                grpc::ClientContext* context) {
  const StreamedAnswer answer = Execute(world.stub(), plan, Chunks(inputs, 1000), context);
  return {answer.status, answer.status.ok() ? answer.Output(0, 4) : ""};
}

std::vector<Work> AllWork() {
  return {{"streamed sort",
           [](World& world, grpc::ClientContext* context) {
             return RunStream(world, SortPlan(kUint32, kCount), {{0, 4, AsBytes(Uniform(kCount, 1))}}, context);
           },
           true},
          {kStreamedMerge,
           [](World& world, grpc::ClientContext* context) {
             v1::Plan plan;
             v1::MergeRequest& merge = *plan.add_operations()->mutable_merge();
             for (const uint32_t i : {0U, 1U}) *merge.add_keys() = Streamed(kUint32, kCount / 2, i);
             *merge.mutable_keys_destination() = ToStream(0);
             return RunStream(world, plan, Halves(Uniform(kCount, 1)), context);
           },
           false},
          {"shared sort",
           [](World& world, grpc::ClientContext* context) { return RunShared(world, SharedSort(), context); }, true},
          {"shared merge",
           [](World& world, grpc::ClientContext* context) { return RunShared(world, SharedMerge(), context); }, false}};
}

Ended StreamColumns(World& world, grpc::ClientContext* context, bool announced) {
  v1::Plan plan;
  v1::SortRequest& sort = *plan.add_operations()->mutable_sort();
  for (const uint32_t i : {0U, 1U}) {
    *sort.add_key_columns()->mutable_data() = Streamed(kUint32, announced ? kCount : -1, i);
    *sort.mutable_key_columns(static_cast<int>(i))->mutable_data_destination() = ToStream(i);
  }
  const StreamedInput keys{0, 4, AsBytes(Uniform(kCount, 1)), 0, !announced};
  const StreamedInput same{1, 4, std::string(4 * kCount, 'a'), 0, !announced};
  return RunStream(world, plan, {keys, same}, context);
}

// Sorts by columns and segments, which run in pieces out of core only.
std::vector<Work> ColumnWork() {
  static constexpr char kCall[] = "SortColumns";
  return {{"streamed column sort",
           [](World& world, grpc::ClientContext* context) { return StreamColumns(world, context, true); }, true, kCall},
          {"shared column sort",
           [](World& world, grpc::ClientContext* context) { return RunShared(world, SharedColumnSort(), context); },
           true, kCall},
          {"streamed column sort of unknown length",
           [](World& world, grpc::ClientContext* context) { return StreamColumns(world, context, false); }, true, kCall,
           /*may_take_less=*/true},
          {"shared merge of runs",
           [](World& world, grpc::ClientContext* context) {
             v1::SortRequest request = SharedColumnSort();
             *request.mutable_run_offsets() = Int64s({0, kCount / 2, kCount});
             return RunShared(world, request, context);
           },
           false, kCall},
          {"streamed sort of a segment",
           [](World& world, grpc::ClientContext* context) {
             v1::Plan plan = SortPlan(kUint32, kCount);
             *plan.mutable_operations(0)->mutable_sort()->mutable_segment_offsets() = Int64s({0, 0, kCount});
             return RunStream(world, plan, {{0, 4, AsBytes(Uniform(kCount, 1))}}, context);
           },
           true},
          {"shared column sort of a segment",
           [](World& world, grpc::ClientContext* context) {
             v1::SortRequest request = SharedColumnSort();
             *request.mutable_segment_offsets() = Int64s({0, 0, kCount});
             return RunShared(world, request, context);
           },
           true, kCall}};
}

std::vector<Work> WorkInPieces(int64_t max_device_bytes) {
  std::vector<Work> all = AllWork();
  if (max_device_bytes == kInCore) return all;
  for (Work& work : ColumnWork()) all.push_back(std::move(work));
  return all;
}

/// A server, and the object of the region "in".
class Scene {
 public:
  explicit Scene(int64_t max_device_bytes) : world_(SceneOptions(max_device_bytes), &clock_) {
    EXPECT_TRUE(world_.memory().Register(in_, "in").ok());
    world_.Settle();
  }

  FakeClock& clock() { return clock_; }
  SharedObject& in() { return in_; }
  SharedObject& out() { return world_.object(); }
  World& world() { return world_; }
  FaultPlan& plan() { return world_.plan(); }
  double Cancelled(const char* stage) { return MetricOf(world_.server(), "corank_cancelled_total", stage); }

  Ended Run(const Work& work) {
    Fill(work);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    return work.run(world_, &context);
  }
  void ExpectRight(const Work& work) {
    const Ended ended = Run(work);
    EXPECT_TRUE(ended.status.ok()) << ended.status.error_message();
    EXPECT_TRUE(ended.bytes == AsBytes(Sorted(Uniform(kCount, 1))));
  }
  // Restores both regions.
  void RenewRegions() {
    for (const auto& [name, object] : {std::pair{"in", &in_}, std::pair{"r", &world_.object()}}) {
      EXPECT_TRUE(world_.memory().Unregister(name).ok()) << "something holds the region still";
      object->Resize(kRegionBytes);
      EXPECT_TRUE(world_.memory().Register(*object, name).ok());
    }
  }

 private:
  // Writes the inputs of the work to the region "in".
  void Fill(const Work& work) {
    const std::vector<uint32_t> keys = Uniform(kCount, 1);
    std::string bytes = AsBytes(keys);
    if (!work.is_sort) {
      const std::vector<StreamedInput> halves = Halves(keys);
      bytes = halves[0].bytes + halves[1].bytes;
    }
    std::memcpy(in_.As<char>(), bytes.data(), bytes.size());
  }

  FakeClock clock_;
  SharedObject in_{kRegionBytes};
  World world_;
};

void ExpectMadeSmaller(const grpc::Status& status, const std::string& field) {
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("shrank while the request ran"));
  EXPECT_EQ(BadField(status), field);
}

// The parameter is the device memory for one request.
class PiecesFaultTest : public ::testing::TestWithParam<int64_t> {};

INSTANTIATE_TEST_SUITE_P(Memory, PiecesFaultTest, ::testing::Values(kInCore, kOutOfCore),
                         [](const auto& memory) { return memory.param == kInCore ? "InCore" : "OutOfCore"; });

TEST_P(PiecesFaultTest, ADeadlineInTheMiddleOfTheMergeEndsItAndLeavesNothing) {
  Scene scene(GetParam());
  for (const Work& work : WorkInPieces(GetParam())) {
    SCOPED_TRACE(work.name);
    scene.plan().AtCall(work.tile_call, 0, nullptr);  // counts only
    scene.ExpectRight(work);
    const int64_t tiles = scene.plan().calls();
    ASSERT_GE(tiles, 3);
    const double before_copies = scene.Cancelled("copy_in"), after_copies = scene.Cancelled("copy_out");
    scene.plan().AtCall(work.tile_call, tiles - 1, [&scene] { scene.clock().Advance(std::chrono::minutes(2)); });
    const Ended ended = scene.Run(work);
    EXPECT_EQ(ended.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(ended.status.error_message(), "the deadline passed before the work was done") << "the server says so";
    EXPECT_EQ(scene.plan().calls(), tiles - 1) << "the last tile is not made";
    EXPECT_EQ(scene.Cancelled("copy_in") + scene.Cancelled("copy_out"), before_copies + after_copies + 1);
    // A streamed merge may reach that point before its last chunk arrives.
    if (work.name != kStreamedMerge) {
      EXPECT_EQ(scene.Cancelled("copy_out"), after_copies + 1);
    }
    scene.world().ExpectNothingLeft(work.name);
    scene.ExpectRight(work);
  }
}

TEST_P(PiecesFaultTest, ARegionThatIsMadeSmallerInTheMiddleFailsTheRequest) {
  const std::vector<Work> all = AllWork();
  struct Moment {
    const Work& work;
    const char* call;
    int64_t n;
    bool is_input;
  };
  const Work &sort = all[2], &merge = all[3];
  const Moment moments[] = {
      {sort, "CopyToDevice", 3, true},                                  // later pieces were not read yet
      {sort, "Sort", 3, false},         {sort, "Merge", 2, true},       // all of it was read
      {sort, "Merge", 2, false},        {merge, "SplitRuns", 1, true},  // looks for its tiles in the region
      {merge, "EndKernels", 1, true},  // between that and the check of what the tiles omit
      {merge, "CopyToDevice", 3, true}, {merge, "Merge", 2, true},     {merge, "Merge", 2, false},
  };
  for (const Moment& moment : moments) {
    const std::string where =
        absl::StrCat(moment.work.name, ", ", moment.is_input ? "input" : "result", " at ", moment.call, " ", moment.n);
    SCOPED_TRACE(where);
    Scene scene(GetParam());
    scene.ExpectRight(moment.work);
    bool was_reached = false;
    scene.plan().AtCall(moment.call, moment.n, [&] {
      was_reached = true;
      (moment.is_input ? scene.in() : scene.out()).Resize(kPage);
    });
    const std::string keys = moment.work.is_sort ? "keys" : "keys[0]";
    ExpectMadeSmaller(scene.Run(moment.work).status,
                      moment.is_input ? keys + ".shared_memory.region" : "keys_destination.shared_memory.region");
    EXPECT_TRUE(was_reached);
    scene.world().ExpectNothingLeft(where);
    scene.RenewRegions();
    scene.ExpectRight(moment.work);
  }
}

// The parameter is the position of the work in shared memory.
class ColumnRegionFaultTest : public ::testing::TestWithParam<size_t> {};

INSTANTIATE_TEST_SUITE_P(Work, ColumnRegionFaultTest, ::testing::Values(1, 3));

TEST_P(ColumnRegionFaultTest, ARegionThatIsMadeSmallerInTheMiddleFailsTheRequest) {
  const Work sort = ColumnWork()[GetParam()];
  Scene scene(kOutOfCore);
  scene.plan().AtCall(sort.tile_call, 0, nullptr);  // counts only
  scene.ExpectRight(sort);
  const int64_t calls = scene.plan().calls();
  for (const bool is_input : {true, false}) {
    for (const int64_t n : {int64_t{3}, calls - 2}) {  // a piece, and a tile
      SCOPED_TRACE(::testing::Message() << (is_input ? "input at " : "result at ") << n);
      scene.plan().AtCall(sort.tile_call, n, [&] { (is_input ? scene.in() : scene.out()).Resize(kPage); });
      ExpectMadeSmaller(scene.Run(sort).status, is_input ? "key_columns[0].data.shared_memory.region"
                                                         : "key_columns[0].data_destination.shared_memory.region");
      scene.world().ExpectNothingLeft(sort.name);
      scene.RenewRegions();
      scene.ExpectRight(sort);
    }
  }
}

// A device or a host that is short of memory at any moment.
TEST(ColumnPiecesFaultTest, AFailingCallFailsTheRequestAndLeavesNothing) {
  for (const Work& sort : ColumnWork()) {
    Scene scene(kOutOfCore);
    scene.ExpectRight(sort);
    int64_t failures = 0;
    for (int64_t n = 1;; n += 1 + n / 3) {
      SCOPED_TRACE(absl::StrCat(sort.name, ", call ", n));
      scene.plan().FailCall(n, absl::ResourceExhaustedError("no memory"));
      const Ended ended = scene.Run(sort);
      const std::string failed = scene.plan().failed();
      scene.plan().FailCall(0, absl::OkStatus());
      if (failed.empty()) break;
      ++failures;
      // The window of a streamed result asks again for a buffer that the host could not give (ChunkPipe::TakeBuffer).
      const bool asks_again = failed == "Engine::AllocateHost" && absl::StartsWith(sort.name, "streamed");
      if ((sort.may_take_less || asks_again) && ended.status.ok()) continue;
      EXPECT_EQ(ended.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
          << failed << ": " << ended.status.error_message();
      scene.world().ExpectNothingLeft(sort.name);
    }
    EXPECT_GT(failures, 20);
    scene.ExpectRight(sort);
  }
}

TEST_P(PiecesFaultTest, ARegionWhoseNameMeansAnotherObjectInTheMiddleIsTheOneThatWasRegistered) {
  const std::vector<Work> all = AllWork();
  for (const Work& work : {all[2], all[3]}) {
    SCOPED_TRACE(work.name);
    Scene scene(GetParam());
    std::vector<std::unique_ptr<SharedObject>> others;
    scene.plan().AtCall("Merge", 2, [&] {
      for (const SharedObject* object : {&scene.in(), &scene.out()}) {
        shm_unlink(object->key().c_str());
        others.push_back(std::make_unique<SharedObject>(object->key(), kRegionBytes));
        std::memset(others.back()->As<char>(), 0x5A, kRegionBytes);
      }
    });
    scene.ExpectRight(work);
    ASSERT_EQ(others.size(), 2U);
    const std::string untouched(kRegionBytes, 0x5A);
    for (const auto& other : others) EXPECT_TRUE(std::string(other->As<char>(), kRegionBytes) == untouched);
    scene.world().ExpectNothingLeft(work.name);
  }
}

// Reads of missing memory return zeros, which must become neither a result nor an error of the caller.
TEST(SourcesTest, AnInputThatIsMadeSmallerFailsWhatIsNotInPiecesToo) {
  for (const char* moment : {"CopyToDevice", "Search"}) {
    SCOPED_TRACE(moment);
    Scene scene(kInCore);
    const std::vector<uint32_t> haystack = Sorted(Uniform(kCount, 2));
    std::memcpy(scene.in().As<char>(), haystack.data(), 4 * kCount);
    scene.plan().AtCall(moment, 1, [&scene] { scene.in().Resize(kPage); });
    v1::SearchRequest request;
    *request.mutable_haystack() = InRegion("in", 0, kCount);
    request.mutable_needles()->set_type(kUint32);
    request.mutable_needles()->set_inline_data(AsBytes({7, 8}));
    grpc::ClientContext context;
    v1::SearchResponse response;
    ExpectMadeSmaller(Call(scene.world().stub(), &context, request, &response), "haystack.shared_memory.region");
    scene.world().ExpectNothingLeft(moment);
  }
}

TEST(SourcesTest, AnInputThatIsMadeSmallerFailsAPlan) {
  for (const char* moment : {"CopyToDevice", "Sort"}) {
    SCOPED_TRACE(moment);
    Scene scene(kInCore);
    scene.plan().AtCall(moment, 1, [&scene] { scene.in().Resize(kPage); });
    v1::Plan plan;
    *plan.add_operations()->mutable_sort() = SharedSort();
    *plan.mutable_operations(0)->mutable_sort()->mutable_keys_destination() = ToStream(0);
    ExpectMadeSmaller(Execute(scene.world().stub(), plan, {}).status, "plan.operations[0].keys.shared_memory.region");
    scene.world().ExpectNothingLeft(moment);
  }
}

}  // namespace
}  // namespace corank::testing
