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
        let mut algorithm = String::new();
        let short = |name: &str, prefix: &str| name.trim_start_matches(prefix).to_lowercase();
        let stats = match answer {
            Answer::Sort(sort) => {
                algorithm = short(sort.algorithm().as_str_name(), "SORT_ALGORITHM_");
                add("keys", sort.keys);
                add("values", sort.values);
                add("indices", sort.indices);
                add("ranks", sort.ranks);
                for (at, column) in sort.key_columns.into_iter().enumerate() {
                    add(&format!("key_columns[{at}].data"), column.data);
                    add(&format!("key_columns[{at}].offsets"), column.offsets);
                    add(&format!("key_columns[{at}].validity"), column.validity);
                }
                sort.stats
            }
            Answer::Merge(merge) => {
                algorithm = short(merge.algorithm().as_str_name(), "MERGE_ALGORITHM_");
                add("keys", merge.keys);
                add("values", merge.values);
                merge.stats
            }
            Answer::ExpandIntervals(expand) => {
                add("values", expand.values);
                expand.stats
            }
            Answer::MoveIntervals(moved) => {
                add("result", moved.result);
                moved.stats
            }
            Answer::GatherIntervals(gather) => {
                add("result", gather.result);
                gather.stats
            }
            Answer::ScatterIntervals(scatter) => {
                add("result", scatter.result);
                scatter.stats
            }
            Answer::LoadBalance(balance) => {
                add("objects", balance.objects);
                add("ranks", balance.ranks);
                balance.stats
            }
            Answer::Search(search) => {
                add("positions", search.positions);
                search.stats
            }
            Answer::Group(group) => {
                add("keys", group.keys);
                add("counts", group.counts);
                add("firsts", group.firsts);
                add("sums", group.sums);
                add("minima", group.minima);
                add("maxima", group.maxima);
                group.stats
            }
            Answer::CombineSets(sets) => {
                add("keys", sets.keys);
                add("values", sets.values);
                add("count", sets.count);
                sets.stats
            }
            Answer::Rank(rank) => {
                add("ranks", rank.ranks);
                rank.stats
            }
            Answer::Select(select) => {
                add("elements", select.elements);
                add("values", select.values);
                add("indices", select.indices);
                add("count", select.count);
                select.stats
            }
            Answer::Join(join) => {
                add("left_rows", join.left_rows);
                add("right_rows", join.right_rows);
                add("count", join.count);
                join.stats
            }
        };
        Self { arrays, algorithm, stats: stats.unwrap_or_default() }
    }
}
