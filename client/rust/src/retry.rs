//! When a call that failed is tried again; see "Retries" in the documentation.

use std::{
    collections::hash_map::RandomState,
    future::Future,
    hash::{BuildHasher, Hasher},
    sync::Mutex,
    time::{Duration, Instant},
};

use crate::error::{Error, Failure, Result};

const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
const TOKENS: f64 = 20.0;
const REFILL: f64 = 0.1;

/// Failures after which a call may be retried. A call that was never sent always may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Not after a lost answer, after which the work may be done.
    UnlessLost,
    /// Doing the call twice does no harm.
    Always,
}

/// The retries that one client may make, as in gRPC's retry design: every failure that could be retried takes a token,
/// every success returns a tenth, and nothing is retried while half of the tokens or fewer are left.
#[derive(Default)]
pub(crate) struct Budget(Mutex<f64>);

impl Budget {
    fn take(&self) -> bool {
        let mut spent = self.0.lock().unwrap();
        *spent = (*spent + 1.0).min(TOKENS);
        TOKENS - *spent > TOKENS / 2.0
    }

    fn refill(&self) {
        let mut spent = self.0.lock().unwrap();
        *spent = (*spent - REFILL).max(0.0);
    }
}

/// What follows on the failure of try number `attempt`, from 1: the wait before the next one, or why there is none.
///
/// The wait is at least what the server asks for, and drawn (`random` from 0 to 1) from as much again, or from 50 ms if
/// that is more, doubled with each try, 5 s at most, and never up to the deadline.
fn after_failure(
    error: &Error,
    repeat: Repeat,
    attempt: u32,
    retries: u32,
    left: Duration,
    random: f64,
) -> std::result::Result<Duration, String> {
    let least = error.retry_after.unwrap_or_default();
    if error.failure == Failure::Final || retries == 0 {
        return Err(String::new());
    }
    if error.failure == Failure::Lost && repeat == Repeat::UnlessLost {
        return Err("it may have been done, and doing it twice may do harm".into());
    }
    if attempt > retries {
        return Err(format!("no more than {} tries are allowed", retries + 1));
    }
    if least >= left {
        return Err("the next try would begin after the deadline".into());
    }
    let doubled = FIRST_WAIT.max(least).saturating_mul(1 << (attempt - 1).min(20));
    Ok(least + doubled.min(LONGEST_WAIT).min(left - least).mul_f64(random))
}

/// From 0 to less than 1.
fn random() -> f64 {
    (RandomState::new().build_hasher().finish() >> 11) as f64 / (1u64 << 53) as f64
}

/// What a call may do again.
pub(crate) struct Policy<'a> {
    pub budget: &'a Budget,
    pub repeat: Repeat,
    pub retries: u32,
    pub deadline: Option<Instant>,
}

impl Policy<'_> {
    /// The time to the deadline.
    pub fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Calls `once`, and again while that may help. `reload` says whether something has changed since the error that is
    /// worth a try at once, the first time. Returns the result and the number of tries; the last error says how often it
    /// was tried, and why not again.
    pub async fn run<T, F, Once>(&self, mut once: Once, reload: impl Fn(&Error) -> bool) -> Result<(T, u32)>
    where
        F: Future<Output = Result<T>>,
        Once: FnMut() -> F,
    {
        let (began, mut attempt, mut before, mut reloaded) = (Instant::now(), 0, String::new(), false);
        loop {
            attempt += 1;
            let outcome = match self.left() {
                None => once().await,
                Some(left) => tokio::time::timeout(left, once()).await.unwrap_or_else(|_| Err(Error::late())),
            };
            let mut error = match outcome {
                Ok(result) => {
                    self.budget.refill();
                    return Ok((result, attempt));
                }
                Err(error) => error,
            };
            if !reloaded && reload(&error) {
                reloaded = true;
                continue;
            }
            let left = self.left().unwrap_or(Duration::MAX);
            let mut next = after_failure(&error, self.repeat, attempt, self.retries, left, random());
            if error.failure != Failure::Final && !self.budget.take() && next.is_ok() {
                next = Err("too many calls of this client fail now for more tries".into());
            }
            match next {
                Ok(wait) => {
                    before = error.message;
                    tokio::time::sleep(wait).await;
                }
                Err(reason) => {
                    error.tell(attempt, began.elapsed(), reason, &before);
                    return Err(error);
                }
            }
        }
    }
}

impl Error {
    /// Adds to the message after how many tries the call ended, and why.
    fn tell(&mut self, attempts: u32, took: Duration, mut reason: String, before: &str) {
        self.attempts = attempts;
        if self.code == tonic::Code::DeadlineExceeded && !before.is_empty() {
            reason = format!("the try before: {before}");
        }
        if attempts > 1 {
            let colon = if reason.is_empty() { "" } else { ": " };
            self.message += &format!(" (tried {attempts} times in {:.3} s{colon}{reason})", took.as_secs_f64());
        } else if !reason.is_empty() {
            self.message += &format!(" (not tried again: {reason})");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::Code;

    fn failed(failure: Failure, retry_after: Option<u64>) -> Error {
        let mut error = Error::new(Code::Unavailable, "no");
        error.failure = failure;
        error.retry_after = retry_after.map(Duration::from_millis);
        error
    }

    fn follows(error: &Error, repeat: Repeat, attempt: u32, left_ms: u64) -> std::result::Result<Duration, String> {
        after_failure(error, repeat, attempt, 5, Duration::from_millis(left_ms), 0.5)
    }

    #[test]
    fn waits_longer_with_each_try() {
        let lost = failed(Failure::Lost, None);
        let waits: Vec<_> = (1..=5).map(|attempt| follows(&lost, Repeat::Always, attempt, 60_000).unwrap()).collect();
        assert_eq!(waits, [25, 50, 100, 200, 400].map(Duration::from_millis));
        assert_eq!(follows(&lost, Repeat::Always, 6, 60_000).unwrap_err(), "no more than 6 tries are allowed");
    }

    #[test]
    fn waits_as_long_as_the_server_asks() {
        let refused = failed(Failure::Refused, Some(2000));
        assert_eq!(follows(&refused, Repeat::UnlessLost, 1, 60_000).unwrap(), Duration::from_millis(3000));
        assert_eq!(follows(&refused, Repeat::UnlessLost, 1, 2500).unwrap(), Duration::from_millis(2250));
        assert!(follows(&refused, Repeat::UnlessLost, 1, 2000).unwrap_err().contains("deadline"));
    }

    #[test]
    fn repeats_nothing_that_may_do_harm() {
        assert!(follows(&failed(Failure::Lost, None), Repeat::UnlessLost, 1, 60_000).is_err());
        assert!(follows(&failed(Failure::NotSent, None), Repeat::UnlessLost, 1, 60_000).is_ok());
        assert!(follows(&failed(Failure::Final, None), Repeat::Always, 1, 60_000).is_err());
    }

    #[test]
    fn stops_when_many_calls_fail() {
        let budget = Budget::default();
        let allowed = (0..20).filter(|_| budget.take()).count();
        assert_eq!(allowed, 9);
        (0..200).for_each(|_| budget.refill());
        assert!(budget.take());
    }
}
