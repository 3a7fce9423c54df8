// The streamed rows of service_bench: operators by Execute on corankd, and the same bytes through the echo server, in
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

/// The client of corankd. The bare client always calls the echo servers.
enum class StreamClient {
  kBare,     // stream_client.h
  kLibrary,  // client/cpp, which returns one vector
};

/// One line of the service table.
struct StreamLoad {
  std::string name;      // "Sort 256 MiB streamed, 8 streams"
  int64_t keys = 0;      // u32 keys of an array
  int streams = 1;       // concurrent arrays, each on its own connection
  int parts = 1;         // connections that share one array
  int echo_streams = 1;  // concurrent arrays to the echo server
  double goal_ratio = 0;
  StreamOperator op = StreamOperator::kSort;
  StreamClient client = StreamClient::kBare;
  bool is_out_of_core = false;  // on a server that gives a stream only DeviceBytesOfPieces of device memory
  double round_share = 1;       // share of the length of a round
};

std::vector<StreamLoad> StreamLoads();

/// Device memory of one stream that makes corankd work on arrays of this many u32 in pieces: a quarter of their bytes,
/// or the least that corankd accepts.
int64_t DeviceBytesOfPieces(int64_t keys);

/// Checks one answer of each server, warms up, alternates and makes the row: payload bytes a second, each way, from the
/// start of the first call to the end of the last. `chunk_bytes`: the size of the bare client's chunks. The details
/// contain the stages that corankd reports, the CPU time of a gigabyte, and the rate of an echo that holds its answer
/// until all is sent: the transport's limit for a server that needs all input before it answers.
absl::StatusOr<Row> MeasureStreamLoad(const StreamLoad& load, const LoadOptions& options, int64_t chunk_bytes);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_STREAM_ROWS_H_
