// Finds the 10 largest of 100 million scores on a GPU, and their positions: an argsort with a limit.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

#include "corank/cuda.h"

namespace {

constexpr int kNoGpu = 77;

void Check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::cerr << cudaGetErrorString(error) << '\n';
  std::exit(error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? kNoGpu : 1);
}

template <typename T>
corank::Span<T> Allocate(int64_t count) {
  T* d_data = nullptr;
  Check(cudaMalloc(reinterpret_cast<void**>(&d_data), static_cast<size_t>(count) * sizeof(T)));
  return {d_data, count};
}

}  // namespace

int main() {
  constexpr int64_t kScores = 100'000'000;
  constexpr int64_t kTop = 10;
  const corank::Span<float> d_scores = Allocate<float>(kScores);
  std::vector<float> scores(kScores);
  std::mt19937 random(1);
  for (float& score : scores) score = static_cast<float>(random() >> 8);
  scores[31'415'926] = 1e9F;  // the one to find
  Check(cudaMemcpy(d_scores.data(), scores.data(), scores.size() * sizeof(float), cudaMemcpyHostToDevice));

  corank::cuda::SortOptions options;
  options.order = corank::Order::kDescending;
  options.limit = kTop;
  const corank::Span<uint32_t> d_positions = Allocate<uint32_t>(kTop);
  const auto workspace = Allocate<std::byte>(corank::cuda::ArgsortWorkspaceBytes<float>(kScores, options));
  Check(corank::cuda::Argsort(d_scores, d_positions, workspace, cudaStreamLegacy, options));

  std::vector<uint32_t> positions(kTop);
  Check(cudaMemcpy(positions.data(), d_positions.data(), kTop * sizeof(uint32_t), cudaMemcpyDeviceToHost));
  for (const uint32_t position : positions) std::cout << "score " << scores[position] << " at " << position << '\n';
  return positions[0] == 31'415'926 ? 0 : 1;
}
