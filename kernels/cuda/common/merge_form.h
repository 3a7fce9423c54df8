// The data that merge passes carry. Host and device.
#ifndef CORANK_KERNELS_CUDA_COMMON_MERGE_FORM_H_
#define CORANK_KERNELS_CUDA_COMMON_MERGE_FORM_H_

#include <cstdint>
#include <type_traits>

namespace corank::cuda {

enum class MergeForm : uint8_t {
  kKeys,     // keys alone
  kPayload,  // keys; a payload of 4 or 8 bytes moves once the order of a tile is known
  kWords     // key and payload of 4 bytes each, as words of 8 bytes
};

/// `payload_bytes`: 0, 4 or 8.
constexpr MergeForm MergeFormOf(int key_bytes, int payload_bytes) {
  if (payload_bytes == 0) return MergeForm::kKeys;
  return key_bytes == 4 && payload_bytes == 4 ? MergeForm::kWords : MergeForm::kPayload;
}

/// Calls use(std::integral_constant<MergeForm, form>()) with MergeFormOf(kKeyBytes, payload_bytes). Instantiates only
/// the forms that keys of this size can have.
template <int kKeyBytes, typename Use>
auto WithMergeForm(int payload_bytes, Use use) {
  if (payload_bytes == 0) return use(std::integral_constant<MergeForm, MergeForm::kKeys>());
  if constexpr (MergeFormOf(kKeyBytes, 4) == MergeForm::kWords) {
    if (payload_bytes == 4) return use(std::integral_constant<MergeForm, MergeForm::kWords>());
  }
  return use(std::integral_constant<MergeForm, MergeForm::kPayload>());
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_MERGE_FORM_H_
