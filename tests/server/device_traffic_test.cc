// The data that crosses the bus to a device, and the data that does not.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/server/memory_calls.h"
#include "tests/server/messages.h"
#include "tests/server/running_server.h"
#include "tests/server/shared_object.h"
#include "tests/server/streamed_call.h"
#include "tests/support/faulty_engine.h"

namespace corank::testing {
namespace {

class DeviceTrafficTest : public ::testing::Test {
 protected:
  static Server::Options AllPlaces() {
    Server::Options options = TestOptions();
    options.regions.shared_memory_prefixes = {SharedObject::kPrefix};
    options.arrays.max_bytes = options.arrays.quota_bytes = 1 << 20;
    return options;
  }
  DeviceTrafficTest() : running_(AllPlaces(), {Faulty(CpuEngine().engine, plan_), "a test counts its calls"}) {}

  // How often the engine is called by one of these names during `work`, which runs once for each name.
  int64_t Calls(const std::vector<std::string>& names, const std::function<void()>& work) {
    int64_t calls = 0;
    for (const std::string& name : names) {
      plan_->AtCall(name, 0, nullptr);  // only counts
      work();
      calls += plan_->calls();
    }
    return calls;
  }

  const std::shared_ptr<FaultPlan> plan_ = std::make_shared<FaultPlan>();
  RunningServer running_;
};

TEST_F(DeviceTrafficTest, IntermediatesOfAChainStayOnTheDevice) {
  const auto temporary = [](const std::string& name, auto* place) {
    place->set_name(name);
    place->set_temporary(true);
  };
  v1::Plan plan;
  v1::SortRequest& sort = *plan.add_operations()->mutable_sort();
  *sort.mutable_keys() = Int32s({5, 3, 9, 1});
  temporary("sorted", sort.mutable_keys_destination()->mutable_stored());
  v1::MergeRequest& merge = *plan.add_operations()->mutable_merge();
  merge.add_keys()->set_type(v1::ELEMENT_TYPE_INT32);
  temporary("sorted", merge.mutable_keys(0)->mutable_stored());
  *merge.add_keys() = Int32s({2, 4});
  temporary("merged", merge.mutable_keys_destination()->mutable_stored());
  v1::GatherIntervalsRequest& gather = *plan.add_operations()->mutable_gather_intervals();
  gather.mutable_source()->set_type(v1::ELEMENT_TYPE_INT32);
  temporary("merged", gather.mutable_source()->mutable_stored());
  *gather.mutable_source_offsets() = Int64s({1});
  *gather.mutable_counts() = Int64s({4});

  const std::vector<std::string> ways_back = {"Download", "CopyToHost"};
  const int64_t to_caller = Calls(ways_back, [&] {
    const StreamedAnswer answer = Execute(running_.stub(), plan, {});
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    ASSERT_EQ(answer.results.size(), 3U);
    EXPECT_EQ(answer.results[2].gather_intervals().result().inline_data(), BytesOf<int32_t>({2, 3, 4, 5}));
  });
  EXPECT_EQ(to_caller, 1) << "the last result alone";
  gather.mutable_destination()->mutable_stored()->set_name("kept");
  const int64_t kept = Calls(ways_back, [&] {
    const StreamedAnswer answer = Execute(running_.stub(), plan, {});
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  });
  EXPECT_EQ(kept, 0);
}

TEST_F(DeviceTrafficTest, ARegionIsPinnedOnceForAllItsRequests) {
  constexpr int64_t kBytes = 1 << 16;
  SharedObject object(kBytes);
  object.As<int32_t>()[0] = 7;
  const int64_t pinned = Calls({"PinHost"}, [&] {
    ASSERT_TRUE(MemoryCalls(running_.channel()).Register(object).ok());
    for (int i = 0; i < 5; ++i) {
      v1::SortRequest sort;
      *sort.mutable_keys() = InRegion(v1::ELEMENT_TYPE_INT32, 1000, 0);
      *sort.mutable_keys_destination() = ToRegion(kBytes / 2);
      grpc::ClientContext sort_context;
      v1::SortResponse sorted;
      const grpc::Status status = Call(running_.stub(), &sort_context, sort, &sorted);
      EXPECT_TRUE(status.ok()) << status.error_message();
    }
  });
  EXPECT_EQ(pinned, 1);
  EXPECT_EQ(object.As<int32_t>(kBytes / 2)[999], 7) << "the others are 0";
}

}  // namespace
}  // namespace corank::testing
