#include "server/run/collected_operation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/model/parts.h"
#include "server/run/external_work.h"
#include "server/run/row_sink.h"
#include "server/run/rows_in_turn.h"
#include "server/run/run_merge.h"
#include "server/run/stream_collector.h"

namespace corank {
namespace {

// Least bytes of rows that are made in turn. With fewer, launches cost more than the smaller size saves.
constexpr int64_t kLeastPieceBytes = int64_t{64} << 10;

}  // namespace

absl::Status CollectedOperation::Execute(Lane& lane, Outcome& outcome) {
  spec_.memory->SetEngine(&lane.engine(), lane.stream().device());
  return spec_.pipe->Run([&] { return ExecuteAll(lane, outcome); }, &outcome.stats);
}

int64_t CollectedOperation::device_bytes(const Engine&) const {
  if (spec_.request->external() != nullptr) return spec_.memory->max_device_bytes();
  const int64_t known = spec_.request->device_bytes();
  return spec_.request->is_size_known() ? known : std::max(known, spec_.memory->max_device_bytes());
}

int64_t CollectedOperation::host_bytes() const {
  if (const ExternalWork* const external = spec_.request->external(); external != nullptr) {
    return std::min(spec_.memory->max_host_bytes(),
                    external->host_bytes(spec_.pipe->options().parts, spec_.piece_bytes, *spec_.memory));
  }
  int64_t bytes = spec_.request->spilled_bytes();
  for (const StreamInput& input : spec_.pipe->inputs()) {
    if (!input.is_control && !input.may_spill) continue;
    if (input.count < 0) return spec_.memory->max_host_bytes();
    if (input.is_control) bytes += input.count * input.element_bytes;
  }
  return bytes;
}

absl::Status CollectedOperation::ExecuteAll(Lane& lane, Outcome& outcome) {
  v1::RequestStats moving;  // time to copy chunks; the operations report their own
  CORANK_ASSIGN_OR_RETURN(std::vector<Operand> inputs,
                          StreamCollector(spec_.pipe.get(), spec_.memory.get(), &lane, &moving).Collect());
  const int last = spec_.request->size() - 1;
  std::vector<Outcome> earlier;
  for (int i = 0; i < last; ++i) {
    Outcome& one = earlier.emplace_back();
    one.stats = outcome.stats;  // what the lane recorded for the request
    CORANK_RETURN_IF_ERROR(ExecuteOne(i, inputs, lane, one));
    outcome.shared.insert(outcome.shared.end(), one.shared.begin(), one.shared.end());
  }
  CORANK_RETURN_IF_ERROR(ExecuteOne(last, inputs, lane, outcome));
  outcome.stats.set_out_of_core(spec_.request->spilled_bytes() > 0 || AnySpilled(inputs));
  AddTimes({moving.copy_in_ns(), 0, 0}, 0, &outcome.stats);
  *spec_.earlier = std::move(earlier);
  return absl::OkStatus();
}

absl::Status CollectedOperation::Commit(Outcome& outcome) {
  std::vector<Outcome*> outcomes;
  for (Outcome& earlier : *spec_.earlier) outcomes.push_back(&earlier);
  outcomes.push_back(&outcome);
  for (size_t i = 0; i < outcomes.size(); ++i) {  // none is published if one cannot be
    CORANK_RETURN_IF_ERROR(spec_.request->Named(static_cast<int>(i), PrepareResults(*outcomes[i])));
  }
  for (Outcome* const one : outcomes) CORANK_RETURN_IF_ERROR(PublishResults(*one));
  return absl::OkStatus();
}

void CollectedOperation::OwnSmallResults(Outcome& outcome) {
  for (ResultArray& result : outcome.results) {
    if (result.target != nullptr || result.bytes == nullptr) continue;
    const auto* const first = static_cast<const char*>(result.bytes);
    auto copy = std::make_shared<const std::vector<char>>(first, first + result.count * result.element_bytes);
    result.bytes = copy->data();
    result.owned_bytes = std::move(copy);
  }
}

absl::Status CollectedOperation::BringNear(EngineStream& stream, Operand* input, Outcome& outcome) {
  if (input->size_bytes() == 0 || (input->on_device && input->device == stream.device())) return absl::OkStatus();
  // Without room for a permanent copy, each piece makes its own.
  if (input->size_bytes() > spec_.memory->free_device_bytes() / 2) return absl::OkStatus();
  CORANK_ASSIGN_OR_RETURN(const std::shared_ptr<StreamBlock> near,
                          spec_.memory->AllocateDevice(input->size_bytes(), "plan.operations"));
  CORANK_RETURN_IF_ERROR(stream.Begin());
  const auto copy = [&] {
    if (input->on_device) return stream.Copy(near->data(), input->bytes, input->size_bytes());
    return stream.CopyToDevice(near->data(), input->bytes, input->size_bytes());
  };
  CORANK_RETURN_IF_ERROR(FinishCopyIn(stream, copy(), &outcome.stats));
  input->bytes = near->data();
  input->on_device = true;
  input->device = stream.device();
  input->owner = near;
  return absl::OkStatus();
}

absl::Status CollectedOperation::SendInTurn(RowsInTurn& rows, const std::vector<std::shared_ptr<StreamTarget>>& targets,
                                            Lane& lane, Outcome& outcome) {
  const auto& results = rows.results();
  std::vector<const StreamTarget*> places;
  for (const PendingResult& result : results) {
    const auto target = std::find(targets.begin(), targets.end(), result.target);
    if (target == targets.end()) return absl::InternalError("rows that are made in turn must go to a stream");
    places.push_back(target->get());
  }
  const int64_t count = results[0].count;
  EngineStream& stream = lane.stream();
  RowShape shape;
  shape.key_bytes = results[0].element_bytes;
  if (results.size() > 1) shape.value_bytes = results[1].element_bytes;
  // A quarter is for rows. As many bytes of counts, as many of offsets, and their workspace need the rest.
  const int64_t room = std::max(kLeastPieceBytes, spec_.memory->free_device_bytes() / 4);
  const int64_t piece_bytes = std::min({spec_.piece_bytes, RowsInTurn::kPieceBytes, room});
  const int64_t intervals = piece_bytes / static_cast<int64_t>(sizeof(int64_t));
  const int64_t piece_rows = std::min(std::max<int64_t>(1, piece_bytes / shape.row_bytes()), count);
  SortedRun made_rows;
  std::vector<void*> d_out;
  for (size_t i = 0; i < results.size() && count > 0; ++i) {
    CORANK_ASSIGN_OR_RETURN(const std::shared_ptr<StreamBlock> block,
                            spec_.memory->AllocateDevice(piece_rows * results[i].element_bytes, places[i]->field()));
    d_out.push_back(block->data());
    (i == 0 ? made_rows.keys : made_rows.values) = block->data();
    made_rows.memory.push_back(block);
  }
  RowSink sink(shape, {places[0]->stream_id()},
               places.size() > 1 ? RowSink::Column{places[1]->stream_id()} : RowSink::Column(), spec_.pipe.get(),
               &lane);
  for (int64_t first = 0; first < count;) {
    lane.set_next_stage(Stage::kKernel);
    CORANK_RETURN_IF_ERROR(lane.CheckWanted());
    CORANK_RETURN_IF_ERROR(stream.Begin());
    OperatorReport report;
    const absl::StatusOr<int64_t> made = rows.MakeRows(stream, piece_rows, intervals, d_out, &report);
    const absl::Status ended = made.ok() ? stream.EndKernels() : made.status();
    CORANK_RETURN_IF_ERROR(FinishStream(stream, ended, &outcome.stats));
    if (report.fault != OperatorReport::Fault::kNone) return rows.FaultStatus(report);
    if (*made == 0) continue;
    lane.set_next_stage(Stage::kCopyOut);
    made_rows.count = *made;
    CORANK_RETURN_IF_ERROR(RunMerger(lane, shape, &outcome.stats).MergeAll({made_rows}, sink));
    first += *made;
  }
  for (const PendingResult& result : results) outcome.results.push_back(result.Collect());
  return absl::OkStatus();
}

absl::Status CollectedOperation::SendWhole(const StreamTarget& target, const ResultArray& result, Lane& lane,
                                           Outcome& outcome) {
  RowShape shape;
  shape.key_bytes = result.element_bytes;
  RowSink sink(shape, {target.stream_id()}, {}, spec_.pipe.get(), &lane);
  if (!target.IsSpilled()) {
    const SortedRun whole{target.block()->data(), nullptr, result.count, true, {target.block()}};
    return RunMerger(lane, shape, &outcome.stats).MergeAll({whole}, sink);
  }
  for (int64_t first = 0; first < result.count;) {
    const int64_t count = std::min(sink.tile_rows(), result.count - first);
    CORANK_ASSIGN_OR_RETURN(const RowSink::Tile tile, sink.Take(count, /*turns=*/nullptr));
    std::memcpy(tile.keys, target.block()->data() + first * shape.key_bytes,
                static_cast<size_t>(count * shape.key_bytes));
    sink.Done(tile);
    first += count;
  }
  return absl::OkStatus();
}

absl::Status CollectedOperation::SendParts(const StreamTarget& target, const JobParts& parts, Lane& lane,
                                           Outcome& outcome) {
  const Operand array = parts.Array();
  RowShape shape;
  shape.key_bytes = array.element_bytes;
  RowSink sink(shape, {target.stream_id()}, {}, spec_.pipe.get(), &lane);
  for (size_t i = 0; i < array.shards.size(); ++i) {
    const int64_t count = PartCount(array.count, parts.size(), static_cast<int64_t>(i));
    if (count == 0) continue;
    const SortedRun part{static_cast<const char*>(array.shards[i]), nullptr, count, true, {parts.block(i)}};
    CORANK_RETURN_IF_ERROR(RunMerger(lane, shape, &outcome.stats).MergeAll({part}, sink));
  }
  return absl::OkStatus();
}

absl::Status CollectedOperation::BringParts(const PreparedOperation& prepared, Lane& lane, Outcome& outcome) {
  for (ResultArray& result : outcome.results) {
    const auto found = std::find(prepared.parts.begin(), prepared.parts.end(), result.target);
    if (found == prepared.parts.end()) continue;
    const PartsTarget& made = **found;
    result.target = made.place();
    if (!made.is_sharded() || result.count == 0) continue;
    const auto stream_target = std::find(prepared.targets.begin(), prepared.targets.end(), made.place());
    if (stream_target != prepared.targets.end()) {
      CORANK_RETURN_IF_ERROR(SendParts(**stream_target, made.parts(), lane, outcome));
      continue;
    }
    const Operand array = made.parts().Array();
    EngineStream& stream = lane.stream();
    const auto bring = [&]() -> absl::Status {
      CORANK_ASSIGN_OR_RETURN(const ResultBuffer buffer, made.place()->Allocate(stream, array.size_bytes()));
      CORANK_RETURN_IF_ERROR(CopyElements(stream, array, 0, array.count, buffer.device));
      CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
      CORANK_RETURN_IF_ERROR(stream.EndKernels());
      return buffer.host == nullptr ? absl::OkStatus() : stream.Download(buffer, array.size_bytes());
    };
    CORANK_RETURN_IF_ERROR(stream.Begin());
    CORANK_RETURN_IF_ERROR(FinishStream(stream, bring(), &outcome.stats));
  }
  return absl::OkStatus();
}

absl::Status CollectedOperation::MoveToHost(std::vector<Operand>& inputs, EngineStream& stream, Outcome& outcome) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    Operand& input = inputs[i];
    if (!input.on_device || input.is_spilled) continue;
    input.is_spilled = true;
    if (input.size_bytes() == 0) continue;
    CORANK_ASSIGN_OR_RETURN(const std::shared_ptr<StreamBlock> host,
                            spec_.memory->AllocateHost(input.size_bytes(), spec_.pipe->inputs()[i].field));
    CORANK_RETURN_IF_ERROR(stream.Begin());
    CORANK_RETURN_IF_ERROR(
        FinishCopyIn(stream, stream.CopyToHost(host->data(), input.bytes, input.size_bytes()), &outcome.stats));
    input.bytes = host->data();
    input.owner = host;
  }
  return absl::OkStatus();
}

absl::Status CollectedOperation::ExecuteInPieces(const Operation& whole, Lane& lane, Outcome& outcome) {
  const std::unique_ptr<const ExternalWork> work = whole.external();
  if (work == nullptr) return absl::InternalError("the work on streams cannot run piece by piece after all");
  ExternalMeans means{spec_.memory, spec_.pipe, spec_.piece_bytes, /*is_collected=*/true};
  return whole.Judged(work->make(std::move(means))->Execute(lane, outcome));
}

absl::Status CollectedOperation::ExecuteOne(int index, std::vector<Operand>& inputs, Lane& lane, Outcome& outcome) {
  const bool may_be_in_pieces = spec_.request->external() != nullptr;
  if (may_be_in_pieces && AnySpilled(inputs)) {
    CORANK_RETURN_IF_ERROR(MoveToHost(inputs, lane.stream(), outcome));
  }
  CORANK_ASSIGN_OR_RETURN(PreparedOperation prepared, spec_.request->Bind(index, inputs, spec_.memory));
  if (may_be_in_pieces && !AnySpilled(inputs) &&
      prepared.operation->device_bytes(lane.engine()) > spec_.memory->max_device_bytes()) {
    CORANK_RETURN_IF_ERROR(MoveToHost(inputs, lane.stream(), outcome));
    CORANK_ASSIGN_OR_RETURN(prepared, spec_.request->Bind(index, inputs, spec_.memory));
  }
  if (may_be_in_pieces && AnySpilled(inputs)) {
    return spec_.request->Named(index, ExecuteInPieces(*prepared.operation, lane, outcome));
  }
  RowsInTurn* const rows = prepared.operation->rows_in_turn();  // adapts to the available memory
  int64_t need = rows == nullptr ? prepared.operation->device_bytes(lane.engine()) : 0;
  if (spec_.request->shard_devices() != 0) need += prepared.part_bytes + spec_.memory->most_device_bytes();
  if (const int64_t promised = device_bytes(lane.engine()); need > promised) {
    return TooLargeField("plan.operations",
                         absl::StrCat("operation ", index, " needs ", need, " bytes of device memory, but ", promised,
                                      " were reserved before its sizes were known; send it as a call of ",
                                      "its own or in smaller parts"));
  }
  if (rows != nullptr) {
    for (Operand* const input : rows->whole_inputs()) {
      CORANK_RETURN_IF_ERROR(BringNear(lane.stream(), input, outcome));
    }
  }
  CORANK_RETURN_IF_ERROR(spec_.request->Named(
      index, prepared.operation->Judged(rows == nullptr ? prepared.operation->Execute(lane, outcome)
                                                        : SendInTurn(*rows, prepared.targets, lane, outcome))));
  CORANK_RETURN_IF_ERROR(spec_.request->Named(index, BringParts(prepared, lane, outcome)));
  OwnSmallResults(outcome);
  spec_.request->Executed(outcome);
  for (const ResultArray& result : outcome.results) {
    const auto is_target = [&result](const std::shared_ptr<StreamTarget>& target) { return target == result.target; };
    const auto target = std::find_if(prepared.targets.begin(), prepared.targets.end(), is_target);
    if (target == prepared.targets.end() || result.count == 0 || rows != nullptr) continue;
    if ((*target)->block() == nullptr && !(*target)->IsSpilled()) continue;  // it was sent in parts
    CORANK_RETURN_IF_ERROR(SendWhole(**target, result, lane, outcome));
  }
  return absl::OkStatus();
}

}  // namespace corank
