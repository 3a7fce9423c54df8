package io.github.corank;

import io.github.corank.v1.RequestStats;

/**
 * The cost of an operator. Times of the server's stages are in nanoseconds; queue, copy in, kernel
 * and copy out add up to the time inside the server.
 *
 * @param operator the method, such as {@code Sort}
 * @param engine {@code cuda} or {@code cpu}
 * @param device the device, as the driver or the operating system names it
 * @param deviceOrdinal the number of the device among those of the server
 * @param algorithm the algorithm that the server used, such as {@code radix}; empty if there is no
 *     choice
 * @param queueNs from the arrival of the whole request to the start of its work
 * @param copyInNs copies to the device; 0 on the CPU engine
 * @param kernelNs kernels
 * @param copyOutNs copies from the device; 0 on the CPU engine
 * @param receiveNs for streams: from the first to the last chunk that the server took
 * @param sendNs for streams: from the first to the last chunk that the server sent
 * @param elapsedNs from the call to its end, measured by the client
 * @param batchSize requests that went to the device together
 * @param workspaceBytes device memory beside inputs and outputs
 * @param runs sorted runs that were merged at the end of a sort in pieces; otherwise 0
 * @param outOfCore whether arrays waited in host memory
 * @param attempts tries, the first one included
 * @param requestId the name of the request in the server's log
 */
public record Stats(
    String operator,
    String engine,
    String device,
    int deviceOrdinal,
    String algorithm,
    long queueNs,
    long copyInNs,
    long kernelNs,
    long copyOutNs,
    long receiveNs,
    long sendNs,
    long elapsedNs,
    int batchSize,
    long workspaceBytes,
    int runs,
    boolean outOfCore,
    int attempts,
    String requestId) {

  static Stats of(
      String operator,
      RequestStats found,
      String algorithm,
      long elapsedNs,
      int attempts,
      String requestId) {
    return new Stats(
        operator,
        ServerInfo.engine(found.getEngine()),
        found.getDevice(),
        found.getDeviceOrdinal(),
        algorithm,
        found.getQueueNs(),
        found.getCopyInNs(),
        found.getKernelNs(),
        found.getCopyOutNs(),
        found.getReceiveNs(),
        found.getSendNs(),
        elapsedNs,
        found.getBatchSize(),
        found.getWorkspaceBytes(),
        found.getRuns(),
        found.getOutOfCore(),
        attempts,
        requestId);
  }
}
