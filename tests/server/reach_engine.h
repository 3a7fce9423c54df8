// The CPU engine with the reach of a GPU: operators fail where what they read or write lies in memory of the host that
// the engine has neither allocated, uploaded nor pinned.
#ifndef CORANK_TESTS_SERVER_REACH_ENGINE_H_
#define CORANK_TESTS_SERVER_REACH_ENGINE_H_

#include "server/execute/engine_choice.h"

namespace corank::testing {

/// Two threads, as CpuEngine. Out of reach: INTERNAL, names the operator.
ChosenEngine ReachEngine();

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_REACH_ENGINE_H_
