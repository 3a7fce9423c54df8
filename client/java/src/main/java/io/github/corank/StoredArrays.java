package io.github.corank;

import java.util.List;

/**
 * The arrays that the server keeps for a caller.
 *
 * @param arrays their handles, ordered by name
 * @param usedBytes bytes in use
 * @param quotaBytes bytes that may be in use
 */
public record StoredArrays(List<StoredArray> arrays, long usedBytes, long quotaBytes) {}
