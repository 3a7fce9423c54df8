#include "proto/wire_enums.h"

namespace corank {

v1::SortAlgorithm ToWire(SortAlgorithm algorithm) {
  switch (algorithm) {
    case SortAlgorithm::kAuto:
      return v1::SORT_ALGORITHM_AUTO;
    case SortAlgorithm::kMergesort:
      return v1::SORT_ALGORITHM_MERGESORT;
    case SortAlgorithm::kRadix:
      return v1::SORT_ALGORITHM_RADIX;
    case SortAlgorithm::kOddEvenMergesort:
      return v1::SORT_ALGORITHM_ODD_EVEN_MERGESORT;
    case SortAlgorithm::kCopy:
      return v1::SORT_ALGORITHM_COPY;
    case SortAlgorithm::kReverse:
      return v1::SORT_ALGORITHM_REVERSE;
    case SortAlgorithm::kMergeRuns:
      return v1::SORT_ALGORITHM_MERGE_RUNS;
    case SortAlgorithm::kCount:
      return v1::SORT_ALGORITHM_COUNT;
  }
  return v1::SORT_ALGORITHM_UNSPECIFIED;
}

v1::MergeAlgorithm ToWire(MergeAlgorithm algorithm) {
  switch (algorithm) {
    case MergeAlgorithm::kAuto:
      return v1::MERGE_ALGORITHM_AUTO;
    case MergeAlgorithm::kMergePath:
      return v1::MERGE_ALGORITHM_MERGE_PATH;
    case MergeAlgorithm::kBasic:
      return v1::MERGE_ALGORITHM_BASIC;
    case MergeAlgorithm::kTiled:
      return v1::MERGE_ALGORITHM_TILED;
    case MergeAlgorithm::kCircularBuffer:
      return v1::MERGE_ALGORITHM_CIRCULAR_BUFFER;
  }
  return v1::MERGE_ALGORITHM_UNSPECIFIED;
}

std::optional<SortAlgorithm> FromWire(v1::SortAlgorithm algorithm) {
  if (algorithm == v1::SORT_ALGORITHM_UNSPECIFIED) return SortAlgorithm::kAuto;
  for (const SortAlgorithm known :
       {SortAlgorithm::kAuto, SortAlgorithm::kMergesort, SortAlgorithm::kRadix, SortAlgorithm::kOddEvenMergesort,
        SortAlgorithm::kCopy, SortAlgorithm::kReverse, SortAlgorithm::kMergeRuns, SortAlgorithm::kCount}) {
    if (ToWire(known) == algorithm) return known;
  }
  return std::nullopt;
}

std::optional<MergeAlgorithm> FromWire(v1::MergeAlgorithm algorithm) {
  if (algorithm == v1::MERGE_ALGORITHM_UNSPECIFIED) return MergeAlgorithm::kAuto;
  for (const MergeAlgorithm known : {MergeAlgorithm::kAuto, MergeAlgorithm::kMergePath, MergeAlgorithm::kBasic,
                                     MergeAlgorithm::kTiled, MergeAlgorithm::kCircularBuffer}) {
    if (ToWire(known) == algorithm) return known;
  }
  return std::nullopt;
}

}  // namespace corank
