#include "kernels/cuda/sort/structure.h"

#include <algorithm>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/counting.h"
#include "kernels/cuda/sort/structure_rules.h"

namespace corank::cuda {
namespace {

uint64_t AllBits(KeyType type) { return ~uint64_t{0} >> (64 - 8 * KeyBytes(type)); }

class Finder {
 public:
  Finder(const SortArgs& args, StatisticsScratch* d_scratch, const StructureArrays& arrays, StatisticsLetter* h_letter,
         cudaStream_t stream, Structure* structure)
      : args_(args),
        d_scratch_(d_scratch),
        arrays_(arrays),
        h_letter_(h_letter),
        stream_(stream),
        structure_(structure) {}

  cudaError_t Find(const std::function<cudaError_t()>& meanwhile) {
    h_letter_->arrived = 0;
    CORANK_RETURN_IF_CUDA_ERROR(
        SampleKeys(args_.key_type, args_.order, args_.keys_in, args_.count, d_scratch_, h_letter_, stream_));
    CORANK_RETURN_IF_CUDA_ERROR(meanwhile());
    CORANK_RETURN_IF_CUDA_ERROR(WaitForLetter(h_letter_, stream_));
    const KeySample sample = h_letter_->sample;
    const Suspicion suspicion = Suspect(args_, sample);
    structure_->is_sampled_only = !suspicion.Any();
    structure_->is_random = structure_->is_sampled_only && LooksRandom(args_, sample);
    if (structure_->is_sampled_only) return cudaSuccess;
    if (suspicion.sorted || suspicion.few_runs) {
      CORANK_RETURN_IF_CUDA_ERROR(Examine(/*copies=*/suspicion.sorted, /*descends=*/false, suspicion.few_bits));
      FindRuns();
    } else if (suspicion.reversed) {
      CORANK_RETURN_IF_CUDA_ERROR(Examine(/*copies=*/true, /*descends=*/true, suspicion.few_bits));
      FindReversal();
    }
    if (structure_->kind == StructureKind::kNone && suspicion.few_distinct) CORANK_RETURN_IF_CUDA_ERROR(FindDistinct());
    if (structure_->kind == StructureKind::kNone && suspicion.few_bits && !is_examined_) {
      return Examine(/*copies=*/false, /*descends=*/false, /*needs_all=*/true);
    }
    return cudaSuccess;
  }

 private:
  bool HasPayload() const { return args_.value_bytes > 0 || args_.indices_out != nullptr; }
  const KeyStatistics& statistics() const { return h_letter_->statistics; }

  // Reads all keys: to the end if needs_all, otherwise until there are too many breaks.
  cudaError_t Examine(bool copies, bool descends, bool needs_all) {
    Examination examination;
    examination.key_type = args_.key_type;
    examination.order = args_.order;
    examination.count = args_.count;
    examination.result_count = args_.ResultCount();
    examination.d_keys_in = args_.keys_in;
    examination.d_keys_out = copies ? args_.keys_out : nullptr;
    examination.descends = descends;
    examination.reads_all = needs_all;
    h_letter_->arrived = 0;
    CORANK_RETURN_IF_CUDA_ERROR(ExamineKeys(examination, d_scratch_, h_letter_, stream_));
    CORANK_RETURN_IF_CUDA_ERROR(WaitForLetter(h_letter_, stream_));
    is_examined_ = needs_all;
    if (needs_all) structure_->live_bits = statistics().ones & statistics().zeros & AllBits(args_.key_type);
    return cudaSuccess;
  }

  void FindRuns() {
    if (statistics().breaks == 0) {
      structure_->kind = StructureKind::kSorted;
    } else if (statistics().breaks < kMaxListedRuns) {
      structure_->kind = StructureKind::kFewRuns;
      structure_->run_count = static_cast<int>(statistics().breaks) + 1;
      std::copy_n(statistics().starts, structure_->run_count - 1, structure_->run_starts + 1);
      structure_->run_starts[structure_->run_count] = args_.count;
      std::sort(structure_->run_starts, structure_->run_starts + structure_->run_count);
    }
  }

  void FindReversal() {
    // Equal keys keep their order. A plain reversal inverts it, which is visible in the payload or in the bits of the
    // keys.
    const bool ties_show = HasPayload() ? statistics().ties != 0 : statistics().differing_ties != 0;
    if (statistics().breaks == 0 && !ties_show) structure_->kind = StructureKind::kReversed;
  }

  cudaError_t FindDistinct() {
    if (HasPayload() && arrays_.d_ranks == nullptr) return cudaSuccess;
    h_letter_->arrived = 0;
    CORANK_RETURN_IF_CUDA_ERROR(CountKeys(KeyBytes(args_.key_type), args_.keys_in, args_.count, &d_scratch_->dictionary,
                                          HasPayload() ? arrays_.d_ranks : nullptr, h_letter_, stream_));
    CORANK_RETURN_IF_CUDA_ERROR(WaitForLetter(h_letter_, stream_));
    if (h_letter_->missing == 0) structure_->kind = StructureKind::kFewDistinct;
    return cudaSuccess;
  }

  const SortArgs& args_;
  StatisticsScratch* const d_scratch_;
  const StructureArrays arrays_;
  StatisticsLetter* const h_letter_;
  const cudaStream_t stream_;
  Structure* const structure_;
  bool is_examined_ = false;
};

}  // namespace

cudaError_t FindStructure(const SortArgs& args, StatisticsScratch* d_scratch, const StructureArrays& arrays,
                          StatisticsLetter* h_letter, cudaStream_t stream,
                          const std::function<cudaError_t()>& meanwhile, Structure* structure) {
  return Finder(args, d_scratch, arrays, h_letter, stream, structure).Find(meanwhile);
}

}  // namespace corank::cuda
