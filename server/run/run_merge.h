// Merges sorted runs. Co-rank cuts the merge into tiles, which are made and sent one after the other.
#ifndef CORANK_SERVER_RUN_RUN_MERGE_H_
#define CORANK_SERVER_RUN_RUN_MERGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/common/types.h"
#include "server/run/job_memory.h"
#include "server/run/operation.h"

namespace corank {

/// The columns of a row.
struct RowShape {
  KeyType key_type = KeyType::kUint32;
  Order order = Order::kAscending;
  int32_t key_bytes = 4;  // of any element of that size if nothing is merged
  int32_t value_bytes = 0;

  int64_t row_bytes() const { return int64_t{key_bytes} + value_bytes; }
};

/// Consecutive rows. Keeps their memory alive.
struct SortedRun {
  const char* keys = nullptr;
  const char* values = nullptr;
  int64_t count = 0;
  bool on_device = true;  // otherwise in pinned host memory
  std::vector<std::shared_ptr<const void>> memory;
};

/// Receives tiles.
class TileSink {
 public:
  struct Tile {
    char* keys = nullptr;  // null: not wanted
    char* values = nullptr;
    bool on_device = false;  // otherwise in host memory, pinned unless the rows are few
    std::shared_ptr<void> memory;
  };
  virtual ~TileSink() = default;
  /// Memory for rows [first, first + count) of the keys, the values or both. Tiles come in order. With `wait`, waits
  /// for the memory; without, the tile may have none.
  virtual absl::StatusOr<Tile> Take(int64_t first, int64_t count, bool wait) = 0;
  /// The tile is complete. Called in order.
  virtual void Done(int64_t first, int64_t count, Tile tile) = 0;
};

/// Places tiles one after another in existing memory. Keys or values may be null if unwanted or absent.
class PlaceSink final : public TileSink {
 public:
  PlaceSink(const RowShape& shape, char* keys, char* values, bool on_device)
      : shape_(shape), keys_(keys), values_(values), on_device_(on_device) {}
  absl::StatusOr<Tile> Take(int64_t first, int64_t, bool) override {
    return Tile{At(keys_, first * shape_.key_bytes), At(values_, first * shape_.value_bytes), on_device_, nullptr};
  }
  void Done(int64_t, int64_t, Tile) override {}

 private:
  static char* At(char* begin, int64_t bytes) { return begin == nullptr ? nullptr : begin + bytes; }

  const RowShape shape_;
  char* const keys_;
  char* const values_;
  const bool on_device_;
};

/// Merges 1 to kMaxSplitInputs runs in tiles of `tile_rows` rows, with some streams in turn. Stable: equal keys come
/// from the earlier run first. A single run is copied whatever its rows are. Nothing is in progress when this returns.
/// `in_order`: if not null, set to whether all runs were in order, as far as tiles were made; if they were not, the
/// tiles are invalid.
absl::Status MergeInTiles(Lane& lane, const RowShape& shape, const std::vector<SortedRun>& runs, int64_t tile_rows,
                          TileSink& sink, v1::RequestStats* stats, bool* in_order = nullptr);

/// The algorithm that merges each tile, whichever one a request asks for.
inline constexpr MergeAlgorithm kTileMergeAlgorithm = MergeAlgorithm::kMergePath;

/// Upper bound of the device memory that MergeInTiles takes on the lane's streams. `tile_bytes`: of a tile;
/// `on_device`: whether the runs are in device memory.
int64_t TileMemory(const Engine& engine, const RowShape& shape, int64_t runs, int64_t rows, int64_t tile_bytes,
                   bool on_device = true);

/// MergeInTiles for the first `rows` rows of the merge only. Returns how many rows of each run they take.
absl::StatusOr<std::vector<int64_t>> MergeFirstRows(Lane& lane, const RowShape& shape,
                                                    const std::vector<SortedRun>& runs, int64_t rows, int64_t tile_rows,
                                                    TileSink& sink, v1::RequestStats* stats);

/// Merges neighbours until at most kMaxSplitInputs runs are left, in the same kind of memory. `field`: named by errors
/// about too little memory.
absl::Status ReduceRuns(Lane& lane, const RowShape& shape, JobMemory& memory, absl::string_view field,
                        std::vector<SortedRun>& runs, v1::RequestStats* stats);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_RUN_MERGE_H_
