// The structures that a sample suggests.
#include "kernels/cuda/sort/structure_rules.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/distributions.h"

namespace corank::cuda {
namespace {

SortArgs AutoArgs(int64_t count) {
  SortArgs args;
  args.algorithm = SortAlgorithm::kAuto;
  args.count = count;
  return args;
}

/// The sample of random keys.
KeySample RandomSample() {
  KeySample sample;
  sample.near_descents = sample.near_ascents = sample.far_descents = sample.far_ascents = 2000;
  sample.distinct = kMaxDistinctKeys + 1;
  sample.varying = 0xFFFFFFFF;
  return sample;
}

TEST(LooksAtData, OnlyForAutoOnOneLargeArrayWithResults) {
  EXPECT_TRUE(LooksAtData(AutoArgs(1000), 1000));
  EXPECT_FALSE(LooksAtData(AutoArgs(999), 1000));
  EXPECT_FALSE(LooksAtData(AutoArgs(2), 1)) << "the sample needs three keys";
  SortArgs args = AutoArgs(1000);
  args.limit = 0;
  EXPECT_FALSE(LooksAtData(args, 1));
  args = AutoArgs(1000);
  args.algorithm = SortAlgorithm::kRadix;
  EXPECT_FALSE(LooksAtData(args, 1));
  const int64_t offsets[] = {0, 1000};
  args = AutoArgs(1000);
  args.segment_offsets = offsets;
  EXPECT_FALSE(LooksAtData(args, 1));
}

TEST(LiveDigits, StartWhereLiveBitsDo) {
  EXPECT_EQ(LiveDigits(0), 0);
  EXPECT_EQ(LiveDigits(0xFF), 1);
  EXPECT_EQ(LiveDigits(0xFF0), 1);
  EXPECT_EQ(LiveDigits(0xFFFF << 7), 2);
  EXPECT_EQ(LiveDigits(0x8000000000000001), 2);
  EXPECT_EQ(LiveDigits(~uint64_t{0}), 8);
  EXPECT_EQ(LiveBytes(0), 0);
  EXPECT_EQ(LiveBytes(0xFFFF << 7), 3);
  EXPECT_EQ(LiveBytes(0x8000000000000001), 2);
  EXPECT_EQ(LiveBytes(~uint64_t{0}), 8);
}

TEST(Suspect, NothingOfRandomKeys) {
  const Suspicion suspicion = Suspect(AutoArgs(1 << 20), RandomSample());
  EXPECT_FALSE(suspicion.sorted || suspicion.reversed || suspicion.few_runs || suspicion.few_distinct ||
               suspicion.few_bits);
}

TEST(LooksRandom, WhereNeighboursAreInNoOrderAndAllBytesVary) {
  const SortArgs args = AutoArgs(1 << 20);
  EXPECT_TRUE(LooksRandom(args, RandomSample()));
  for (uint32_t KeySample::*const steps :
       {&KeySample::near_descents, &KeySample::near_ascents, &KeySample::far_descents, &KeySample::far_ascents}) {
    KeySample sample = RandomSample();
    sample.*steps = StatisticsTuning::kSamples / 8 * 3 - 1;
    EXPECT_FALSE(LooksRandom(args, sample));
  }
  for (int byte = 0; byte < 4; ++byte) {
    KeySample sample = RandomSample();
    sample.varying &= ~(uint64_t{0xFF} << (8 * byte));
    EXPECT_FALSE(LooksRandom(args, sample)) << "byte " << byte << " does not vary";
  }
}

TEST(MergesRandomKeys, OfEightBytesWithAPayloadUpToWhatFourPassesMerge) {
  constexpr int64_t most_of_12_bytes = int64_t{1} << 28, most_of_16_bytes = int64_t{1} << 30;
  const MergesortTuning tuning = MergesortTuningFor(8, MergeForm::kPayload);
  EXPECT_GE(int64_t{tuning.SortTile()} << (4 * tuning.max_ways_log), most_of_16_bytes);
  SortArgs args = AutoArgs(most_of_12_bytes);
  args.key_type = KeyType::kFloat64;
  for (const int value_bytes : {4, 8, 12}) {  // wide values are gathered by index
    args.value_bytes = value_bytes;
    EXPECT_TRUE(MergesRandomKeys(args));
  }
  args.value_bytes = 0;
  EXPECT_FALSE(MergesRandomKeys(args)) << "keys alone";
  args.count = most_of_12_bytes + 1;
  for (const int value_bytes : {4, 12}) {
    args.value_bytes = value_bytes;
    EXPECT_FALSE(MergesRandomKeys(args));
  }
  args.value_bytes = 8;
  args.count = most_of_16_bytes;
  EXPECT_TRUE(MergesRandomKeys(args));
  args.count = most_of_16_bytes + 1;
  EXPECT_FALSE(MergesRandomKeys(args));
  args = AutoArgs(1 << 22);
  args.value_bytes = 8;
  EXPECT_FALSE(MergesRandomKeys(args)) << "keys of 4 bytes";
  args.key_type = KeyType::kInt64;
  uint32_t index = 0;
  args.value_bytes = 0;
  args.indices_out = &index;
  EXPECT_TRUE(MergesRandomKeys(args)) << "indices of 4 bytes";
}

TEST(Suspect, OneDescentBetweenSamplesIsARun) {
  KeySample sample = RandomSample();
  sample.near_descents = sample.far_descents = 0;
  EXPECT_TRUE(Suspect(AutoArgs(1 << 20), sample).sorted);
  sample.far_descents = 1;
  EXPECT_FALSE(Suspect(AutoArgs(1 << 20), sample).sorted);
  EXPECT_TRUE(Suspect(AutoArgs(1 << 20), sample).few_runs);
  sample.far_descents = kMaxListedRuns - 1;
  EXPECT_TRUE(Suspect(AutoArgs(1 << 20), sample).few_runs);
  sample.far_descents = kMaxListedRuns;
  EXPECT_FALSE(Suspect(AutoArgs(1 << 20), sample).few_runs);
  sample.far_descents = 0;
  sample.near_descents = 2;
  EXPECT_FALSE(Suspect(AutoArgs(1 << 20), sample).few_runs);
}

TEST(Suspect, FewDistinctKeysOnlyWhereEachWasMetTwice) {
  KeySample sample = RandomSample();
  sample.distinct = kMaxDistinctKeys;
  EXPECT_TRUE(Suspect(AutoArgs(1 << 20), sample).few_distinct);
  sample.singletons = 1;
  EXPECT_FALSE(Suspect(AutoArgs(1 << 20), sample).few_distinct);
}

TEST(Suspect, FewBitsWhereADigitCanBeSavedOfIntegers) {
  KeySample sample = RandomSample();
  sample.varying = 0xFFFF << 7;
  SortArgs args = AutoArgs(1 << 20);
  EXPECT_TRUE(Suspect(args, sample).few_bits);
  args.key_type = KeyType::kFloat32;
  EXPECT_FALSE(Suspect(args, sample).few_bits);
  args.key_type = KeyType::kUint32;
  sample.varying = 0xFFFF << 8;  // the radix sort skips the other bytes anyway
  EXPECT_FALSE(Suspect(args, sample).few_bits);
}

TEST(KeyDictionary, SlotsAreInTheTable) {
  corank::testing::Random random(6);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(KeyDictionary::SlotOf(random.Next()), uint32_t{KeyDictionary::kSlots});
}

}  // namespace
}  // namespace corank::cuda
