// The connection of two devices.
#ifndef CORANK_SERVER_OBSERVE_DEVICE_LINK_H_
#define CORANK_SERVER_OBSERVE_DEVICE_LINK_H_

namespace corank {

struct DeviceLink {
  int nvlinks = 0;          // between them, or of each to the switches between them
  bool shares_bus = false;  // both reach the host through one PCIe switch
};

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_DEVICE_LINK_H_
