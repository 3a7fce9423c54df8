// The groups of settings, each in a file of its own. Groups() of setting.h lists them.
#ifndef CORANK_SERVER_CONFIG_GROUPS_H_
#define CORANK_SERVER_CONFIG_GROUPS_H_

#include "server/config/setting.h"

namespace corank {

const Group& ListenGroup();
const Group& EngineGroup();
const Group& QueueGroup();
const Group& MemoryGroup();
const Group& StreamsGroup();
const Group& SecurityGroup();
const Group& ConnectionsGroup();
const Group& LogGroup();
const Group& ProcessGroup();

}  // namespace corank

#endif  // CORANK_SERVER_CONFIG_GROUPS_H_
