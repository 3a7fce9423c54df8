// The CPU engine with the restrictions of a GPU: operators fail if they read or write host memory that the engine has
// not allocated, uploaded or pinned.
#ifndef CORANK_TESTS_SERVER_REACH_ENGINE_H_
#define CORANK_TESTS_SERVER_REACH_ENGINE_H_

#include "server/run/engine_choice.h"

namespace corank::testing {

/// Two threads, like CpuEngine. Memory out of reach gives INTERNAL with the operator's name.
ChosenEngine ReachEngine();

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_REACH_ENGINE_H_
