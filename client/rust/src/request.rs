//! A call of an operator with its options, before it is made.

use std::{
    future::{Future, IntoFuture},
    marker::PhantomData,
    pin::Pin,
    time::Duration,
};

use crate::{
    array::{Array, FromArray, Input, Positions},
    error::{Error, Result},
    joins::makes_room,
    kept::KeptArray,
    perform::perform,
    task::Task,
    v1, Client,
};

/// The place of a request among waiting requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// After all others.
    Low,
    /// The default.
    Normal,
    /// Before all others.
    High,
}

/// How arrays travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the messages.
    Inline,
    /// In chunks.
    Stream,
}

/// How far a call is: bytes of arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Sent so far.
    pub sent: u64,
    /// All that is to be sent.
    pub to_send: u64,
    /// Received so far.
    pub received: u64,
    /// All that is to be received; 0 where the length of a result is not known.
    pub to_receive: u64,
}

/// What a call cost.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Names the request in the server's log.
    pub request_id: String,
    /// How often it was tried.
    pub attempts: u32,
    /// The algorithm that the server used, in lower case, such as "radix"; empty for operators that have one only.
    pub algorithm: String,
    /// What the server tells of times and memory.
    pub server: v1::RequestStats,
}

type Report<'a, T> = Box<dyn Fn(T) + Send + Sync + 'a>;

/// Options that every call takes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub deadline: Option<Duration>,
    pub retries: Option<u32>,
    pub priority: Option<Priority>,
    pub request_id: Option<String>,
    pub traceparent: Option<String>,
    pub place: Option<Place>,
    pub connections: Option<usize>,
}

impl Options {
    pub fn message(&self) -> Option<v1::RequestOptions> {
        let priority = match self.priority {
            None if self.request_id.is_none() => return None,
            None => v1::Priority::Unspecified,
            Some(Priority::Low) => v1::Priority::Low,
            Some(Priority::Normal) => v1::Priority::Normal,
            Some(Priority::High) => v1::Priority::High,
        };
        let request_id = self.request_id.clone().unwrap_or_default();
        Some(v1::RequestOptions { priority: priority.into(), request_id })
    }
}

/// The options of calls of operators and of arrays that the server keeps.
macro_rules! call_options {
    () => {
        /// The time that the call may take, retries included; `Duration::ZERO`: no limit.
        pub fn deadline(mut self, limit: Duration) -> Self {
            self.options.deadline = Some(limit);
            self
        }

        /// How often the call may be retried.
        pub fn retries(mut self, most: u32) -> Self {
            self.options.retries = Some(most);
            self
        }

        /// The W3C traceparent of the span that makes the call.
        pub fn traceparent(mut self, text: impl Into<String>) -> Self {
            self.options.traceparent = Some(text.into());
            self
        }
    };
}
pub(crate) use call_options;

/// A call of an operator: give it options, then await it. `R` is what it returns.
///
/// Dropping the future cancels the call on the server.
#[must_use = "a request does nothing until it is awaited"]
pub struct Request<'a, R> {
    pub(crate) client: &'a Client,
    pub(crate) task: Result<Task<'a>>,
    pub(crate) options: Options,
    pub(crate) on_progress: Option<Report<'a, Progress>>,
    pub(crate) on_stats: Option<Report<'a, Stats>>,
    result: PhantomData<fn() -> R>,
}

impl<'a, R> Request<'a, R> {
    pub(crate) fn new(client: &'a Client, task: Result<Task<'a>>) -> Self {
        Self { client, task, options: Options::default(), on_progress: None, on_stats: None, result: PhantomData }
    }

    pub(crate) fn returning<S>(self) -> Request<'a, S> {
        let Self { client, task, options, on_progress, on_stats, .. } = self;
        Request { client, task, options, on_progress, on_stats, result: PhantomData }
    }

    /// Changes the task; `option` names what the change is for, and `methods` which operators take it.
    pub(crate) fn with(
        mut self,
        option: &str,
        methods: &[&str],
        change: impl FnOnce(&mut Task<'a>) -> Result<()>,
    ) -> Self {
        self.task = self.task.and_then(|mut task| {
            if !methods.contains(&task.method.name()) {
                return Err(Error::invalid(option, format!("not for {}", task.method.name())));
            }
            change(&mut task).map(|()| task)
        });
        self
    }

    /// Orders greatest first. Equal keys keep the order of their input. Of sorts, merge, search, group, sets and ranks.
    pub fn descending(self) -> Self {
        self.with("order", &["Sort", "Merge", "Search", "Group", "CombineSets", "Rank"], |task| {
            if task.arguments.columns.is_empty() {
                task.arguments.descending = true;
                return Ok(());
            }
            Err(Error::invalid("order", "each column has its own: Column::descending"))
        })
    }

    /// Returns only the first `count` results of a sort, in sorted order. With segments, returns the first `count` results
    /// of each segment, one segment after the other; [`limited_segments`](crate::limited_segments) returns their offsets.
    pub fn limit(self, count: usize) -> Self {
        self.with("limit", &["Sort"], |task| {
            task.limit(count);
            Ok(())
        })
    }

    /// Leaves out the first `count` results of a sort, before [`limit`](Self::limit) counts. Not with segments.
    pub fn offset(self, count: usize) -> Self {
        self.with("offset", &["Sort"], |task| {
            task.offset(count);
            Ok(())
        })
    }

    /// Sorts each segment of keys or rows by itself: segment i is `offsets[i]..offsets[i + 1]`. Offsets rise from 0 to
    /// the number of keys or rows, and are one more than there are segments. Of sorts, also by columns, without `runs`,
    /// and of ranks, which then begin at 1 in each segment.
    pub fn segments<I: Input<'a>>(self, offsets: I) -> Self {
        self.with("segment_offsets", &["Sort", "Rank"], |task| {
            task.input("segment_offsets", offsets.into_array());
            task.limit_results();
            Ok(())
        })
    }

    /// Merges tables: rows are sorted runs, one after the other, and run r is rows `offsets[r]..offsets[r + 1]`. Offsets
    /// rise from 0 to the number of rows, and are one more than there are runs. Equal rows of an earlier run come first.
    /// Fails if a run is out of order. Of sorts by columns, without `algorithm`.
    pub fn runs<I: Input<'a>>(self, offsets: I) -> Self {
        self.with("run_offsets", &["Sort"], |task| {
            task.input("run_offsets", offsets.into_array());
            Ok(())
        })
    }

    /// Chooses how the server works, by the contract's name in lower case, such as "radix" or "merge_path". The result is
    /// the same. Of sorts and merge.
    pub fn algorithm(self, name: &str) -> Self {
        self.with("algorithm", &["Sort", "Merge"], |task| task.choose_algorithm(name))
    }

    /// Skips the check that an input is sorted. Of merge and search.
    pub fn assume_sorted(self) -> Self {
        self.with("assume_sorted", &["Merge", "Search"], |task| {
            task.arguments.assume_sorted = true;
            Ok(())
        })
    }

    /// Skips the check that intervals are disjoint in the destination. Of move and scatter.
    pub fn allow_overlap(self) -> Self {
        self.with("allow_overlap", &["MoveIntervals", "ScatterIntervals"], |task| {
            task.arguments.allow_overlap = true;
            Ok(())
        })
    }

    /// Finds the first position after keys that equal the needle, not the first of them. Of search.
    pub fn upper_bound(self) -> Self {
        self.with("bound", &["Search"], |task| {
            task.arguments.upper = true;
            Ok(())
        })
    }

    /// Has the server keep the results under these names, one for each result, instead of sending them.
    pub fn keep(mut self, names: &[&str]) -> Request<'a, Vec<KeptArray>> {
        self.task = self.task.and_then(|mut task| task.keep(names).map(|()| task));
        self.returning()
    }

    /// Returns all results by their names in the contract, such as `keys` or `key_columns[0].data`.
    pub fn named(self) -> Request<'a, Vec<(String, Array<'static>)>> {
        self.returning()
    }

    call_options!();

    /// Which waiting request the server takes first.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.options.priority = Some(priority);
        self
    }

    /// Names the request in logs and errors: at most 128 printable ASCII characters.
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.options.request_id = Some(id.into());
        self
    }

    /// How arrays travel. Default: by their size.
    pub fn via(mut self, place: Place) -> Self {
        self.options.place = Some(place);
        self
    }

    /// Connections over which large arrays are streamed.
    pub fn connections(mut self, count: usize) -> Self {
        if count == 0 {
            self.task = Err(Error::invalid("connections", "at least 1 is needed"));
        }
        self.options.connections = Some(count);
        self
    }

    /// Is called about ten times a second while arrays travel in chunks, and once when the call succeeded. Must not wait.
    pub fn on_progress(mut self, report: impl Fn(Progress) + Send + Sync + 'a) -> Self {
        self.on_progress = Some(Box::new(report));
        self
    }

    /// Is called with the cost of the call before it returns.
    pub fn on_stats(mut self, report: impl Fn(Stats) + Send + Sync + 'a) -> Self {
        self.on_stats = Some(Box::new(report));
        self
    }
}

impl Request<'_, Vec<KeptArray>> {
    /// Has the server divide the results that it keeps among its GPUs; see [`Store::sharded`](crate::Store::sharded).
    pub fn sharded(mut self) -> Self {
        if let Ok(task) = &mut self.task {
            task.outputs.iter_mut().filter_map(|output| output.kept.as_mut()).for_each(|place| place.sharded = true);
        }
        self
    }
}

/// What the results of a call can be returned as.
pub trait FromResults: Sized {
    #[doc(hidden)]
    const IS_ANY_NUMBER: bool = false;
    #[doc(hidden)]
    fn from_results(results: Vec<Named>) -> Result<Self>;
}

/// A result with its name in the response.
#[doc(hidden)]
pub type Named = (String, Array<'static>);

fn take<A: FromArray>(results: &mut impl Iterator<Item = Named>) -> Result<A> {
    A::from_array(results.next().ok_or_else(|| Error::internal("the server answered too few results"))?.1)
}

macro_rules! single {
    ($([$($generic:tt)*] $type:ty),*) => {$(
        impl<$($generic)*> FromResults for $type {
            fn from_results(results: Vec<Named>) -> Result<Self> {
                take(&mut results.into_iter())
            }
        }
    )*};
}
single!([T: crate::Value] Vec<T>, [] Array<'static>, [] Positions);

impl<A: FromArray, B: FromArray> FromResults for (A, B) {
    fn from_results(results: Vec<Named>) -> Result<Self> {
        let mut results = results.into_iter();
        Ok((take(&mut results)?, take(&mut results)?))
    }
}

impl<A: FromArray, B: FromArray, C: FromArray> FromResults for (A, B, C) {
    fn from_results(results: Vec<Named>) -> Result<Self> {
        let mut results = results.into_iter();
        Ok((take(&mut results)?, take(&mut results)?, take(&mut results)?))
    }
}

impl FromResults for Vec<Named> {
    const IS_ANY_NUMBER: bool = true;
    fn from_results(results: Vec<Named>) -> Result<Self> {
        Ok(results)
    }
}

impl FromResults for Vec<KeptArray> {
    fn from_results(results: Vec<Named>) -> Result<Self> {
        results.into_iter().map(|(_, array)| KeptArray::from_result(array)).collect()
    }
}

impl<'a, R: FromResults + 'a> IntoFuture for Request<'a, R> {
    type Output = Result<R>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<R>> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { client, task, options, on_progress, on_stats, .. } = self;
            let mut tasks = [task?];
            let (on_progress, on_stats) = (on_progress.as_deref(), on_stats.as_deref());
            let results = match perform(client, &mut tasks, &options, on_progress, on_stats, false).await {
                Err(error) if makes_room(&mut tasks[0], &error) => {
                    perform(client, &mut tasks, &options, on_progress, on_stats, false).await?
                }
                outcome => outcome?,
            };
            R::from_results(results.into_iter().next().unwrap_or_default())
        })
    }
}
