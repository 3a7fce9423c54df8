// Execute: the parts of a job that disagree, go away, or never come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/server/stream_fault_fixture.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;
using StreamPartsTest = StreamFaultTest;

TEST_F(StreamPartsTest, PartsThatNeverComeFailTheJob) {
  v1::Plan plan = SortPlan(kUint32, 1000);
  plan.set_job_id("alone");
  plan.set_parts(3);
  OpenCall first(stub()), third(stub());
  first.Send(plan);
  plan.set_part(2);
  third.Send(plan);
  first.Send(Chunk(0, 0, Elements(500)));
  for (OpenCall* part : {&first, &third}) {
    const grpc::Status status = part->Finish();
    EXPECT_EQ(Reason(status), "JOB_INCOMPLETE") << status.error_message();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
    EXPECT_THAT(status.error_message(), HasSubstr("2 of the 3 parts"));
  }
}

TEST_F(StreamPartsTest, PartsMustAgree) {
  v1::Plan plan = SortPlan(kUint32, 1000);
  plan.set_job_id("job");
  plan.set_parts(2);
  OpenCall first(stub());
  first.Send(plan);
  ASSERT_TRUE(Eventually([&] { return server().jobs().joining_jobs == 1; }));
  OpenCall same_part(stub());
  same_part.Send(plan);
  ExpectRefused(same_part.Finish(), "plan.part", "has already arrived");
  plan.set_part(1);
  OpenCall second(stub());
  second.Send(plan);
  second.Send(Chunk(0, 600, Elements(400)));
  second.HalfClose();
  ASSERT_TRUE(Eventually([&] { return server().jobs().joining_jobs == 0; }));
  first.Send(Chunk(0, 0, Elements(601)));
  const grpc::Status one = first.Finish(), other = second.Finish();
  const bool is_first = Reason(one) == "FIELD_INVALID";  // of the part whose chunk came later
  ExpectRefused(is_first ? one : other, "chunk.first_element", "another part");
  ExpectLost(is_first ? other : one, is_first ? 0 : 1, "FIELD_INVALID");
}

TEST_F(StreamPartsTest, PartsWithDifferentPlansFailAtOnce) {
  v1::Plan plan = SortPlan(kUint32, 1000);
  plan.set_job_id("job");
  plan.set_parts(3);
  OpenCall first(stub()), second(stub());
  first.Send(plan);
  ASSERT_TRUE(Eventually([&] { return server().jobs().joining_jobs == 1; }));
  plan.set_part(1);
  plan.mutable_operations(0)->mutable_sort()->set_order(v1::SORT_ORDER_DESCENDING);
  second.Send(plan);  // while the third is still missing
  for (OpenCall* part : {&first, &second}) {
    const grpc::Status status = part->Finish();
    ExpectRefused(status, "plan", "different plans");
    EXPECT_EQ(Reason(status), "JOB_PLANS_DIFFER");
  }
  ExpectAllFreed();
}

TEST_F(StreamPartsTest, OnlyThePartWithTheShorterDeadlineIsLate) {
  v1::Plan plan = SortPlan(kUint32, 1000);
  plan.set_job_id("job");
  plan.set_parts(2);
  OpenCall patient(stub());
  OpenCall hasty(stub(), std::chrono::milliseconds(300));
  patient.Send(plan);
  plan.set_part(1);
  hasty.Send(plan);
  EXPECT_EQ(hasty.Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  ExpectLost(patient.Finish(), 1, "DEADLINE_PASSED");
}

TEST_F(StreamPartsTest, APartThatGoesFailsAllParts) {
  v1::Plan plan = SortPlan(kUint32, 1000);
  plan.set_job_id("job");
  plan.set_parts(2);
  OpenCall first(stub()), second(stub());
  first.Send(plan);
  ASSERT_TRUE(Eventually([&] { return server().jobs().joining_jobs == 1; }));
  plan.set_part(1);
  second.Send(plan);
  second.Send(Chunk(0, 500, Elements(300)));
  ASSERT_TRUE(Eventually([&] { return server().jobs().joining_jobs == 0; }));
  first.Cancel();
  EXPECT_EQ(first.Finish().error_code(), grpc::StatusCode::CANCELLED);
  const grpc::Status status = second.Finish();
  ExpectLost(status, 0, "CALLER_CANCELLED");
  // Parts that omit elements.
  plan.set_job_id("gap");
  OpenCall third(stub()), fourth(stub());
  third.Send(plan);
  third.Send(Chunk(0, 501, Elements(499)));
  third.HalfClose();
  plan.set_part(0);
  fourth.Send(plan);
  fourth.Send(Chunk(0, 0, Elements(500)));
  fourth.HalfClose();
  ExpectRefused(third.Finish(), "plan.operations[0].keys", "only 999 of 1000");
  ExpectRefused(fourth.Finish(), "plan.operations[0].keys", "only 999 of 1000");
}

}  // namespace
}  // namespace corank::testing
