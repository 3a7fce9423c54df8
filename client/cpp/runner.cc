#include "client/cpp/runner.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "client/cpp/message_call.h"
#include "client/cpp/messages.h"
#include "client/cpp/region_call.h"
#include "client/cpp/stream_call.h"

namespace corank::client {
namespace {

/// Large enough to hide the cost of a message, small enough that chunks overlap with work.
constexpr int64_t kChunkBytes = 1 << 20;

int64_t MaxPlanBytes(const ClientOptions& options, const ServerInfo& info) {
  return info.max_request_bytes > 0 ? std::min(options.max_message_bytes, info.max_request_bytes)
                                    : options.max_message_bytes;
}

int64_t ChunkBytes(const ServerInfo& info) {
  const int64_t server = info.max_chunk_bytes > 0 ? info.max_chunk_bytes : kChunkBytes;
  return std::min(kChunkBytes, server);
}

/// Sets the places of inputs that do not travel.
void PlaceInputsThatStay(const Regions& regions, Job* job) {
  for (JobInput& input : job->inputs) {
    if (!input.view.stored.empty()) {
      input.travels = false;
      input.array->mutable_stored()->set_name(input.view.stored);
      input.array->mutable_stored()->set_temporary(input.view.temporary);
    } else if (const auto place = regions.Find(input.view.bytes, input.view.type.bytes());
               place.has_value() && !input.is_control) {
      input.travels = false;
      *input.array->mutable_shared_memory() = *place;
    }
  }
}

/// Whether a result overlaps an input that travels. The server might write it before the input has left.
bool IsOverWhatTravels(const JobResult& result, absl::Span<Job* const> jobs) {
  return std::any_of(jobs.begin(), jobs.end(), [&result](const Job* job) {
    return std::any_of(job->inputs.begin(), job->inputs.end(),
                       [&result](const JobInput& input) { return input.travels && IsOver(result, input); });
  });
}

/// Sets the places of results of `job` that do not travel. All inputs of all jobs have their places.
void PlaceResultsThatStay(const Regions& regions, absl::Span<Job* const> jobs, Job* job) {
  for (JobResult& result : job->results) {
    const absl::string_view memory(result.output.memory.data(), result.output.memory.size());
    if (!result.output.stored.empty()) {
      result.travels = false;
      result.destination->mutable_stored()->set_name(result.output.stored);
      result.destination->mutable_stored()->set_temporary(result.output.temporary);
      result.destination->mutable_stored()->set_sharded(result.output.sharded);
    } else if (const auto place = regions.Find(memory, result.element_bytes);
               place.has_value() && !IsOverWhatTravels(result, jobs)) {
      result.travels = false;
      *result.destination->mutable_shared_memory() = *place;
    }
  }
}

/// How the call may repeat, given the places of its arrays.
Repeat RepeatOf(absl::Span<Job* const> jobs) {
  Repeat repeat = Repeat::kAlways;
  for (const Job* job : jobs) {
    for (const JobResult& result : job->results) {
      const bool is_kept = result.destination->has_stored() && !result.output.temporary;
      const bool is_in_region = result.destination->has_shared_memory();
      // An earlier attempt may still run on an unreachable server, and write after the later one's answer.
      if (is_kept || is_in_region) repeat = std::min(repeat, Repeat::kUnlessLost);
      // Of any operator: in a chain, one may have overwritten what another reads.
      if (is_in_region && IsOverAnyInput(result, jobs)) repeat = Repeat::kNever;
    }
  }
  return repeat;
}

}  // namespace

absl::StatusOr<std::vector<JobAnswer>> Runner::RunJobs(absl::Span<Job* const> jobs, bool only_stream,
                                                       const CallOptions& call) {
  const absl::Time deadline = connection_.Deadline(call);
  PlaceQuestion question;
  question.only_stream = only_stream;
  for (Job* job : jobs) {
    if (const absl::Status checked = CheckJob(*job); !checked.ok()) return checked;
    PlaceInputsThatStay(regions_, job);
  }
  for (Job* job : jobs) {
    PlaceResultsThatStay(regions_, jobs, job);
    question.input_bytes += job->input_bytes();
    question.read_bytes += job->read_bytes();
    question.result_bytes = Saturated(question.result_bytes, job->result_bytes());
    question.claimed_bytes = Saturated(question.claimed_bytes, job->claimed_bytes());
  }
  question.may_share = regions_.may_share();
  std::optional<ServerInfo> info;
  if (NeedsServerInfo(question, call, connection_.options())) {
    absl::StatusOr<ServerInfo> asked = connection_.Info(deadline, call);
    // A server without GetServerInfo accepts messages, and refuses what it does not support.
    if (!asked.ok() && !absl::IsUnimplemented(asked.status())) return asked.status();
    if (asked.ok()) info = *std::move(asked);
  }
  const ServerInfo* known = info.has_value() ? &*info : nullptr;
  absl::StatusOr<PlaceChoice> choice = ChoosePlace(question, call, connection_.options(), known);
  if (!choice.ok()) return choice.status();

  std::vector<v1::OperationResult> results(1);
  absl::StatusOr<CallCost> cost = CallCost();
  const Repeat repeat = RepeatOf(jobs);
  if (choice->place == Place::kSharedMemory) {
    RegionTrouble trouble = RegionTrouble::kNone;
    const auto call_with_region = [&] {
      cost = CallWithRegion(&connection_, &regions_, jobs[0], *known, deadline, call, repeat, &results[0], &trouble);
    };
    call_with_region();
    if (!cost.ok() && trouble == RegionTrouble::kLost && repeat == Repeat::kAlways &&
        connection_.options().retry.enabled)
      call_with_region();
    const bool is_auto = AskedPlace(call, connection_.options()) == Place::kAuto;
    // A restarted server does not know an idle region, so it has done nothing in it.
    if (!is_auto && absl::IsNotFound(cost.status())) call_with_region();
    if (!cost.ok() && trouble == RegionTrouble::kRefused && is_auto) {
      question.may_share = false;
      choice = ChoosePlace(question, call, connection_.options(), known);
      if (!choice.ok()) return choice.status();
    }
  }
  if (choice->place == Place::kStream) {
    results.clear();
    cost = CallWithStreams(&connection_, jobs, choice->connections, ChunkBytes(*known),
                           MaxPlanBytes(connection_.options(), *known), deadline, call, repeat, &results);
  } else if (choice->place == Place::kInline) {
    cost = CallWithMessage(&connection_, jobs[0], deadline, call, repeat, &results[0]);
  }
  if (!cost.ok()) return cost.status();

  std::vector<JobAnswer> answers;
  for (v1::OperationResult& result : results) {
    JobAnswer& answer = answers.emplace_back();
    const v1::RequestStats* stats = StatsOf(result);
    if (stats != nullptr) answer.stats = FromProto(*stats);
    answer.stats.round_trip_ns = cost->round_trip_ns;
    answer.stats.attempts = cost->attempts;
    answer.stats.request_id = cost->request_id;
    answer.stats.place = choice->place;
    answer.stats.connections = choice->connections;
    answer.result = std::move(result);
  }
  return answers;
}

absl::StatusOr<JobAnswer> Runner::Run(Job* job, const CallOptions& call) {
  absl::StatusOr<std::vector<JobAnswer>> answers = RunJobs({job}, false, call);
  if (!answers.ok()) return answers.status();
  return std::move(answers->front());
}

absl::StatusOr<std::vector<JobAnswer>> Runner::RunChain(absl::Span<Job* const> jobs, const CallOptions& call) {
  return RunJobs(jobs, true, call);
}

}  // namespace corank::client
