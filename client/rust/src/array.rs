//! Arrays, whose element type may be known at run time only.

use std::{any::Any, fmt};

use bytemuck::Pod;
use bytes::Bytes;

use crate::{
    element::{width, Value},
    error::{Error, Result},
    v1::{self, ElementType},
};

/// Memory of a result. A `Vec<T>` is one.
pub(crate) trait Buffer: Any + Send + Sync {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
    /// Makes it this long, filled with zeros.
    fn grow(&mut self, bytes: usize);
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<T: Pod + Send + Sync> Buffer for Vec<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }
    fn grow(&mut self, bytes: usize) {
        self.resize(bytes / size_of::<T>(), T::zeroed());
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Makes the memory of a result of this many elements.
pub(crate) type MakeBuffer = fn(usize, usize) -> Box<dyn Buffer>;

pub(crate) fn typed_buffer<T: Value>(count: usize, _width: usize) -> Box<dyn Buffer> {
    Box::new(bytemuck::zeroed_vec::<T>(count))
}

pub(crate) fn byte_buffer(count: usize, width: usize) -> Box<dyn Buffer> {
    Box::new(bytemuck::zeroed_vec::<u8>(count * width))
}

pub(crate) enum Data<'a> {
    Borrowed(&'a [u8]),
    Shared(Bytes),
    Owned(Box<dyn Buffer>),
    /// On the server.
    Kept(v1::StoredPlace),
}

/// An array: elements of one type, little-endian and without gaps.
///
/// Operators take `&[T]`, `Vec<T>` or an `Array`, and answer in kind: `Vec<T>` for elements of a known type, `Array` for
/// an `Array`.
pub struct Array<'a> {
    pub(crate) kind: ElementType,
    pub(crate) record_bytes: u32,
    /// Elements; `None` for a result that is not there yet.
    pub(crate) count: Option<usize>,
    pub(crate) data: Data<'a>,
}

impl<'a> Array<'a> {
    /// An array of a type that is known at run time only, from the bytes of its elements. `record_bytes`: bytes of a
    /// record for [`ElementType::Record`], else 0.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if the bytes are not a whole number of elements, or the type is none.
    pub fn from_bytes(kind: ElementType, record_bytes: u32, bytes: &'a [u8]) -> Result<Self> {
        let width = checked_width(kind, record_bytes)?;
        if !bytes.len().is_multiple_of(width) {
            let text = format!("{} bytes are not a whole number of elements of {width} bytes", bytes.len());
            return Err(Error::invalid("", text));
        }
        let count = Some(bytes.len() / width);
        Ok(Self { kind, record_bytes, count, data: Data::Borrowed(bytes) })
    }

    pub(crate) fn of<T: Value>(data: Data<'a>, count: usize) -> Self {
        let record_bytes = if T::TYPE == ElementType::Record { size_of::<T>() as u32 } else { 0 };
        Self { kind: T::TYPE, record_bytes, count: Some(count), data }
    }

    /// The name under which the server keeps it, or `None`.
    pub fn kept_name(&self) -> Option<&str> {
        match &self.data {
            Data::Kept(place) => Some(&place.name),
            _ => None,
        }
    }

    /// The type of the elements.
    pub fn element_type(&self) -> ElementType {
        self.kind
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.count.unwrap_or(0)
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of one record for [`ElementType::Record`], else 0.
    pub fn record_bytes(&self) -> u32 {
        self.record_bytes
    }

    /// The bytes of all elements. Empty for an array that the server keeps.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.data {
            Data::Borrowed(bytes) => bytes,
            Data::Shared(bytes) => bytes,
            Data::Owned(buffer) => buffer.bytes(),
            Data::Kept(_) => &[],
        }
    }

    /// The elements as a vector. Does not copy where the memory is already one of this type.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if the elements are of another type.
    pub fn into_vec<T: Value>(self) -> Result<Vec<T>> {
        if self.kind != T::TYPE || self.width() != size_of::<T>() {
            return Err(Error::invalid("", format!("the array is {self:?}, not of {}", std::any::type_name::<T>())));
        }
        let count = self.len();
        match self.data {
            Data::Owned(buffer) => match buffer.into_any().downcast::<Vec<T>>() {
                Ok(vector) => Ok(*vector),
                Err(other) => Ok(copied(other.downcast_ref::<Vec<u8>>().map_or(&[], Vec::as_slice), count)),
            },
            Data::Borrowed(bytes) => Ok(copied(bytes, count)),
            Data::Shared(bytes) => Ok(copied(&bytes, count)),
            Data::Kept(_) => Err(Error::invalid("", "the server keeps this array; fetch it")),
        }
    }

    pub(crate) fn width(&self) -> usize {
        width(self.kind, self.record_bytes)
    }

    pub(crate) fn is_here(&self) -> bool {
        !matches!(self.data, Data::Kept(_))
    }

    /// Bytes of elements that lie here.
    pub(crate) fn bytes_here(&self) -> usize {
        if self.is_here() {
            self.len() * self.width()
        } else {
            0
        }
    }

    /// A piece of the elements, ready to be sent.
    pub(crate) fn piece(&self, begin: usize, end: usize) -> Bytes {
        let range = begin * self.width()..end * self.width();
        match &self.data {
            Data::Shared(bytes) => bytes.slice(range),
            _ => Bytes::copy_from_slice(&self.as_bytes()[range]),
        }
    }

    pub(crate) fn message(&self, place: Option<v1::array::Place>) -> v1::Array {
        let count = self.count.map(|count| count as i64);
        v1::Array { r#type: self.kind.into(), count, record_bytes: self.record_bytes, place }
    }
}

fn copied<T: Value>(bytes: &[u8], count: usize) -> Vec<T> {
    let mut elements = bytemuck::zeroed_vec::<T>(count);
    bytemuck::cast_slice_mut(&mut elements).copy_from_slice(bytes);
    elements
}

pub(crate) fn checked_width(kind: ElementType, record_bytes: u32) -> Result<usize> {
    let is_record = kind == ElementType::Record;
    match width(kind, record_bytes) {
        0 if is_record => Err(Error::invalid("record_bytes", "a record has 1 to 256 bytes, not 0")),
        0 => Err(Error::invalid("type", "the array has no type")),
        wide if wide > 256 => Err(Error::invalid("record_bytes", format!("a record has 1 to 256 bytes, not {wide}"))),
        width => Ok(width),
    }
}

impl fmt::Debug for Array<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} x {}", self.len(), self.kind.as_str_name().trim_start_matches("ELEMENT_TYPE_").to_lowercase())?;
        if self.kind == ElementType::Record {
            write!(to, " of {} bytes", self.record_bytes)?;
        }
        if let Some(name) = self.kept_name() {
            write!(to, ", kept as {name:?}")?;
        }
        Ok(())
    }
}

/// What an operator takes as an array: `&[T]`, `&Vec<T>`, `&[T; N]`, `Vec<T>`, [`Array`], [`KeptArray`](crate::KeptArray)
/// by reference, or a [`Link`](crate::Link) of a chain.
pub trait Input<'a> {
    /// What results with the same elements are returned as.
    type Owned: FromArray;
    /// The array.
    fn into_array(self) -> Array<'a>;
}

/// What an array can be returned as.
pub trait FromArray: Sized {
    /// From the array.
    ///
    /// # Errors
    ///
    /// `Internal` if the server answered another type.
    fn from_array(array: Array<'static>) -> Result<Self>;
    #[doc(hidden)]
    fn make_buffer() -> BufferMaker {
        BufferMaker(byte_buffer)
    }
}

/// How the memory of a result is made.
#[doc(hidden)]
pub struct BufferMaker(pub(crate) MakeBuffer);

impl<T: Value> FromArray for Vec<T> {
    fn from_array(array: Array<'static>) -> Result<Self> {
        array.into_vec()
    }
    fn make_buffer() -> BufferMaker {
        BufferMaker(typed_buffer::<T>)
    }
}

impl FromArray for Array<'static> {
    fn from_array(array: Array<'static>) -> Result<Self> {
        Ok(array)
    }
}

impl<'a, T: Value> Input<'a> for &'a [T] {
    type Owned = Vec<T>;
    fn into_array(self) -> Array<'a> {
        Array::of::<T>(Data::Borrowed(bytemuck::cast_slice(self)), self.len())
    }
}

impl<'a, T: Value> Input<'a> for &'a Vec<T> {
    type Owned = Vec<T>;
    fn into_array(self) -> Array<'a> {
        self.as_slice().into_array()
    }
}

impl<'a, T: Value, const N: usize> Input<'a> for &'a [T; N] {
    type Owned = Vec<T>;
    fn into_array(self) -> Array<'a> {
        self.as_slice().into_array()
    }
}

/// The bytes of a vector, which it keeps alive.
struct Elements<T>(Vec<T>);

impl<T: Value> AsRef<[u8]> for Elements<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl<'a, T: Value> Input<'a> for Vec<T> {
    type Owned = Vec<T>;
    fn into_array(self) -> Array<'a> {
        let count = self.len();
        Array::of::<T>(Data::Shared(Bytes::from_owner(Elements(self))), count)
    }
}

impl<'a> Input<'a> for Array<'a> {
    type Owned = Array<'static>;
    fn into_array(self) -> Array<'a> {
        self
    }
}

/// Positions that an operator answered: 32 bits each where that is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Positions {
    /// All are below 2^32.
    U32(Vec<u32>),
    /// Some may not be.
    U64(Vec<u64>),
}

impl Positions {
    /// Their number.
    pub fn len(&self) -> usize {
        match self {
            Self::U32(all) => all.len(),
            Self::U64(all) => all.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them. Panics if there are not so many.
    pub fn get(&self, index: usize) -> usize {
        match self {
            Self::U32(all) => all[index] as usize,
            Self::U64(all) => all[index] as usize,
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }
}

impl FromArray for Positions {
    fn from_array(array: Array<'static>) -> Result<Self> {
        match array.kind {
            ElementType::Uint32 => Ok(Self::U32(array.into_vec()?)),
            _ => Ok(Self::U64(array.into_vec()?)),
        }
    }
}
