//! Sort, merge and move arrays on a corank server, on its GPU or on its cores.
//!
//! ```no_run
//! # async fn example() -> corank::Result<()> {
//! let client = corank::Client::connect("127.0.0.1:50051")?;
//! let sorted = client.sort(&[3.0f32, 1.0, 2.0]).await?;
//! assert_eq!(sorted, [1.0, 2.0, 3.0]);
//! # Ok(())
//! # }
//! ```
//!
//! - Operators are methods of [`Client`]. Each returns a [`Request`], which takes options and is then awaited.
//! - Results have the type of their inputs. [`Array`] is for types that are known at run time only.
//! - Small arrays travel in messages, large ones in chunks, over several connections if they are very large.
//! - A call that failed is retried where that can do no harm. [`Error`] says what the caller can change.
//! - Dropping a future cancels its call on the server.
//!
//! The client registers no shared memory; the clients of Python and C++ do.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod answered;
mod array;
mod chain;
mod client;
mod columns;
mod connect;
mod element;
mod error;
mod groups;
mod joins;
mod kept;
mod operators;
mod perform;
mod ranks;
mod request;
mod retry;
mod selections;
mod sets;
mod stream;
mod task;

pub use array::{Array, FromArray, Input, Positions};
pub use chain::{Chain, Link, Links};
pub use client::{Client, ConnectOptions, Health};
pub use columns::{pack_validity, Column, NanOrder, SortedColumn, SortedColumns};
pub use element::{Key, Value};
pub use error::{Error, Result};
pub use groups::Groups;
pub use joins::{Joined, Rows};
pub use kept::{Fetch, KeptArray, KeptArrays, Store};
pub use operators::{limited_segments, Destination};
pub use request::{FromResults, Place, Priority, Progress, Request, Stats};
pub use selections::Selection;
pub use v1::{Comparison, GroupInput, GroupOutput, JoinKind, RankMethod, SetOperation};

/// The messages and stubs of the contract.
#[allow(missing_docs, clippy::all, rustdoc::all)]
#[rustfmt::skip]
pub mod v1 {
    include!("pb/corank.v1.rs");
}

#[allow(missing_docs, clippy::all, dead_code)]
#[rustfmt::skip]
mod wire {
    include!("pb/corank.wire.v1.rs");
}
