// Merges sorted runs on several devices, each of which makes a part of the result.
//
// Algorithm: cuts by rank divide the result into a part for each device, and these into tiles. While a device merges a
//            tile, the others send it the pieces of the next one, in turn, and the tile before leaves for the host.
//            Owners send, because links carry more when all GPUs send than when all fetch.
// Runs in the devices' memory: EngineStream::SplitRuns or KeyCuts finds the cuts, once. The host waits for them. A
//            sorted array in parts on several devices is a run for each part. Meanwhile each device checks the order of
//            its runs, and the host that of their ends.
// Runs in host memory: the host finds the cuts of a tile when it enqueues it (CoRanks). It never waits.
// Work: one merge of all rows of the result.
// Balance: exact, whatever the keys are. There is no sample, so neither skew nor equal keys matter.
// Stability: equal keys keep the order of the runs and, within a run, of its rows.
#ifndef CORANK_KERNELS_ENGINE_SHARDED_MERGE_H_
#define CORANK_KERNELS_ENGINE_SHARDED_MERGE_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "kernels/common/operators.h"
#include "kernels/engine/each_shard.h"
#include "kernels/engine/engine.h"

namespace corank {

/// A device's part of a result.
struct ShardResult {
  /// Streams of the device, which the caller begins and finishes: one merges, one copies pieces (out to other devices,
  /// or in from host memory), and one copies tiles to `h_keys` and `h_values`. Without the last, the part stays on the
  /// device.
  EngineStream* stream = nullptr;
  EngineStream* copier = nullptr;
  EngineStream* sender = nullptr;
  /// Rows, which continue the part of the shard before. The parts together are the result.
  int64_t count = 0;
  void* keys = nullptr;  // memory of the device for the part
  void* values = nullptr;
  char* h_keys = nullptr;  // host memory for the part; null: not wanted
  char* h_values = nullptr;
};

class ShardedMerge {
 public:
  static constexpr int kMaxShards = kMaxSplitInputs;
  static constexpr int kMaxRuns = kMaxSplitInputs;

  struct Options {
    KeyType key_type = KeyType::kUint32;
    Order order = Order::kAscending;
    MergeAlgorithm algorithm = MergeAlgorithm::kAuto;
    int32_t value_bytes = 0;  // 0: no values
    bool check_sorted = false;
    bool are_linked = true;  // the devices reach each other's memory. Copies to one device then take turns
    /// Least bytes of a tile. A shard has few tiles at most.
    int64_t tile_bytes = int64_t{32} << 20;
    int64_t offset = 0;  // rows of the merge before the result. Not of runs in host memory
    /// Where the runs lie: up to kMaxRuns in the memory of the shards' devices, or any number in host memory, at any
    /// alignment.
    bool is_on_host = false;
  };
  struct Run {
    const char* keys = nullptr;
    const char* values = nullptr;
    int64_t count = 0;
    size_t shard = 0;        // whose device has it; ignored in host memory
    bool continues = false;  // the array of the run before goes on; ignored in host memory
  };
  /// The first key that is out of order: the first run that has one, or that begins with one.
  struct Disorder {
    size_t run = 0;
    int64_t index = 0;
  };

  /// 1 to kMaxShards shards, each with streams of its own.
  ShardedMerge(const Options& options, std::vector<ShardResult> shards);

  /// Upper bound of the device memory that a shard's streams hand out. `count`: of the largest part. No run is longer
  /// unless it lies in host memory.
  static int64_t WorkspaceBytes(const Options& options, int64_t count, int runs, const Engine& engine);

  /// Upper bound of the cuts of that many shards.
  static int64_t MostCuts(const Options& options, int64_t count, int shards);

  /// Call one of these, then Merge. If one fails, or the work is not wanted any more, finish the streams of all shards.
  /// They return the streams' errors.

  /// Takes runs in the shards' memory, finds the cuts, and waits for them. `are_ready`: points after which the runs are
  /// there. `stream`: of any of the devices, but not one of the shards'. It begins and finishes here. Each shard's
  /// stream has its own runs by now. Runs that are out of order make the result a permutation of their rows.
  absl::Status Cut(std::vector<Run> runs, std::vector<const void*> are_ready, EngineStream& stream);
  /// The same for devices that do not reach each other's memory (KeyCuts), without Options::check_sorted. The host
  /// waits twice. `streams`: for each run one of its device, but none of the shards'.
  absl::Status CutBySamples(std::vector<Run> runs, std::vector<const void*> are_ready,
                            const std::vector<EngineStream*>& streams);
  /// Takes runs in host memory, which the caller keeps until all streams have finished. The result has all their rows.
  /// Finds where the parts begin. Runs that are out of order or change meanwhile make the result wrong, but no access
  /// is out of bounds.
  void CutOnHost(std::vector<Run> runs);

  /// Enqueues copies and merges, and ends the streams' phases. Each shard's stream has its part then. Finish all
  /// streams before one of them begins again.
  absl::Status Merge();

  /// Valid once all streams have finished. Whether all runs were in order, as far as Options::check_sorted says.
  bool in_order() const;
  /// The same for runs in the shards' memory, where it tells the key.
  std::optional<Disorder> disorder() const;
  /// What the merge of the first tile found; there is one.
  const OperatorReport& report() const;

 private:
  struct Rows {
    char* keys = nullptr;
    char* values = nullptr;
  };
  // One tile of a shard's part.
  struct Tile {
    int64_t first = 0;  // row of the part
    int64_t count = 0;
    size_t cut = 0;                       // the number of its first cut; the next one ends it
    std::vector<MergeInput> pieces;       // by run; the merge reads them until it ends
    std::vector<const void*> are_copied;  // points after which the pieces are there
    const void* is_merged = nullptr;
    OperatorReport report;
  };

  // What Options::check_sorted finds in a run of a shard's memory. Runs without keys have no ends.
  struct Check {
    OperatorReport report;
    const char* h_first = nullptr;
    const char* h_last = nullptr;
  };

  size_t size() const { return shards_.size(); }
  std::vector<MergeInput> KeysOfRuns() const;
  int64_t* CutAt(size_t cut) { return cuts_.data() + cut * runs_.size(); }
  void CutOnHost(const int64_t* begin, int64_t rows, const int64_t* most, int64_t* end);
  void CheckOrderAt(const int64_t* cut);
  absl::Status CheckRun(const Run& run, Check* check);
  void CutAnywhere();
  absl::Status PrepareCopies(size_t shard);
  absl::Status AwaitBuffers(size_t shard);
  void CutTileOnHost(size_t shard, size_t number);
  std::vector<MergeInput> PiecesOf(size_t shard, size_t number);
  absl::Status CopyRows(EngineStream& stream, const void* d_to, const char* from, int64_t bytes) const;
  absl::Status CopyPiecesTo(size_t shard, size_t to, size_t number);
  absl::Status SendPieces(size_t number);
  absl::Status MergeTile(size_t shard, size_t number);
  absl::Status MergeFromHost(size_t shard);
  absl::Status SendAllPieces(size_t tiles, Barrier& barrier);
  absl::Status MergeTiles(size_t shard, size_t tiles, Barrier& barrier);
  absl::Status Send(const ShardResult& to, const Tile& tile) const;

  const Options options_;
  const int64_t key_bytes_;
  const std::vector<ShardResult> shards_;
  std::vector<Run> runs_;
  std::vector<Check> checks_;               // by run; empty: not checked
  std::vector<const void*> are_ready_;      // points of the shards' streams
  std::vector<std::vector<Tile>> tiles_;    // by shard
  std::vector<std::vector<Rows>> buffers_;  // by shard
  // By shard: points of the copiers after which the memory of the buffers is there for other streams too.
  std::vector<const void*> are_allocated_;
  // By shard: the point of the last copy so far to its device. Over links, the next one waits for it: two devices that
  // send to one at a time halve each other's rate, and go on to the next one together. Through the host, the wait would
  // keep buses idle.
  std::vector<const void*> last_copies_;
  std::vector<int64_t> positions_;    // rows of the result before each cut
  std::vector<int64_t> cuts_;         // for each cut a row of each run
  std::atomic<bool> in_order_{true};  // across cuts
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_SHARDED_MERGE_H_
