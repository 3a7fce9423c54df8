package io.github.corank;

import io.github.corank.v1.Engine;
import io.github.corank.v1.GetServerInfoResponse;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * A server.
 *
 * @param version the version, as MAJOR.MINOR.PATCH
 * @param engine {@code cuda} or {@code cpu}
 * @param engineReason why the server chose this engine
 * @param devices the devices that share the work, ordered by ordinal
 * @param lanes requests that run at the same time on each device
 * @param limits limits of requests
 * @param places places of arrays that are switched on, such as {@code stream}
 * @param uptime time since the server started
 * @param settings the effective configuration, ordered by group
 */
public record ServerInfo(
    String version,
    String engine,
    String engineReason,
    List<Device> devices,
    int lanes,
    Limits limits,
    List<String> places,
    Duration uptime,
    List<Setting> settings) {

  /**
   * A device of the server.
   *
   * @param ordinal its number in stats, metrics and logs
   * @param name its name
   * @param uuid the UUID of a GPU; empty for a CPU
   * @param memoryBytes its memory
   * @param up whether it takes work
   */
  public record Device(int ordinal, String name, String uuid, long memoryBytes, boolean up) {}

  /**
   * Limits of requests.
   *
   * @param maxRequestBytes bytes of the largest request message
   * @param maxResponseBytes bytes of the largest response message
   * @param maxQueuedRequests requests that may wait
   * @param maxQueuedBytes bytes of requests that may wait
   * @param maxChunkBytes bytes of data in a chunk
   * @param maxMergeInputs inputs of a merge
   * @param maxParts connections over which one call may travel
   * @param streamWindowBytes server memory in which the chunks of one call may wait
   * @param maxDeviceBytes device memory of one request
   */
  public record Limits(
      long maxRequestBytes,
      long maxResponseBytes,
      int maxQueuedRequests,
      long maxQueuedBytes,
      long maxChunkBytes,
      int maxMergeInputs,
      int maxParts,
      long streamWindowBytes,
      long maxDeviceBytes) {}

  /**
   * One setting of the configuration.
   *
   * @param group the group, such as {@code queue}
   * @param name the name, such as {@code max-queued-bytes}
   * @param value the value in use; empty where hidden
   * @param defaultValue the default
   * @param source the source of the value: {@code default}, {@code file}, {@code environment} or
   *     {@code flag}
   * @param hidden whether callers are not told the value
   */
  public record Setting(
      String group,
      String name,
      String value,
      String defaultValue,
      String source,
      boolean hidden) {}

  static String engine(Engine engine) {
    return plain("ENGINE_", engine);
  }

  /** The name of a value of an enum: SORT_ALGORITHM_RADIX is "radix". */
  static String plain(String prefix, Enum<?> value) {
    String name = value.name();
    return name.startsWith(prefix)
        ? name.substring(prefix.length()).toLowerCase(Locale.ROOT)
        : "unknown";
  }

  static ServerInfo of(GetServerInfoResponse found) {
    io.github.corank.v1.ServerLimits limits = found.getLimits();
    return new ServerInfo(
        found.getVersion(),
        engine(found.getEngine()),
        found.getEngineReason(),
        found.getDevicesList().stream()
            .map(
                each ->
                    new Device(
                        each.getOrdinal(),
                        each.getName(),
                        each.getUuid(),
                        each.getMemoryBytes(),
                        each.getUp()))
            .toList(),
        found.getLanes(),
        new Limits(
            limits.getMaxRequestBytes(),
            limits.getMaxResponseBytes(),
            limits.getMaxQueuedRequests(),
            limits.getMaxQueuedBytes(),
            limits.getMaxChunkBytes(),
            limits.getMaxMergeInputs(),
            limits.getMaxParts(),
            limits.getStreamWindowBytes(),
            limits.getMaxDeviceBytes()),
        List.copyOf(found.getPlacesList()),
        Duration.ofSeconds(found.getUptime().getSeconds(), found.getUptime().getNanos()),
        found.getSettingsList().stream()
            .map(
                each ->
                    new Setting(
                        each.getGroup(),
                        each.getName(),
                        each.getValue(),
                        each.getDefaultValue(),
                        plain("SETTING_SOURCE_", each.getSource()),
                        each.getHidden()))
            .toList());
  }
}
