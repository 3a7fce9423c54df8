//! Sorts, ranks and searches of rows by several columns.

use crate::{
    array::{Array, FromArray, Input, Positions},
    error::{Error, Result},
    operators::{add_indices, add_values, checked, kind},
    request::{FromResults, Named, Request},
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

impl Client {
    /// Sorts rows by the first column, rows that are equal in it by the second, and so on. 1 to 32 columns.
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

    /// Where rows belong in a table that is sorted as by `sort_columns`: the first row that does not come before the
    /// needle. Needles are as many columns of the same types, with rows in any order; their order is that of the
    /// haystack, so leave it unset or repeat it.
    pub fn search_columns<'a>(&'a self, haystack: Vec<Column<'a>>, needles: Vec<Column<'a>>) -> Request<'a, Positions> {
        Request::new(self, searching_columns(haystack, needles))
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

/// Adds the arrays of a column, whose parts have these names.
fn add_column<'a>(task: &mut Task<'a>, part: impl Fn(&str) -> String, column: Column<'a>) -> Result<()> {
    let data = part("data");
    task.input(&data, checked(&data, column.data)?);
    if let Some(array) = column.offsets {
        task.input(&part("offsets"), array);
    }
    if let Some(array) = column.validity {
        task.input(&part("validity"), array);
    }
    Ok(())
}

fn searching_columns<'a>(haystack: Vec<Column<'a>>, needles: Vec<Column<'a>>) -> Result<Task<'a>> {
    let mut task = Task::new(Method::Search);
    let rows_of = |field: &str, columns: &[Column<'_>]| {
        columns.first().map(Column::rows).ok_or_else(|| Error::invalid(field, "at least one is needed"))
    };
    let (rows, sought) = (rows_of("haystack_columns", &haystack)?, rows_of("needle_columns", &needles)?);
    task.positions("positions", sought, rows);
    for (at, column) in haystack.into_iter().enumerate() {
        task.arguments.columns.push(column.order);
        add_column(&mut task, |name| format!("haystack_columns[{at}].{name}"), column)?;
    }
    for (at, column) in needles.into_iter().enumerate() {
        task.arguments.needle_columns.push(column.order);
        add_column(&mut task, |name| format!("needle_columns[{at}].{name}"), column)?;
    }
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
        if output == SortOutput::Keys {
            task.output::<Array<'static>>(&part("data"), kind(&column.data), column.data.count);
            if column.offsets.is_some() {
                task.output::<Vec<i64>>(&part("offsets"), (ElementType::Int64, 0), rows.map(|rows| rows + 1));
            }
            if column.validity.is_some() {
                let bytes = rows.map(|rows| rows.div_ceil(8));
                task.output::<Vec<u8>>(&part("validity"), (ElementType::Uint8, 0), bytes);
            }
        }
        task.arguments.columns.push(column.order);
        add_column(&mut task, part, column)?;
    }
    match output {
        SortOutput::Indices => task.positions("indices", rows, rows.map(|rows| rows.saturating_sub(1))),
        SortOutput::Ranks => task.positions("ranks", rows, rows),
        _ => {}
    }
    Ok(task)
}
