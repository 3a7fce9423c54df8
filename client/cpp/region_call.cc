#include "client/cpp/region_call.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/message_call.h"
#include "client/cpp/parallel.h"
#include "client/cpp/place_choice.h"
#include "corank/errors.h"

namespace corank::client {
namespace {

/// One thread does not saturate the memory bus, and a few do.
constexpr int kCopyThreads = 4;
constexpr int64_t kCopyPiece = int64_t{4} << 20;
/// Smaller counts and offsets stay in the message, because the server reads them before it opens regions.
constexpr int64_t kControlBytes = int64_t{1} << 20;

void Copy(char* to, const char* from, int64_t bytes, std::atomic<int64_t>* copied) {
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t begin; (begin = next.fetch_add(kCopyPiece)) < bytes;) {
      const int64_t size = std::min(kCopyPiece, bytes - begin);
      std::memcpy(to + begin, from + begin, static_cast<size_t>(size));
      if (copied != nullptr) *copied += size;
    }
  };
  const int64_t pieces = (bytes + kCopyPiece - 1) / kCopyPiece;
  InParallel(static_cast<int>(std::min<int64_t>({kCopyThreads, pieces, std::thread::hardware_concurrency()})), work);
}

/// Places the arrays of a call in its region, each aligned to its element size and to a cache line.
class Layout {
 public:
  /// The offset of the array; -1 if the size overflows.
  int64_t Add(int64_t bytes, int element_bytes) {
    const int64_t unit = std::lcm<int64_t>(element_bytes, 64);
    int64_t offset = 0;
    if (__builtin_add_overflow(size_, unit - 1, &offset)) return size_ = -1;
    offset = offset / unit * unit;
    if (size_ < 0 || __builtin_add_overflow(offset, bytes, &size_)) return size_ = -1;
    return offset;
  }
  int64_t size() const { return size_; }

 private:
  int64_t size_ = 0;
};

/// Undoes the changes to the job, so that it can travel another way.
class TravelScope {
 public:
  explicit TravelScope(Job* job) : job_(job) {
    for (const JobInput& input : job->inputs) inputs_.push_back(input.travels);
    for (const JobResult& result : job->results) results_.push_back(result.travels);
  }
  ~TravelScope() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] && !job_->inputs[i].travels) job_->inputs[i].array->clear_place();
      job_->inputs[i].travels = inputs_[i];
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      if (results_[i] && !job_->results[i].travels) job_->results[i].destination->Clear();
      job_->results[i].travels = results_[i];
    }
  }

 private:
  Job* const job_;
  std::vector<bool> inputs_, results_;
};

/// Records the results that the server wrote into the region.
class CountBuffer final : public ResultBuffer {
 public:
  absl::Span<char> Allocate(int64_t) override { return {}; }
  absl::Status Finish(ElementType, int64_t) override { return absl::InternalError("the result is not in the region"); }
  absl::Status Place(ElementType type, int64_t count) override {
    this->type = type;
    this->count = count;
    return absl::OkStatus();
  }
  ElementType type = KeyType::kUint8;
  int64_t count = 0;
};

}  // namespace

absl::StatusOr<CallCost> CallWithRegion(Connection* connection, Regions* regions, Job* job, const ServerInfo& info,
                                        absl::Time deadline, const CallOptions& call, Repeat repeat,
                                        v1::OperationResult* result, RegionTrouble* trouble) {
  *trouble = RegionTrouble::kNone;
  const absl::Time start = absl::Now();
  Layout layout;
  std::vector<std::pair<JobInput*, int64_t>> inputs;
  std::vector<std::pair<JobResult*, int64_t>> results;
  for (JobInput& input : job->inputs) {
    const auto bytes = static_cast<int64_t>(input.view.bytes.size());
    if (!input.travels || bytes == 0 || (input.is_control && bytes <= kControlBytes)) continue;
    inputs.emplace_back(&input, layout.Add(bytes, input.view.type.bytes()));
  }
  for (JobResult& wanted : job->results) {
    if (wanted.travels && wanted.max_bytes() > 0) {
      results.emplace_back(&wanted, layout.Add(wanted.max_bytes(), wanted.element_bytes));
    }
  }
  if (layout.size() < 0) {
    *trouble = RegionTrouble::kRefused;
    return absl::ResourceExhaustedError("the results exceed the address space");
  }
  if (call.progress != nullptr) {
    call.progress->bytes_to_send = job->input_bytes();
    call.progress->bytes_to_receive = job->result_bytes();
    call.progress->bytes_sent = 0;
    call.progress->bytes_received = 0;
  }
  // Another place is better than waiting for this one, unless the caller asked for it.
  const bool waits = AskedPlace(call, connection->options()) == Place::kSharedMemory;
  absl::StatusOr<std::unique_ptr<OwnRegion>> region =
      regions->Borrow(std::max<int64_t>(layout.size(), 1), info.shared_memory_prefixes.front(), deadline, call, waits);
  if (!region.ok()) {
    const bool is_final = absl::IsDeadlineExceeded(region.status()) || absl::IsCancelled(region.status());
    if (!is_final) *trouble = RegionTrouble::kRefused;
    return region.status();
  }
  char* const memory = (*region)->memory.data();
  const TravelScope scope(job);
  for (const auto& [input, offset] : inputs) {
    Copy(memory + offset, input->view.bytes.data(), static_cast<int64_t>(input->view.bytes.size()),
         call.progress == nullptr ? nullptr : &call.progress->bytes_sent);
    input->travels = false;
    input->array->mutable_shared_memory()->set_region((*region)->name);
    input->array->mutable_shared_memory()->set_offset_bytes(offset);
  }
  std::vector<CountBuffer> counts(results.size());
  std::vector<std::pair<ResultBuffer*, std::unique_ptr<ResultBuffer>>> buffers;
  for (size_t i = 0; i < results.size(); ++i) {
    JobResult* wanted = results[i].first;
    wanted->travels = false;
    wanted->destination->mutable_shared_memory()->set_region((*region)->name);
    wanted->destination->mutable_shared_memory()->set_offset_bytes(results[i].second);
    buffers.emplace_back(std::exchange(wanted->buffer, &counts[i]), std::move(wanted->memory_buffer));
  }
  // Repeats in this region only if the server says that it has finished with it.
  absl::StatusOr<CallCost> cost =
      SendMessage(connection, job, deadline, call, std::min(repeat, Repeat::kUnlessLost), result);
  absl::Status status = cost.status();
  for (size_t i = 0; i < results.size(); ++i) {
    const auto& [wanted, offset] = results[i];
    wanted->buffer = buffers[i].first;
    wanted->memory_buffer = std::move(buffers[i].second);
    if (!status.ok()) continue;
    if (counts[i].count > wanted->max_count || counts[i].type.bytes() != wanted->element_bytes) {
      status = absl::InternalError(absl::StrCat("the server's answer for ", wanted->name, " does not fit its place"));
      continue;
    }
    const int64_t bytes = counts[i].count * wanted->element_bytes;
    const absl::Span<char> to = wanted->target()->Allocate(bytes);
    if (static_cast<int64_t>(to.size()) < bytes) {
      status = absl::InvalidArgumentError(
          absl::StrCat("the output for ", wanted->name, " holds ", to.size(), " bytes, the result has ", bytes));
      continue;
    }
    Copy(to.data(), memory + offset, bytes, call.progress == nullptr ? nullptr : &call.progress->bytes_received);
    status = wanted->target()->Finish(counts[i].type, bytes);
  }
  // The server restarted or lost the region. A wrong name of a stored array also ends here; it fails with NOT_FOUND in
  // another place too.
  if (absl::IsNotFound(status) || absl::IsFailedPrecondition(status)) *trouble = RegionTrouble::kRefused;
  if (absl::IsUnavailable(status) && !RetryDelay(status).has_value()) *trouble = RegionTrouble::kLost;
  // RetryInfo says that the server has finished with the region.
  if (status.ok() || RetryDelay(status).has_value()) {
    regions->Return(*std::move(region));
  } else {
    // After a lost connection the server may still write to the region, and a wrong request may have made it absurdly
    // large.
    regions->Discard(*std::move(region));
  }
  // The server has lost the other regions too.
  if (absl::IsNotFound(status) || *trouble == RegionTrouble::kLost) regions->DiscardIdle();
  if (!status.ok()) return status;
  cost->round_trip_ns = absl::ToInt64Nanoseconds(absl::Now() - start);
  return cost;
}

}  // namespace corank::client
