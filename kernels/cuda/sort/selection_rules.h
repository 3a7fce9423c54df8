// Decides when AUTO selects the first keys before it sorts them, and by which sample. Host arithmetic only.
#ifndef CORANK_KERNELS_CUDA_SORT_SELECTION_RULES_H_
#define CORANK_KERNELS_CUDA_SORT_SELECTION_RULES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/operators.h"

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

struct SelectionPlan {
  int64_t capacity = 0;        // most keys to select; 0: no selection
  int64_t likely = 0;          // no more are selected with near certainty, if keys near one another are unrelated
  int number = 0;              // the threshold is the number-th least of the groups' least samples
  bool whole_vectors = false;  // a group samples all keys of its vectors, or one of each
  SelectedForm form = SelectedForm::kKeys;

  int RecordBytes(const SortArgs& args) const {
    if (form == SelectedForm::kIndices) return IndexBytes(args.count - 1);
    return form == SelectedForm::kWords ? static_cast<int>(sizeof(uint64_t)) : KeyBytes(args.key_type);
  }
  /// Whether the records are sorted before the host knows their number.
  CORANK_HOST_DEVICE bool SortsBlindly() const {
    constexpr int64_t kMost = int64_t{1} << 18;  // further records take longer than the host
    return form != SelectedForm::kIndices && likely <= kMost;
  }
};

/// A number of samples, of which `expected` are expected, that chance exceeds in one of a million cases.
inline double AtMost(double expected) { return expected + 5 * std::sqrt(expected) + 8; }

/// The plan for random keys. A key comes before the last result with probability p, and the least of a group of g
/// samples with 1 - (1 - p)^g. If more groups did so than `number`, a result would be missed.
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
  plan.number = static_cast<int>(AtMost(-kGroups * std::expm1(group * std::log1p(-part))));
  const double most_groups = AtMost(plan.number);
  const double most_part = -std::expm1(std::log1p(-most_groups / kGroups) / group);
  plan.likely = std::min(plan.capacity, static_cast<int64_t>(most_part * static_cast<double>(args.count)) + 1);

  const bool tells_ties = args.value_bytes > 0 || args.indices_out != nullptr || IsFloat(args.key_type);
  const bool fits_word = key_bytes <= 4 && IndexBytes(args.count - 1) == 4;
  plan.form = !tells_ties ? SelectedForm::kKeys : fits_word ? SelectedForm::kWords : SelectedForm::kIndices;
  return plan;
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SELECTION_RULES_H_
