//! Select, Rank and GatherIntervals of the server of the tests.

use std::sync::{Arc, Mutex};

use corank::v1::*;

/// The requests of Select and Rank, also those of chains.
pub type Selections = Arc<Mutex<Vec<operation::Operation>>>;

fn bytes(array: &Option<Array>) -> Vec<u8> {
    match array.as_ref().and_then(|array| array.place.clone()) {
        Some(array::Place::InlineData(data)) => data.to_vec(),
        other => panic!("{other:?}"),
    }
}

fn numbers(array: &Option<Array>) -> Vec<i64> {
    bytes(array).chunks_exact(8).map(|each| i64::from_le_bytes(each.try_into().unwrap())).collect()
}

fn with(like: &Array, count: usize, data: Vec<u8>, destination: &Option<Destination>) -> Option<Array> {
    let place = destination.is_none().then(|| array::Place::InlineData(data.into()));
    Some(Array { count: Some(count as i64), place, ..like.clone() })
}

/// Whether each element is selected. Elements that a threshold selects are u16.
fn is_selected(request: &SelectRequest, count: usize) -> Vec<bool> {
    let short = |bytes: &[u8]| u16::from_le_bytes(bytes.try_into().unwrap());
    let selected: Vec<bool> = if request.flags.is_some() {
        bytes(&request.flags).iter().map(|flag| *flag != 0).collect()
    } else if request.bitmap.is_some() {
        let bits = bytes(&request.bitmap);
        (0..count).map(|at| bits[at / 8] >> (at % 8) & 1 == 1).collect()
    } else if request.positions.is_some() {
        let positions = numbers(&request.positions);
        (0..count).map(|at| positions.contains(&(at as i64))).collect()
    } else {
        let bound = short(&bytes(&request.threshold));
        let compares = |element: u16| match request.comparison() {
            Comparison::Less => element < bound,
            Comparison::Equal => element == bound,
            Comparison::LessOrEqual => element <= bound,
            Comparison::Greater => element > bound,
            Comparison::NotEqual => element != bound,
            Comparison::GreaterOrEqual => element >= bound,
            Comparison::Unspecified => panic!("no comparison"),
        };
        bytes(&request.elements).chunks_exact(2).map(|element| compares(short(element))).collect()
    };
    selected.into_iter().map(|is| is != request.negate).collect()
}

/// Answers as the contract says.
pub fn select(request: &SelectRequest) -> SelectResponse {
    let elements = request.elements.clone().unwrap();
    let selected = is_selected(request, elements.count.unwrap() as usize);
    let part = |chosen: bool| selected.iter().enumerate().filter(move |(_, is)| **is == chosen).map(|(at, _)| at);
    let (mut order, count) = (part(true).collect::<Vec<_>>(), part(true).count());
    if request.partition {
        order.extend(part(false));
    }
    let taken = |from: &Option<Array>, destination: &Option<Destination>| {
        let (data, like) = (bytes(from), from.as_ref().unwrap());
        let width = data.len() / selected.len();
        let data = order.iter().flat_map(|at| data[at * width..(at + 1) * width].to_vec()).collect();
        with(like, order.len(), data, destination)
    };
    let mut answer = SelectResponse::default();
    if request.values.is_some() {
        answer.values = taken(&request.values, &request.values_destination);
    }
    let of = |kind: ElementType| Array { r#type: kind.into(), ..Array::default() };
    for output in request.outputs() {
        match output {
            SelectOutput::Elements => answer.elements = taken(&request.elements, &request.elements_destination),
            SelectOutput::Indices => {
                let data = order.iter().flat_map(|at| (*at as u32).to_le_bytes()).collect();
                answer.indices = with(&of(ElementType::Uint32), order.len(), data, &request.indices_destination);
            }
            SelectOutput::Count => {
                let data = (count as i64).to_le_bytes().to_vec();
                answer.count = with(&of(ElementType::Int64), 1, data, &request.count_destination);
            }
            SelectOutput::Unspecified => panic!("no output"),
        }
    }
    answer
}

/// Answers the ranks 2, 1 and 2, or their means.
pub fn rank(request: &RankRequest) -> RankResponse {
    let (kind, data) = match request.method() {
        RankMethod::Average => (ElementType::Float64, [2.5f64, 1.0, 2.5].map(f64::to_le_bytes).concat()),
        _ => (ElementType::Uint32, [2u32, 1, 2].map(u32::to_le_bytes).concat()),
    };
    let like = Array { r#type: kind.into(), ..Array::default() };
    RankResponse { ranks: with(&like, 3, data, &request.ranks_destination), stats: None }
}

/// Answers as the contract says.
pub fn gather(request: &GatherIntervalsRequest) -> GatherIntervalsResponse {
    let (data, source) = (bytes(&request.source), request.source.clone().unwrap());
    let width = data.len() / source.count.unwrap().max(1) as usize;
    let counts = numbers(&request.counts);
    let mut made = vec![];
    for (begin, count) in numbers(&request.source_offsets).into_iter().zip(&counts) {
        made.extend_from_slice(&data[begin as usize * width..(begin + count) as usize * width]);
    }
    let count = counts.iter().sum::<i64>() as usize;
    GatherIntervalsResponse { result: with(&source, count, made, &request.destination), stats: None }
}

/// The parts of the answer to a plan that begins with Select: a chunk if its elements are a stream, and for each
/// operator, results of 2 elements that are not in the message.
pub fn execute(plan: &Plan) -> Vec<ExecuteResponse> {
    let mut parts = vec![];
    let of = |kind: ElementType, count| Some(Array { r#type: kind.into(), count: Some(count), ..Array::default() });
    for operation in &plan.operations {
        let result = match operation.operation.as_ref().unwrap() {
            operation::Operation::Select(request) => {
                let like = request.elements.as_ref().unwrap();
                let is_stream = |place: &Destination| matches!(place.place, Some(destination::Place::Stream(_)));
                if request.elements_destination.as_ref().is_some_and(is_stream) {
                    let data = vec![7; 2 * like.record_bytes.max(1) as usize].into();
                    parts.push(execute_response::Part::Chunk(ArrayChunk { stream_id: 0, first_element: 0, data }));
                }
                let elements = Some(Array { count: Some(2), place: None, ..like.clone() });
                let count = of(ElementType::Int64, 1);
                operation_result::Result::Select(SelectResponse { elements, count, ..SelectResponse::default() })
            }
            operation::Operation::Rank(_) => {
                operation_result::Result::Rank(RankResponse { ranks: of(ElementType::Float64, 2), stats: None })
            }
            other => panic!("{other:?}"),
        };
        parts.push(execute_response::Part::Result(OperationResult { result: Some(result) }));
    }
    parts.into_iter().map(|part| ExecuteResponse { part: Some(part) }).collect()
}
