// Sorts and merges of large arrays in shared memory, in pieces: while one is copied in, another is worked on and a
// third is copied out.
#ifndef CORANK_SERVER_EXECUTE_SHARED_PIECES_H_
#define CORANK_SERVER_EXECUTE_SHARED_PIECES_H_

#include <cstdint>
#include <memory>

#include "server/execute/operation.h"
#include "server/execute/stream_memory.h"

namespace corank {

/// An operation that does the same in pieces, where `operation` is a Sort of whole arrays, or a Merge, from shared
/// memory to shared memory; otherwise `operation` itself. Small arrays of it may come, and go, in messages. A sort
/// keeps its runs within `memory`, and works out of core where the device memory of it is too small; a merge needs room
/// for a few tiles only. `piece_bytes`: of a sort's piece, at least.
std::unique_ptr<Operation> InPieces(std::unique_ptr<Operation> operation, std::shared_ptr<StreamMemory> memory,
                                    int64_t piece_bytes);

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_SHARED_PIECES_H_
