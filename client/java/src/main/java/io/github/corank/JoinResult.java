package io.github.corank;

/**
 * The row numbers of a {@link Join}: INT32, or INT64 if a side has 2^31 keys or more; -1 is no
 * partner. What stayed on the server is null.
 *
 * @param leftRows the rows of the left side
 * @param rightRows the rows of the right side, as many; null for {@link JoinKind#SEMI} and {@link
 *     JoinKind#ANTI}
 */
public record JoinResult(Elements leftRows, Elements rightRows) {}
