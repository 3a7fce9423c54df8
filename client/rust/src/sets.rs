//! Unions, intersections and differences of sorted arrays.

use crate::{
    array::Input,
    error::{Error, Result},
    operators::{checked, kind},
    request::{FromResults, Named, Request},
    task::{Method, Task},
    v1::{ElementType, SetOperation},
    Client,
};

impl FromResults for i64 {
    fn from_results(results: Vec<Named>) -> Result<Self> {
        let numbers = Vec::<Self>::from_results(results)?;
        numbers.first().copied().ok_or_else(|| Error::internal("the server answered no number"))
    }
}

impl Client {
    /// Combines two sorted arrays of one type as multisets into a sorted array. The server checks that they are sorted.
    /// Where a key occurs m times on the left and n times on the right, the first min(m, n) of them on each side are
    /// partners. All NaNs are one key, and so are both zeros.
    ///
    /// - [`SetOperation::Union`]: all keys of the left, and of the right those without a partner, after equal ones.
    /// - [`SetOperation::Intersection`]: the keys of the left that have a partner.
    /// - [`SetOperation::Difference`]: the keys of the left without a partner.
    /// - [`SetOperation::SymmetricDifference`]: the keys of both sides without a partner.
    pub fn combine_sets<'a, L: Input<'a>>(
        &'a self,
        operation: SetOperation,
        left: L,
        right: impl Input<'a>,
    ) -> Request<'a, L::Owned> {
        let task = combining(operation, left, right).map(|mut task| {
            let (like, most) = (kind(&task.inputs[0].array), most_keys(&task));
            task.output::<L::Owned>("keys", like, None);
            task.outputs[0].most = most;
            task
        });
        Request::new(self, task)
    }

    /// Counts the keys that [`Client::combine_sets`] would return.
    pub fn count_sets<'a>(
        &'a self,
        operation: SetOperation,
        left: impl Input<'a>,
        right: impl Input<'a>,
    ) -> Request<'a, i64> {
        let task = combining(operation, left, right).map(|mut task| {
            task.arguments.count_only = true;
            task.output::<Vec<i64>>("count", (ElementType::Int64, 0), Some(1));
            task
        });
        Request::new(self, task)
    }
}

fn combining<'a>(operation: SetOperation, left: impl Input<'a>, right: impl Input<'a>) -> Result<Task<'a>> {
    let mut task = Task::new(Method::CombineSets);
    task.arguments.set_operation = operation;
    task.input("left", checked("left", left.into_array())?);
    task.input("right", checked("right", right.into_array())?);
    Ok(task)
}

/// The length of the longest result; `None`: not known.
fn most_keys(task: &Task<'_>) -> Option<usize> {
    let (left, right) = (task.inputs[0].array.count, task.inputs[1].array.count);
    match task.arguments.set_operation {
        SetOperation::Difference => left,
        SetOperation::Intersection => left.min(right).or(left).or(right),
        _ => left.zip(right).map(|(left, right)| left.saturating_add(right)),
    }
}

/// Moves values with the keys: those of the left side, or of both.
pub(crate) fn add_values<'a, V: Input<'a>>(task: &mut Task<'a>, values: impl IntoIterator<Item = V>) -> Result<()> {
    let arrays: Vec<_> = values.into_iter().map(Input::into_array).collect();
    if !(1..=2).contains(&arrays.len()) {
        let text = format!("{} arrays; those of the left side are needed, or of both", arrays.len());
        return Err(Error::invalid("values", text));
    }
    let like = kind(&arrays[0]);
    for (name, array) in ["left_values", "right_values"].into_iter().zip(arrays) {
        task.input(name, checked(name, array)?);
    }
    task.output::<V::Owned>("values", like, None);
    task.outputs[1].most = most_keys(task);
    Ok(())
}
