#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/device_inputs.h"

namespace corank::bench {
namespace {

constexpr int64_t kCopyBytes = int64_t{1} << 30;

/// Two arrays on the device, two in pinned host memory and one in pageable memory.
struct CopyData {
  Memory d_from, d_to, h_in, h_out;
  std::vector<char> pageable;
  cudaStream_t other = nullptr;

  ~CopyData() {
    if (other != nullptr) cudaStreamDestroy(other);
  }
};

absl::StatusOr<std::shared_ptr<CopyData>> MakeCopyData(bool with_host) {
  auto data = std::make_shared<CopyData>();
  for (Memory* memory : {&data->d_from, &data->d_to}) {
    absl::StatusOr<Memory> created = Memory::Create(kCopyBytes);
    if (!created.ok()) return created.status();
    *memory = *std::move(created);
  }
  if (!with_host) return data;
  for (Memory* memory : {&data->h_in, &data->h_out}) {
    absl::StatusOr<Memory> created = Memory::Create(kCopyBytes, MemoryKind::kPinnedHost);
    if (!created.ok()) return created.status();
    *memory = *std::move(created);
  }
  data->pageable.resize(static_cast<size_t>(kCopyBytes));
  const absl::Status status =
      ToStatus(cudaStreamCreateWithFlags(&data->other, cudaStreamNonBlocking), "cudaStreamCreate");
  if (!status.ok()) return status;
  return data;
}

/// Wall time of work on the host, from an idle GPU until it is idle again.
absl::StatusOr<double> WallSeconds(const std::function<cudaError_t()>& work) {
  const absl::Time start = absl::Now();
  absl::Status status = ToStatus(work(), "a copy");
  const absl::Duration elapsed = absl::Now() - start;
  if (!status.ok()) return status;
  return absl::ToDoubleSeconds(elapsed);
}

cudaError_t CopyAndWait(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const cudaError_t error = cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream);
  return error != cudaSuccess ? error : cudaStreamSynchronize(stream);
}

Row CeilingRow(const std::string& name, const std::string& unit, int64_t n) {
  Row row;
  row.row = name;
  row.type = "bytes";
  row.n = n;
  row.distribution = "ceiling";
  row.unit = unit;
  return row;
}

absl::StatusOr<Contest> PrepareCopies(Gpu* gpu) {
  const auto made = MakeCopyData(true);
  if (!made.ok()) return made.status();
  const std::shared_ptr<CopyData> data = *made;
  const size_t size = static_cast<size_t>(kCopyBytes);
  struct Ceiling {
    std::string name;
    double bytes;
  };
  Contest contest;
  auto ceilings = std::make_shared<std::vector<Ceiling>>();
  const auto add = [&](const std::string& name, double bytes, std::function<absl::StatusOr<double>()> run) {
    ceilings->push_back({name, bytes});
    contest.contestants.push_back({name, std::move(run)});
  };
  const double bytes = static_cast<double>(kCopyBytes);
  add("device copy (read + write)", 2 * bytes, [=] {
    return gpu->Time([&](cudaStream_t stream) {
      return cudaMemcpyAsync(data->d_to.get(), data->d_from.get(), size, cudaMemcpyDeviceToDevice, stream);
    });
  });
  add("device write", bytes, [=] {
    return gpu->Time([&](cudaStream_t stream) { return cudaMemsetAsync(data->d_to.get(), 0, size, stream); });
  });
  add("device read", bytes, [=] {
    return gpu->Time(
        [&](cudaStream_t stream) { return ReadAll(data->d_from.get(), kCopyBytes, data->d_to.get(), stream); });
  });
  add("pinned copy in", bytes, [=] {
    return WallSeconds([&] {
      return CopyAndWait(data->d_to.get(), data->h_in.get(), kCopyBytes, cudaMemcpyHostToDevice, gpu->stream());
    });
  });
  add("pinned copy out", bytes, [=] {
    return WallSeconds([&] {
      return CopyAndWait(data->h_out.get(), data->d_from.get(), kCopyBytes, cudaMemcpyDeviceToHost, gpu->stream());
    });
  });
  add("pinned copy both ways (each)", bytes, [=] {
    return WallSeconds([&] {
      cudaError_t error =
          cudaMemcpyAsync(data->d_to.get(), data->h_in.get(), size, cudaMemcpyHostToDevice, gpu->stream());
      if (error != cudaSuccess) return error;
      error = CopyAndWait(data->h_out.get(), data->d_from.get(), kCopyBytes, cudaMemcpyDeviceToHost, data->other);
      return error != cudaSuccess ? error : cudaStreamSynchronize(gpu->stream());
    });
  });
  add("pageable copy in", bytes, [=] {
    return WallSeconds([&] {
      return CopyAndWait(data->d_to.get(), data->pageable.data(), kCopyBytes, cudaMemcpyHostToDevice, gpu->stream());
    });
  });
  contest.rows = [ceilings](const std::vector<Summary>& seconds) {
    std::vector<Row> rows;
    for (size_t i = 0; i < seconds.size(); ++i) {
      Row row = CeilingRow((*ceilings)[i].name, "GB/s", kCopyBytes);
      row.ours = GigaPerSecond(seconds[i], (*ceilings)[i].bytes);
      rows.push_back(std::move(row));
    }
    return rows;
  };
  return contest;
}

/// Copy in, smallest kernel, copy out, wait: 4 KiB.
absl::StatusOr<Contest> PrepareRoundTrip(Gpu* gpu) {
  constexpr int64_t kWords = 1024;
  constexpr int64_t kBytes = kWords * static_cast<int64_t>(sizeof(uint32_t));
  auto data = std::make_shared<CopyData>();
  absl::StatusOr<Memory> device = Memory::Create(kBytes);
  if (!device.ok()) return device.status();
  absl::StatusOr<Memory> host = Memory::Create(kBytes, MemoryKind::kPinnedHost);
  if (!host.ok()) return host.status();
  data->d_to = *std::move(device);
  data->h_in = *std::move(host);
  std::fill_n(data->h_in.as<uint32_t>(), kWords, 0u);

  Contest contest;
  contest.contestants.push_back(
      {"round trip", [=] {
         return WallSeconds([&] {
           cudaError_t error =
               cudaMemcpyAsync(data->d_to.get(), data->h_in.get(), kBytes, cudaMemcpyHostToDevice, gpu->stream());
           if (error != cudaSuccess) return error;
           error = Increment(data->d_to.as<uint32_t>(), kWords, gpu->stream());
           if (error != cudaSuccess) return error;
           return CopyAndWait(data->h_in.get(), data->d_to.get(), kBytes, cudaMemcpyDeviceToHost, gpu->stream());
         });
       }});
  contest.rows = [](const std::vector<Summary>& seconds) {
    Row row = CeilingRow("smallest round trip", "us", kBytes);
    row.better = Better::kLower;
    row.ours = Microseconds(seconds[0]);
    return std::vector<Row>{row};
  };
  return contest;
}

}  // namespace

absl::Status MeasureCeilings(Gpu* gpu, Ceilings* ceilings) {
  const auto data = MakeCopyData(false);
  if (!data.ok()) return data.status();
  std::vector<double> copies, writes, reads;
  for (int repetition = 0; repetition < 8; ++repetition) {
    const absl::StatusOr<double> copy = gpu->Time([&](cudaStream_t stream) {
      return cudaMemcpyAsync((*data)->d_to.get(), (*data)->d_from.get(), static_cast<size_t>(kCopyBytes),
                             cudaMemcpyDeviceToDevice, stream);
    });
    if (!copy.ok()) return copy.status();
    const absl::StatusOr<double> write = gpu->Time([&](cudaStream_t stream) {
      return cudaMemsetAsync((*data)->d_to.get(), 0, static_cast<size_t>(kCopyBytes), stream);
    });
    if (!write.ok()) return write.status();
    const absl::StatusOr<double> read = gpu->Time(
        [&](cudaStream_t stream) { return ReadAll((*data)->d_from.get(), kCopyBytes, (*data)->d_to.get(), stream); });
    if (!read.ok()) return read.status();
    if (repetition == 0) continue;  // warm-up
    copies.push_back(*copy);
    writes.push_back(*write);
    reads.push_back(*read);
  }
  ceilings->copy.gb_per_second = 2e-9 * static_cast<double>(kCopyBytes) / Summarize(copies).median;
  ceilings->write.gb_per_second = 1e-9 * static_cast<double>(kCopyBytes) / Summarize(writes).median;
  ceilings->read.gb_per_second = 1e-9 * static_cast<double>(kCopyBytes) / Summarize(reads).median;
  return absl::OkStatus();
}

void AddCeilingCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases) {
  Case copies;
  copies.name = "ceiling/copies";
  copies.repetitions = options.quick ? 3 : 9;
  copies.failure_row = CeilingRow("copies", "GB/s", kCopyBytes);
  copies.prepare = [gpu] { return PrepareCopies(gpu); };
  cases->push_back(std::move(copies));

  Case round_trip;
  round_trip.name = "ceiling/round-trip";
  round_trip.repetitions = options.quick ? 11 : 1001;
  round_trip.failure_row = CeilingRow("smallest round trip", "us", 4096);
  round_trip.prepare = [gpu] { return PrepareRoundTrip(gpu); };
  cases->push_back(std::move(round_trip));
}

}  // namespace corank::bench
