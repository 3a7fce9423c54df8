//! Types of elements.

use bytemuck::Pod;

use crate::v1::ElementType;

/// A type whose values travel: as values beside keys, and through the interval operators.
///
/// Integers, floats and `[u8; N]` of 1 to 256 bytes are values. [`record!`](crate::record) makes a value of any other
/// type that is [`bytemuck::Pod`].
pub trait Value: Pod + Send + Sync {
    /// The type in the contract.
    const TYPE: ElementType;
}

/// A type that has an order on the server: integers and floats.
pub trait Key: Value {}

macro_rules! keys {
    ($($type:ty => $name:ident),* $(,)?) => {$(
        impl Value for $type {
            const TYPE: ElementType = ElementType::$name;
        }
        impl Key for $type {}
    )*};
}

keys! {
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64,
    u8 => Uint8, u16 => Uint16, u32 => Uint32, u64 => Uint64,
    f32 => Float32, f64 => Float64,
}

#[cfg(feature = "half")]
keys! { half::f16 => Float16, half::bf16 => Bfloat16 }

impl<const N: usize> Value for [u8; N] {
    const TYPE: ElementType = ElementType::Record;
}

/// Makes a `bytemuck::Pod` type of 1 to 256 bytes a [`Value`](crate::Value), which travels as a record.
///
/// ```
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
/// #[repr(C)]
/// struct Row {
///     id: u32,
///     city: [u8; 12],
/// }
/// corank::record!(Row);
/// ```
#[macro_export]
macro_rules! record {
    ($type:ty) => {
        impl $crate::Value for $type {
            const TYPE: $crate::v1::ElementType = $crate::v1::ElementType::Record;
        }
    };
}

/// Bytes of one element; `record_bytes` counts for records only. 0 for a type that is none.
pub(crate) fn width(kind: ElementType, record_bytes: u32) -> usize {
    use ElementType::*;
    match kind {
        Int8 | Uint8 => 1,
        Int16 | Uint16 | Float16 | Bfloat16 => 2,
        Int32 | Uint32 | Float32 => 4,
        Int64 | Uint64 | Float64 => 8,
        Record => record_bytes as usize,
        Unspecified => 0,
    }
}
