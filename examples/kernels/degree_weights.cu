// Gives each edge of a graph the weight 1 / degree of its vertex, with one thread for each edge, although degrees
// differ widely. The graph lies in memory vertex by vertex, and only the degrees are known.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>
#include <vector>

#include "corank/cuda/for_each_work_item.cuh"
#include "corank/span.h"

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
  Check(cudaMalloc(&d_data, static_cast<size_t>(count) * sizeof(T)));
  return {d_data, count};
}

}  // namespace

int main() {
  constexpr int64_t kVertices = 1'000'000;
  const corank::Span<int64_t> d_degrees = Allocate<int64_t>(kVertices);
  std::vector<int64_t> degrees(kVertices);
  std::mt19937 random(1);
  for (int64_t& degree : degrees) degree = random() % 8 == 0 ? 0 : random() % 20;
  degrees[77] = 3'000'000;  // a hub
  const int64_t edges = std::accumulate(degrees.begin(), degrees.end(), int64_t{0});

  const corank::Span<float> d_weights = Allocate<float>(edges);
  const auto workspace = Allocate<std::byte>(corank::cuda::ForEachWorkItemWorkspaceBytes(kVertices, edges));
  Check(cudaMemcpy(d_degrees.data(), degrees.data(), degrees.size() * sizeof(int64_t), cudaMemcpyHostToDevice));

  Check(corank::cuda::ForEachWorkItem(
      d_degrees, edges,
      [=] __device__(int64_t edge, int64_t vertex, int64_t /*rank*/) {
        d_weights[edge] = 1.0F / static_cast<float>(d_degrees[vertex]);
      },
      workspace, cudaStreamLegacy));

  std::vector<float> weights(static_cast<size_t>(edges));
  Check(cudaMemcpy(weights.data(), d_weights.data(), weights.size() * sizeof(float), cudaMemcpyDeviceToHost));
  // The weights of a vertex with edges add up to 1.
  const auto connected = kVertices - std::count(degrees.begin(), degrees.end(), 0);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::cout << "weights of " << edges << " edges add up to " << sum << ", vertices with edges: " << connected << '\n';
  return std::abs(sum - static_cast<double>(connected)) < 1.0 ? 0 : 1;
}
