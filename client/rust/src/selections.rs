//! Elements that flags, bits, positions or a comparison select, and their removal, partition and insertion.

use bytes::Bytes;

use crate::{
    array::{Array, Data, FromArray, Input, Positions},
    error::{Error, Result},
    operators::{checked, gathering, kind},
    request::Request,
    task::{Method, Task},
    v1::{Comparison, ElementType},
    Client,
};

/// Which elements [`Client::select`] and its siblings select.
pub struct Selection<'a> {
    field: &'static str,
    by: Array<'a>,
    comparison: Comparison,
}

impl<'a> Selection<'a> {
    fn new(field: &'static str, by: impl Input<'a>) -> Self {
        Self { field, by: by.into_array(), comparison: Comparison::Unspecified }
    }

    /// Selects the elements whose flag, a `u8` for each, is not 0.
    pub fn flags(flags: impl Input<'a>) -> Self {
        Self::new("flags", flags)
    }

    /// Selects the elements that are marked: one `bool` for each.
    pub fn mask(mask: impl IntoIterator<Item = bool>) -> Self {
        Self::flags(mask.into_iter().map(u8::from).collect::<Vec<u8>>())
    }

    /// Selects the elements whose bit is 1: bit `i % 8` of byte `i / 8`, where bit 0 is the least significant one, is that
    /// of element i. A `u8` for each 8 elements or part of 8.
    pub fn bitmap(bitmap: impl Input<'a>) -> Self {
        Self::new("bitmap", bitmap)
    }

    /// Selects the elements at these positions, `i64` from 0, in any order. An element that is there twice is selected
    /// once.
    pub fn positions(positions: impl Input<'a>) -> Self {
        Self::new("positions", positions)
    }

    /// Selects the elements that compare so with the threshold: an array of one element, of their type. NaNs are greater
    /// than every number and equal to each other, and both zeros are equal.
    pub fn compare(comparison: Comparison, threshold: impl Input<'a>) -> Self {
        Self { comparison, ..Self::new("threshold", threshold) }
    }
}

impl FromArray for usize {
    fn from_array(array: Array<'static>) -> Result<Self> {
        let number = array.into_vec::<i64>()?.first().copied();
        let number = number.and_then(|number| Self::try_from(number).ok());
        number.ok_or_else(|| Error::internal("the server answered no number of elements"))
    }
}

impl Client {
    /// Copies the selected elements, of any type, and keeps their order: a filter. Until the server knows their number, it
    /// makes room for all elements.
    ///
    /// ```no_run
    /// # async fn example(client: corank::Client, prices: Vec<f32>) -> corank::Result<()> {
    /// use corank::{Comparison, Selection};
    ///
    /// let cheap = client.select(&prices, Selection::compare(Comparison::Less, &[10f32])).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn select<'a, E: Input<'a>>(&'a self, elements: E, by: Selection<'a>) -> Request<'a, E::Owned> {
        Request::new(self, selecting(elements, by).map(add_elements::<E>))
    }

    /// The positions of the elements that [`Client::select`] would copy, in ascending order.
    pub fn argselect<'a>(&'a self, elements: impl Input<'a>, by: Selection<'a>) -> Request<'a, Positions> {
        let task = selecting(elements, by).and_then(|mut task| add_indices(&mut task).map(|()| task));
        Request::new(self, task)
    }

    /// Moves the elements that [`Client::select`] would copy to the front, and counts them, as `split_at` takes the
    /// number. Both parts keep their order.
    pub fn partition<'a, E: Input<'a>>(&'a self, elements: E, by: Selection<'a>) -> Request<'a, (E::Owned, usize)> {
        let task = selecting(elements, by).map(|mut task| {
            task.arguments.partition = true;
            let mut task = add_elements::<E>(task);
            task.output::<Vec<i64>>("count", (ElementType::Int64, 0), Some(1));
            task
        });
        Request::new(self, task)
    }

    /// Copies all elements but those at these positions, `i64` from 0, in any order; they may repeat.
    pub fn remove<'a, E: Input<'a>>(&'a self, elements: E, positions: impl Input<'a>) -> Request<'a, E::Owned> {
        self.select(elements, Selection::positions(positions)).negate()
    }

    /// Inserts elements before many positions at once: `inserted[i]` goes before `elements[positions[i]]`, or behind all
    /// elements if `positions[i]` is their number. Positions may be in any order; elements for the same one keep their
    /// order.
    ///
    /// The call is a [`Client::gather`] from a copy of both arrays, which must be in this process. For arrays on the
    /// server, a `move` and a `scatter` in one chain do the same.
    pub fn insert<'a, E: Input<'a>>(
        &'a self,
        elements: E,
        positions: &[i64],
        inserted: impl Input<'a>,
    ) -> Request<'a, E::Owned> {
        let task = joined(elements.into_array(), positions, inserted.into_array()).and_then(|(both, count)| {
            let (offsets, counts) = intervals(count, positions);
            gathering::<E::Owned>(both, offsets.into_array(), counts.into_array())
        });
        Request::new(self, task)
    }
}

impl<R> Request<'_, R> {
    /// Selects the other elements. Of select, argselect and partition.
    pub fn negate(self) -> Self {
        self.with("negate", &["Select"], |task| {
            task.arguments.negate = !task.arguments.negate;
            Ok(())
        })
    }
}

impl<'a, A: FromArray> Request<'a, (A, usize)> {
    /// Moves a value with each element. Of partition.
    pub fn values<V: Input<'a>>(self, values: V) -> Request<'a, (A, V::Owned, usize)> {
        self.with("values", &["Select"], |task| {
            add_values(task, values)?;
            task.outputs.swap(1, 2); // the number comes last
            Ok(())
        })
        .returning()
    }
}

fn selecting<'a>(elements: impl Input<'a>, by: Selection<'a>) -> Result<Task<'a>> {
    let mut task = Task::new(Method::Select);
    task.arguments.comparison = by.comparison;
    task.input("elements", checked("elements", elements.into_array())?);
    task.input(by.field, checked(by.field, by.by)?);
    Ok(task)
}

fn add_elements<'a, E: Input<'a>>(mut task: Task<'a>) -> Task<'a> {
    let like = kind(&task.inputs[0].array);
    add::<E::Owned>(&mut task, "elements", like);
    task
}

/// Adds a result with an element for each selected one.
fn add<A: FromArray>(task: &mut Task<'_>, name: &str, like: (ElementType, u32)) {
    let all = task.inputs[0].array.count;
    task.output::<A>(name, like, all.filter(|_| task.arguments.partition));
    task.outputs.last_mut().expect("it was just added").most = all;
}

pub(crate) fn add_values<'a, V: Input<'a>>(task: &mut Task<'a>, values: V) -> Result<()> {
    let array = checked("values", values.into_array())?;
    add::<V::Owned>(task, "values", kind(&array));
    task.input("values", array);
    Ok(())
}

pub(crate) fn add_indices(task: &mut Task<'_>) -> Result<()> {
    let all = task.inputs[0].array.count;
    task.positions("indices", None, all.map(|all| all.saturating_sub(1)));
    task.outputs.last_mut().expect("it was just added").most = all;
    Ok(())
}

/// The elements with the inserted ones behind them, and the number of the former.
fn joined<'a>(elements: Array<'_>, positions: &[i64], inserted: Array<'_>) -> Result<(Array<'a>, i64)> {
    for (name, array) in [("elements", &elements), ("inserted", &inserted)] {
        if !array.is_here() {
            let text = "must be in this process; elsewhere, use move and scatter in a chain";
            return Err(Error::invalid(name, text));
        }
    }
    if kind(&inserted) != kind(&elements) {
        return Err(Error::invalid(
            "inserted",
            format!("is {inserted:?}, elements is {elements:?}; they need one type"),
        ));
    }
    if positions.len() != inserted.len() {
        let text = format!("{} for {} inserted elements; each needs one", positions.len(), inserted.len());
        return Err(Error::invalid("positions", text));
    }
    let count = elements.len() as i64;
    if let Some(at) = positions.iter().position(|position| !(0..=count).contains(position)) {
        let text = format!("is {}, must be 0 to {count}", positions[at]);
        return Err(Error::invalid(&format!("positions[{at}]"), text));
    }
    let (kind, record_bytes) = kind(&elements);
    let both = [elements.as_bytes(), inserted.as_bytes()].concat();
    let length = Some(elements.len() + inserted.len());
    Ok((Array { kind, record_bytes, count: length, data: Data::Shared(Bytes::from(both)) }, count))
}

/// The intervals of `count` elements, with the inserted ones behind them, that make up the result: where each begins, and
/// its length.
fn intervals(count: i64, positions: &[i64]) -> (Vec<i64>, Vec<i64>) {
    let mut order: Vec<usize> = (0..positions.len()).collect();
    if !positions.is_sorted() {
        order.sort_by_key(|at| positions[*at]);
    }
    let (mut begins, mut counts) = (Vec::<i64>::new(), Vec::<i64>::new());
    let mut add = |begin: i64, length: i64| match (begins.last(), counts.last_mut()) {
        _ if length == 0 => {}
        (Some(last), Some(count)) if last + *count == begin => *count += length,
        _ => {
            begins.push(begin);
            counts.push(length);
        }
    };
    let mut done = 0;
    for at in order {
        add(done, positions[at] - done);
        add(count + at as i64, 1);
        done = positions[at];
    }
    add(done, count - done);
    (begins, counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_an_interval() {
        assert_eq!(intervals(3, &[]), (vec![0], vec![3]));
        assert_eq!(intervals(0, &[]), (vec![], vec![]));
        assert_eq!(intervals(0, &[0, 0]), (vec![0], vec![2]));
        assert_eq!(intervals(3, &[1, 1, 1]), (vec![0, 3, 1], vec![1, 3, 2]));
        assert_eq!(intervals(3, &[3, 3]), (vec![0], vec![5]));
        assert_eq!(intervals(3, &[3, 0, 1, 3, 0]), (vec![4, 7, 0, 5, 1, 6], vec![1, 1, 1, 1, 3, 1]));
    }
}
