//! What comes back of a call of one operator.

use std::collections::HashMap;

use crate::v1::{self, operation_result::Result as Answer};

/// What the answer of an operator holds.
pub(crate) struct Answered {
    pub arrays: HashMap<String, v1::Array>,
    pub algorithm: String,
    pub stats: v1::RequestStats,
}

impl Answered {
    pub fn read(answer: Answer) -> Self {
        let mut arrays = HashMap::new();
        let mut add = |name: &str, array: Option<v1::Array>| {
            if let Some(array) = array {
                arrays.insert(name.to_owned(), array);
            }
        };
        // Adds the arrays of an answer; its value is the stats.
        macro_rules! take {
            ($answer:ident: $($array:ident),+) => {{
                $(add(stringify!($array), $answer.$array);)+
                $answer.stats
            }};
        }
        let mut algorithm = String::new();
        let short = |name: &str, prefix: &str| name.trim_start_matches(prefix).to_lowercase();
        let stats = match answer {
            Answer::Sort(sort) => {
                algorithm = short(sort.algorithm().as_str_name(), "SORT_ALGORITHM_");
                for (at, column) in sort.key_columns.into_iter().enumerate() {
                    add(&format!("key_columns[{at}].data"), column.data);
                    add(&format!("key_columns[{at}].offsets"), column.offsets);
                    add(&format!("key_columns[{at}].validity"), column.validity);
                }
                take!(sort: keys, values, indices, ranks)
            }
            Answer::Merge(merge) => {
                algorithm = short(merge.algorithm().as_str_name(), "MERGE_ALGORITHM_");
                take!(merge: keys, values)
            }
            Answer::ExpandIntervals(expand) => take!(expand: values),
            Answer::MoveIntervals(moved) => take!(moved: result),
            Answer::GatherIntervals(gather) => take!(gather: result),
            Answer::ScatterIntervals(scatter) => take!(scatter: result),
            Answer::LoadBalance(balance) => take!(balance: objects, ranks),
            Answer::Search(search) => take!(search: positions),
            Answer::Group(group) => take!(group: keys, counts, firsts, sums, minima, maxima, value_counts),
            Answer::CombineSets(sets) => take!(sets: keys, values, count),
            Answer::Rank(rank) => take!(rank: ranks),
            Answer::Select(select) => take!(select: elements, values, indices, count),
            Answer::Join(join) => take!(join: left_rows, right_rows, count),
        };
        Self { arrays, algorithm, stats: stats.unwrap_or_default() }
    }
}
