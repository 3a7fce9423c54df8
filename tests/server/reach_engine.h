// The CPU engine with the reach of a GPU: sorts, merges and cuts of runs fail where their inputs lie in memory of the
// host that was neither allocated by the engine nor pinned.
#ifndef CORANK_TESTS_SERVER_REACH_ENGINE_H_
#define CORANK_TESTS_SERVER_REACH_ENGINE_H_

#include "server/execute/engine_choice.h"

namespace corank::testing {

/// Two threads, as CpuEngine. Out of reach: INTERNAL, names the operator.
ChosenEngine ReachEngine();

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_REACH_ENGINE_H_
