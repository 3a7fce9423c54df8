#include "server/run/run_sort.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/run/stream_options.h"

namespace corank {
namespace {

// One stream uploads, one sorts and one, out of core, downloads.
constexpr int kSortStreams = 3;
// A piece's share of a job's device memory. Several pieces are on the device at once when runs are not.
constexpr int64_t kPieceShare = 16;
// Number of runs of an array of known length. For an unknown length, pieces grow with the received rows.
constexpr int64_t kRuns = 16;
constexpr int64_t kGrowth = 3;

// Rows of the piece that starts at row `first`; `count`: of the array, -1 if unknown.
int64_t PieceRows(int64_t row_bytes, int64_t count, int64_t first, int64_t piece_bytes, const JobMemory& memory) {
  const int64_t most = std::max<int64_t>(1, memory.max_device_bytes() / kPieceShare / row_bytes);
  const int64_t least = std::max<int64_t>(1, piece_bytes / row_bytes);
  const int64_t wanted = count >= 0 ? (count + kRuns - 1) / kRuns : first / kGrowth;
  const int64_t rows = std::min(most, std::max(least, wanted));
  return count >= 0 ? std::min(rows, count - first) : rows;
}

}  // namespace

int64_t RunSorter::Count(const SortOperation::Spec& sort) {
  const auto count_of = [](const Operand& array) { return array.has_count ? array.count : -1; };
  return sort.values ? std::max(count_of(sort.keys), count_of(*sort.values)) : count_of(sort.keys);
}

RowShape RunSorter::ShapeOf(const SortOperation::Spec& sort) {
  int32_t value_bytes = sort.values ? sort.values->element_bytes : 0;
  if (sort.want_indices) {
    // Without a count, there may be any number of keys.
    value_bytes = sort.keys.has_count ? IndexBytes(sort.keys.count - 1) : sizeof(uint64_t);
    if (sort.index_bytes > 0) value_bytes = sort.index_bytes;
  }
  return {KeyTypeOf(sort.keys.type), sort.order, sort.keys.element_bytes, value_bytes};
}

SortArgs RunSorter::ArgsOf(const SortOperation::Spec& sort, int64_t count) {
  const RowShape shape = ShapeOf(sort);
  auto args = shape.ArgsOf<SortArgs>();
  args.algorithm = sort.algorithm;
  args.count = count;
  args.limit = sort.kept_of_parts();
  args.value_bytes = shape.value_bytes;
  return args;
}

int64_t RunSorter::WorkspaceBytes(SortArgs args, const Engine& engine) {
  char any = 0;  // only the presence of arrays matters
  args.keys_out = &any;
  if (args.value_bytes > 0) args.values_in = args.values_out = &any;
  return engine.WorkspaceBytes(args);
}

int64_t RunSorter::DeviceBytes(const SortOperation::Spec& sort, int64_t piece_bytes, int64_t tile_bytes,
                               const JobMemory& memory, const Engine& engine) {
  const RowShape shape = ShapeOf(sort);
  const int64_t count = Count(sort), row_bytes = shape.row_bytes(), most = memory.max_device_bytes();
  if (count < 0 || count > memory.MostRowsInCore(row_bytes)) return most;
  if (count == 0) return 0;
  const int64_t piece_rows = PieceRows(row_bytes, count, 0, piece_bytes, memory);
  const int64_t pieces = (count + piece_rows - 1) / piece_rows;
  const int64_t workspace = WorkspaceBytes(ArgsOf(sort, piece_rows), engine);
  // Each piece has at most two blocks, before and after its sort.
  const int64_t need = 2 * count * row_bytes + std::min<int64_t>(kSortStreams, pieces) * workspace +
                       TileMemory(engine, shape, pieces, count, tile_bytes);
  return std::min(most, need);
}

int64_t RunSorter::HostBytes(const SortOperation::Spec& sort, int64_t parts, int64_t piece_bytes,
                             const JobMemory& memory) {
  const int64_t count = Count(sort), row_bytes = ShapeOf(sort).row_bytes();
  if (count < 0) return memory.max_host_bytes();
  // Sums of sizes that callers only claim may not fit in 63 bits.
  if (count > kMostPlausibleBytes) return std::numeric_limits<int64_t>::max();
  if (count <= memory.MostRowsInCore(row_bytes)) return 0;
  const int64_t piece_rows = PieceRows(row_bytes, count, 0, piece_bytes, memory);
  if (const int64_t kept = sort.kept_of_parts(); kept >= 0 && kept < piece_rows) {
    // Rows that cannot be among the first are dropped with their piece. Beside the pieces in progress, a part may hold
    // three: its first one, which waits for the preceding part, the full one, and the next. Values may arrive after all
    // keys.
    const int64_t pieces = (count + piece_rows - 1) / piece_rows;
    int64_t open = parts == 0 ? 0 : std::min(pieces, 3 * parts + kSortStreams);
    if (sort.values) open = parts == 0 ? 0 : pieces;
    const int64_t times = pieces > kMaxSplitInputs ? 2 : 1;  // RunMerger::Reduce
    return (open * piece_rows + times * pieces * kept) * row_bytes;
  }
  // RunMerger::Reduce: a group of runs exists twice while it is merged, and groups grow with each round.
  int64_t again = 0;
  for (int64_t rows = piece_rows; (count + rows - 1) / rows > kMaxSplitInputs; rows = again) {
    again = rows * kMaxSplitInputs;
  }
  return (count + again) * row_bytes;
}

RunSorter::RunSorter(const SortOperation::Spec& sort, const std::vector<RowSource::Array>& arrays, int64_t piece_bytes,
                     JobMemory* memory, Lane* lane, v1::RequestStats* stats)
    : sort_(sort),
      arrays_(arrays),
      shape_(ShapeOf(sort)),
      piece_bytes_(piece_bytes),
      memory_(memory),
      lane_(lane),
      stats_(stats),
      count_(Count(sort)),
      in_core_(count_ <= memory->MostRowsInCore(shape_.row_bytes())),
      turns_(*lane, kSortStreams, stats) {}

absl::Status RunSorter::AddAll(RowSource& source) {
  if (source.is_complete()) return AddAll({arrays_[0].rows, sort_.values ? arrays_[1].rows : nullptr});
  return source.ReceiveAll(*lane_, [this](std::vector<InputChunk> chunks) { return Add(std::move(chunks)); });
}

absl::Status RunSorter::Add(std::vector<InputChunk> chunks) {
  EngineStream& stream = lane_->stream();
  std::vector<Piece*> complete;
  CORANK_RETURN_IF_ERROR(stream.Begin());
  absl::Status copied;
  for (size_t i = 0; i < chunks.size() && copied.ok(); ++i) {
    copied = CopyIn(stream, chunks[i], complete);
    if (!in_core_ && copied.ok()) copied = SortAll(complete);  // frees room for the next one
  }
  CORANK_RETURN_IF_ERROR(FinishCopyIn(stream, copied, stats_));
  chunks.clear();  // lets the callers continue
  return SortAll(complete);
}

absl::Status RunSorter::SortAll(std::vector<Piece*>& complete) {
  for (Piece* const piece : complete) CORANK_RETURN_IF_ERROR(Sort(*piece));
  complete.clear();
  return absl::OkStatus();
}

absl::Status RunSorter::CopyIn(EngineStream& stream, const InputChunk& chunk, std::vector<Piece*>& complete) {
  const size_t column = chunk.input == 0 ? 0 : 1;
  const int64_t element_bytes = ElementBytes(column);
  const auto* from = static_cast<const char*>(chunk.bytes.get());
  const int64_t end = chunk.first_element + chunk.count;
  if (count_ >= 0 && end > count_) return CountsDiffer(end);
  for (int64_t element = chunk.first_element; element < end;) {
    CORANK_ASSIGN_OR_RETURN(Piece* const piece, PieceAt(element));
    std::shared_ptr<StreamBlock>& data = piece->data[column];
    if (data == nullptr) {
      CORANK_ASSIGN_OR_RETURN(data, TakeBlock(piece->count * element_bytes));
    }
    const int64_t count = std::min(end, piece->first + piece->count) - element;
    char* const to = data->data() + (element - piece->first) * element_bytes;
    if (in_core_) {
      CORANK_RETURN_IF_ERROR(stream.CopyToDevice(to, from, count * element_bytes));
    } else {
      std::memcpy(to, from, static_cast<size_t>(count * element_bytes));
    }
    from += count * element_bytes;
    element += count;
    piece->filled[column] += count;
    if (piece->filled[0] == piece->count && (InputColumns() == 1 || piece->filled[1] == piece->count)) {
      complete.push_back(piece);
    }
  }
  return absl::OkStatus();
}

absl::Status RunSorter::CountsDiffer(int64_t element) const {
  return InvalidField(
      absl::StrCat(arrays_[1].field, ".count"),
      absl::StrCat("must have as many elements as ", arrays_[0].field, ", but one of them ends at element ", element));
}

absl::StatusOr<RunSorter::Piece*> RunSorter::PieceAt(int64_t element) {
  auto next = pieces_.upper_bound(element);
  if (next != pieces_.begin()) {
    Piece& piece = std::prev(next)->second;
    if (element < piece.first + piece.count) return &piece;
  }
  // Arrays of unknown length arrive from the front: a new piece follows the last one.
  int64_t first = element;
  if (count_ >= 0) first -= element % PieceCount(0);
  const int64_t count = PieceCount(first);
  if (in_core_ && count_ < 0 && first + count > memory_->MostRowsInCore(shape_.row_bytes()))
    CORANK_RETURN_IF_ERROR(Spill());
  Piece& piece = pieces_[first];
  piece.first = first;
  piece.count = count;
  return &piece;
}

int64_t RunSorter::PieceCount(int64_t first) const {
  return PieceRows(shape_.row_bytes(), count_, first, piece_bytes_, *memory_);
}

absl::StatusOr<std::shared_ptr<StreamBlock>> RunSorter::TakeBlock(int64_t bytes) {
  const auto fits = [bytes](const std::shared_ptr<StreamBlock>& block) {
    return block->size_bytes() >= bytes && block->size_bytes() / 2 <= bytes;
  };
  const auto found = std::find_if(spare_.begin(), spare_.end(), fits);
  if (found == spare_.end()) {
    if (spare_.size() > 2 * kSortStreams) spare_.clear();  // of sizes that are no longer needed
    return in_core_ ? memory_->AllocateDevice(bytes, arrays_[0].field) : memory_->AllocateHost(bytes, arrays_[0].field);
  }
  std::shared_ptr<StreamBlock> block = std::move(*found);
  spare_.erase(found);
  return block;
}

absl::Status RunSorter::Sort(Piece& piece) {
  CORANK_RETURN_IF_ERROR(lane_->CheckWanted());
  std::array<const char*, 2> h_rows = {};
  for (size_t i = 0; i < h_rows.size() && !in_core_; ++i) {
    if (piece.data[i] != nullptr) h_rows[i] = piece.data[i]->data();
  }
  CORANK_ASSIGN_OR_RETURN(const Upload upload, StartUpload(piece, h_rows));
  return SortUploaded(upload);
}

absl::Status RunSorter::AddAll(const std::array<const char*, 2>& rows) {
  // A sort may wait to examine its keys, so start the upload of the next piece first.
  Upload uploading;
  for (int64_t first = 0; first < count_;) {
    CORANK_RETURN_IF_ERROR(lane_->CheckWanted());
    CORANK_ASSIGN_OR_RETURN(Piece* const piece, PieceAt(first));
    std::array<const char*, 2> begin = {};
    for (size_t i = 0; i < InputColumns(); ++i) {
      begin[i] = rows[i] + first * ElementBytes(i);
      piece->filled[i] = piece->count;
    }
    first += piece->count;
    CORANK_ASSIGN_OR_RETURN(const Upload next, StartUpload(*piece, begin));
    if (uploading.piece != nullptr) CORANK_RETURN_IF_ERROR(SortUploaded(uploading));
    uploading = next;
  }
  return uploading.piece == nullptr ? absl::OkStatus() : SortUploaded(uploading);
}

// In core, the sorted rows get their device memory here. Out of core, the piece may already have host memory for them,
// if rows arrived in chunks and all of them are kept.
absl::StatusOr<RunSorter::Upload> RunSorter::StartUpload(Piece& piece, const std::array<const char*, 2>& h_rows) {
  Upload upload;
  upload.piece = &piece;
  upload.report = std::make_shared<OperatorReport>();
  CORANK_ASSIGN_OR_RETURN(upload.stream, turns_.Next());
  std::array<std::shared_ptr<StreamBlock>, 2> unsorted;
  for (size_t i = 0; i < Columns(); ++i) {
    const int64_t bytes = piece.count * ElementBytes(i);
    if (in_core_) {
      unsorted[i] = piece.data[i];
      if (unsorted[i] == nullptr) {
        CORANK_ASSIGN_OR_RETURN(unsorted[i], TakeBlock(bytes));
      }
      CORANK_ASSIGN_OR_RETURN(piece.data[i], TakeBlock(SortedBytes(piece, i)));
      upload.from[i] = unsorted[i]->data();
      upload.to[i] = piece.data[i]->data();
    } else {
      CORANK_ASSIGN_OR_RETURN(upload.from[i], upload.stream->AllocateDevice(bytes));
      CORANK_ASSIGN_OR_RETURN(upload.to[i], upload.stream->AllocateDevice(SortedBytes(piece, i)));
      if (piece.data[i] != nullptr && SortedBytes(piece, i) == bytes) continue;
      unsorted[i] = std::move(piece.data[i]);
      CORANK_ASSIGN_OR_RETURN(piece.data[i], TakeBlock(SortedBytes(piece, i)));
    }
  }
  turns_.WhenDone([this, unsorted, report = upload.report] {
    for (const std::shared_ptr<StreamBlock>& block : unsorted) {
      if (block != nullptr) spare_.push_back(block);
    }
    if (algorithm_ == SortAlgorithm::kAuto) algorithm_ = report->sort_algorithm;
  });
  for (size_t i = 0; i < Columns(); ++i) {
    if (h_rows[i] == nullptr) continue;
    CORANK_RETURN_IF_ERROR(upload.stream->CopyToDevice(upload.from[i], h_rows[i], piece.count * ElementBytes(i)));
  }
  return upload;
}

absl::Status RunSorter::SortUploaded(const Upload& upload) {
  const Piece& piece = *upload.piece;
  EngineStream& stream = *upload.stream;
  SortArgs args = ArgsOf(sort_, piece.count);
  args.keys_in = upload.from[0];
  args.keys_out = upload.to[0];
  args.values_in = upload.from[1];
  args.values_out = upload.to[1];
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  if (sort_.want_indices) {
    CORANK_RETURN_IF_ERROR(
        stream.Iota(upload.from[1], shape_.value_bytes, sort_.first_index + piece.first, piece.count));
  }
  CORANK_RETURN_IF_ERROR(stream.Sort(args, upload.report.get()));
  CORANK_RETURN_IF_ERROR(stream.EndKernels());
  for (size_t i = 0; i < Columns() && !in_core_; ++i) {
    CORANK_RETURN_IF_ERROR(stream.CopyToHost(piece.data[i]->data(), upload.to[i], SortedBytes(piece, i)));
  }
  return absl::OkStatus();
}

// The array turned out to be too long, so all pieces move to host memory.
absl::Status RunSorter::Spill() {
  // Copies of chunks to the old memory are still in progress.
  CORANK_ASSIGN_OR_RETURN(const PhaseTimes times, lane_->stream().Finish());
  AddTimes(times, 0, stats_);
  CORANK_RETURN_IF_ERROR(lane_->stream().Begin());
  CORANK_RETURN_IF_ERROR(turns_.FinishAll());
  spare_.clear();
  for (auto& [first, piece] : pieces_) {
    for (size_t i = 0; i < Columns(); ++i) {
      if (piece.data[i] == nullptr) continue;
      CORANK_ASSIGN_OR_RETURN(std::shared_ptr<StreamBlock> host,
                              memory_->AllocateHost(piece.data[i]->size_bytes(), arrays_[0].field));
      CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, turns_.Next());
      turns_.WhenDone([kept = piece.data[i]] {});  // until the copy is done
      CORANK_RETURN_IF_ERROR(stream->CopyToHost(host->data(), piece.data[i]->data(), host->size_bytes()));
      piece.data[i] = std::move(host);
    }
  }
  in_core_ = false;
  return turns_.FinishAll();
}

absl::StatusOr<std::vector<SortedRun>> RunSorter::Finish() {
  for (auto& [first, piece] : pieces_) {
    if (InputColumns() == 2 && piece.filled[0] != piece.filled[1]) return CountsDiffer(first);
    if (piece.filled[0] == piece.count) continue;  // sorted or being sorted
    piece.count = piece.filled[0];
    CORANK_RETURN_IF_ERROR(Sort(piece));
  }
  CORANK_RETURN_IF_ERROR(turns_.FinishAll());
  spare_.clear();
  std::vector<SortedRun> runs;
  for (auto& [first, piece] : pieces_) {
    SortedRun run;
    rows_ += piece.count;
    run.count = ResultCount(piece.count);
    run.on_device = in_core_;
    run.keys = piece.data[0]->data();
    if (Columns() == 2) run.values = piece.data[1]->data();
    for (std::shared_ptr<StreamBlock>& block : piece.data) run.memory.push_back(std::move(block));
    runs.push_back(std::move(run));
  }
  pieces_.clear();
  return runs;
}

}  // namespace corank
