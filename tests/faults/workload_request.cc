#include "tests/faults/workload_request.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace corank::testing {
namespace {

// Workloads may be copied, together with their sources, but the bytes are shared.
std::shared_ptr<const Bytes> Shared(Bytes bytes) { return std::make_shared<const Bytes>(std::move(bytes)); }

}  // namespace

Bytes AsBytes(const std::vector<int64_t>& numbers) {
  const auto* begin = reinterpret_cast<const uint8_t*>(numbers.data());
  return Bytes(begin, begin + numbers.size() * sizeof(int64_t));
}

absl::StatusOr<const void*> Request::Input(const Bytes& bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  CORANK_ASSIGN_OR_RETURN(void* const h_bytes, stream_->AllocateHost(size));
  std::memcpy(h_bytes, bytes.data(), bytes.size());
  return stream_->Upload(h_bytes, size);
}

absl::StatusOr<const int64_t*> Request::Numbers(const std::vector<int64_t>& numbers) {
  CORANK_ASSIGN_OR_RETURN(const void* const d_bytes, Input(AsBytes(numbers)));
  return static_cast<const int64_t*>(d_bytes);
}

absl::StatusOr<const void*> Request::Repeated(const Bytes& pattern, int64_t bytes) {
  CORANK_ASSIGN_OR_RETURN(void* const d_bytes, stream_->AllocateDevice(bytes));
  CORANK_ASSIGN_OR_RETURN(void* const h_pattern, stream_->AllocateHost(static_cast<int64_t>(pattern.size())));
  std::memcpy(h_pattern, pattern.data(), pattern.size());
  int64_t done = std::min(bytes, static_cast<int64_t>(pattern.size()));
  CORANK_RETURN_IF_ERROR(stream_->CopyToDevice(d_bytes, h_pattern, done));
  while (done < bytes) {
    const int64_t more = std::min(done, bytes - done);
    CORANK_RETURN_IF_ERROR(stream_->Copy(static_cast<char*>(d_bytes) + done, d_bytes, more));
    done += more;
  }
  return d_bytes;
}

absl::StatusOr<const void*> Request::Counted(int element_bytes, int64_t count, int runs) {
  CORANK_ASSIGN_OR_RETURN(void* const d_numbers, stream_->AllocateDevice(count * element_bytes));
  for (int run = 0; run < runs; ++run) {
    const int64_t begin = count * run / runs, end = count * (run + 1) / runs;
    CORANK_RETURN_IF_ERROR(
        stream_->Iota(static_cast<char*>(d_numbers) + begin * element_bytes, element_bytes, 0, end - begin));
  }
  return d_numbers;
}

absl::StatusOr<void*> Request::Output(int64_t bytes) {
  CORANK_ASSIGN_OR_RETURN(const ResultBuffer result, stream_->AllocateResult(bytes));
  outputs_.emplace_back(result, bytes);
  return result.device;
}

absl::Status Request::Show(void* d_bytes, int64_t bytes) {
  CORANK_ASSIGN_OR_RETURN(void* const h_bytes, stream_->AllocateHost(bytes));
  outputs_.emplace_back(ResultBuffer{d_bytes, h_bytes}, bytes);
  return absl::OkStatus();
}

void Request::Collect(WorkloadResult* result) const {
  result->outputs.clear();
  for (const auto& [output, bytes] : outputs_) {
    const auto* begin = static_cast<const uint8_t*>(output.host);
    result->outputs.emplace_back(begin, begin + bytes);
  }
  result->report = std::get<OperatorReport>(reports_);
}

Source Uploaded(Bytes bytes) {
  return [bytes = Shared(std::move(bytes))](Request& request) { return request.Input(*bytes); };
}

Source Repeated(Bytes pattern, int64_t bytes) {
  return [pattern = Shared(std::move(pattern)), bytes](Request& request) { return request.Repeated(*pattern, bytes); };
}

Source Counted(int element_bytes, int64_t count, int runs) {
  return [=](Request& request) { return request.Counted(element_bytes, count, runs); };
}

WorkloadRun Whole(std::function<absl::Status(Request&)> enqueue, Pace pace) {
  return [enqueue = std::move(enqueue), pace](EngineStream& stream, WorkloadResult* result) -> absl::Status {
    CORANK_RETURN_IF_ERROR(stream.Begin(pace));
    Request request(&stream);
    const absl::Status enqueued = enqueue(request);
    const absl::Status finished = stream.Finish().status();
    CORANK_RETURN_IF_ERROR(enqueued);
    CORANK_RETURN_IF_ERROR(finished);
    if (request.report().fault != OperatorReport::Fault::kNone) return absl::DataLossError("a fault is reported");
    request.Collect(result);
    return absl::OkStatus();
  };
}

}  // namespace corank::testing
