//! Arrays of commands and of answers.

use base64::{engine::general_purpose::STANDARD, Engine};
use corank::{v1::ElementType, Array, KeptArray};
use serde_json::{json, Value};
use sha2::{Digest, Sha256};

pub fn kind(name: &str) -> ElementType {
    ElementType::from_str_name(&format!("ELEMENT_TYPE_{}", name.to_uppercase())).expect("a type of the protocol")
}

fn name(kind: ElementType) -> String {
    kind.as_str_name().trim_start_matches("ELEMENT_TYPE_").to_lowercase()
}

pub fn record_bytes(array: &Value) -> u32 {
    array["record_bytes"].as_u64().unwrap_or(0) as u32
}

fn width(array: &Value) -> usize {
    match array["type"].as_str().expect("a type") {
        "record" => record_bytes(array) as usize,
        name => name.trim_start_matches(|letter: char| letter.is_alphabetic()).parse::<usize>().expect("bits") / 8,
    }
}

fn mix(mut word: u32) -> u32 {
    word ^= word >> 16;
    word = word.wrapping_mul(0x85eb_ca6b);
    word ^= word >> 13;
    word = word.wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}

/// The bytes of the elements of an array of a command that lies here.
pub fn bytes_of(array: &Value) -> Vec<u8> {
    if let Some(data) = array["data"].as_str() {
        return STANDARD.decode(data).expect("base64");
    }
    let count = array["count"].as_u64().expect("a count") as usize;
    let width = width(array);
    if array["generator"] == "ramp" {
        let (start, step) = (array["start"].as_i64().expect("a start"), array["step"].as_i64().expect("a step"));
        let element = |i: usize| start.wrapping_add(step.wrapping_mul(i as i64)).to_le_bytes();
        return (0..count).flat_map(|i| element(i)[..width].to_vec()).collect();
    }
    let seed = array["seed"].as_u64().expect("a seed") as u32;
    let size = count * width;
    let mut bytes: Vec<u8> =
        (0..size.div_ceil(4)).flat_map(|i| mix(seed.wrapping_add(i as u32)).to_le_bytes()).collect();
    bytes.truncate(size);
    bytes
}

/// The handle of an array that the server keeps.
pub fn kept(array: &Value) -> KeptArray {
    KeptArray {
        name: array["kept"].as_str().expect("a name").to_owned(),
        element_type: kind(array["type"].as_str().expect("a type")),
        count: array["count"].as_u64().unwrap_or(0) as usize,
        record_bytes: record_bytes(array),
        sharded: false,
        expires_in: None,
    }
}

pub fn kept_json(array: &KeptArray) -> Value {
    let mut found = json!({"kept": array.name, "type": name(array.element_type), "count": array.count,
        "sharded": array.sharded});
    if array.element_type == ElementType::Record {
        found["record_bytes"] = array.record_bytes.into();
    }
    found
}

fn as_i64(array: &Array<'_>) -> Vec<u8> {
    let bytes = array.as_bytes();
    match array.element_type() {
        ElementType::Uint32 => bytes
            .chunks_exact(4)
            .flat_map(|word| i64::from(u32::from_le_bytes(word.try_into().expect("4 bytes"))).to_le_bytes())
            .collect(),
        _ => bytes.to_vec(),
    }
}

/// An array as an answer holds it.
pub fn answer(array: &Array<'_>, is_position: bool, digest: bool) -> Value {
    if let Some(kept) = array.kept_name() {
        let mut found = json!({"kept": kept, "type": name(array.element_type()), "count": array.len()});
        if array.element_type() == ElementType::Record {
            found["record_bytes"] = array.record_bytes().into();
        }
        return found;
    }
    let mut found = json!({"type": name(array.element_type()), "count": array.len()});
    if array.element_type() == ElementType::Record {
        found["record_bytes"] = array.record_bytes().into();
    }
    if digest {
        let bytes = if is_position { as_i64(array) } else { array.as_bytes().to_vec() };
        found["sha256"] = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
    } else {
        found["data"] = STANDARD.encode(array.as_bytes()).into();
    }
    found
}
