// The streamed rows of service_bench: operators by Execute against corankd, the same bytes through the echo server, in
// turn.
#ifndef CORANK_BENCH_SERVICE_STREAM_ROWS_H_
#define CORANK_BENCH_SERVICE_STREAM_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/harness/results.h"
#include "bench/service/inline_rows.h"
#include "bench/service/stream_work.h"

namespace corank::bench {

/// Who calls corankd. The echo servers are always called by the bare client.
enum class StreamClient {
  kBare,     // stream_client.h
  kLibrary,  // client/cpp, whose result is one vector
};

/// One line of the service table.
struct StreamLoad {
  std::string name;      // "Sort 256 MiB streamed, 8 streams"
  int64_t keys = 0;      // u32 keys of an array
  int streams = 1;       // arrays at the same time, each on a connection of its own
  int parts = 1;         // connections that share one array
  int echo_streams = 1;  // what is sent to the echo server at the same time, each an array
  double goal_ratio = 0;
  StreamOperator op = StreamOperator::kSort;
  StreamClient client = StreamClient::kBare;
  bool is_out_of_core = false;  // on a server that gives a stream the device memory of DeviceBytesOfPieces
  double round_share = 1;       // of the length of a round
};

std::vector<StreamLoad> StreamLoads();

/// Device memory for one stream with which arrays of so many u32 are worked on in pieces: a quarter of them, or the
/// least that corankd takes.
int64_t DeviceBytesOfPieces(int64_t keys);

/// Checks one answer of each server, warms up, alternates and makes the row: payload bytes a second, each way, from the
/// first call's start to the last one's end. `chunk_bytes`: of the chunks that the bare client sends. The details hold
/// the stages that corankd states, what CPU time a gigabyte takes, and the rate of an echo that is held back until all
/// has been sent: what this transport allows to a server that must have all before it answers.
absl::StatusOr<Row> MeasureStreamLoad(const StreamLoad& load, const LoadOptions& options, int64_t chunk_bytes);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_STREAM_ROWS_H_
