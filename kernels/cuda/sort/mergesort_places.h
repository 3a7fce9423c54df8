// Where each pass of a mergesort writes keys and payload.
#ifndef CORANK_KERNELS_CUDA_SORT_MERGESORT_PLACES_H_
#define CORANK_KERNELS_CUDA_SORT_MERGESORT_PLACES_H_

#include <cstdint>
#include <optional>

#include "kernels/cuda/common/merge_form.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/pass_buffers.h"

namespace corank::cuda {

/// What one pass writes and the next one reads: step as in Run; keys may be null (not wanted).
struct MergesortPlace {
  void* keys;
  void* payload;
  int step;
};

class MergesortPlaces {
 public:
  /// Of `count` keys. Passes are numbered 0, the tile sort, to last_pass. result_is_whole: it has room for them all.
  MergesortPlaces(Workspace& workspace, MergeForm form, const MergesortPlace& result, bool result_is_whole,
                  int64_t count, int64_t key_bytes, int64_t payload_bytes, int last_pass)
      : result_(result),
        count_(count),
        last_pass_(last_pass),
        is_words_(form == MergeForm::kWords),
        keys_(workspace, result.keys, result_is_whole, count * (key_bytes + (is_words_ ? payload_bytes : 0)),
              last_pass) {
    if (form != MergeForm::kPayload) return;
    payload_.emplace(workspace, result.payload, result_is_whole, count * payload_bytes, last_pass);
  }

  MergesortPlace Output(int pass) const {
    void* const keys = keys_.Output(pass);
    if (!is_words_) return {keys, payload_ ? payload_->Output(pass) : nullptr, 1};
    if (pass == last_pass_ || keys == result_.keys) return result_;
    // The workspace holds pairs, but the tile sort writes no words.
    auto* const halves = static_cast<uint32_t*>(keys);
    if (pass == 0) return {halves, halves + count_, 1};
    return {halves + 1, halves, 2};
  }

 private:
  const MergesortPlace result_;
  const int64_t count_;
  const int last_pass_;
  const bool is_words_;
  const PassBuffers keys_;  // with the payload, where words are
  std::optional<PassBuffers> payload_;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_MERGESORT_PLACES_H_
