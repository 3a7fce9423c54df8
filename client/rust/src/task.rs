//! A call of one operator as data: what goes in, what comes out, and how both look in messages.

use crate::{
    array::{byte_buffer, Array, Data, FromArray, MakeBuffer},
    columns::{ColumnOrder, NanOrder},
    element::width,
    error::{Error, Result},
    operators::limited_segments,
    request::Options,
    v1::{self, operation::Operation, operation_result::Result as Answer, ElementType},
};

/// An operator of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Sort,
    Merge,
    ExpandIntervals,
    MoveIntervals,
    GatherIntervals,
    ScatterIntervals,
    LoadBalance,
    Search,
    Group,
    CombineSets,
    Join,
    Select,
    Rank,
}

impl Method {
    /// Its name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sort => "Sort",
            Self::Merge => "Merge",
            Self::ExpandIntervals => "ExpandIntervals",
            Self::MoveIntervals => "MoveIntervals",
            Self::GatherIntervals => "GatherIntervals",
            Self::ScatterIntervals => "ScatterIntervals",
            Self::LoadBalance => "LoadBalance",
            Self::Search => "Search",
            Self::Group => "Group",
            Self::CombineSets => "CombineSets",
            Self::Join => "Join",
            Self::Select => "Select",
            Self::Rank => "Rank",
        }
    }

    /// The name of the operator that made this answer.
    pub fn name_of(answer: &Answer) -> &'static str {
        match answer {
            Answer::Sort(_) => "Sort",
            Answer::Merge(_) => "Merge",
            Answer::ExpandIntervals(_) => "ExpandIntervals",
            Answer::MoveIntervals(_) => "MoveIntervals",
            Answer::GatherIntervals(_) => "GatherIntervals",
            Answer::ScatterIntervals(_) => "ScatterIntervals",
            Answer::LoadBalance(_) => "LoadBalance",
            Answer::Search(_) => "Search",
            Answer::Group(_) => "Group",
            Answer::CombineSets(_) => "CombineSets",
            Answer::Join(_) => "Join",
            Answer::Select(_) => "Select",
            Answer::Rank(_) => "Rank",
        }
    }

    /// Whether the server works on the input in pieces, if all that belongs to it are streams.
    pub fn goes_in_pieces(self, input: &str) -> bool {
        matches!(self, Self::Sort | Self::Merge) && (input.starts_with("keys") || input.starts_with("values"))
    }
}

/// One array of a request.
pub(crate) struct Leaf<'a> {
    pub name: String,
    pub array: Array<'a>,
    pub stream: Option<u32>,
}

/// One result.
pub(crate) struct Output {
    /// Its field in the response.
    pub name: String,
    pub kind: ElementType,
    pub record_bytes: u32,
    /// `None`: not known before the answer.
    pub count: Option<usize>,
    /// The most elements, where only the answer tells their number; `None`: not known either.
    pub most: Option<usize>,
    /// It has 4 or 8 bytes for each element, as the answer says; `kind` is what it is at most.
    pub is_position: bool,
    pub make: MakeBuffer,
    /// Where the server keeps it.
    pub kept: Option<v1::StoredPlace>,
    pub stream: Option<u32>,
}

impl Output {
    pub fn width(&self) -> usize {
        width(self.kind, self.record_bytes)
    }

    pub fn bytes(&self) -> Option<usize> {
        self.count.map(|count| count.saturating_mul(self.width()))
    }

    /// The most bytes that it may have.
    pub fn most_bytes(&self) -> Option<usize> {
        self.count.or(self.most).map(|count| count.saturating_mul(self.width()))
    }

    fn destination(&self) -> Option<v1::Destination> {
        let place = match (&self.kept, self.stream) {
            (Some(place), _) => v1::destination::Place::Stored(place.clone()),
            (None, Some(stream_id)) => v1::destination::Place::Stream(v1::StreamPlace { stream_id }),
            (None, None) => return None,
        };
        Some(v1::Destination { place: Some(place) })
    }
}

/// Arguments that are no arrays.
#[derive(Clone, Default)]
pub(crate) struct Arguments {
    pub descending: bool,
    pub algorithm: i32,
    pub output: v1::SortOutput,
    pub limit: Option<i64>,
    pub offset: Option<i64>,
    pub assume_sorted: bool,
    pub upper: bool,
    pub allow_overlap: bool,
    pub destination_count: Option<i64>,
    /// Of sorts and searches by columns: the order of each, and of each column of the needles.
    pub columns: Vec<ColumnOrder>,
    pub needle_columns: Vec<ColumnOrder>,
    pub group_input: v1::GroupInput,
    pub group_outputs: Vec<v1::GroupOutput>,
    pub set_operation: v1::SetOperation,
    pub count_only: bool,
    pub join_kind: v1::JoinKind,
    pub right_sorted: bool,
    pub max_rows: Option<i64>,
    pub comparison: v1::Comparison,
    pub negate: bool,
    pub partition: bool,
    pub rank_method: v1::RankMethod,
    pub keys_sorted: bool,
}

pub(crate) struct Task<'a> {
    pub method: Method,
    pub inputs: Vec<Leaf<'a>>,
    pub outputs: Vec<Output>,
    pub arguments: Arguments,
    /// Of sorts: the number of rows, if it is known.
    pub rows: Option<usize>,
}

impl<'a> Task<'a> {
    pub fn new(method: Method) -> Self {
        Self { method, inputs: vec![], outputs: vec![], arguments: Arguments::default(), rows: None }
    }

    pub fn input(&mut self, name: &str, array: Array<'a>) {
        self.inputs.push(Leaf { name: name.to_owned(), array, stream: None });
    }

    /// A result with the elements of the array.
    pub fn output<A: FromArray>(&mut self, name: &str, like: (ElementType, u32), count: Option<usize>) {
        self.outputs.push(Output {
            name: name.to_owned(),
            kind: like.0,
            record_bytes: like.1,
            count,
            most: None,
            is_position: false,
            make: A::make_buffer().0,
            kept: None,
            stream: None,
        });
    }

    /// A result of positions, of which none is greater than `greatest`. `None`: not known; they have 32 bits then, as the
    /// server answers them for fewer than 2^32 elements.
    pub fn positions(&mut self, name: &str, count: Option<usize>, greatest: Option<usize>) {
        let is_short = greatest.is_none_or(|most| u32::try_from(most).is_ok());
        let kind = if is_short { ElementType::Uint32 } else { ElementType::Uint64 };
        self.output::<Array<'static>>(name, (kind, 0), count);
        let last = self.outputs.last_mut().expect("it was just added");
        last.is_position = true;
        last.make = if is_short { crate::array::typed_buffer::<u32> } else { byte_buffer };
    }

    /// A result of row numbers, which have 32 bits if both sides are short.
    pub fn rows_of_join(&mut self, name: &str, is_short: bool) {
        let kind = if is_short { ElementType::Int32 } else { ElementType::Int64 };
        self.output::<Array<'static>>(name, (kind, 0), None);
        let last = self.outputs.last_mut().expect("it was just added");
        last.is_position = true;
        last.make = if is_short { crate::array::typed_buffer::<i32> } else { crate::array::typed_buffer::<i64> };
    }

    pub fn limit(&mut self, count: usize) {
        self.arguments.limit = Some(i64::try_from(count).unwrap_or(i64::MAX));
        self.limit_results();
    }

    pub fn offset(&mut self, count: usize) {
        self.arguments.offset = Some(i64::try_from(count).unwrap_or(i64::MAX));
        self.limit_results();
    }

    /// How many rows a sort returns, and the most that it may. `None`: not known before the answer.
    fn first_rows(&self) -> (Option<usize>, Option<usize>) {
        let Some(rows) = self.rows else {
            return (None, None);
        };
        let offset = usize::try_from(self.arguments.offset.unwrap_or(0)).unwrap_or(usize::MAX);
        let rows = rows.saturating_sub(offset);
        let limit = self.arguments.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        if limit >= rows {
            return (Some(rows), Some(rows));
        }
        let Some(Leaf { array: segments, .. }) = self.inputs.iter().find(|leaf| leaf.name == "segment_offsets") else {
            return (Some(limit), Some(limit));
        };
        if !segments.is_here() || segments.kind != ElementType::Int64 {
            let of_each = |offsets: usize| limit.saturating_mul(offsets.saturating_sub(1));
            return (None, Some(segments.count.map_or(rows, |offsets| rows.min(of_each(offsets)))));
        }
        let bytes = segments.as_bytes().chunks_exact(8);
        let offsets: Vec<i64> = bytes.map(|bytes| i64::from_le_bytes(bytes.try_into().expect("chunks of 8"))).collect();
        let found = limited_segments(&offsets, limit).last().copied().unwrap_or(0);
        let count = usize::try_from(found).map_or(rows, |found| found.min(rows));
        (Some(count), Some(count))
    }

    /// Sets the lengths of the results of a sort, whose limit, segments or outputs have changed.
    pub fn limit_results(&mut self) {
        if self.rows.is_none() {
            return;
        }
        let (count, most) = self.first_rows();
        for output in &mut self.outputs {
            let of_strings = |part: &str| output.name.strip_suffix(part).map(|column| format!("{column}.offsets"));
            if output.name.ends_with(".offsets") {
                (output.count, output.most) = (count.map(|rows| rows + 1), most.map(|rows| rows + 1));
            } else if output.name.ends_with(".validity") {
                (output.count, output.most) = (count.map(|rows| rows.div_ceil(8)), most.map(|rows| rows.div_ceil(8)));
            } else if of_strings(".data").is_some_and(|offsets| self.inputs.iter().any(|leaf| leaf.name == offsets)) {
                if count != self.rows {
                    output.count = None; // the answer decides which strings are left
                }
            } else {
                (output.count, output.most) = (count, most);
            }
        }
    }

    pub fn choose_algorithm(&mut self, name: &str) -> Result<()> {
        let name_in_enum = name.to_uppercase();
        let found = match self.method {
            Method::Sort => v1::SortAlgorithm::from_str_name(&format!("SORT_ALGORITHM_{name_in_enum}")).map(i32::from),
            _ => v1::MergeAlgorithm::from_str_name(&format!("MERGE_ALGORITHM_{name_in_enum}")).map(i32::from),
        };
        self.arguments.algorithm = found.ok_or_else(|| Error::invalid("algorithm", format!("there is no {name:?}")))?;
        Ok(())
    }

    pub fn keep(&mut self, names: &[&str]) -> Result<()> {
        if names.len() != self.outputs.len() {
            let text =
                format!("{} names for the {} results of {}", names.len(), self.outputs.len(), self.method.name());
            return Err(Error::invalid("keep", text));
        }
        for (at, (output, name)) in self.outputs.iter_mut().zip(names).enumerate() {
            if name.is_empty() || names[..at].contains(name) {
                return Err(Error::invalid("keep", format!("{name:?}: each result needs a name of its own")));
            }
            output.kept = Some(v1::StoredPlace { name: (*name).to_owned(), temporary: false, sharded: false });
        }
        Ok(())
    }

    fn array(&self, name: &str) -> Option<v1::Array> {
        self.inputs.iter().find(|leaf| leaf.name == name).map(Leaf::message)
    }

    fn arrays(&self, list: &str) -> Vec<v1::Array> {
        let belongs = |leaf: &&Leaf| leaf.name.split_once('[').is_some_and(|(name, _)| name == list);
        self.inputs.iter().filter(belongs).map(Leaf::message).collect()
    }

    fn destination(&self, name: &str) -> Option<v1::Destination> {
        self.outputs.iter().find(|output| output.name == name).and_then(Output::destination)
    }

    /// The results of Select beside the values.
    fn selected(&self) -> impl Iterator<Item = v1::SelectOutput> + '_ {
        self.outputs.iter().filter_map(|output| match output.name.as_str() {
            "elements" => Some(v1::SelectOutput::Elements),
            "indices" => Some(v1::SelectOutput::Indices),
            "count" => Some(v1::SelectOutput::Count),
            _ => None,
        })
    }

    /// The columns of a field. Defaults stay unset: the server takes the order of needles from the haystack.
    fn columns(&self, field: &str, orders: &[ColumnOrder]) -> Vec<v1::KeyColumn> {
        let column = |(at, of): (usize, &ColumnOrder)| {
            let part = |name: &str| format!("{field}[{at}].{name}");
            v1::KeyColumn {
                data: self.array(&part("data")),
                offsets: self.array(&part("offsets")),
                order: if of.descending { order(true) } else { 0 },
                data_destination: self.destination(&part("data")),
                offsets_destination: self.destination(&part("offsets")),
                validity: self.array(&part("validity")),
                nulls: if of.nulls_first { v1::NullOrder::First } else { v1::NullOrder::Unspecified }.into(),
                nans: match of.nans {
                    NanOrder::Greatest => v1::NanOrder::Unspecified,
                    NanOrder::BesideNulls => v1::NanOrder::BesideNulls,
                    NanOrder::AsNulls => v1::NanOrder::AsNulls,
                }
                .into(),
                validity_destination: self.destination(&part("validity")),
            }
        };
        orders.iter().enumerate().map(column).collect()
    }

    /// The request.
    pub fn message(&self, options: &Options) -> Operation {
        let arguments = &self.arguments;
        let options = options.message();
        match self.method {
            Method::Sort => Operation::Sort(v1::SortRequest {
                keys: self.array("keys"),
                values: self.array("values"),
                order: if arguments.columns.is_empty() { order(arguments.descending) } else { 0 },
                algorithm: arguments.algorithm,
                output: arguments.output.into(),
                segment_offsets: self.array("segment_offsets"),
                limit: arguments.limit,
                offset: arguments.offset,
                keys_destination: self.destination("keys"),
                values_destination: self.destination("values"),
                indices_destination: self.destination("indices"),
                options,
                key_columns: self.columns("key_columns", &arguments.columns),
                ranks_destination: self.destination("ranks"),
                run_offsets: self.array("run_offsets"),
            }),
            Method::Merge => Operation::Merge(v1::MergeRequest {
                keys: self.arrays("keys"),
                values: self.arrays("values"),
                order: order(arguments.descending),
                algorithm: arguments.algorithm,
                assume_sorted: arguments.assume_sorted,
                keys_destination: self.destination("keys"),
                values_destination: self.destination("values"),
                options,
            }),
            Method::ExpandIntervals => Operation::ExpandIntervals(v1::ExpandIntervalsRequest {
                values: self.array("values"),
                counts: self.array("counts"),
                destination: self.destination("values"),
                options,
            }),
            Method::MoveIntervals => {
                use v1::move_intervals_request::Initial;
                let initial = arguments.destination_count.map(Initial::DestinationCount);
                Operation::MoveIntervals(v1::MoveIntervalsRequest {
                    source: self.array("source"),
                    source_offsets: self.array("source_offsets"),
                    destination_offsets: self.array("destination_offsets"),
                    counts: self.array("counts"),
                    initial: initial.or_else(|| self.array("destination").map(Initial::Destination)),
                    allow_overlap: arguments.allow_overlap,
                    result_destination: self.destination("result"),
                    options,
                })
            }
            Method::GatherIntervals => Operation::GatherIntervals(v1::GatherIntervalsRequest {
                source: self.array("source"),
                source_offsets: self.array("source_offsets"),
                counts: self.array("counts"),
                destination: self.destination("result"),
                options,
            }),
            Method::ScatterIntervals => {
                use v1::scatter_intervals_request::Initial;
                let initial = arguments.destination_count.map(Initial::DestinationCount);
                Operation::ScatterIntervals(v1::ScatterIntervalsRequest {
                    source: self.array("source"),
                    destination_offsets: self.array("destination_offsets"),
                    counts: self.array("counts"),
                    initial: initial.or_else(|| self.array("destination").map(Initial::Destination)),
                    allow_overlap: arguments.allow_overlap,
                    result_destination: self.destination("result"),
                    options,
                })
            }
            Method::LoadBalance => Operation::LoadBalance(v1::LoadBalanceRequest {
                counts: self.array("counts"),
                objects_destination: self.destination("objects"),
                ranks_destination: self.destination("ranks"),
                options,
            }),
            Method::Search => Operation::Search(v1::SearchRequest {
                haystack: self.array("haystack"),
                needles: self.array("needles"),
                bound: if arguments.upper { v1::SearchBound::Upper } else { v1::SearchBound::Lower }.into(),
                order: if arguments.columns.is_empty() { order(arguments.descending) } else { 0 },
                assume_sorted: arguments.assume_sorted,
                destination: self.destination("positions"),
                options,
                haystack_columns: self.columns("haystack_columns", &arguments.columns),
                needle_columns: self.columns("needle_columns", &arguments.needle_columns),
            }),
            Method::Group => Operation::Group(v1::GroupRequest {
                keys: self.array("keys"),
                values: self.array("values"),
                input: arguments.group_input.into(),
                order: if arguments.descending { order(true) } else { 0 }, // runs have none
                outputs: arguments.group_outputs.iter().map(|output| i32::from(*output)).collect(),
                keys_destination: self.destination("keys"),
                counts_destination: self.destination("counts"),
                firsts_destination: self.destination("firsts"),
                sums_destination: self.destination("sums"),
                minima_destination: self.destination("minima"),
                maxima_destination: self.destination("maxima"),
                options,
                values_validity: self.array("values_validity"),
                value_counts_destination: self.destination("value_counts"),
            }),
            Method::CombineSets => Operation::CombineSets(v1::CombineSetsRequest {
                operation: arguments.set_operation.into(),
                left: self.array("left"),
                right: self.array("right"),
                left_values: self.array("left_values"),
                right_values: self.array("right_values"),
                order: order(arguments.descending),
                count_only: arguments.count_only,
                keys_destination: self.destination("keys"),
                values_destination: self.destination("values"),
                count_destination: self.destination("count"),
                options,
            }),
            Method::Join => Operation::Join(v1::JoinRequest {
                kind: arguments.join_kind.into(),
                left: self.array("left"),
                right: self.array("right"),
                right_sorted: arguments.right_sorted,
                max_rows: arguments.max_rows,
                count_only: arguments.count_only,
                left_rows_destination: self.destination("left_rows"),
                right_rows_destination: self.destination("right_rows"),
                count_destination: self.destination("count"),
                options,
            }),
            Method::Select => Operation::Select(v1::SelectRequest {
                elements: self.array("elements"),
                values: self.array("values"),
                flags: self.array("flags"),
                bitmap: self.array("bitmap"),
                positions: self.array("positions"),
                threshold: self.array("threshold"),
                comparison: arguments.comparison.into(),
                negate: arguments.negate,
                partition: arguments.partition,
                outputs: self.selected().map(i32::from).collect(),
                elements_destination: self.destination("elements"),
                values_destination: self.destination("values"),
                indices_destination: self.destination("indices"),
                count_destination: self.destination("count"),
                options,
            }),
            Method::Rank => Operation::Rank(v1::RankRequest {
                keys: self.array("keys"),
                method: arguments.rank_method.into(),
                order: order(arguments.descending),
                keys_sorted: arguments.keys_sorted,
                ranks_destination: self.destination("ranks"),
                options,
                segment_offsets: self.array("segment_offsets"),
            }),
        }
    }
}

impl Leaf<'_> {
    fn message(&self) -> v1::Array {
        use v1::array::Place;
        self.array.message(Some(match (&self.array.data, self.stream) {
            (Data::Kept(place), _) => Place::Stored(place.clone()),
            (_, Some(stream_id)) => Place::Stream(v1::StreamPlace { stream_id }),
            (_, None) => Place::InlineData(self.array.piece(0, self.array.len())),
        }))
    }
}

fn order(descending: bool) -> i32 {
    if descending { v1::SortOrder::Descending } else { v1::SortOrder::Ascending }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sort_knows_how_many_rows_a_limit_leaves_of_its_segments() {
        let of = |rows: Option<usize>, limit: Option<usize>, segments: Option<Array<'static>>| {
            let mut task = Task::new(Method::Sort);
            task.rows = rows;
            if let Some(segments) = segments {
                task.input("segment_offsets", segments);
            }
            if let Some(limit) = limit {
                task.limit(limit);
            }
            task.first_rows()
        };
        let here = || Some(crate::Input::into_array(vec![0i64, 3, 3, 10]));
        let there = |count| {
            Some(Array {
                kind: ElementType::Int64,
                record_bytes: 0,
                count,
                data: Data::Kept(v1::StoredPlace::default()),
            })
        };
        assert_eq!(limited_segments(&[0, 3, 3, 10], 2), [0, 2, 2, 4]);
        assert_eq!(limited_segments(&[], 2), [0]);
        assert_eq!(of(Some(10), None, None), (Some(10), Some(10)));
        assert_eq!(of(Some(10), Some(2), None), (Some(2), Some(2)));
        assert_eq!(of(None, Some(2), here()), (None, None));
        assert_eq!(of(Some(10), Some(2), here()), (Some(4), Some(4)));
        assert_eq!(of(Some(10), Some(usize::MAX), here()), (Some(10), Some(10)));
        assert_eq!(of(Some(10), Some(2), there(Some(4))), (None, Some(6)));
        assert_eq!(of(Some(5), Some(2), there(Some(4))), (None, Some(5)));
        assert_eq!(of(Some(10), Some(2), there(None)), (None, Some(10)));
        for (offset, limit, rows) in [(3, usize::MAX, 7), (9, 2, 1), (10, 2, 0), (usize::MAX, 2, 0)] {
            let mut task = Task::new(Method::Sort);
            task.rows = Some(10);
            task.limit(limit);
            task.offset(offset);
            assert_eq!(task.first_rows(), (Some(rows), Some(rows)));
        }
    }
}
