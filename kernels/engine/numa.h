// Memory of the NUMA node to which a device is attached.
#ifndef CORANK_KERNELS_ENGINE_NUMA_H_
#define CORANK_KERNELS_ENGINE_NUMA_H_

#include <array>
#include <string>

namespace corank {

/// The node of a PCI device, such as "0000:0f:00.0", in any case. -1: unknown, or the host has one node. `sys`: the
/// place of sysfs.
int NumaNodeOf(const std::string& pci_bus_id, const std::string& sys = "/sys");

/// While it exists, memory that the thread touches first comes from a node that has room, `node` if possible. -1:
/// nothing changes. Nor does anything change where a container forbids it, or where the thread already has a policy, as
/// under numactl.
class PreferNumaNode {
 public:
  explicit PreferNumaNode(int node);
  ~PreferNumaNode();
  PreferNumaNode(const PreferNumaNode&) = delete;
  PreferNumaNode& operator=(const PreferNumaNode&) = delete;

  /// Whether the system lets the process choose, and the thread has no policy yet.
  static bool IsAllowed();

 private:
  using Nodes = std::array<unsigned long, 16>;  // NOLINT(google-runtime-int): the system call's

  bool is_set_ = false;
  int mode_before_ = 0;
  Nodes nodes_before_{};
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_NUMA_H_
