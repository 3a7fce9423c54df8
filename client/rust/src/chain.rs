//! Several operators in one call.

use std::marker::PhantomData;

use crate::{
    array::{Array, Data, Input},
    error::{Error, Result},
    perform::perform,
    request::{FromResults, Named, Options, Request},
    task::Task,
    v1, Client,
};

const MOST_OPERATORS: usize = 16;

/// Operators that run one after the other on the server, in one call. A result that a later operator takes stays on the
/// server, which forgets it when the call ends.
///
/// ```no_run
/// # async fn example(client: corank::Client, keys: Vec<f32>, needles: Vec<f32>) -> corank::Result<()> {
/// let mut chain = client.chain();
/// let sorted = chain.then(client.sort(&keys));
/// let found = chain.then(client.search(&sorted, &needles));
/// let positions = chain.run().await?.take(found)?;
/// # Ok(())
/// # }
/// ```
pub struct Chain<'a> {
    client: &'a Client,
    tasks: Result<Vec<Task<'a>>>,
    options: Options,
    taken: Vec<(usize, usize)>,
}

/// The results of an operator of a chain, before they are there. `R` is what the operator returns.
pub struct Link<R> {
    at: usize,
    results: Vec<Array<'static>>,
    result: PhantomData<fn() -> R>,
}

/// The results of a chain.
pub struct Links {
    results: Vec<Option<Vec<Named>>>,
}

fn temporary(at: usize, result: usize) -> v1::StoredPlace {
    v1::StoredPlace { name: format!("t{at}.{result}"), temporary: true, sharded: false }
}

impl<'a, R> Input<'a> for &Link<R> {
    type Owned = Array<'static>;
    /// The first result.
    fn into_array(self) -> Array<'a> {
        self.result(0)
    }
}

impl<R> Link<R> {
    /// One of several results, for a later operator. Panics if there are not so many.
    pub fn result<'a>(&self, index: usize) -> Array<'a> {
        let Array { kind, record_bytes, count, data } = &self.results[index];
        let Data::Kept(place) = data else { unreachable!("results of a chain have names") };
        Array { kind: *kind, record_bytes: *record_bytes, count: *count, data: Data::Kept(place.clone()) }
    }
}

impl<'a> Chain<'a> {
    /// Adds an operator. Its options of the whole call, such as its deadline, are those of the chain.
    pub fn then<R>(&mut self, request: Request<'a, R>) -> Link<R> {
        let Request { task, options, .. } = request;
        let mut link = Link { at: 0, results: vec![], result: PhantomData };
        let Ok(tasks) = &mut self.tasks else {
            return link;
        };
        link.at = tasks.len();
        let added = task.and_then(|task| {
            if tasks.len() == MOST_OPERATORS {
                return Err(Error::invalid("", format!("a chain has at most {MOST_OPERATORS} operators")));
            }
            Ok(task)
        });
        match added {
            Ok(task) => {
                if tasks.is_empty() {
                    self.options = options;
                }
                for leaf in &task.inputs {
                    if let Data::Kept(v1::StoredPlace { name, temporary: true, .. }) = &leaf.array.data {
                        let parts = name[1..]
                            .split_once('.')
                            .and_then(|(at, result)| Some((at.parse::<usize>().ok()?, result.parse::<usize>().ok()?)));
                        self.taken.extend(parts);
                    }
                }
                let named = |(result, output): (usize, &crate::task::Output)| Array {
                    kind: output.kind,
                    record_bytes: output.record_bytes,
                    count: output.count,
                    data: Data::Kept(output.kept.clone().unwrap_or_else(|| temporary(link.at, result))),
                };
                link.results = task.outputs.iter().enumerate().map(named).collect();
                tasks.push(task);
            }
            Err(error) => self.tasks = Err(error.blame(&format!("operations[{}]", link.at))),
        }
        link
    }

    /// Does the operators. Returns the first error, also of the requests.
    ///
    /// # Errors
    ///
    /// As of every call.
    pub async fn run(self) -> Result<Links> {
        let mut tasks = self.tasks?;
        if tasks.is_empty() {
            return Ok(Links { results: vec![] });
        }
        for (at, result) in &self.taken {
            let output = &mut tasks[*at].outputs[*result];
            if output.kept.is_none() {
                output.kept = Some(temporary(*at, *result));
            }
        }
        let results = perform(self.client, &mut tasks, &self.options, None, None, true).await?;
        Ok(Links { results: results.into_iter().map(Some).collect() })
    }
}

impl Links {
    /// The results of an operator. Those of [`Request::named`] lack what a later operator took.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if a later operator took one of them, or they were taken before.
    pub fn take<R: FromResults>(&mut self, link: Link<R>) -> Result<R> {
        let results = self.results.get_mut(link.at).and_then(Option::take);
        let results = results.ok_or_else(|| Error::invalid("", "these results were taken before"))?;
        let is_here = |(_, array): &Named| !matches!(&array.data, Data::Kept(place) if place.temporary);
        if R::IS_ANY_NUMBER {
            return R::from_results(results.into_iter().filter(is_here).collect());
        }
        if !results.iter().all(is_here) {
            return Err(Error::invalid("", "a later operator of the chain took this result; it stayed on the server"));
        }
        R::from_results(results)
    }
}

impl Client {
    /// Begins a chain of operators.
    pub fn chain(&self) -> Chain<'_> {
        Chain { client: self, tasks: Ok(vec![]), options: Options::default(), taken: vec![] }
    }
}
