#include "kernels/engine/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstddef>
#include <fstream>

namespace corank {
namespace {

// The calls have no other library than libnuma, which is not needed for anything else.
template <typename Nodes>
bool SetPolicy(int mode, const Nodes& nodes) {
  return syscall(SYS_set_mempolicy, mode, nodes.data(), nodes.size() * sizeof(nodes[0]) * CHAR_BIT) == 0;
}

template <typename Nodes>
bool GetPolicy(int* mode, Nodes& nodes) {
  return syscall(SYS_get_mempolicy, mode, nodes.data(), nodes.size() * sizeof(nodes[0]) * CHAR_BIT, nullptr, 0) == 0;
}

// Whether nobody chose where memory comes from. Under numactl --membind, a preference would undo the user's choice.
bool IsDefault(int mode) { return mode == MPOL_DEFAULT || mode == MPOL_LOCAL; }

std::string LineOf(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  return line;
}

}  // namespace

int NumaNodeOf(const std::string& pci_bus_id, const std::string& sys) {
  // Such as "0", "0-1" or "0,2".
  const std::string online = LineOf(sys + "/devices/system/node/online");
  if (online.find_first_of(",-") == std::string::npos) return -1;
  std::string id = pci_bus_id;
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return std::tolower(c); });
  int node = -1;
  std::ifstream(sys + "/bus/pci/devices/" + id + "/numa_node") >> node;
  return node;
}

PreferNumaNode::PreferNumaNode(int node) {
  constexpr int kBits = sizeof(unsigned long) * CHAR_BIT;  // NOLINT(google-runtime-int)
  Nodes nodes{};
  if (node < 0 || node >= static_cast<int>(nodes.size()) * kBits) return;
  if (!GetPolicy(&mode_before_, nodes_before_) || !IsDefault(mode_before_)) return;
  nodes[static_cast<size_t>(node / kBits)] = 1UL << node % kBits;
  is_set_ = SetPolicy(MPOL_PREFERRED, nodes);
}

PreferNumaNode::~PreferNumaNode() {
  if (is_set_) SetPolicy(mode_before_, nodes_before_);
}

bool PreferNumaNode::IsAllowed() {
  int mode = 0;
  Nodes nodes{};
  return GetPolicy(&mode, nodes) && IsDefault(mode) && SetPolicy(mode, nodes);
}

}  // namespace corank
