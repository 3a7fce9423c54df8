#include "server/run/chunk_merge.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/key_order.h"
#include "server/base/status_macros.h"
#include "server/run/engine_stream_ring.h"

namespace corank {
namespace {

// Number of tiles whose rows must arrive before it is worth checking which rows can be sent.
constexpr int64_t kWaveTiles = 2;
constexpr int kCheckStreams = 2;
constexpr int64_t kPositionBytes = 8;

template <typename Bits>
Bits Load(const char* key) {
  Bits bits;
  std::memcpy(&bits, key, sizeof(bits));
  return bits;
}

// Whether the inputs stay in device memory.
bool IsInCore(const MergeOperation::Spec& merge, const JobMemory& memory) {
  return RowsOf(merge) <= memory.MostRowsInCore(ShapeOf(merge).row_bytes());
}

}  // namespace

int64_t RowsOf(const MergeOperation::Spec& merge) {
  int64_t rows = 0;
  for (const Operand& keys : merge.keys) rows += keys.count;
  return rows;
}

RowShape ShapeOf(const MergeOperation::Spec& merge) {
  const Operand& keys = merge.keys.front();
  return {KeyTypeOf(keys.type), merge.order, keys.element_bytes,
          merge.values.empty() ? 0 : merge.values.front().element_bytes};
}

int64_t ChunkMerger::DeviceBytes(const MergeOperation::Spec& merge, int64_t tile_bytes, const JobMemory& memory,
                                 const Engine& engine) {
  const int64_t most = memory.max_device_bytes();
  const int64_t rows = RowsOf(merge);
  const RowShape shape = ShapeOf(merge);
  const auto runs = static_cast<int64_t>(merge.keys.size());
  if (!IsInCore(merge, memory) || runs > kMaxSplitInputs) return most;
  auto check = shape.ArgsOf<SearchArgs>();
  check.haystack_count = std::min(rows, tile_bytes / shape.row_bytes() + 1);
  check.needle_count = 1;
  return std::min(most, rows * shape.row_bytes() + kCheckStreams * engine.WorkspaceBytes(check) +
                            TileMemory(engine, shape, runs, rows, tile_bytes));
}

int64_t ChunkMerger::HostBytes(const MergeOperation::Spec& merge, const JobMemory& memory) {
  if (IsInCore(merge, memory)) return 0;
  // More runs than one merge takes exist twice while they are merged to fewer.
  const int times = merge.keys.size() > static_cast<size_t>(kMaxSplitInputs) ? 2 : 1;
  return times * RowsOf(merge) * ShapeOf(merge).row_bytes();
}

ChunkMerger::ChunkMerger(const MergeOperation::Spec& merge, const RowSource& source, bool may_send_early, RowSink* sink,
                         JobMemory* memory, Lane* lane, v1::RequestStats* stats)
    : merge_(merge),
      shape_(ShapeOf(merge)),
      arrays_(source.arrays()),
      may_send_early_(may_send_early && merge.keys.size() <= static_cast<size_t>(kMaxSplitInputs)),
      sink_(sink),
      memory_(memory),
      lane_(lane),
      stats_(stats),
      in_core_(IsInCore(merge, *memory)),
      inputs_(merge.keys.size()) {
  for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i].count = merge.keys[i].count;
}

absl::Status ChunkMerger::Add(std::vector<InputChunk> chunks) {
  EngineStream& stream = lane_->stream();
  CORANK_RETURN_IF_ERROR(stream.Begin());
  absl::Status copied;
  for (size_t i = 0; i < chunks.size() && copied.ok(); ++i) copied = CopyIn(stream, chunks[i]);
  CORANK_RETURN_IF_ERROR(FinishCopyIn(stream, copied, stats_));
  chunks.clear();  // lets the callers continue
  if (bytes_since_sent_ < kWaveTiles * sink_->tile_rows() * shape_.row_bytes()) return absl::OkStatus();
  return SendEarly();
}

absl::Status ChunkMerger::CopyIn(EngineStream& stream, const InputChunk& chunk) {
  const size_t column = chunk.input / inputs_.size();
  Input& input = inputs_[chunk.input % inputs_.size()];
  const int64_t element_bytes = column == 0 ? shape_.key_bytes : shape_.value_bytes;
  std::shared_ptr<StreamBlock>& data = input.data[column];
  if (data == nullptr) {
    const std::string& field = arrays_[chunk.input].field;
    const int64_t bytes = input.count * element_bytes;
    CORANK_ASSIGN_OR_RETURN(data,
                            in_core_ ? memory_->AllocateDevice(bytes, field) : memory_->AllocateHost(bytes, field));
  }
  const auto* const from = static_cast<const char*>(chunk.bytes.get());
  const int64_t bytes = chunk.count * element_bytes;
  input.filled[column] += chunk.count;
  bytes_since_sent_ += bytes;
  if (column == 0) std::memcpy(input.last_key.data(), from + bytes - element_bytes, static_cast<size_t>(element_bytes));
  char* const to = data->data() + chunk.first_element * element_bytes;
  if (in_core_) return stream.CopyToDevice(to, from, bytes);
  std::memcpy(to, from, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

// Never waits for the caller to read, because the caller may send everything first.
absl::Status ChunkMerger::SendEarly() {
  const int64_t room = may_send_early_ ? sink_->free_tiles() : 0;
  if (room == 0) return absl::OkStatus();
  bytes_since_sent_ = 0;
  CORANK_RETURN_IF_ERROR(CheckOrder());
  if (!in_order_) return absl::OkStatus();
  CORANK_ASSIGN_OR_RETURN(const std::vector<int64_t> ends, SafeEnds());
  int64_t safe = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) safe += ends[i] - inputs_[i].sent;
  const int64_t tiles = std::min(room, safe / sink_->tile_rows());
  if (tiles == 0) return absl::OkStatus();
  const int64_t rows = tiles * sink_->tile_rows();
  CORANK_ASSIGN_OR_RETURN(const std::vector<int64_t> taken,
                          RunMerger(*lane_, shape_, stats_).MergeRows(0, rows, Runs(ends), *sink_));
  for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i].sent += taken[i];
  return absl::OkStatus();
}

absl::Status ChunkMerger::Finish() {
  CORANK_RETURN_IF_ERROR(CheckOrder());
  std::vector<int64_t> ends;
  for (const Input& input : inputs_) ends.push_back(input.count);
  std::vector<SortedRun> runs = Runs(ends);
  RunMerger merger(*lane_, shape_, stats_);
  if (!in_order_) {
    // The caller disabled the check: all rows, in unspecified order.
    for (const SortedRun& run : runs) {
      if (run.count > 0) CORANK_RETURN_IF_ERROR(merger.MergeAll({run}, *sink_));
    }
    return absl::OkStatus();
  }
  runs.erase(std::remove_if(runs.begin(), runs.end(), [](const SortedRun& run) { return run.count == 0; }), runs.end());
  if (runs.empty()) return absl::OkStatus();
  CORANK_RETURN_IF_ERROR(merger.Reduce(runs, *memory_, arrays_.front().field));
  return merger.MergeAll(runs, *sink_);
}

std::vector<SortedRun> ChunkMerger::Runs(const std::vector<int64_t>& ends) const {
  std::vector<SortedRun> runs;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    SortedRun& run = runs.emplace_back();
    run.on_device = in_core_;
    run.count = ends[i] - input.sent;
    if (run.count == 0) continue;
    run.keys = input.keys() + input.sent * shape_.key_bytes;
    if (Columns() == 2) run.values = input.data[1]->data() + input.sent * shape_.value_bytes;
    run.memory.assign(input.data.begin(), input.data.end());
  }
  return runs;
}

absl::Status ChunkMerger::CheckOrder() {
  for (size_t i = 0; i < inputs_.size() && in_order_; ++i) CORANK_RETURN_IF_ERROR(CheckOrder(i, inputs_[i].filled[0]));
  return absl::OkStatus();
}

// Checks keys [checked, end) of an input, and that the first of them may follow its predecessor.
absl::Status ChunkMerger::CheckOrder(size_t index, int64_t end) {
  Input& input = inputs_[index];
  const int64_t key_bytes = shape_.key_bytes;
  int64_t fault = -1;
  EngineStreamRing turns(*lane_, kCheckStreams, stats_);
  while (input.checked < end && fault < 0) {
    CORANK_RETURN_IF_ERROR(lane_->CheckWanted());
    const int64_t first = std::max<int64_t>(0, input.checked - 1);
    const int64_t count = std::min(end - first, sink_->tile_rows() + 1);
    CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, turns.Next());
    const auto report = std::make_shared<OperatorReport>();
    turns.WhenDone([&fault, first, report] {
      if (fault < 0 && report->fault != OperatorReport::Fault::kNone) fault = first + report->index;
    });
    auto args = shape_.ArgsOf<SearchArgs>();
    args.haystack = input.keys() + first * key_bytes;
    if (!in_core_) {
      CORANK_ASSIGN_OR_RETURN(void* const copy, stream->AllocateDevice(count * key_bytes));
      CORANK_RETURN_IF_ERROR(stream->CopyToDevice(copy, args.haystack, count * key_bytes));
      args.haystack = copy;
    }
    args.haystack_count = count;
    args.needles = args.haystack;  // the result of the search does not matter
    args.needle_count = 1;
    CORANK_ASSIGN_OR_RETURN(args.positions_out, stream->AllocateDevice(kPositionBytes));
    CORANK_RETURN_IF_ERROR(stream->EndCopyIn());
    CORANK_RETURN_IF_ERROR(stream->Search(args, report.get()));
    CORANK_RETURN_IF_ERROR(stream->EndKernels());
    input.checked = first + count;
  }
  CORANK_RETURN_IF_ERROR(turns.FinishAll());
  if (fault < 0) return absl::OkStatus();
  in_order_ = false;
  if (!merge_.check_sorted) return absl::OkStatus();
  return NotSorted(arrays_[index].field, fault, shape_.order);
}

// For each input, the end of the rows that can be sent now. All keys to come follow the last received key of their
// input, so the incomplete input whose last received key sorts first decides. Of equal keys, those of earlier inputs
// come first.
absl::StatusOr<std::vector<int64_t>> ChunkMerger::SafeEnds() {
  std::vector<int64_t> ends;
  for (const Input& input : inputs_) ends.push_back(input.came(Columns()));
  const Input* least = nullptr;
  for (const Input& input : inputs_) {
    if (input.came(Columns()) == input.count) continue;
    // Values may lag behind keys: the last received key belongs to the last complete row or follows it.
    if (input.came(Columns()) == 0 || input.filled[0] > input.came(Columns())) {
      for (size_t i = 0; i < inputs_.size(); ++i) ends[i] = inputs_[i].sent;
      return ends;
    }
    const bool is_first = WithKeyOrder(shape_.key_type, shape_.order, [&](const auto& order) {
      using Bits = decltype(order.Encode(0));
      return least == nullptr || order.Before(Load<Bits>(input.last_key.data()), Load<Bits>(least->last_key.data()));
    });
    if (is_first) least = &input;
  }
  if (least == nullptr) return ends;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    if (&input == least || ends[i] == input.sent) continue;
    Input part = input;
    part.count = ends[i];
    CORANK_ASSIGN_OR_RETURN(
        ends[i], Bound(part, &input < least ? SearchBound::kUpper : SearchBound::kLower, least->last_key.data()));
  }
  return ends;
}

// The row of an input, `sent` or later, that is the lower or upper bound of `key`.
absl::StatusOr<int64_t> ChunkMerger::Bound(const Input& input, SearchBound bound, const char* key) {
  const int64_t key_bytes = shape_.key_bytes;
  if (!in_core_) {
    return WithKeyOrder(shape_.key_type, shape_.order, [&](const auto& order) {
      using Bits = decltype(order.Encode(0));
      int64_t begin = input.sent, end = input.count;
      while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        const auto at = Load<Bits>(input.keys() + middle * key_bytes), wanted = Load<Bits>(key);
        const bool is_before = bound == SearchBound::kLower ? order.Before(at, wanted) : !order.Before(wanted, at);
        (is_before ? begin : end) = is_before ? middle + 1 : middle;
      }
      return begin;
    });
  }
  EngineStream& stream = lane_->stream();
  CORANK_RETURN_IF_ERROR(stream.Begin());
  auto args = shape_.ArgsOf<SearchArgs>();
  args.bound = bound;
  args.haystack = input.keys() + input.sent * key_bytes;
  args.haystack_count = input.count - input.sent;
  args.needle_count = 1;
  args.check_sorted = false;
  CORANK_ASSIGN_OR_RETURN(void* const h_key, stream.AllocateHost(key_bytes));
  std::memcpy(h_key, key, static_cast<size_t>(key_bytes));
  CORANK_ASSIGN_OR_RETURN(args.needles, stream.Upload(h_key, key_bytes));
  CORANK_ASSIGN_OR_RETURN(const ResultBuffer position, stream.AllocateResult(kPositionBytes));
  args.positions_out = position.device;
  OperatorReport report;
  absl::Status enqueued = stream.EndCopyIn();
  if (enqueued.ok()) enqueued = stream.Search(args, &report);
  if (enqueued.ok()) enqueued = stream.EndKernels();
  if (enqueued.ok()) enqueued = stream.Download(position, kPositionBytes);
  CORANK_RETURN_IF_ERROR(FinishStream(stream, enqueued, stats_));
  if (IndexBytes(args.haystack_count) == sizeof(uint32_t)) {
    return input.sent + static_cast<int64_t>(*static_cast<const uint32_t*>(position.host));
  }
  return input.sent + static_cast<int64_t>(*static_cast<const uint64_t*>(position.host));
}

}  // namespace corank
