package io.github.corank;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class FirstRowsTest {
  private static final long[] SEGMENTS = {0, 3, 3, 10};

  @Test
  void segmentsOfAResultAreAsLongAsTheLimitLeavesThem() {
    assertArrayEquals(new long[] {0, 2, 2, 4}, Sort.limitedSegments(SEGMENTS, 2));
    assertArrayEquals(new long[] {0}, Sort.limitedSegments(new long[0], 2));
  }

  @Test
  void aSortKnowsHowManyRowsItReturnsOrHowManyAtMost() {
    Elements here = Elements.of(SEGMENTS);
    assertEquals(new FirstRows(10, 10), FirstRows.of(10, 0, null, here));
    assertEquals(new FirstRows(2, 2), FirstRows.of(10, 0, 2L, null));
    assertEquals(new FirstRows(-1, -1), FirstRows.of(-1, 0, 2L, here));
    assertEquals(new FirstRows(4, 4), FirstRows.of(10, 0, 2L, here));
    assertEquals(new FirstRows(10, 10), FirstRows.of(10, 0, 10L, here));
    assertEquals(new FirstRows(7, 7), FirstRows.of(10, 3, null, null));
    assertEquals(new FirstRows(1, 1), FirstRows.of(10, 9, 2L, null));
    assertEquals(new FirstRows(0, 0), FirstRows.of(10, Long.MAX_VALUE, 2L, null));
    assertEquals(new FirstRows(2, 2), FirstRows.of(10, 0, 2L, Elements.of(new long[] {0, 9, -9})));
  }
}
