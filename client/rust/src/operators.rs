//! The operators as methods of the client.

use crate::{
    array::{Array, FromArray, Input, Positions},
    error::{Error, Result},
    request::{FromResults, Named, Request},
    sets,
    task::{Method, Task},
    v1::{ElementType, SortOutput},
    Client,
};

/// One column of a key: numbers, byte strings of fixed width, or strings.
pub struct Column<'a> {
    data: Array<'a>,
    offsets: Option<Array<'a>>,
    validity: Option<Array<'a>>,
    order: ColumnOrder,
}

/// The order of a column.
#[derive(Clone, Copy, Default)]
pub(crate) struct ColumnOrder {
    pub descending: bool,
    pub nulls_first: bool,
    pub nans: NanOrder,
}

/// The place of the NaNs of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NanOrder {
    /// Greater than all numbers, so that a descending column begins with them.
    #[default]
    Greatest,
    /// Between the numbers and the nulls, also in a descending column and without a validity.
    BesideNulls,
    /// Among the nulls, as their equals, also without a validity.
    AsNulls,
}

/// The validity of a column, as [`Column::validity`] takes it: whether each row is not null.
pub fn pack_validity(valid: impl IntoIterator<Item = bool>) -> Vec<u8> {
    let mut packed = vec![];
    for (row, is_valid) in valid.into_iter().enumerate() {
        if row % 8 == 0 {
            packed.push(0);
        }
        packed[row / 8] |= u8::from(is_valid) << (row % 8);
    }
    packed
}

impl<'a> Column<'a> {
    /// Numbers, or `[u8; N]`, which compare as unsigned bytes.
    pub fn new(data: impl Input<'a>) -> Self {
        Self { data: data.into_array(), offsets: None, validity: None, order: ColumnOrder::default() }
    }

    /// Strings: string i is `bytes[offsets[i]..offsets[i + 1]]`. They compare as unsigned bytes.
    pub fn strings(bytes: impl Input<'a>, offsets: impl Input<'a>) -> Self {
        Self { offsets: Some(offsets.into_array()), ..Self::new(bytes) }
    }

    /// Orders this column greatest first.
    pub fn descending(mut self) -> Self {
        self.order.descending = true;
        self
    }

    /// Makes rows null: a bitmap as in Apache Arrow, of u8, one byte for each 8 rows or part of 8. Row i is null if bit
    /// `i % 8` of byte `i / 8` is 0, where bit 0 is the least significant one; see [`pack_validity`]. Null rows are
    /// equal, whatever the column holds for them, and come last unless `nulls_first` is called.
    pub fn validity(mut self, bitmap: impl Input<'a>) -> Self {
        self.validity = Some(bitmap.into_array());
        self
    }

    /// Orders nulls before all other rows, also in a descending column.
    pub fn nulls_first(mut self) -> Self {
        self.order.nulls_first = true;
        self
    }

    /// Says where NaNs lie.
    pub fn nans(mut self, nans: NanOrder) -> Self {
        self.order.nans = nans;
        self
    }

    fn rows(&self) -> Option<usize> {
        match &self.offsets {
            Some(offsets) => offsets.count.map(|count| count.saturating_sub(1)),
            None => self.data.count,
        }
    }
}

/// A column of a sorted key.
pub struct SortedColumn {
    /// The rows in order; of strings, their bytes.
    pub data: Array<'static>,
    /// Of strings, as [`Column::strings`] takes them.
    pub offsets: Option<Vec<i64>>,
    /// As [`Column::validity`] takes it, if the column has one. Null rows keep their data.
    pub validity: Option<Vec<u8>>,
}

impl SortedColumn {
    /// Whether a row is null.
    pub fn is_null(&self, row: usize) -> bool {
        self.validity.as_ref().is_some_and(|bitmap| bitmap[row / 8] >> (row % 8) & 1 == 0)
    }
}

/// The results of a sort by columns; what was not asked for is `None`.
pub struct SortedColumns {
    /// One for each column of the key.
    pub columns: Vec<SortedColumn>,
    /// The values in the order of their keys.
    pub values: Option<Array<'static>>,
    /// The stable permutation.
    pub indices: Option<Positions>,
}

impl FromResults for SortedColumns {
    fn from_results(results: Vec<Named>) -> Result<Self> {
        let mut sorted = Self { columns: vec![], values: None, indices: None };
        for (name, array) in results {
            if name == "values" {
                sorted.values = Some(array);
            } else if name == "indices" {
                sorted.indices = Some(Positions::from_array(array)?);
            } else if name.ends_with(".data") {
                sorted.columns.push(SortedColumn { data: array, offsets: None, validity: None });
            } else if let Some(last) = sorted.columns.last_mut() {
                if name.ends_with(".validity") {
                    last.validity = Some(array.into_vec()?);
                } else {
                    last.offsets = Some(array.into_vec()?);
                }
            }
        }
        Ok(sorted)
    }
}

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

    /// Sorts rows by the first column, rows that are equal in it by the second, and so on. 1 to 16 columns.
    pub fn sort_columns<'a>(&'a self, columns: Vec<Column<'a>>) -> Request<'a, SortedColumns> {
        Request::new(self, sorting_columns(columns, SortOutput::Keys))
    }

    /// The stable permutation that sorts rows by columns.
    pub fn argsort_columns<'a>(&'a self, columns: Vec<Column<'a>>) -> Request<'a, Positions> {
        Request::new(self, sorting_columns(columns, SortOutput::Indices))
    }

    /// The dense rank of each row, from 1, in the order of `sort_columns`. Equal rows have equal ranks, so ranks can be
    /// the keys of joins, groups, merges and searches in place of several columns.
    pub fn rank_columns<'a>(&'a self, columns: Vec<Column<'a>>) -> Request<'a, Positions> {
        Request::new(self, sorting_columns(columns, SortOutput::Ranks))
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
        Request::new(
            self,
            (|| {
                let mut task = Task::new(Method::GatherIntervals);
                let (source, counts) = (checked("source", source.into_array())?, counts.into_array());
                let (sum, greatest) = total(&counts)?;
                if let (Some(length), Some(greatest)) = (source.count, greatest) {
                    if greatest > length {
                        let text = format!("one is {greatest}, more than the {length} elements of the source");
                        return Err(Error::invalid("counts", text));
                    }
                }
                task.output::<S::Owned>("result", kind(&source), sum);
                task.input("source", source);
                task.input("source_offsets", source_offsets.into_array());
                task.input("counts", counts);
                Ok(task)
            })(),
        )
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

fn sorting_columns(columns: Vec<Column<'_>>, output: SortOutput) -> Result<Task<'_>> {
    let mut task = Task::new(Method::Sort);
    let first = columns.first().ok_or_else(|| Error::invalid("key_columns", "at least one is needed"))?;
    let rows = first.rows();
    task.rows = rows;
    task.arguments.output = output;
    for (at, column) in columns.into_iter().enumerate() {
        let part = |name: &str| format!("key_columns[{at}].{name}");
        let (data, offsets, validity) = (part("data"), part("offsets"), part("validity"));
        task.arguments.columns.push(column.order);
        let array = checked(&data, column.data)?;
        if output == SortOutput::Keys {
            task.output::<Array<'static>>(&data, kind(&array), array.count);
            if column.offsets.is_some() {
                task.output::<Vec<i64>>(&offsets, (ElementType::Int64, 0), rows.map(|rows| rows + 1));
            }
            if column.validity.is_some() {
                task.output::<Vec<u8>>(&validity, (ElementType::Uint8, 0), rows.map(|rows| rows.div_ceil(8)));
            }
        }
        task.input(&data, array);
        if let Some(array) = column.offsets {
            task.input(&offsets, array);
        }
        if let Some(array) = column.validity {
            task.input(&validity, array);
        }
    }
    match output {
        SortOutput::Indices => task.positions("indices", rows, rows.map(|rows| rows.saturating_sub(1))),
        SortOutput::Ranks => task.positions("ranks", rows, rows),
        _ => {}
    }
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
    /// Moves a value with each key. Of sort.
    pub fn values<V: Input<'a>>(self, values: V) -> Request<'a, (A, V::Owned)> {
        self.with("values", &["Sort"], |task| add_values::<V>(task, values)).returning()
    }

    /// Returns the stable permutation beside the sorted keys. Of sort.
    pub fn with_indices(self) -> Request<'a, (A, Positions)> {
        self.with("output", &["Sort"], add_indices).returning()
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

impl<'a> Request<'a, SortedColumns> {
    /// Moves a value with each row.
    pub fn values<V: Input<'a>>(self, values: V) -> Self {
        self.with("values", &["Sort"], |task| add_values::<V>(task, values))
    }

    /// Returns the stable permutation beside the sorted columns.
    pub fn with_indices(self) -> Self {
        self.with("output", &["Sort"], add_indices)
    }
}

fn limited(task: &Task<'_>) -> Option<usize> {
    let most = task.arguments.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    task.rows.map(|rows| rows.min(most))
}

fn add_values<'a, V: Input<'a>>(task: &mut Task<'a>, values: V) -> Result<()> {
    let array = checked("values", values.into_array())?;
    let count = limited(task);
    task.output::<V::Owned>("values", kind(&array), count);
    task.input("values", array);
    Ok(())
}

fn add_indices(task: &mut Task<'_>) -> Result<()> {
    task.arguments.output = SortOutput::KeysAndIndices;
    let (count, rows) = (limited(task), task.rows);
    task.positions("indices", count, rows.map(|rows| rows.saturating_sub(1)));
    Ok(())
}
