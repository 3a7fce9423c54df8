// Execute: the real calls, jobs, plans and pipes, between a transport driven by the input and a lane on this
// thread. Everything that may happen at any time (messages, half-close, cancellation, slow readers) happens when a lane
// checks whether it is still wanted, so that each input has one outcome.
//
// Input: parts (fuzz_target.h) with kind, call and content; see `Step`.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <limits>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "corank/v1/corank_service.pb.h"
#include "server/rpc/execute_call.h"
#include "server/rpc/execute_job.h"
#include "server/schedule/scheduler.h"
#include "tests/fuzz/answers.h"
#include "tests/fuzz/fake_call.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/world.h"

namespace corank::fuzz {
namespace {

constexpr int kCalls = 3;

enum Kind : uint8_t {
  kMessage,    // the message's bytes
  kChunk,      // stream_id, then data; first_element is the next element
  kHalfClose,  // no message follows
  kCancel,     // by the caller
  kRunLane,    // a lane takes a waiting job, if there is one
  kPause,      // the caller stops reading; later messages wait until the end
  kKinds,
};

// The caller's side of one call.
class Transport final {
 public:
  explicit Transport(const std::shared_ptr<ExecuteJobs>& jobs) : call_(std::make_shared<FakeCall>()) {
    call_->Serve(ExecuteCall::Start(jobs, call_));
  }

  void Send(std::string message, uint8_t cuts) { incoming_.emplace_back(std::move(message), cuts); }
  void HalfClose() { half_closed_ = true; }
  void Pause() { paused_ = true; }
  void Resume() { paused_ = false; }
  void Cancel() {
    if (std::exchange(cancelled_, true)) return;
    incoming_.clear();
    half_closed_ = true;
    call_->Cancel();
  }
  // Performs one pending action. Returns false if there is none.
  bool Step() {
    if (call_->RunPosted()) return true;
    if (call_->writing() && (!paused_ || call_->finished())) {
      call_->Take();
      return true;
    }
    if (!call_->reading() || (incoming_.empty() && !half_closed_)) return false;
    if (incoming_.empty()) {
      call_->HalfClose();
      return true;
    }
    const auto [message, cuts] = std::move(incoming_.front());
    incoming_.pop_front();
    read_messages_.push_back(message);
    call_->Deliver(message, cuts);
    return true;
  }
  void End() {
    FUZZ_CHECK(!call_->writing(), "the call is not over");
    call_->End();
  }

  bool finished() const { return call_->finished(); }
  bool reading() const { return call_->reading(); }
  bool ok() const { return call_->status().ok(); }
  const std::vector<std::string>& answers() const { return call_->answers(); }
  // The messages that the call has read. Nobody reads messages after its end.
  const std::vector<std::string>& read_messages() const { return read_messages_; }

 private:
  const std::shared_ptr<FakeCall> call_;
  std::deque<std::pair<std::string, uint8_t>> incoming_;
  bool half_closed_ = false, paused_ = false, cancelled_ = false;
  std::vector<std::string> read_messages_;
};

// What one caller sent: for the place of the next chunk, and for the oracle.
struct Sent {
  int messages = 0;
  std::map<uint32_t, int64_t> next;          // elements, by stream
  std::map<uint32_t, v1::Array> arrays;      // streamed arrays of the plan
  std::optional<v1::SortRequest> only_sort;  // set if the plan is one Sort
};

// Finds the streamed arrays of a plan, with protobuf alone.
void NotePlan(const std::string& bytes, Sent& sent) {
  v1::ExecuteRequest request;
  if (!request.ParseFromString(bytes) || !request.has_plan()) return;
  const auto note = [&sent](const v1::Array& array) {
    if (array.has_stream()) sent.arrays[array.stream().stream_id()] = array;
  };
  for (const v1::Operation& operation : request.plan().operations()) {
    note(operation.sort().keys());
    note(operation.sort().values());
    for (const v1::Array& keys : operation.merge().keys()) note(keys);
    note(operation.expand_intervals().values());
    note(operation.expand_intervals().counts());
    note(operation.load_balance().counts());
    note(operation.search().haystack());
    note(operation.search().needles());
    note(operation.group().keys());
    note(operation.group().values());
    note(operation.combine_sets().left());
    note(operation.combine_sets().right());
    note(operation.combine_sets().left_values());
    note(operation.combine_sets().right_values());
    note(operation.join().left());
    note(operation.join().right());
    note(operation.rank().keys());
    note(operation.rank().segment_offsets());
    note(operation.select().elements());
    note(operation.select().values());
    note(operation.select().flags());
    note(operation.select().bitmap());
    note(operation.select().positions());
    note(operation.select().threshold());
  }
  if (request.plan().operations_size() == 1 && request.plan().operations(0).has_sort() && request.plan().parts() <= 1) {
    sent.only_sort = request.plan().operations(0).sort();
  }
}

// Puts streamed bytes into the array, as in a unary request.
void Fill(v1::Array& array, const std::map<uint32_t, std::string>& streams) {
  if (!array.has_stream()) return;
  const auto bytes = streams.find(array.stream().stream_id());
  array.set_inline_data(bytes == streams.end() ? std::string() : bytes->second);
}

class Run {
 public:
  Run() : world_(World::Get()), queue_(TheQueue()) {
    environment_.limits = world_.limits;
    environment_.clock = &world_.clock;
    environment_.metrics = &TheMetrics();
    environment_.logger = &world_.logger;
    environment_.queue = &queue_;
    environment_.long_queue = &queue_;
    environment_.streams.window_bytes = 32 << 10;
    environment_.streams.max_device_bytes = 32 << 10;
    environment_.streams.max_host_bytes = 64 << 10;
    environment_.streams.piece_bytes = 512;
    environment_.streams.max_joining_jobs = 2;
    environment_.places = world_.places();
    environment_.active_calls = &active_calls_;
    environment_.buffered = world_.buffered.get();
    environment_.timers = &TheTimers();
    jobs_ = ExecuteJobs::Create(environment_);
    world_.lane.set_pump([this] {
      Pump();
      return task_ == nullptr ? absl::OkStatus() : task_->request.CheckWanted(world_.clock.Now());
    });
  }

  ~Run() {
    while (RunLane()) continue;
    for (auto& call : calls_) {
      if (call == nullptr) continue;
      call->Resume();
      Pump();
      if (!call->finished()) call->Cancel();
      while (RunLane()) continue;
      Pump();
    }
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (calls_[i] == nullptr) continue;
      CheckAnswer(i);
      calls_[i]->End();
      calls_[i].reset();
    }
    world_.lane.set_pump(nullptr);
    FUZZ_CHECK(active_calls_.count() == 0, "calls are left");
    FUZZ_CHECK(queue_.waiting_requests() == 0, "tasks are left");
    jobs_.reset();  // also drops jobs that still wait for parts
    world_.Reset();
  }

  void Step(absl::string_view part) {
    Input input(part);
    const auto kind = static_cast<Kind>(input.Choice(kKinds));
    const uint8_t choice = input.Byte();
    const size_t index = choice % kCalls;
    if (kind == kRunLane) {
      RunLane();
      return;
    }
    if (calls_[index] == nullptr) {
      calls_[index] = std::make_unique<Transport>(jobs_);
      sent_[index] = Sent();
    }
    Transport& call = *calls_[index];
    switch (kind) {
      case kMessage:
        Send(index, std::string(input.Rest()), choice / kCalls);
        break;
      case kChunk:
        SendChunk(index, input.Byte() % 4, input.Rest(), choice / kCalls);
        break;
      case kHalfClose:
        call.HalfClose();
        break;
      case kCancel:
        call.Cancel();
        break;
      default:
        call.Pause();
    }
    if (choice >= 128) Pump();  // otherwise it waits in the transport
  }

 private:
  static Metrics& TheMetrics() {
    static auto* const metrics = new Metrics;
    return *metrics;
  }
  static wire::Loop& TheTimers() {
    static auto* const timers = new wire::Loop;
    return *timers;
  }
  static Scheduler& TheQueue() {  // has a thread
    static auto* const queue = new Scheduler(Scheduler::Options(), &World::Get().clock, &TheMetrics());
    return *queue;
  }

  void Send(size_t index, std::string bytes, uint8_t cuts) {
    if (sent_[index].messages++ == 0) NotePlan(bytes, sent_[index]);
    v1::ExecuteRequest request;
    if (request.ParseFromString(bytes) && request.has_chunk()) Note(index, request.chunk());
    calls_[index]->Send(std::move(bytes), cuts);
  }

  void SendChunk(size_t index, uint32_t stream_id, absl::string_view data, uint8_t cuts) {
    v1::ExecuteRequest request;
    request.mutable_chunk()->set_stream_id(stream_id);
    request.mutable_chunk()->set_first_element(sent_[index].next[stream_id]);
    request.mutable_chunk()->set_data(std::string(data));
    Send(index, request.SerializeAsString(), cuts);
  }

  void Note(size_t index, const v1::ArrayChunk& chunk) {
    const auto array = sent_[index].arrays.find(chunk.stream_id());
    if (array == sent_[index].arrays.end()) return;
    const bool is_key = array->second.type() >= v1::ELEMENT_TYPE_INT8 && array->second.type() < v1::ELEMENT_TYPE_RECORD;
    const int64_t bytes = is_key ? KeyBytes(static_cast<KeyType>(array->second.type())) : array->second.record_bytes();
    if (bytes > 0) sent_[index].next[chunk.stream_id()] += static_cast<int64_t>(chunk.data().size()) / bytes;
  }

  // Performs all pending actions of any call.
  void Pump() {
    for (bool any = true; any;) {
      any = false;
      for (const auto& call : calls_) any = (call != nullptr && call->Step()) || any;
    }
    if (task_ != nullptr) Unstick();
  }

  // While a job is on the lane, its callers finally continue: those that sent everything half-close, and all read.
  void Unstick() {
    for (const auto& call : calls_) {
      if (call == nullptr || call->finished()) continue;
      call->Resume();
      if (call->reading()) call->HalfClose();
      call->Step();
    }
  }

  bool RunLane() {
    Pump();
    if (queue_.waiting_requests() == 0) return false;
    std::vector<std::unique_ptr<Task>> tasks = queue_.NextBatch(0, /*is_spare=*/false);
    FUZZ_CHECK(tasks.size() == 1, "a task waits, and none is taken");
    task_ = tasks[0].get();
    Outcome outcome;
    absl::Status status = task_->request.CheckWanted(world_.clock.Now());
    if (status.ok()) status = task_->plan.operation->Execute(world_.lane, outcome);
    if (status.ok()) status = task_->plan.operation->Commit(outcome);
    FUZZ_CHECK(status.code() != absl::StatusCode::kDeadlineExceeded, "callers who have closed are waited for");
    task_->plan.operation.reset();
    Completion* const completion = task_->request.completion;
    const std::shared_ptr<const void> owner = task_->request.completion_owner;
    task_ = nullptr;
    completion->Done(status, outcome);
    tasks.clear();
    Pump();
    return true;
  }

  void CheckAnswer(size_t index) {
    const Transport& call = *calls_[index];
    std::map<uint32_t, std::string> outputs;
    std::vector<v1::OperationResult> results;
    for (const std::string& bytes : call.answers()) {
      v1::ExecuteResponse response;
      FUZZ_CHECK(response.ParseFromString(bytes), absl::BytesToHexString(bytes));
      if (response.has_chunk()) outputs[response.chunk().stream_id()] += response.chunk().data();
      if (response.has_result()) results.push_back(response.result());
    }
    if (!call.ok() || !sent_[index].only_sort) return;
    FUZZ_CHECK(results.size() == 1 && results[0].has_sort(), "a sort ends with its result");
    std::map<uint32_t, std::string> inputs;
    for (const std::string& bytes : call.read_messages()) {
      v1::ExecuteRequest request;
      if (request.ParseFromString(bytes)) inputs[request.chunk().stream_id()] += request.chunk().data();
    }
    v1::SortRequest request = *sent_[index].only_sort;
    v1::SortResponse response = results[0].sort();
    if (request.key_columns_size() > 0) return;
    Fill(*request.mutable_keys(), inputs);
    if (request.has_values()) Fill(*request.mutable_values(), inputs);
    if (request.has_segment_offsets()) Fill(*request.mutable_segment_offsets(), inputs);
    if (response.has_keys()) Fill(*response.mutable_keys(), outputs);
    if (response.has_values()) Fill(*response.mutable_values(), outputs);
    if (response.has_indices()) Fill(*response.mutable_indices(), outputs);
    for (v1::Destination* destination : {request.mutable_keys_destination(), request.mutable_values_destination(),
                                         request.mutable_indices_destination()}) {
      if (destination->has_stream()) destination->Clear();
    }
    FUZZ_CHECK(IsRight(request, response), absl::StrCat(request.ShortDebugString(), "\n", response.ShortDebugString()));
  }

  World& world_;
  CallEnvironment environment_;
  Scheduler& queue_;
  ActiveCalls active_calls_;
  std::shared_ptr<ExecuteJobs> jobs_;
  std::array<std::unique_ptr<Transport>, kCalls> calls_;
  std::array<Sent, kCalls> sent_;
  Task* task_ = nullptr;  // on the lane
};

// --- Seeds -----------------------------------------------------------------------------------------------------------

std::string Part(Kind kind, int call, absl::string_view content = "") {
  return absl::StrCat(std::string{static_cast<char>(kind), static_cast<char>(call)}, content);
}
std::string ChunkPart(int call, char stream_id, absl::string_view data) {
  return Part(kChunk, call, absl::StrCat(std::string(1, stream_id), data));
}

v1::Array Streamed(v1::ElementType type, uint32_t stream_id, int64_t count = -1) {
  v1::Array array;
  array.set_type(type);
  if (count >= 0) array.set_count(count);
  array.mutable_stream()->set_stream_id(stream_id);
  return array;
}

std::string PlanPart(int call, const v1::Plan& plan) {
  v1::ExecuteRequest request;
  *request.mutable_plan() = plan;
  return Part(kMessage, call, request.SerializeAsString());
}

v1::Plan SortPlan(int64_t count, bool with_values) {
  v1::Plan plan;
  v1::SortRequest* const sort = plan.add_operations()->mutable_sort();
  *sort->mutable_keys() = Streamed(v1::ELEMENT_TYPE_UINT32, 0, count);
  sort->mutable_keys_destination()->mutable_stream()->set_stream_id(0);
  if (with_values) {
    *sort->mutable_values() = Streamed(v1::ELEMENT_TYPE_UINT16, 1, count);
    sort->mutable_values_destination()->mutable_stream()->set_stream_id(1);
  }
  return plan;
}

std::string Text(int64_t bytes, int factor) {
  std::string text(static_cast<size_t>(bytes), '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * static_cast<size_t>(factor) % 251);
  return text;
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  constexpr int kNow = 129;  // of call 0, delivered at once
  for (const int64_t count : {-1, 300}) {
    for (const bool with_values : {false, true}) {
      std::vector<std::string> parts = {PlanPart(kNow, SortPlan(count, with_values))};
      parts.push_back(ChunkPart(0, 0, Text(800, 7)));
      parts.push_back(ChunkPart(0, 0, Text(400, 31)));
      if (with_values) parts.push_back(ChunkPart(0, 1, Text(600, 3)));
      if (count < 0) parts.push_back(ChunkPart(0, 0, ""));
      if (count < 0 && with_values) parts.push_back(ChunkPart(0, 1, ""));
      seeds.push_back(Join(parts));  // the caller stays until the job has everything
      parts.push_back(Part(kHalfClose, kNow));
      seeds.push_back(Join(parts));
      parts.insert(parts.begin() + 2, Part(kPause, kNow));
      parts.insert(parts.begin() + 2, Part(kRunLane, 0));
      seeds.push_back(Join(parts));
      parts.insert(parts.begin() + 3, Part(kCancel, kNow));
      seeds.push_back(Join(parts));
    }
  }
  {  // large enough to be out of core
    std::vector<std::string> parts = {PlanPart(kNow, SortPlan(12000, false))};
    for (int i = 0; i < 48; ++i) parts.push_back(ChunkPart(0, 0, Text(1000, 7 + 2 * i)));
    parts.push_back(Part(kHalfClose, kNow));
    seeds.push_back(Join(parts));
  }
  {  // two parts of one job
    v1::Plan plan = SortPlan(200, false);
    plan.set_job_id("job");
    plan.set_parts(2);
    std::vector<std::string> parts = {PlanPart(kNow, plan)};
    plan.set_part(1);
    parts.push_back(PlanPart(kNow + 1, plan));
    parts.push_back(ChunkPart(0, 0, Text(400, 7)));
    v1::ExecuteRequest second;
    second.mutable_chunk()->set_first_element(100);
    second.mutable_chunk()->set_data(Text(400, 9));
    parts.push_back(Part(kMessage, 1, second.SerializeAsString()));
    parts.push_back(Part(kHalfClose, kNow));
    seeds.push_back(Join(parts));
    parts.push_back(Part(kHalfClose, kNow + 1));
    seeds.push_back(Join(parts));
  }
  {  // a chain, with a temporary between
    v1::Plan plan;
    v1::SortRequest* const sort = plan.add_operations()->mutable_sort();
    *sort->mutable_keys() = Streamed(v1::ELEMENT_TYPE_INT16, 0);
    sort->mutable_keys_destination()->mutable_stored()->set_name("t");
    sort->mutable_keys_destination()->mutable_stored()->set_temporary(true);
    v1::SearchRequest* const search = plan.add_operations()->mutable_search();
    search->mutable_haystack()->set_type(v1::ELEMENT_TYPE_INT16);
    search->mutable_haystack()->mutable_stored()->set_name("t");
    search->mutable_haystack()->mutable_stored()->set_temporary(true);
    *search->mutable_needles() = Streamed(v1::ELEMENT_TYPE_INT16, 1);
    search->mutable_destination()->mutable_stream()->set_stream_id(2);
    seeds.push_back(Join({PlanPart(kNow, plan), ChunkPart(0, 0, Text(90, 7)), ChunkPart(0, 1, Text(20, 3)),
                          ChunkPart(0, 0, ""), ChunkPart(0, 1, ""), Part(kHalfClose, kNow)}));
  }
  {  // other operators
    v1::Plan plan;
    v1::MergeRequest* const merge = plan.add_operations()->mutable_merge();
    *merge->add_keys() = Streamed(v1::ELEMENT_TYPE_UINT8, 0, 20);
    *merge->add_keys() = Streamed(v1::ELEMENT_TYPE_UINT8, 1);
    merge->mutable_keys_destination()->mutable_stream()->set_stream_id(0);
    seeds.push_back(Join({PlanPart(kNow, plan), ChunkPart(0, 0, Text(20, 3)), ChunkPart(0, 1, Text(9, 5)),
                          ChunkPart(0, 1, ""), Part(kHalfClose, kNow)}));
    v1::Plan expand;
    *expand.add_operations()->mutable_expand_intervals()->mutable_values() = Streamed(v1::ELEMENT_TYPE_UINT8, 0);
    *expand.mutable_operations(0)->mutable_expand_intervals()->mutable_counts() = Streamed(v1::ELEMENT_TYPE_INT64, 1);
    expand.mutable_operations(0)->mutable_expand_intervals()->mutable_destination()->mutable_stream();
    std::string counts(24, '\0');
    counts[0] = 3, counts[16] = 2;
    seeds.push_back(Join({PlanPart(kNow, expand), ChunkPart(0, 0, "abc"), ChunkPart(0, 1, counts), ChunkPart(0, 0, ""),
                          ChunkPart(0, 1, ""), Part(kHalfClose, kNow)}));
  }
  return seeds;
}

}  // namespace corank::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  corank::fuzz::Run run;
  for (const absl::string_view part : corank::fuzz::Parts(bytes)) run.Step(part);
  return 0;
}
