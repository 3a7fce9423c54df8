// Limits of streamed jobs.
#ifndef CORANK_SERVER_RUN_STREAM_OPTIONS_H_
#define CORANK_SERVER_RUN_STREAM_OPTIONS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace corank {

/// Data in one chunk of an answer, whatever the server receives: with its head the message must fit into the 4 MiB that
/// gRPC's clients receive by default, and larger chunks are no faster.
inline constexpr int64_t kAnswerChunkBytes = int64_t{1} << 20;

struct StreamOptions {
  /// Pinned memory that buffers the chunks of one call, and as much again for its answers.
  int64_t window_bytes = int64_t{64} << 20;
  /// Device memory that one request may take. Sorts and merges of more than half of it, sorts by columns or segments
  /// that need more than all of it, and searches and interval operators with streams of more than that, work out of
  /// core. 0: three quarters of the device's memory, divided by the number of lanes, at most four.
  int64_t max_device_bytes = 0;
  /// Host memory outside the windows that one request's arrays may take. 0: the memory of all streams, divided in the
  /// same way and by the number of devices.
  int64_t max_host_bytes = 0;
  /// Least size of a streamed sort's piece, if the device memory allows it.
  int64_t piece_bytes = int64_t{16} << 20;
  /// How long a job waits for a caller that neither sends nor reads.
  absl::Duration idle_timeout = absl::Minutes(1);
  /// How long the parts of a job wait for each other.
  absl::Duration part_patience = absl::Seconds(30);
  /// Most jobs whose parts wait for each other.
  int max_joining_jobs = 256;

  /// Replaces 0 by the derived values, for `lanes` concurrent requests on each of `devices` devices, the smallest of
  /// which has `device_bytes`, with `host_bytes` of host memory for all of them. With more than 4 lanes, not all of
  /// them can have their limit at once.
  StreamOptions Derived(int64_t device_bytes, int64_t host_bytes, int lanes, int devices) const;
  /// With derived values: the host memory that all jobs together may take.
  int64_t HostBudget(int lanes, int devices) const;
};

/// The largest piece of a stream's answer if its window has this many bytes.
int64_t TileBytes(int64_t window_bytes);
/// Least pinned memory that a stream of one part and unknown length takes from the host pool: room for a chunk and for
/// a piece of the answer. For windows of 4 MiB or more.
int64_t LeastStreamBytes(int64_t window_bytes, int64_t max_chunk_bytes);

/// Most parts of a job.
inline constexpr int kMaxParts = 64;
/// Most operations of a plan.
inline constexpr int kMaxPlanOperations = 16;
/// Arrays that claim more elements are refused by their bytes; sums for all others fit in 63 bits.
inline constexpr int64_t kMostPlausibleElements = int64_t{1} << 40;
/// More than any host or device has.
inline constexpr int64_t kMostPlausibleBytes = int64_t{1} << 50;
/// The greatest stream_id.
inline constexpr uint32_t kMaxStreamId = 1023;

}  // namespace corank

#endif  // CORANK_SERVER_RUN_STREAM_OPTIONS_H_
