#include "server/execute/stream_operation.h"

#include <algorithm>
#include <utility>

#include "proto/wire_enums.h"
#include "server/execute/run_merge.h"
#include "server/execute/status_macros.h"
#include "server/execute/stream_collector.h"
#include "server/execute/stream_turns.h"

namespace corank {
namespace {

// Large enough that a launch is nothing to it, small enough that the first one leaves early.
constexpr int64_t kMaxTileBytes = int64_t{8} << 20;
// Of an answer's chunk, whatever the server takes: with its head it must fit into the 4 MiB that gRPC's clients receive
// by default, and larger ones are not faster.
constexpr int64_t kAnswerChunkBytes = int64_t{1} << 20;
// Of a window: three tiles are in work while others are on the wire.
constexpr int64_t kTilesInWindow = 8;
constexpr int64_t kAlignment = 256;

int64_t AlignUp(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Tiles that leave as chunks.
class SendingSink final : public TileSink {
 public:
  SendingSink(const RowShape& shape, uint32_t keys_stream, uint32_t values_stream, StreamExchange* exchange, Lane* lane)
      : shape_(shape), keys_stream_(keys_stream), values_stream_(values_stream), exchange_(exchange), lane_(lane) {}

  absl::StatusOr<Tile> Take(int64_t, int64_t count, bool wait) override {
    const int64_t keys_bytes = AlignUp(count * shape_.key_bytes);
    CORANK_ASSIGN_OR_RETURN(std::shared_ptr<void> memory,
                            exchange_->TakeBuffer(*lane_, keys_bytes + count * shape_.value_bytes, wait));
    if (memory == nullptr) return Tile();
    auto* const keys = static_cast<char*>(memory.get());
    return Tile{keys, shape_.value_bytes == 0 ? nullptr : keys + keys_bytes, false, std::move(memory)};
  }
  void Done(int64_t first, int64_t count, Tile tile) override {
    Send(keys_stream_, first, count, shape_.key_bytes, tile.keys, tile.memory);
    if (tile.values != nullptr) Send(values_stream_, first, count, shape_.value_bytes, tile.values, tile.memory);
  }

 private:
  void Send(uint32_t stream_id, int64_t first, int64_t count, int64_t element_bytes, char* bytes,
            const std::shared_ptr<void>& memory) {
    const int64_t most =
        std::max<int64_t>(1, std::min(kAnswerChunkBytes, exchange_->options().max_chunk_bytes) / element_bytes);
    for (int64_t done = 0; done < count; done += most) {
      const int64_t elements = std::min(most, count - done);
      exchange_->Send({stream_id, first + done, elements * element_bytes,
                       std::shared_ptr<const void>(memory, bytes + done * element_bytes)});
    }
  }

  const RowShape shape_;
  const uint32_t keys_stream_, values_stream_;
  StreamExchange* const exchange_;
  Lane* const lane_;
};

}  // namespace

absl::Status StreamOperation::Execute(Lane& lane, Outcome& outcome) {
  spec_.exchange->Begin();
  const absl::Status status = spec_.sort ? ExecuteSort(lane, outcome) : ExecuteWhole(lane, outcome);
  outcome.stats.set_receive_ns(spec_.exchange->receive_ns());
  outcome.stats.set_send_ns(spec_.exchange->send_ns());
  return status;
}

int64_t StreamOperation::TileRows(const RowShape& shape) const {
  const int64_t bytes = std::min(kMaxTileBytes, spec_.exchange->options().window_bytes / kTilesInWindow);
  return std::max<int64_t>(1, (bytes - kAlignment) / shape.row_bytes());
}

absl::Status StreamOperation::ExecuteSort(Lane& lane, Outcome& outcome) {
  const StreamedSort& sort = *spec_.sort;
  StreamExchange& exchange = *spec_.exchange;
  const std::vector<StreamInput>& inputs = exchange.inputs();
  RunSorter sorter(sort, inputs, spec_.piece_bytes, spec_.memory.get(), &lane, &outcome.stats);
  for (;;) {
    CORANK_ASSIGN_OR_RETURN(std::vector<InputChunk> chunks, exchange.Receive(lane));
    if (chunks.empty()) break;
    CORANK_RETURN_IF_ERROR(sorter.Add(std::move(chunks)));
  }
  CORANK_ASSIGN_OR_RETURN(std::vector<SortedRun> runs, sorter.Finish());
  outcome.stats.set_runs(runs.size() > 1 ? static_cast<int32_t>(runs.size()) : 0);
  outcome.stats.set_out_of_core(sorter.out_of_core());
  outcome.sort_algorithm =
      ToWire(sorter.algorithm() == SortAlgorithm::kAuto ? SortAlgorithm::kCopy : sorter.algorithm());
  CORANK_RETURN_IF_ERROR(ReduceRuns(lane, sort.shape, *spec_.memory, sort.field, runs, &outcome.stats));
  if (!runs.empty()) {
    SendingSink sink(sort.shape, sort.keys_output, sort.values_output, &exchange, &lane);
    CORANK_RETURN_IF_ERROR(MergeInTiles(lane, sort.shape, runs, TileRows(sort.shape), sink, &outcome.stats));
  }
  const auto add_result = [&](ResultRole role, size_t input, uint32_t stream_id) {
    outcome.results.push_back({role, inputs[input].type, inputs[input].element_bytes, exchange.received(input), nullptr,
                               std::make_shared<StreamTarget>(stream_id, inputs[input].field, nullptr)});
  };
  add_result(ResultRole::kKeys, sort.keys_input, sort.keys_output);
  if (sort.values_input) add_result(ResultRole::kValues, *sort.values_input, sort.values_output);
  return absl::OkStatus();
}

absl::Status StreamOperation::ExecuteWhole(Lane& lane, Outcome& outcome) {
  v1::RequestStats moving;  // what copies of chunks take; the operations state their own
  CORANK_ASSIGN_OR_RETURN(const std::vector<Operand> inputs,
                          StreamCollector(spec_.exchange.get(), spec_.memory.get(), &lane, &moving).Collect());
  const int last = spec_.request->size() - 1;
  std::vector<Outcome> earlier;
  for (int i = 0; i < last; ++i) {
    Outcome& one = earlier.emplace_back();
    one.stats = outcome.stats;  // what the lane knows of the request
    CORANK_RETURN_IF_ERROR(ExecuteOne(i, inputs, lane, one));
  }
  CORANK_RETURN_IF_ERROR(ExecuteOne(last, inputs, lane, outcome));
  AddTimes({moving.copy_in_ns(), 0, 0}, 0, &outcome.stats);
  // Nothing is visible before all is done.
  for (Outcome& one : earlier) CORANK_RETURN_IF_ERROR(CommitResults(one));
  *spec_.earlier = std::move(earlier);
  return absl::OkStatus();
}

absl::Status StreamOperation::ExecuteOne(int index, const std::vector<Operand>& inputs, Lane& lane, Outcome& outcome) {
  CORANK_ASSIGN_OR_RETURN(const PreparedOperation prepared, spec_.request->Prepare(index, inputs, spec_.memory));
  CORANK_RETURN_IF_ERROR(prepared.operation->Execute(lane, outcome));
  spec_.request->Executed(outcome);
  for (const ResultArray& result : outcome.results) {
    const auto is_target = [&result](const std::shared_ptr<StreamTarget>& target) { return target == result.target; };
    const auto target = std::find_if(prepared.targets.begin(), prepared.targets.end(), is_target);
    if (target == prepared.targets.end() || result.count == 0) continue;
    RowShape shape;
    shape.key_bytes = result.element_bytes;
    SendingSink sink(shape, (*target)->stream_id(), 0, spec_.exchange.get(), &lane);
    const SortedRun whole{(*target)->block()->data(), nullptr, result.count, true, {(*target)->block()}};
    CORANK_RETURN_IF_ERROR(MergeInTiles(lane, shape, {whole}, TileRows(shape), sink, &outcome.stats));
  }
  return absl::OkStatus();
}

}  // namespace corank
