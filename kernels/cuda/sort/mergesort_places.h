// The arrays that each pass of a mergesort writes.
#ifndef CORANK_KERNELS_CUDA_SORT_MERGESORT_PLACES_H_
#define CORANK_KERNELS_CUDA_SORT_MERGESORT_PLACES_H_

#include <cstdint>

#include "kernels/cuda/common/merge_form.h"
#include "kernels/cuda/common/workspace.h"

namespace corank::cuda {

/// The output of one pass and the input of the next.
struct MergesortPlace {
  void* keys;     // null: the caller does not want keys
  void* payload;  // null: there is none
  int step;       // as in Run
};

/// As PassBuffers: passes alternate between the result and the workspace, and the last one writes the result. Words lie
/// in the workspace only, because the result is two arrays. The tile sort writes no words.
class MergesortPlaces {
 public:
  /// For `count` keys. Passes are numbered from 0, the tile sort, to last_pass. result_is_whole: the result has room
  /// for all keys.
  MergesortPlaces(Workspace& workspace, MergeForm form, const MergesortPlace& result, bool result_is_whole,
                  int64_t count, int64_t key_bytes, int64_t payload_bytes, int last_pass)
      : result_(result), count_(count), last_pass_(last_pass) {
    const auto carve = [&]() -> MergesortPlace {
      if (form == MergeForm::kWords) {
        auto* const halves = workspace.Carve<uint32_t>(2 * count);
        return {halves + 1, halves, 2};
      }
      void* const keys = workspace.CarveBytes(count * key_bytes);
      return {keys, form == MergeForm::kKeys ? nullptr : workspace.CarveBytes(count * payload_bytes), 1};
    };
    if (last_pass >= 1) near_ = carve();
    if (last_pass < 2) return;
    far_ = result_is_whole ? result : carve();
    if (far_.keys == nullptr) far_.keys = workspace.CarveBytes(count * key_bytes);
  }

  MergesortPlace Output(int pass) const {
    if (pass == last_pass_) return result_;
    const MergesortPlace& place = (last_pass_ - pass) % 2 == 1 ? near_ : far_;
    if (pass > 0 || place.step == 1) return place;
    auto* const halves = static_cast<uint32_t*>(place.payload);
    return {halves, halves + count_, 1};
  }

 private:
  const MergesortPlace result_;
  const int64_t count_;
  const int last_pass_;
  MergesortPlace near_{}, far_{};
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_MERGESORT_PLACES_H_
