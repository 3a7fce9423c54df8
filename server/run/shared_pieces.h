// Sorts and merges large arrays in shared memory in pieces: one is copied in while another is processed and a third is
// copied out.
#ifndef CORANK_SERVER_RUN_SHARED_PIECES_H_
#define CORANK_SERVER_RUN_SHARED_PIECES_H_

#include <cstdint>
#include <memory>

#include "server/run/job_memory.h"
#include "server/run/operation.h"

namespace corank {

/// If `operation` is a Sort of whole arrays or a Merge from shared memory to shared memory, returns an operation that
/// does the same in pieces; otherwise returns `operation`. Its small arrays may also be inline. A sort keeps its runs
/// within `memory`, and works out of core if that has too little device memory; a merge needs room for a few tiles
/// only. `piece_bytes`: least size of a sort's piece.
std::unique_ptr<Operation> InPieces(std::unique_ptr<Operation> operation, std::shared_ptr<JobMemory> memory,
                                    int64_t piece_bytes);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_SHARED_PIECES_H_
