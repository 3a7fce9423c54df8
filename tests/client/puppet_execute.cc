#include "tests/client/puppet_execute.h"

#include <algorithm>
#include <deque>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/client/puppet_arrays.h"

namespace corank::client {
namespace {

grpc::Status Bad(const std::string& message) { return {grpc::StatusCode::INVALID_ARGUMENT, message}; }

}  // namespace

struct PuppetExecute::Job {
  struct Input {
    v1::Array* array;
    std::string bytes;
    int64_t received = 0;
    std::map<int, int64_t> next;  // by part: the first element of its next chunk
    std::set<int64_t> begun;      // first elements of all chunks
  };

  absl::Mutex mutex;
  v1::Plan plan;
  std::map<uint32_t, Input> inputs;
  int parts = 1, joined = 0, received = 0;
  bool is_run = false;
  grpc::Status status;
  std::deque<v1::ArrayChunk> chunks;
  std::vector<v1::OperationResult> results;
};

std::vector<v1::Plan> PuppetExecute::plans() {
  absl::MutexLock lock(&mutex_);
  return plans_;
}

int64_t PuppetExecute::largest_chunk() {
  absl::MutexLock lock(&mutex_);
  return largest_chunk_;
}

std::map<int, int> PuppetExecute::chunks_by_part() {
  absl::MutexLock lock(&mutex_);
  return chunks_by_part_;
}

std::set<std::string> PuppetExecute::peers() {
  absl::MutexLock lock(&mutex_);
  return peers_;
}

std::shared_ptr<PuppetExecute::Job> PuppetExecute::Join(const v1::Plan& plan, const std::string& peer) {
  absl::MutexLock lock(&mutex_);
  peers_.insert(peer);
  plans_.push_back(plan);
  std::shared_ptr<Job>& job = jobs_[plan.job_id().empty() ? absl::StrCat(plans_.size()) : plan.job_id()];
  if (job == nullptr) {
    job = std::make_shared<Job>();
    job->plan = plan;
    job->parts = std::max<int>(static_cast<int>(plan.parts()), 1);
    for (v1::Array* array : ArraysOf(&job->plan)) {
      if (!array->has_stream()) continue;
      Job::Input& input = job->inputs[array->stream().stream_id()];
      input.array = array;
      input.bytes.resize(static_cast<size_t>(array->count() * ElementBytes(*array)));
    }
  }
  ++job->joined;
  return job;
}

grpc::Status PuppetExecute::Receive(const v1::ArrayChunk& chunk, int part, Job* job) {
  {
    absl::MutexLock lock(&mutex_);
    largest_chunk_ = std::max(largest_chunk_, static_cast<int64_t>(chunk.data().size()));
    ++chunks_by_part_[part];
  }
  absl::MutexLock lock(&job->mutex);
  const auto found = job->inputs.find(chunk.stream_id());
  if (found == job->inputs.end()) return Bad("a chunk of no array");
  Job::Input& input = found->second;
  const int64_t width = ElementBytes(*input.array), bytes = static_cast<int64_t>(chunk.data().size());
  const int64_t begin = chunk.first_element() * width;
  if (bytes == 0 || bytes % width != 0) return Bad("not a whole number of elements");
  if (begin < 0 || begin + bytes > static_cast<int64_t>(input.bytes.size())) return Bad("beyond the end");
  const auto next = input.next.find(part);
  if (next == input.next.end() ? job->parts == 1 && begin != 0 : next->second != begin) return Bad("out of order");
  if (!input.begun.insert(begin).second) return Bad("a chunk that has come before");
  input.next[part] = begin + bytes;
  input.received += bytes;
  std::copy(chunk.data().begin(), chunk.data().end(), input.bytes.begin() + begin);
  return grpc::Status::OK;
}

grpc::Status PuppetExecute::RunPlan(grpc::ServerContext* context, Job* job) {
  for (auto& [id, input] : job->inputs) {
    if (input.received != static_cast<int64_t>(input.bytes.size()))
      return Bad(absl::StrCat("stream ", id, " lacks bytes"));
    input.array->set_inline_data(input.bytes);
  }
  for (v1::Operation& operation : *job->plan.mutable_operations()) {
    const int number = operation.operation_case();
    v1::OperationResult& result = job->results.emplace_back();
    if (const grpc::Status status = run_(context, &operation, &result); !status.ok()) return status;
    for (const auto& [array, destination] :
         ResultsOf(*InnerMessage(&operation, number), InnerMessage(&result, number))) {
      if (!destination->has_stream()) continue;
      const int64_t width = ElementBytes(*array);
      const int64_t elements = std::max<int64_t>(chunk_bytes / width, 1);
      const std::string bytes = std::move(*array->mutable_inline_data());
      array->set_count(static_cast<int64_t>(bytes.size()) / width);
      *array->mutable_stream() = destination->stream();
      for (int64_t first = 0; first < array->count(); first += elements) {
        v1::ArrayChunk& chunk = job->chunks.emplace_back();
        chunk.set_stream_id(destination->stream().stream_id());
        chunk.set_first_element(first);
        chunk.set_data(bytes.substr(static_cast<size_t>(first * width), static_cast<size_t>(elements * width)));
      }
    }
  }
  return grpc::Status::OK;
}

grpc::Status PuppetExecute::Serve(grpc::ServerContext* context, ExecuteStream* stream) {
  v1::ExecuteRequest request;
  if (!stream->Read(&request) || !request.has_plan()) return Bad("no plan");
  const int part = static_cast<int>(request.plan().part());
  const std::shared_ptr<Job> job = Join(request.plan(), context->peer());
  while (stream->Read(&request)) {
    if (!request.has_chunk()) return Bad("not a chunk");
    if (const grpc::Status status = Receive(request.chunk(), part, job.get()); !status.ok()) return status;
  }
  job->mutex.Lock();
  if (++job->received == job->parts) {
    job->status = RunPlan(context, job.get());
    job->is_run = true;
  }
  while (!job->is_run && !context->IsCancelled()) {
    job->mutex.AwaitWithTimeout(absl::Condition(&job->is_run), absl::Milliseconds(5));
  }
  v1::ExecuteResponse response;
  while (job->is_run && job->status.ok() && !job->chunks.empty()) {
    *response.mutable_chunk() = std::move(job->chunks.front());
    job->chunks.pop_front();
    job->mutex.Unlock();
    if (!stream->Write(response)) return grpc::Status::CANCELLED;
    job->mutex.Lock();
  }
  const grpc::Status status = job->is_run ? job->status : grpc::Status::CANCELLED;
  job->mutex.Unlock();
  if (!status.ok()) return status;
  for (const v1::OperationResult& result : job->results) {
    *response.mutable_result() = result;
    stream->Write(response);
  }
  return grpc::Status::OK;
}

}  // namespace corank::client
