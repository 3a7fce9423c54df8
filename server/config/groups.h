// The groups of settings, each in a file of its own. Groups() of setting.h lists them.
#ifndef CORANK_SERVER_CONFIG_GROUPS_H_
#define CORANK_SERVER_CONFIG_GROUPS_H_

#include "server/config/setting.h"

namespace corank {

Group ListenGroup();
Group EngineGroup();
Group QueueGroup();
Group MemoryGroup();
Group StreamsGroup();
Group SecurityGroup();
Group ConnectionsGroup();
Group LogGroup();
Group ProcessGroup();

}  // namespace corank

#endif  // CORANK_SERVER_CONFIG_GROUPS_H_
