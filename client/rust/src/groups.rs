//! Groups of equal keys.

use crate::{
    array::{Array, FromArray, Input, Positions},
    error::{Error, Result},
    operators::{checked, kind},
    request::{FromResults, Named, Request},
    task::{Method, Task},
    v1::{ElementType, GroupInput, GroupOutput},
    Client,
};

/// The results of [`Client::group`]: an element for each group. What was not asked for is `None`.
#[derive(Default)]
pub struct Groups {
    /// The first key of each group, with its bits.
    pub keys: Option<Array<'static>>,
    /// How many keys each group has.
    pub counts: Option<Vec<i64>>,
    /// The position of each group's first key.
    pub firsts: Option<Positions>,
    /// Of `i64`, `u64` or `f64`, as the values are signed, unsigned or floats. Sums of integers are exact.
    pub sums: Option<Array<'static>>,
    /// Of the type of the values. A NaN is greater than every number.
    pub minima: Option<Array<'static>>,
    /// As the minima.
    pub maxima: Option<Array<'static>>,
    /// How many values of each group are not null. Where it is 0, the sum is 0, and the minimum and maximum mean
    /// nothing.
    pub value_counts: Option<Vec<i64>>,
}

impl FromResults for Groups {
    fn from_results(results: Vec<Named>) -> Result<Self> {
        let mut groups = Self::default();
        for (name, array) in results {
            match name.as_str() {
                "keys" => groups.keys = Some(array),
                "counts" => groups.counts = Some(array.into_vec()?),
                "firsts" => groups.firsts = Some(Positions::from_array(array)?),
                "sums" => groups.sums = Some(array),
                "minima" => groups.minima = Some(array),
                "value_counts" => groups.value_counts = Some(array.into_vec()?),
                _ => groups.maxima = Some(array),
            }
        }
        Ok(groups)
    }
}

impl Client {
    /// Finds the groups of equal keys: of each, the key and the number of keys, or what [`Request::outputs`] names. All
    /// NaNs are one key, and so are both zeros. Groups come in the order of their keys, or of the array with
    /// [`GroupInput::Runs`].
    pub fn group<'a, I: Input<'a>>(&'a self, keys: I) -> Request<'a, Groups> {
        Request::new(self, grouping(keys, &[GroupOutput::Keys, GroupOutput::Counts]))
    }

    /// The distinct keys, in order.
    pub fn unique<'a, I: Input<'a>>(&'a self, keys: I) -> Request<'a, I::Owned> {
        let task = grouping(keys, &[GroupOutput::Keys]).map(|mut task| {
            task.outputs[0].make = I::Owned::make_buffer().0;
            task
        });
        Request::new(self, task)
    }

    /// The key and the length of each run of equal neighbours, in the order of the array.
    pub fn run_length_encode<'a, I: Input<'a>>(&'a self, keys: I) -> Request<'a, (I::Owned, Vec<i64>)> {
        let task = grouping(keys, &[GroupOutput::Keys, GroupOutput::Counts]).map(|mut task| {
            task.arguments.group_input = GroupInput::Runs;
            task.outputs[0].make = I::Owned::make_buffer().0;
            task
        });
        Request::new(self, task)
    }
}

impl<'a> Request<'a, Groups> {
    /// One number for each key, for the sums, minima, maxima and value counts.
    pub fn values<V: Input<'a>>(self, values: V) -> Self {
        self.with("values", &["Group"], |task| {
            task.inputs.retain(|leaf| leaf.name != "values");
            task.input("values", checked("values", values.into_array())?);
            add_outputs(task)
        })
    }

    /// Which values are null, as [`Column::validity`](crate::Column::validity) takes it; see
    /// [`pack_validity`](crate::pack_validity). Null values take no part in sums, minima,
    /// maxima and value counts.
    pub fn values_validity<V: Input<'a>>(self, bitmap: V) -> Self {
        self.with("values_validity", &["Group"], |task| {
            task.inputs.retain(|leaf| leaf.name != "values_validity");
            task.input("values_validity", checked("values_validity", bitmap.into_array())?);
            Ok(())
        })
    }

    /// The results, each at most once. Names of [`Request::keep`] are in this order. Default: keys and counts.
    pub fn outputs(self, outputs: &[GroupOutput]) -> Self {
        self.with("outputs", &["Group"], |task| {
            if outputs.is_empty() {
                return Err(Error::invalid("outputs", "at least one is needed"));
            }
            task.arguments.group_outputs = outputs.to_vec();
            add_outputs(task)
        })
    }

    /// How equal keys lie in the array. Default: in any order.
    pub fn input(self, input: GroupInput) -> Self {
        self.with("input", &["Group"], |task| {
            task.arguments.group_input = input;
            Ok(())
        })
    }
}

fn grouping<'a, I: Input<'a>>(keys: I, outputs: &[GroupOutput]) -> Result<Task<'a>> {
    let mut task = Task::new(Method::Group);
    task.input("keys", checked("keys", keys.into_array())?);
    task.arguments.group_outputs = outputs.to_vec();
    add_outputs(&mut task)?;
    Ok(task)
}

/// Makes the results that the arguments name. Those of values have no type until the task has these, and the server
/// refuses it without.
fn add_outputs(task: &mut Task<'_>) -> Result<()> {
    let of =
        |task: &Task<'_>, name: &str| task.inputs.iter().find(|leaf| leaf.name == name).map(|leaf| kind(&leaf.array));
    let unknown = (ElementType::Unspecified, 0);
    let (keys, values) = (of(task, "keys").unwrap_or(unknown), of(task, "values").unwrap_or(unknown));
    let most = task.inputs[0].array.count;
    task.outputs.clear();
    for (at, output) in task.arguments.group_outputs.clone().into_iter().enumerate() {
        match output {
            GroupOutput::Keys => task.output::<Array<'static>>("keys", keys, None),
            GroupOutput::Counts => task.output::<Vec<i64>>("counts", (ElementType::Int64, 0), None),
            GroupOutput::Firsts => task.positions("firsts", None, most.map(|keys| keys.saturating_sub(1))),
            GroupOutput::Sums => task.output::<Array<'static>>("sums", (sum_of(values.0), 0), None),
            GroupOutput::Minima => task.output::<Array<'static>>("minima", values, None),
            GroupOutput::Maxima => task.output::<Array<'static>>("maxima", values, None),
            GroupOutput::ValueCounts => task.output::<Vec<i64>>("value_counts", (ElementType::Int64, 0), None),
            GroupOutput::Unspecified => return Err(Error::invalid(&format!("outputs[{at}]"), "it names no result")),
        }
        task.outputs[at].most = most;
    }
    Ok(())
}

fn sum_of(values: ElementType) -> ElementType {
    use ElementType::*;
    match values {
        Float16 | Bfloat16 | Float32 | Float64 => Float64,
        Uint8 | Uint16 | Uint32 | Uint64 => Uint64,
        _ => Int64,
    }
}
