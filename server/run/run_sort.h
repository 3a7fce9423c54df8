// The runs of a streamed sort: pieces of the array that are sorted while later ones arrive.
#ifndef CORANK_SERVER_RUN_RUN_SORT_H_
#define CORANK_SERVER_RUN_RUN_SORT_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/run/chunk_pipe.h"
#include "server/run/engine_stream_ring.h"
#include "server/run/job_memory.h"
#include "server/run/run_merge.h"

namespace corank {

/// A sort of whole streamed arrays: keys alone, with values, or with their row numbers.
struct StreamedSort {
  RowShape
      shape;  // its values are the request's values, or the row numbers: unsigned, 4 or 8 bytes, as wide for all rows
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  int64_t limit = -1;                  // of the sorted rows; -1: all. Not 0
  std::string field = "keys";          // named by errors about too little memory
  size_t keys_input = 0;               // indices of ChunkPipe::inputs
  std::optional<size_t> values_input;  // set if rows have values other than indices
  bool want_keys = true;
  std::optional<uint32_t> keys_output = 0;    // stream_ids; none: the rows are few and go into the answer
  std::optional<uint32_t> values_output = 0;  // for the values or the indices
  int64_t parts = 1;                          // number of calls that send chunks concurrently; 0: not in chunks

  /// Whether the values are row numbers, which are generated here. The array's length must then be known.
  bool with_indices() const { return shape.value_bytes > 0 && !values_input; }
  int64_t ResultCount(int64_t count) const { return limit >= 0 && limit < count ? limit : count; }
};

/// Takes chunks in order of arrival and sorts each piece of the array once it is complete. Pieces lie in device memory
/// if the array takes at most half of the job's share of it, otherwise in pinned host memory. Used by the lane's
/// thread. Nothing is in progress on the lane's streams after destruction.
class RunSorter {
 public:
  /// `piece_bytes`: least size of a piece, if the device memory allows it. The pointees outlive the sorter.
  RunSorter(const StreamedSort& sort, const std::vector<StreamInput>& inputs, int64_t piece_bytes, JobMemory* memory,
            Lane* lane, v1::RequestStats* stats);

  /// Copies the chunks, returns their memory, and sorts complete pieces.
  absl::Status Add(std::vector<InputChunk> chunks);
  /// Takes the whole array at once instead of chunks, from pinned memory that must not change before Finish. A piece is
  /// uploaded while its predecessor is sorted. The array's length is known.
  absl::Status AddAll(const std::array<const char*, 2>& rows);
  /// After the last chunk: sorts the rest. The runs are in the order of the array.
  absl::StatusOr<std::vector<SortedRun>> Finish();

  /// Rows of the array; -1: unknown.
  static int64_t Count(const StreamedSort& sort, const std::vector<StreamInput>& inputs);
  /// Upper bounds of the memory for sorting `count` rows, including the merge in tiles of `tile_bytes`: device memory,
  /// at most the job's share, and pinned memory.
  static int64_t DeviceBytes(const StreamedSort& sort, int64_t count, int64_t piece_bytes, int64_t tile_bytes,
                             const JobMemory& memory, const Engine& engine);
  static int64_t HostBytes(const StreamedSort& sort, int64_t count, int64_t piece_bytes, const JobMemory& memory);

  /// The algorithm of the first piece. AUTO may choose another one for each piece.
  SortAlgorithm algorithm() const { return algorithm_; }
  bool out_of_core() const { return !in_core_; }

 private:
  struct Piece {
    int64_t first = 0;
    int64_t count = 0;
    std::array<int64_t, 2> filled = {};  // keys, values: elements received
    std::array<std::shared_ptr<StreamBlock>, 2> data;
  };

  // A piece in progress on a stream.
  struct Upload {
    Piece* piece = nullptr;
    EngineStream* stream = nullptr;
    std::shared_ptr<OperatorReport> report;
    std::array<void*, 2> from = {}, to = {};
  };

  int Columns() const { return sort_.shape.value_bytes > 0 ? 2 : 1; }
  int InputColumns() const { return sort_.values_input ? 2 : 1; }
  int64_t ElementBytes(int column) const { return column == 0 ? sort_.shape.key_bytes : sort_.shape.value_bytes; }
  absl::Status CopyIn(EngineStream& stream, const InputChunk& chunk, std::vector<Piece*>& complete);
  absl::Status CountsDiffer(int64_t element) const;
  absl::StatusOr<Piece*> PieceAt(int64_t element);
  int64_t PieceCount(int64_t first) const;
  // Takes a block of the kind of memory that holds pieces.
  absl::StatusOr<std::shared_ptr<StreamBlock>> TakeBlock(int64_t bytes);
  absl::Status SortAll(std::vector<Piece*>& complete);
  absl::Status Sort(Piece& piece);
  absl::Status SortOnDevice(Piece& piece);
  absl::StatusOr<Upload> StartUpload(Piece& piece, const std::array<const char*, 2>& rows);
  absl::Status SortUploaded(const Upload& upload);
  absl::Status SortRows(EngineStream& stream, const Piece& piece, const std::array<void*, 2>& from,
                        const std::array<void*, 2>& to, OperatorReport* report);
  void WhenSorted(const std::array<std::shared_ptr<StreamBlock>, 2>& unsorted,
                  const std::shared_ptr<OperatorReport>& report);
  // Bytes of a column for those rows of the piece that may be among the first.
  int64_t SortedBytes(const Piece& piece, int column) const {
    return sort_.ResultCount(piece.count) * ElementBytes(column);
  }
  void NoteAlgorithm(const OperatorReport& report);
  absl::Status Spill();

  const StreamedSort sort_;
  const std::vector<StreamInput>& inputs_;
  const int64_t piece_bytes_;
  JobMemory* const memory_;
  Lane* const lane_;
  v1::RequestStats* const stats_;
  int64_t count_ = -1;  // of the array; -1: unknown
  bool in_core_ = true;
  SortAlgorithm algorithm_ = SortAlgorithm::kAuto;
  std::map<int64_t, Piece> pieces_;                  // by first
  std::vector<std::shared_ptr<StreamBlock>> spare_;  // memory of sorted pieces, of the kind that holds pieces
  EngineStreamRing turns_;                           // the last member: finishes before the others are destroyed
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_RUN_SORT_H_
