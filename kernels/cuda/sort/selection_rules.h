// Decides when AUTO selects the first keys before it sorts them, and by which sample. Host arithmetic only.
#ifndef CORANK_KERNELS_CUDA_SORT_SELECTION_RULES_H_
#define CORANK_KERNELS_CUDA_SORT_SELECTION_RULES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/common/rank_band.h"

namespace corank::cuda {

struct SelectionTuning {
  static constexpr int kGroups = 4096;      // of samples, each of which gives its least
  static constexpr int kGroupVectors = 32;  // one for each lane of a warp
  static constexpr int kVectorBytes = 16;
  static constexpr int kThreads = 256;
  static constexpr int kBlocks = 6;   // that share a multiprocessor
  static constexpr int kVectors = 4;  // of 16 bytes, for each thread and tile
};

/// The record of a selected key.
enum class SelectedForm : uint8_t {
  kKeys,     // the key, if equal keys are the same to the caller
  kWords,    // 64 bits: rank above index, whose order is that of a stable sort
  kIndices,  // the index alone
};

inline int RecordBytes(const SortArgs& args, SelectedForm form) {
  if (form == SelectedForm::kIndices) return IndexBytes(args.count - 1);
  return form == SelectedForm::kWords ? static_cast<int>(sizeof(uint64_t)) : KeyBytes(args.key_type);
}

/// The shortest records that tell the results.
inline SelectedForm FormOfSelected(const SortArgs& args) {
  const bool tells_ties = args.value_bytes > 0 || args.indices_out != nullptr || IsFloat(args.key_type);
  const bool fits_word = KeyBytes(args.key_type) <= 4 && IndexBytes(args.count - 1) == 4;
  return !tells_ties ? SelectedForm::kKeys : fits_word ? SelectedForm::kWords : SelectedForm::kIndices;
}

struct SelectionPlan {
  int64_t capacity = 0;        // most keys to select; 0: no selection
  int64_t likely = 0;          // no more are selected with near certainty, if keys near one another are unrelated
  int number = 0;              // the threshold is the number-th least of the groups' least samples
  bool whole_vectors = false;  // a group samples all keys of its vectors, or one of each
  SelectedForm form = SelectedForm::kKeys;

  /// Whether the records are sorted before the host knows their number.
  CORANK_HOST_DEVICE bool SortsBlindly() const {
    constexpr int64_t kMost = int64_t{1} << 18;  // further records take longer than the host
    return form != SelectedForm::kIndices && likely <= kMost;
  }
};

/// A number of samples, of which `expected` are expected, that chance exceeds in one of a million cases.
CORANK_HOST_DEVICE double AtMost(double expected) { return expected + 5 * std::sqrt(expected) + 8; }

/// The number of the threshold among the least samples of kGroups groups of `group` samples, if the results are this
/// part of all keys, which are random. A key is a result with probability p, and the least of a group of g samples with
/// 1 - (1 - p)^g. If more groups had a result than this number, one could be missed.
CORANK_HOST_DEVICE int ThresholdNumber(double part, int group) {
  return static_cast<int>(AtMost(-SelectionTuning::kGroups * std::expm1(group * std::log1p(-part))));
}

/// The plan for random keys.
inline SelectionPlan PlanSelection(const SortArgs& args) {
  constexpr int64_t kLeastPart = 64;  // one key in this many may be a result
  constexpr int64_t kPart = 16;       // one key in this many may be selected
  constexpr double kGroups = SelectionTuning::kGroups;
  const int64_t results = args.ResultCount();
  const int key_bytes = KeyBytes(args.key_type);
  SelectionPlan plan;
  if (key_bytes == 1 || results == 0 || results > args.count / kLeastPart) return plan;
  plan.capacity = args.count / kPart;

  const double part = static_cast<double>(results) / static_cast<double>(args.count);
  const int vector_keys = SelectionTuning::kGroupVectors * SelectionTuning::kVectorBytes / key_bytes;
  plan.whole_vectors = part * vector_keys <= 0.125;  // with more, nearly all groups would have a result
  const int group = plan.whole_vectors ? vector_keys : SelectionTuning::kGroupVectors;
  plan.number = ThresholdNumber(part, group);
  const double most_groups = AtMost(plan.number);
  const double most_part = -std::expm1(std::log1p(-most_groups / kGroups) / group);
  plan.likely = std::min(plan.capacity, static_cast<int64_t>(most_part * static_cast<double>(args.count)) + 1);

  plan.form = FormOfSelected(args);
  return plan;
}

/// The selection of keys in the middle.
struct MiddlePlan {
  RankBand band;
  int64_t capacity = 0;  // most keys to select; 0: no selection
  SelectedForm form = SelectedForm::kKeys;
};

/// The plan for random keys and an offset that is not 0.
inline MiddlePlan PlanMiddle(const SortArgs& args) {
  constexpr double kMostPart = 1.0 / 16;  // of the keys
  MiddlePlan plan;
  if (KeyBytes(args.key_type) == 1 || args.ResultCount() == 0) return plan;
  // The first keys take less time while their sort does not wait for the host.
  const SelectionPlan first = PlanSelection(args.FromTheFirst());
  if (first.capacity > 0 && first.SortsBlindly()) return plan;
  plan.band = BandAround(args.count, args.offset, ResultsEnd(args.count, args.offset, args.limit));
  if (plan.band.samples == 0) return plan;
  const double most = 1.125 * plan.band.MostElements(args.count);  // keys near one another may be alike
  if (most > kMostPart * static_cast<double>(args.count)) return MiddlePlan();
  plan.capacity = static_cast<int64_t>(most);
  plan.form = FormOfSelected(args);
  return plan;
}

/// The selection of the first keys of each segment.
struct SegmentSelectionTuning {
  static constexpr int kCapacity = 8192;  // keys of a segment that one block sorts
  static constexpr int64_t kMostResults = 2048;
  static constexpr int64_t kLeastLength = 32768;  // on average: bounds the memory of the selected keys by that of all
  static constexpr int kUnitTiles = 4;            // that a block reads of one segment before it takes another part
  static constexpr int kMostRounds = 64;
};

/// The vectors that each thread samples for a group of its segment: enough that the keys up to the threshold, with the
/// excess that chance allows, fit into the capacity. With y samples for each kCapacity keys, AtMost twice of those
/// before the last result must be at most y; y = 36 + limit / 24 is a little more than that.
CORANK_HOST_DEVICE int SegmentSampleRounds(int64_t length, int64_t limit, int vector_keys) {
  const int64_t a_round = int64_t{SegmentSelectionTuning::kCapacity} * SelectionTuning::kGroups * vector_keys;
  const int64_t rounds = 1 + length * (36 + limit / 24) / a_round;
  return rounds > SegmentSelectionTuning::kMostRounds ? SegmentSelectionTuning::kMostRounds : static_cast<int>(rounds);
}

/// Whether AUTO selects the first keys of each segment before it sorts them.
inline bool SelectsInSegments(const SortArgs& args, int64_t look_count) {
  return args.LimitsSegments() && args.algorithm == SortAlgorithm::kAuto && args.count >= look_count &&
         KeyBytes(args.key_type) > 1 && IndexBytes(args.count - 1) == 4 && args.limit > 0 &&
         args.limit <= SegmentSelectionTuning::kMostResults &&
         args.count / args.segment_count >= SegmentSelectionTuning::kLeastLength;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SELECTION_RULES_H_
