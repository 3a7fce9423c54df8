#include "client/cpp/stream_results.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/cpp/message_call.h"
#include "client/cpp/messages.h"
#include "client/cpp/short_memory.h"

namespace corank::client {
namespace {

absl::Status BadChunk(const JobResult& result, absl::string_view what) {
  return absl::InternalError(absl::StrCat("the server sent a chunk of ", result.name, " ", what));
}

}  // namespace

bool Coverage::Add(int64_t begin, int64_t end) {
  if (begin >= end) return begin == end;
  auto next = ranges_.lower_bound(begin);
  if (next != ranges_.end() && next->first < end) return false;
  if (next != ranges_.end() && next->first == end) {
    end = next->second;
    next = ranges_.erase(next);
  }
  if (next != ranges_.begin()) {
    const auto previous = std::prev(next);
    if (previous->second > begin) return false;
    if (previous->second == begin) {
      previous->second = end;
      return true;
    }
  }
  ranges_.emplace_hint(next, begin, end);
  return true;
}

bool Coverage::IsWhole(int64_t end) const {
  if (end == 0) return ranges_.empty();
  return ranges_.size() == 1 && ranges_.begin()->first == 0 && ranges_.begin()->second == end;
}

StreamResults::StreamResults(absl::Span<Job* const> jobs, TransferProgress* progress)
    : jobs_(jobs.begin(), jobs.end()), progress_(progress) {
  int64_t expected = 0;
  for (Job* job : jobs_) {
    for (JobResult& result : job->results) {
      if (!result.travels) continue;
      result.destination->mutable_stream()->set_stream_id(static_cast<uint32_t>(states_.size()));
      states_.push_back(std::make_unique<State>());
      states_.back()->result = &result;
      states_.back()->is_over_input = IsOverAnyInput(result, jobs);
    }
    if (__builtin_add_overflow(expected, job->result_bytes(), &expected)) expected = 0;
  }
  if (progress_ != nullptr) progress_->bytes_to_receive = expected;
}

const absl::StatusOr<absl::Span<char>>& StreamResults::Memory(State* state) {
  absl::call_once(state->allocated, [state] {
    const JobResult& result = *state->result;
    const auto allocate = [state, &result] {
      if (state->is_over_input) {
        state->apart.resize(std::min(result.output.memory.size(), static_cast<size_t>(result.max_bytes())));
        state->memory = absl::MakeSpan(state->apart.data(), state->apart.size());
      } else {
        state->memory = result.target()->Allocate(result.max_bytes());
      }
    };
    const absl::Status done = WithinMemory(absl::StrCat(result.max_bytes(), " bytes of ", result.name), allocate);
    if (!done.ok()) state->memory = done;
  });
  return state->memory;
}

void StreamResults::AllocateEarly() {
  for (const auto& state : states_) {
    if (state->result->is_bounded) (void)Memory(state.get());  // Take and Finish return the error
  }
}

absl::Status StreamResults::Take(const v1::ArrayChunk& chunk, const PayloadRange& payload,
                                 const std::vector<grpc::Slice>& slices) {
  if (chunk.stream_id() >= states_.size()) {
    return absl::InternalError(
        absl::StrCat("the server sent a chunk of stream ", chunk.stream_id(), ", which the request does not name"));
  }
  State* state = states_[chunk.stream_id()].get();
  const JobResult& result = *state->result;
  const int64_t first = chunk.first_element();
  if (payload.bytes % result.element_bytes != 0) return BadChunk(result, "that is not a whole number of elements");
  if (first < 0 || first > result.max_count || payload.bytes / result.element_bytes > result.max_count - first) {
    return BadChunk(result, "that lies beyond the end of the result");
  }
  const int64_t begin = first * result.element_bytes, end = begin + payload.bytes;
  const absl::StatusOr<absl::Span<char>>& memory = Memory(state);
  if (!memory.ok()) return memory.status();
  if (end > static_cast<int64_t>(memory->size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the output for ", result.name, " holds ", memory->size(), " bytes, the result has more"));
  }
  {
    absl::MutexLock lock(&state->mutex);
    if (!state->coverage.Add(begin, end)) return BadChunk(result, "that overlaps an earlier one");
  }
  if (payload.bytes > 0) CopyRange(slices, payload.offset, payload.bytes, memory->data() + begin);
  if (progress_ != nullptr) progress_->bytes_received += payload.bytes;
  return absl::OkStatus();
}

absl::Status StreamResults::CheckWhole(const JobResult& result, const v1::Array& array, ElementType type,
                                       State* state) {
  if (type.bytes() != result.element_bytes) {
    return MalformedArray(absl::StrCat(result.name, " have elements of type ", type.Name()));
  }
  const bool is_possible = array.has_count() && array.count() >= 0 && array.count() <= result.max_count;
  absl::MutexLock lock(&state->mutex);
  if (!is_possible || !state->coverage.IsWhole(array.count() * result.element_bytes)) {
    return MalformedArray(absl::StrCat("the chunks of ", result.name, " are incomplete"));
  }
  return absl::OkStatus();
}

absl::Status StreamResults::Finish(absl::Span<const v1::OperationResult> results) {
  struct Whole {
    const JobResult* result;
    ElementType type;
    int64_t count;
    State* state;  // null if it did not travel
  };
  std::vector<Whole> all;
  size_t stream = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    for (const JobResult& result : jobs_[i]->results) {
      const v1::Array* array = result.find(results[i], result.column);
      const absl::StatusOr<ElementType> type = CheckAnswer(result, array);
      if (!type.ok()) return type.status();
      State* state = result.travels ? states_[stream++].get() : nullptr;
      if (state != nullptr) {
        if (const absl::Status whole = CheckWhole(result, *array, *type, state); !whole.ok()) return whole;
      }
      all.push_back({&result, *type, array->count(), state});
    }
  }
  for (const Whole& each : all) {
    if (each.state == nullptr) {
      if (const absl::Status placed = each.result->target()->Place(each.type, each.count); !placed.ok()) return placed;
      continue;
    }
    const absl::StatusOr<absl::Span<char>>& memory = Memory(each.state);
    if (!memory.ok()) return memory.status();
    const int64_t bytes = each.count * each.result->element_bytes;
    if (each.state->is_over_input) {
      std::copy_n(memory->data(), bytes, each.result->target()->Allocate(bytes).data());
    }
    if (const absl::Status finished = each.result->target()->Finish(each.type, bytes); !finished.ok()) return finished;
  }
  return absl::OkStatus();
}

}  // namespace corank::client
