import assert from "node:assert/strict";
import { test } from "node:test";
import { UnavailableError, type CorankError, type Failure } from "../src/errors.js";
import { afterFailure, Budget, Limit, Retrier, type Clock, type Repeat, type Tries } from "../src/retry.js";

const failed = (failure: Failure, retryAfterMs?: number): CorankError => {
  const error = new UnavailableError("Sort: no", { retryAfterMs });
  error.failure = failure;
  return error;
};

class FakeClock implements Clock {
  time = 0;
  readonly waits: number[] = [];
  now(): number {
    return this.time;
  }
  sleep(ms: number): Promise<void> {
    this.waits.push(ms);
    this.time += ms;
    return Promise.resolve();
  }
  random(): number {
    return 0.5;
  }
}

const tries = (clock: Clock, more: Partial<Tries> = {}): Tries => ({
  limit: new Limit(clock, undefined),
  retries: 5,
  repeat: "always",
  signal: undefined,
  reload: () => Promise.resolve(false),
  ...more,
});

test("the table of retries", () => {
  const rows: [Repeat, Failure, boolean][] = [
    ["always", "not-sent", true],
    ["always", "refused", true],
    ["always", "lost", true],
    ["always", "final", false],
    ["unless-lost", "not-sent", true],
    ["unless-lost", "refused", true],
    ["unless-lost", "lost", false],
    ["never", "not-sent", true],
    ["never", "refused", false],
    ["never", "lost", false],
  ];
  for (const [repeat, failure, again] of rows) {
    const next = afterFailure(failed(failure), repeat, 1, 5, undefined, 0.5);
    assert.equal("delayMs" in next, again, `${repeat}, ${failure}`);
  }
});

test("a wait is at least what the server asks for and grows up to 5 s", () => {
  assert.deepEqual(afterFailure(failed("refused", 200), "always", 1, 5, undefined, 0), { delayMs: 200 });
  assert.deepEqual(afterFailure(failed("lost"), "always", 1, 5, undefined, 1), { delayMs: 50 });
  assert.deepEqual(afterFailure(failed("lost"), "always", 3, 5, undefined, 1), { delayMs: 200 });
  assert.deepEqual(afterFailure(failed("refused", 4000), "always", 4, 5, undefined, 1), { delayMs: 9000 });
  assert.deepEqual(afterFailure(failed("lost"), "always", 1, 5, 10, 1), { delayMs: 10 });
  assert.ok("reason" in afterFailure(failed("refused", 500), "always", 1, 5, 500, 0));
});

test("six tries at most, and the error says so", async () => {
  const clock = new FakeClock();
  let calls = 0;
  const once = (): Promise<never> => {
    calls += 1;
    return Promise.reject(failed("lost"));
  };
  await assert.rejects(new Retrier(clock).run(tries(clock), once), (error: CorankError) => {
    assert.equal(error.attempts, 6);
    assert.match(error.message, /tried 6 times .*no more than 6 tries/);
    return true;
  });
  assert.equal(calls, 6);
  assert.deepEqual(clock.waits, [25, 50, 100, 200, 400]);
});

test("half of the budget stops retries until successes refill it", () => {
  const budget = new Budget();
  const taken = Array.from({ length: 12 }, () => budget.take());
  assert.deepEqual(taken, [...Array<boolean>(9).fill(true), false, false, false]);
  for (let at = 0; at < 40; ++at) budget.refill(); // 8 + 4 tokens
  assert.equal(budget.take(), true);
  assert.equal(budget.take(), false);
});

test("a token file that changed is worth one try at once", async () => {
  const clock = new FakeClock();
  let calls = 0;
  const error = failed("final");
  const once = (): Promise<string> => (++calls < 2 ? Promise.reject(error) : Promise.resolve("done"));
  const done = await new Retrier(clock).run(tries(clock, { reload: () => Promise.resolve(true) }), once);
  assert.deepEqual(done, { result: "done", attempts: 2 });
  assert.deepEqual(clock.waits, []);
});

test("what a callback throws is not retried", async () => {
  const clock = new FakeClock();
  const once = (): Promise<never> => Promise.reject(new RangeError("mine"));
  await assert.rejects(new Retrier(clock).run(tries(clock), once), RangeError);
  assert.deepEqual(clock.waits, []);
});
