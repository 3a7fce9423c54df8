// Small sorts that run as one: each member gets the same result as alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_engine.h"
#include "kernels/engine/forwarding_engine.h"
#include "server/run/batched_ops.h"
#include "server/run/device_ops/sort.h"

namespace corank::testing {
namespace {

using Record = std::array<char, 3>;

struct Member {
  std::vector<uint16_t> keys;
  std::vector<Record> records;
};

struct Shape {
  std::string name;
  bool keys, values, indices;
};

// Few distinct keys, so that stability shows; records that tell their origin.
std::vector<Member> Members() {
  std::mt19937 random(7);
  std::vector<Member> members;
  for (const size_t count : {3, 0, 1, 1000, 2, 64, 0, 257}) {
    Member& member = members.emplace_back();
    for (size_t i = 0; i < count; ++i) {
      member.keys.push_back(static_cast<uint16_t>(random() % 40 * 1000));
      member.records.push_back({static_cast<char>(members.size()), static_cast<char>(i), static_cast<char>(i >> 8)});
    }
  }
  return members;
}

template <typename T>
Operand OperandOf(const std::vector<T>& array, v1::ElementType type) {
  Operand operand;
  operand.type = type;
  operand.element_bytes = sizeof(T);
  operand.count = static_cast<int64_t>(array.size());
  operand.bytes = array.data();
  return operand;
}

SortOperation::Spec SpecOf(const Member& member, const Shape& shape, Order order) {
  SortOperation::Spec spec;
  spec.keys = OperandOf(member.keys, v1::ELEMENT_TYPE_UINT16);
  if (shape.values) spec.values = OperandOf(member.records, v1::ELEMENT_TYPE_RECORD);
  spec.order = order;
  spec.want_keys = shape.keys;
  spec.want_indices = shape.indices;
  return spec;
}

// The stable permutation, by the standard library.
std::vector<uint32_t> Permutation(const std::vector<uint16_t>& keys, Order order) {
  std::vector<uint32_t> at(keys.size());
  std::iota(at.begin(), at.end(), 0U);
  std::stable_sort(at.begin(), at.end(), [&](uint32_t a, uint32_t b) {
    return order == Order::kAscending ? keys[a] < keys[b] : keys[a] > keys[b];
  });
  return at;
}

template <typename T>
std::string Gathered(const std::vector<T>& array, const std::vector<uint32_t>& at) {
  std::string bytes;
  for (const uint32_t i : at) bytes.append(reinterpret_cast<const char*>(&array[i]), sizeof(T));
  return bytes;
}

std::string BytesOf(const ResultArray& result) {
  return {static_cast<const char*>(result.bytes), static_cast<size_t>(result.count * result.element_bytes)};
}

class FusedSortTest : public ::testing::TestWithParam<Shape> {};

TEST_P(FusedSortTest, GivesEachMemberItsOwn) {
  const std::unique_ptr<Engine> engine = CreateCpuEngine({}).value();
  const std::unique_ptr<EngineStream> stream = engine->CreateStream().value();
  const std::vector<Member> members = Members();
  for (const Order order : {Order::kAscending, Order::kDescending}) {
    std::deque<SortOperation> operations;  // they do not move
    for (const Member& member : members) operations.emplace_back(SpecOf(member, GetParam(), order));
    std::vector<BatchMember> batch;
    std::vector<Outcome> outcomes(members.size());
    for (size_t i = 0; i < members.size(); ++i) {
      EXPECT_TRUE(CanFuse(operations.front(), operations[i]));
      batch.push_back({&operations[i], &outcomes[i], absl::OkStatus()});
    }
    ExecuteFused(*stream, absl::MakeSpan(batch));
    for (const BatchMember& member : batch) ASSERT_TRUE(member.status.ok());
    for (size_t i = 0; i < members.size(); ++i) {
      SCOPED_TRACE(i);
      const std::vector<uint32_t> at = Permutation(members[i].keys, order);
      std::vector<uint32_t> positions(at.size());
      std::iota(positions.begin(), positions.end(), 0U);
      auto result = outcomes[i].results.begin();
      if (GetParam().keys) {
        EXPECT_EQ(BytesOf(*result++), Gathered(members[i].keys, at));
      }
      if (GetParam().values) {
        EXPECT_EQ(BytesOf(*result++), Gathered(members[i].records, at));
      }
      if (GetParam().indices) {
        EXPECT_EQ(result->type, v1::ELEMENT_TYPE_UINT32);
        EXPECT_EQ(BytesOf(*result++), Gathered(at, positions));
      }
      EXPECT_EQ(result, outcomes[i].results.end());
    }
  }
}

// Observes the calls of a batch on its stream.
class SeeingStream final : public ForwardingStream {
 public:
  using ForwardingStream::ForwardingStream;
  absl::Status Begin(Pace pace) override {
    paces.push_back(pace);
    return ForwardingStream::Begin(pace);
  }
  absl::Status SortEach(absl::Span<const SortArgs> sorts, OperatorReport* reports) override {
    for (const SortArgs& args : sorts) keys_in.push_back(args.keys_in);
    return ForwardingStream::SortEach(sorts, reports);
  }

  std::vector<Pace> paces;
  std::vector<const void*> keys_in;
};

TEST(FusedSort, BriefMembersAreSortedWhereTheyLie) {
  const std::unique_ptr<Engine> engine = CreateCpuEngine({}).value();
  SeeingStream stream(engine->CreateStream().value());
  std::vector<Member> members = Members();
  const auto is_empty = [](const Member& member) { return member.keys.empty(); };
  members.erase(std::remove_if(members.begin(), members.end(), is_empty), members.end());
  // In the second round, one member is too long to be brief. In the third round, one is outside of pinned memory.
  for (const int round : {1, 2, 3}) {
    if (round == 2) members.push_back({std::vector<uint16_t>(static_cast<size_t>(kSortEachKeys) + 1, 7), {}});
    if (round == 3) members.pop_back();
    std::deque<SortOperation> operations;  // they do not move
    for (const Member& member : members) {
      SortOperation::Spec spec = SpecOf(member, {"", true, false, false}, Order::kDescending);
      spec.keys.is_pinned = round != 3 || &member != &members.back();
      operations.emplace_back(spec);
    }
    std::vector<BatchMember> batch;
    std::vector<Outcome> outcomes(members.size());
    for (size_t i = 0; i < members.size(); ++i) {
      batch.push_back({&operations[i], &outcomes[i], absl::OkStatus()});
    }
    stream.keys_in.clear();
    ExecuteFused(stream, absl::MakeSpan(batch));
    for (const BatchMember& member : batch) ASSERT_TRUE(member.status.ok());
    EXPECT_EQ(stream.paces.back(), round == 1 ? Pace::kBrief : Pace::kPhases);
    ASSERT_EQ(stream.keys_in.size(), round == 1 ? members.size() : 0);
    for (size_t i = 0; i < members.size(); ++i) {
      if (round == 1) {
        EXPECT_EQ(stream.keys_in[i], members[i].keys.data());
      }
      ASSERT_EQ(outcomes[i].results.size(), 1);
      EXPECT_EQ(BytesOf(outcomes[i].results[0]),
                Gathered(members[i].keys, Permutation(members[i].keys, Order::kDescending)));
      EXPECT_NE(outcomes[i].sort_algorithm, v1::SORT_ALGORITHM_UNSPECIFIED);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, FusedSortTest,
                         ::testing::Values(Shape{"Keys", true, false, false},
                                           Shape{"KeysAndRecords", true, true, false},
                                           Shape{"Records", false, true, false}, Shape{"Indices", false, false, true},
                                           Shape{"KeysAndIndices", true, false, true}),
                         [](const auto& info) { return info.param.name; });

TEST(CanFuse, OnlyWhatIsAlike) {
  const std::vector<Member> members = Members();
  const Shape pairs{"", true, true, false};
  const SortOperation sort(SpecOf(members[0], pairs, Order::kAscending));
  const auto fuses = [&](const SortOperation::Spec& spec) { return CanFuse(sort, SortOperation(spec)); };
  SortOperation::Spec other = SpecOf(members[3], pairs, Order::kAscending);
  EXPECT_TRUE(fuses(other));
  EXPECT_FALSE(fuses(SpecOf(members[3], pairs, Order::kDescending)));
  EXPECT_FALSE(fuses(SpecOf(members[3], {"", true, false, false}, Order::kAscending))) << "no values";
  EXPECT_FALSE(fuses(SpecOf(members[3], {"", false, true, false}, Order::kAscending))) << "no keys";
  other.values->element_bytes = 1;
  EXPECT_FALSE(fuses(other)) << "values of another size";
  other = SpecOf(members[3], pairs, Order::kAscending);
  other.limit = 1;
  EXPECT_FALSE(fuses(other)) << "a limit";
  other.limit = -1;
  other.values->is_shared = true;
  EXPECT_FALSE(fuses(other)) << "values that the caller may change";
  other.values->is_shared = false;
  other.keys.count = int64_t{1} << 40;
  EXPECT_FALSE(fuses(other)) << "positions of more than 32 bits";
}

}  // namespace
}  // namespace corank::testing
