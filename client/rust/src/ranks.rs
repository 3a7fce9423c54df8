//! The rank of each key.

use crate::{
    array::{Input, Positions},
    error::{Error, Result},
    operators::checked,
    request::Request,
    task::{Method, Task},
    v1::{ElementType, RankMethod},
    Client,
};

impl Client {
    /// Ranks keys, in any order, from 1. All NaNs are one key, which comes after all numbers, and both zeros are one key.
    ///
    /// - [`RankMethod::Ordinal`]: each key has a rank of its own, in the order of a stable sort.
    /// - [`RankMethod::Min`], [`RankMethod::Max`]: equal keys have the least or the greatest of these ranks.
    /// - [`RankMethod::Dense`]: the number of distinct keys up to this one.
    ///
    /// [`Client::average_rank`] gives equal keys the mean of their ranks.
    pub fn rank<'a>(&'a self, keys: impl Input<'a>, method: RankMethod) -> Request<'a, Positions> {
        let task = ranking(keys, method).and_then(|mut task| {
            if matches!(method, RankMethod::Average | RankMethod::Unspecified) {
                return Err(Error::invalid("method", "mean ranks are no integers; call average_rank"));
            }
            let count = task.inputs[0].array.count;
            task.positions("ranks", count, count);
            Ok(task)
        });
        Request::new(self, task)
    }

    /// Ranks keys, as [`Client::rank`], where equal keys have the mean of their ranks.
    pub fn average_rank<'a>(&'a self, keys: impl Input<'a>) -> Request<'a, Vec<f64>> {
        let task = ranking(keys, RankMethod::Average).map(|mut task| {
            let count = task.inputs[0].array.count;
            task.output::<Vec<f64>>("ranks", (ElementType::Float64, 0), count);
            task
        });
        Request::new(self, task)
    }
}

impl<R> Request<'_, R> {
    /// Says that the keys, or those of each segment, are in the order of the ranks, which saves the server their sort;
    /// the server checks it. Of ranks.
    pub fn keys_sorted(self) -> Self {
        self.with("keys_sorted", &["Rank"], |task| {
            task.arguments.keys_sorted = true;
            Ok(())
        })
    }
}

fn ranking<'a>(keys: impl Input<'a>, method: RankMethod) -> Result<Task<'a>> {
    let mut task = Task::new(Method::Rank);
    task.arguments.rank_method = method;
    task.input("keys", checked("keys", keys.into_array())?);
    Ok(task)
}
