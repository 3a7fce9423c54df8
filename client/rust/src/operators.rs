//! The operators as methods of the client.

use crate::{
    array::{Array, FromArray, Input, Positions},
    error::{Error, Result},
    request::Request,
    selections, sets,
    task::{Method, Task},
    v1::{ElementType, SortOutput},
    Client,
};

pub(crate) fn kind(array: &Array<'_>) -> (ElementType, u32) {
    (array.kind, array.record_bytes)
}

/// The sum of counts and the greatest of them, if they lie here; negative ones are for the server to refuse.
fn total(counts: &Array<'_>) -> Result<(Option<usize>, Option<usize>)> {
    if !counts.is_here() || counts.kind != ElementType::Int64 {
        return Ok((None, None));
    }
    let (mut sum, mut greatest) = (0usize, 0usize);
    for bytes in counts.as_bytes().chunks_exact(8) {
        let Ok(count) = usize::try_from(i64::from_le_bytes(bytes.try_into().expect("chunks of 8"))) else {
            return Ok((None, None));
        };
        sum = sum
            .checked_add(count)
            .filter(|sum| i64::try_from(*sum).is_ok())
            .ok_or_else(|| Error::invalid("counts", "they add up to more than 2^63 - 1"))?;
        greatest = greatest.max(count);
    }
    Ok((Some(sum), Some(greatest)))
}

pub(crate) fn checked<'a>(field: &str, array: Array<'a>) -> Result<Array<'a>> {
    crate::array::checked_width(array.kind, array.record_bytes).map_err(|error| error.blame(field))?;
    Ok(array)
}

impl Client {
    /// Sorts keys. Stable. NaNs come last, and first when descending.
    pub fn sort<'a, I: Input<'a>>(&'a self, keys: I) -> Request<'a, I::Owned> {
        Request::new(self, sorting::<I>(keys, SortOutput::Keys))
    }

    /// The stable permutation that sorts the keys. With segments, positions count from the start of the whole array.
    pub fn argsort<'a, I: Input<'a>>(&'a self, keys: I) -> Request<'a, Positions> {
        Request::new(self, sorting::<I>(keys, SortOutput::Indices))
    }

    /// Merges 2 to 1024 sorted arrays. Stable: equal keys of an earlier array come first.
    pub fn merge<'a, I: Input<'a>>(&'a self, keys: impl IntoIterator<Item = I>) -> Request<'a, I::Owned> {
        let mut task = Task::new(Method::Merge);
        let merged = several(&mut task, "keys", keys).map(|(like, count)| {
            task.output::<I::Owned>("keys", like, count);
            task
        });
        Request::new(self, merged)
    }

    /// The position of each needle in a sorted array: the first whose key does not come before the needle.
    pub fn search<'a, H: Input<'a>, N: Input<'a>>(&'a self, haystack: H, needles: N) -> Request<'a, Positions> {
        Request::new(
            self,
            (|| {
                let mut task = Task::new(Method::Search);
                let (haystack, needles) =
                    (checked("haystack", haystack.into_array())?, checked("needles", needles.into_array())?);
                task.positions("positions", needles.count, haystack.count);
                task.input("haystack", haystack);
                task.input("needles", needles);
                Ok(task)
            })(),
        )
    }

    /// Repeats value i `counts[i]` times.
    pub fn expand<'a, V: Input<'a>, C: Input<'a>>(&'a self, values: V, counts: C) -> Request<'a, V::Owned> {
        Request::new(
            self,
            (|| {
                let mut task = Task::new(Method::ExpandIntervals);
                let (values, counts) = (checked("values", values.into_array())?, counts.into_array());
                if let (Some(values), Some(counts)) = (values.count, counts.count) {
                    if values != counts {
                        return Err(Error::invalid(
                            "counts",
                            format!("{counts} for {values} values; each value needs one"),
                        ));
                    }
                }
                task.output::<V::Owned>("values", kind(&values), total(&counts)?.0);
                task.input("values", values);
                task.input("counts", counts);
                Ok(task)
            })(),
        )
    }

    /// Copies intervals of a source, one after the other, into a dense result.
    pub fn gather<'a, S: Input<'a>>(
        &'a self,
        source: S,
        source_offsets: impl Input<'a>,
        counts: impl Input<'a>,
    ) -> Request<'a, S::Owned> {
        let task = gathering::<S::Owned>(source.into_array(), source_offsets.into_array(), counts.into_array());
        Request::new(self, task)
    }

    /// Copies many intervals into a copy of `destination`: for each i, `counts[i]` elements from
    /// `source[source_offsets[i]]` on to `destination[destination_offsets[i]]` on.
    pub fn r#move<'a, S: Input<'a>>(
        &'a self,
        source: S,
        source_offsets: impl Input<'a>,
        destination_offsets: impl Input<'a>,
        counts: impl Input<'a>,
        destination: impl Destination<'a>,
    ) -> Request<'a, S::Owned> {
        Request::new(
            self,
            (|| {
                let mut task = Task::new(Method::MoveIntervals);
                let source = checked("source", source.into_array())?;
                let like = kind(&source);
                task.input("source", source);
                task.input("source_offsets", source_offsets.into_array());
                task.input("destination_offsets", destination_offsets.into_array());
                task.input("counts", counts.into_array());
                let count = destination.add(&mut task)?;
                task.output::<S::Owned>("result", like, count);
                Ok(task)
            })(),
        )
    }

    /// Copies a dense source into many intervals of a copy of `destination`: the first `counts[0]` elements to the first
    /// interval, and so on.
    pub fn scatter<'a, S: Input<'a>>(
        &'a self,
        source: S,
        destination_offsets: impl Input<'a>,
        counts: impl Input<'a>,
        destination: impl Destination<'a>,
    ) -> Request<'a, S::Owned> {
        Request::new(
            self,
            (|| {
                let mut task = Task::new(Method::ScatterIntervals);
                let source = checked("source", source.into_array())?;
                let like = kind(&source);
                task.input("source", source);
                task.input("destination_offsets", destination_offsets.into_array());
                task.input("counts", counts.into_array());
                let count = destination.add(&mut task)?;
                task.output::<S::Owned>("result", like, count);
                Ok(task)
            })(),
        )
    }

    /// For each work item, the object that made it, and the item's rank among that object's items. Object i makes
    /// `counts[i]` items.
    pub fn load_balance<'a>(&'a self, counts: impl Input<'a>) -> Request<'a, (Positions, Positions)> {
        Request::new(
            self,
            (|| {
                let mut task = Task::new(Method::LoadBalance);
                let counts = counts.into_array();
                let sum = total(&counts)?.0;
                let greatest = sum.zip(counts.count).map(|(sum, objects)| sum.max(objects).saturating_sub(1));
                task.positions("objects", sum, greatest);
                task.positions("ranks", sum, greatest);
                task.input("counts", counts);
                Ok(task)
            })(),
        )
    }
}

pub(crate) fn gathering<'a, A: FromArray>(
    source: Array<'a>,
    source_offsets: Array<'a>,
    counts: Array<'a>,
) -> Result<Task<'a>> {
    let mut task = Task::new(Method::GatherIntervals);
    let source = checked("source", source)?;
    let (sum, greatest) = total(&counts)?;
    if let (Some(length), Some(greatest)) = (source.count, greatest) {
        if greatest > length {
            let text = format!("one is {greatest}, more than the {length} elements of the source");
            return Err(Error::invalid("counts", text));
        }
    }
    task.output::<A>("result", kind(&source), sum);
    task.input("source", source);
    task.input("source_offsets", source_offsets);
    task.input("counts", counts);
    Ok(task)
}

/// What `move` and `scatter` write into: `usize` for a new array of so many elements, all bytes zero, or a copy of an
/// array.
pub trait Destination<'a> {
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn add(self, task: &mut Task<'a>) -> Result<Option<usize>>;
}

impl<'a> Destination<'a> for usize {
    #[allow(private_interfaces)]
    fn add(self, task: &mut Task<'a>) -> Result<Option<usize>> {
        let count =
            i64::try_from(self).map_err(|_| Error::invalid("destination", "has more than 2^63 - 1 elements"))?;
        task.arguments.destination_count = Some(count);
        Ok(Some(self))
    }
}

impl<'a, I: Input<'a>> Destination<'a> for I {
    #[allow(private_interfaces)]
    fn add(self, task: &mut Task<'a>) -> Result<Option<usize>> {
        let array = self.into_array();
        let count = array.count;
        task.input("destination", array);
        Ok(count)
    }
}

fn sorting<'a, I: Input<'a>>(keys: I, output: SortOutput) -> Result<Task<'a>> {
    let mut task = Task::new(Method::Sort);
    let keys = checked("keys", keys.into_array())?;
    task.rows = keys.count;
    task.arguments.output = output;
    if output == SortOutput::Indices {
        task.positions("indices", keys.count, keys.count.map(|count| count.saturating_sub(1)));
    } else {
        task.output::<I::Owned>("keys", kind(&keys), keys.count);
    }
    task.input("keys", keys);
    Ok(task)
}

/// Adds the arrays of a repeated field, all of one type. Returns the type and the number of all elements.
fn several<'a, I: Input<'a>>(
    task: &mut Task<'a>,
    field: &str,
    arrays: impl IntoIterator<Item = I>,
) -> Result<((ElementType, u32), Option<usize>)> {
    let (mut first, mut count) = (None, Some(0usize));
    for (at, array) in arrays.into_iter().enumerate() {
        let name = format!("{field}[{at}]");
        let array = checked(&name, array.into_array())?;
        let like = *first.get_or_insert(kind(&array));
        if kind(&array) != like {
            return Err(Error::invalid(&name, format!("is {array:?}, {field}[0] is of another type")));
        }
        count = count.zip(array.count).map(|(sum, own)| sum + own);
        task.input(&name, array);
    }
    first.map(|like| (like, count)).ok_or_else(|| Error::invalid(field, "2 arrays or more are needed"))
}

impl<'a, A: FromArray> Request<'a, A> {
    /// Moves a value with each key or element. Of sort, select, argselect and remove.
    pub fn values<V: Input<'a>>(self, values: V) -> Request<'a, (A, V::Owned)> {
        self.with("values", &["Sort", "Select"], |task| match task.method {
            Method::Select => selections::add_values(task, values),
            _ => add_values::<V>(task, values),
        })
        .returning()
    }

    /// Returns the stable permutation beside the sorted keys, or the positions beside the selected elements. Of sort and
    /// select.
    pub fn with_indices(self) -> Request<'a, (A, Positions)> {
        self.with("output", &["Sort", "Select"], |task| match task.method {
            Method::Select => selections::add_indices(task),
            _ => add_indices(task),
        })
        .returning()
    }

    /// Moves a value with each key: one array of values for each array of keys. Of merge and of sets; an intersection
    /// and a difference take the values of the left side alone.
    pub fn values_of<V: Input<'a>>(self, values: impl IntoIterator<Item = V>) -> Request<'a, (A, V::Owned)> {
        self.with("values", &["Merge", "CombineSets"], |task| {
            if task.method == Method::CombineSets {
                return sets::add_values(task, values);
            }
            let arrays = task.inputs.len();
            let (like, count) = several(task, "values", values)?;
            if task.inputs.len() != 2 * arrays {
                let text =
                    format!("{} arrays for the {arrays} of keys; each needs its own", task.inputs.len() - arrays);
                return Err(Error::invalid("values", text));
            }
            task.output::<V::Owned>("values", like, count);
            Ok(())
        })
        .returning()
    }
}

/// The segments of the result of a sort with [`Request::segments`] and [`Request::limit`]: the results of segment i are
/// `result[i]..result[i + 1]`.
pub fn limited_segments(segments: &[i64], limit: usize) -> Vec<i64> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let lengths = segments.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).clamp(0, limit));
    let ends = lengths.scan(0i64, |end, length| {
        *end = end.saturating_add(length);
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

pub(crate) fn add_values<'a, V: Input<'a>>(task: &mut Task<'a>, values: V) -> Result<()> {
    let array = checked("values", values.into_array())?;
    task.output::<V::Owned>("values", kind(&array), task.rows);
    task.input("values", array);
    task.limit_results();
    Ok(())
}

pub(crate) fn add_indices(task: &mut Task<'_>) -> Result<()> {
    task.arguments.output = SortOutput::KeysAndIndices;
    let rows = task.rows;
    task.positions("indices", rows, rows.map(|rows| rows.saturating_sub(1)));
    task.limit_results();
    Ok(())
}
