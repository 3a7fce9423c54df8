// Decides when to retry a call that failed; docs/concepts/retries.md has the table. Knows errors and time, not gRPC.
import { CancelledError, CorankError, DeadlineExceededError } from "./errors.js";

const INITIAL_MS = 50;
const MAX_MS = 5000;
const BUDGET_TOKENS = 20;
const BUDGET_REFILL = 0.1;

/** After which failures a call may be retried: any, those that the server reports, or none but "never sent". */
export type Repeat = "always" | "unless-lost" | "never";

/** Time and chance, as tests replace them. */
export interface Clock {
  /** Milliseconds since some moment. */
  now(): number;
  /** Waits, and rejects with CancelledError when the signal aborts. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
  /** From 0 to less than 1. */
  random(): number;
}

/** The error of a call that a signal cancelled. */
export function aborted(operator: string, signal: AbortSignal): CancelledError {
  return new CancelledError(`${operator}: cancelled by the caller`, { cause: signal.reason });
}

export const realClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        if (signal !== undefined) {
          reject(aborted("retry", signal));
        }
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", stop);
        resolve();
      }, ms);
      signal?.addEventListener("abort", stop, { once: true });
      if (signal?.aborted) {
        stop();
      }
    }),
  random: () => Math.random(),
};

/** A deadline for all that a call does: what it asks first, its tries, and the waits between them. */
export class Limit {
  readonly #end: number | undefined;

  constructor(
    private readonly clock: Clock,
    readonly ms: number | undefined,
    begin: number = clock.now(),
  ) {
    this.#end = ms === undefined ? undefined : begin + ms;
  }

  /** Milliseconds, 0 or more; undefined: there is no deadline. */
  left(): number | undefined {
    return this.#end === undefined ? undefined : Math.max(this.#end - this.clock.now(), 0);
  }
}

/**
 * The retries that one client may make, as in gRPC's retry design: a try that could be repeated takes a token, a call
 * that succeeds puts a tenth back, and nothing is retried while at most half is left.
 */
export class Budget {
  #tokens = BUDGET_TOKENS;

  /** Takes a token. False if there are too few for a retry. */
  take(): boolean {
    this.#tokens = Math.max(this.#tokens - 1, 0);
    return this.#tokens > BUDGET_TOKENS / 2;
  }

  /** A call succeeded. */
  refill(): void {
    this.#tokens = Math.min(this.#tokens + BUDGET_REFILL, BUDGET_TOKENS);
  }
}

/** What follows on a failure: milliseconds to wait before another try, or why there is none. */
export type Next = { delayMs: number } | { reason: string };

/** Decides what follows on the failure of try number `attempt`, from 1, with `leftMs` to the deadline. */
export function afterFailure(
  error: CorankError,
  repeat: Repeat,
  attempt: number,
  retries: number,
  leftMs: number | undefined,
  random: number,
): Next {
  if (error.failure === "final" || retries < 1) {
    return { reason: "" };
  }
  if (repeat === "never" && error.failure !== "not-sent") {
    return { reason: "its results go over its inputs, which may have changed" };
  }
  if (repeat === "unless-lost" && error.failure === "lost") {
    return { reason: "it may have been done, and doing it twice may do harm" };
  }
  if (attempt > retries) {
    return { reason: `no more than ${retries + 1} tries are allowed` };
  }
  const least = error.retryAfterMs ?? 0;
  if (leftMs !== undefined && least >= leftMs) {
    return { reason: "the next try would begin after the deadline" };
  }
  // Callers that all got the same delay must not all retry at the same moment.
  let spread = Math.min(Math.max(INITIAL_MS, least) * 2 ** (attempt - 1), MAX_MS);
  if (leftMs !== undefined) {
    spread = Math.min(spread, leftMs - least);
  }
  return { delayMs: least + spread * random };
}

/** How a call is retried. */
export interface Tries {
  limit: Limit;
  retries: number;
  repeat: Repeat;
  signal: AbortSignal | undefined;
  /** Whether something has changed since the error that is worth a try at once, the first time. */
  reload(error: CorankError): Promise<boolean>;
  /** Is told of each try, and of the wait before it. */
  onTry?: ((attempt: number, waiting: boolean) => void) | undefined;
}

/** Tries calls of one client. */
export class Retrier {
  readonly budget = new Budget();

  constructor(readonly clock: Clock = realClock) {}

  /** Calls once(ms left), and again while that may help: what it returned, and the number of tries. */
  async run<R>(
    tries: Tries,
    once: (leftMs: number | undefined) => Promise<R>,
  ): Promise<{ result: R; attempts: number }> {
    const begin = this.clock.now();
    let before = "";
    let reloaded = false;
    for (let attempt = 1; ; ++attempt) {
      tries.onTry?.(attempt, false);
      try {
        const result = await once(tries.limit.left());
        this.budget.refill();
        return { result, attempts: attempt };
      } catch (thrown) {
        if (!(thrown instanceof CorankError)) {
          throw thrown; // a callback's error, not a failed call
        }
        const error = thrown;
        if (!reloaded && (await tries.reload(error))) {
          reloaded = true;
          continue;
        }
        const left = tries.limit.left();
        let next = afterFailure(error, tries.repeat, attempt, tries.retries, left, this.clock.random());
        if (error.failure !== "final" && !this.budget.take() && "delayMs" in next) {
          next = { reason: "too many calls of this client fail now for more tries" };
        }
        if ("reason" in next) {
          const late = error instanceof DeadlineExceededError ? before : "";
          error.tell(attempt, this.clock.now() - begin, next.reason, late);
          throw error;
        }
        before = error.message;
        tries.onTry?.(attempt + 1, true);
        await this.clock.sleep(next.delayMs, tries.signal);
      }
    }
  }
}
