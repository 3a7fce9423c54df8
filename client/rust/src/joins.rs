//! Relational joins of two arrays of keys.

use crate::{
    array::{Array, FromArray, Input},
    error::{Error, Result},
    operators::checked,
    request::{FromResults, Named, Request},
    task::{Method, Task},
    v1::{ElementType, JoinKind},
    Client,
};

/// Row numbers of one side of a join, from 0; -1: no partner. 32 bits each where that is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Both sides have fewer than 2^31 keys.
    I32(Vec<i32>),
    /// A side has more.
    I64(Vec<i64>),
}

impl Rows {
    /// Their number.
    pub fn len(&self) -> usize {
        match self {
            Self::I32(all) => all.len(),
            Self::I64(all) => all.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them; `None`: no partner. Panics if there are not so many.
    pub fn get(&self, index: usize) -> Option<usize> {
        match self {
            Self::I32(all) => usize::try_from(all[index]).ok(),
            Self::I64(all) => usize::try_from(all[index]).ok(),
        }
    }
}

impl FromArray for Rows {
    fn from_array(array: Array<'static>) -> Result<Self> {
        match array.kind {
            ElementType::Int32 => Ok(Self::I32(array.into_vec()?)),
            _ => Ok(Self::I64(array.into_vec()?)),
        }
    }
}

/// The result of [`Client::join`]: for each row, one row number of each side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The row numbers of the left side.
    pub left: Rows,
    /// The row numbers of the right side, as many; `None` for [`JoinKind::Semi`] and [`JoinKind::Anti`].
    pub right: Option<Rows>,
}

impl FromResults for Joined {
    fn from_results(results: Vec<Named>) -> Result<Self> {
        let mut rows = results.into_iter().map(|(_, array)| Rows::from_array(array));
        let left = rows.next().unwrap_or_else(|| Err(Error::internal("the server answered no rows")))?;
        Ok(Self { left, right: rows.next().transpose()? })
    }
}

impl Client {
    /// Finds the rows of two arrays, in any order and of one type, that have equal keys. All NaNs are one key, and so are
    /// both zeros. The result has the rows of the left in their order, each with its partners in their order on the
    /// right; then, for right and full joins, the rows of the right without a partner. The server sorts the right side
    /// alone.
    ///
    /// - [`JoinKind::Inner`]: each pair of rows with equal keys, which are partners.
    /// - [`JoinKind::Left`], [`JoinKind::Right`], [`JoinKind::Full`]: also the rows of that side, or of both, without a
    ///   partner.
    /// - [`JoinKind::Semi`]: the rows of the left with a partner, once each; [`JoinKind::Anti`]: those without.
    ///
    /// If the join has more rows than both sides together, the client calls a second time, with room for them, unless
    /// [`Request::max_rows`] is given. A chain fails instead.
    pub fn join<'a>(&'a self, kind: JoinKind, left: impl Input<'a>, right: impl Input<'a>) -> Request<'a, Joined> {
        let task = joining(kind, left, right).map(|mut task| {
            let longest = task.inputs.iter().filter_map(|leaf| leaf.array.count).max().unwrap_or(0);
            let names = if is_left_only(kind) { &["left_rows"][..] } else { &["left_rows", "right_rows"] };
            for name in names {
                task.rows_of_join(name, i32::try_from(longest).is_ok());
            }
            make_room(&mut task);
            task
        });
        Request::new(self, task)
    }

    /// Counts the rows that [`Client::join`] would return.
    pub fn count_join<'a>(&'a self, kind: JoinKind, left: impl Input<'a>, right: impl Input<'a>) -> Request<'a, i64> {
        let task = joining(kind, left, right).map(|mut task| {
            task.arguments.count_only = true;
            task.output::<Vec<i64>>("count", (ElementType::Int64, 0), Some(1));
            task
        });
        Request::new(self, task)
    }
}

impl<R> Request<'_, R> {
    /// Says that the keys of the right side ascend, which saves the server their sort; the server checks it. Of joins.
    pub fn right_sorted(self) -> Self {
        self.with("right_sorted", &["Join"], |task| {
            task.arguments.right_sorted = true;
            Ok(())
        })
    }

    /// Bounds the rows of the result. A join with more fails with the reason `TOO_MANY_ROWS`, and [`Error::rows`] is
    /// their number. Of join.
    pub fn max_rows(self, count: usize) -> Self {
        self.with("max_rows", &["Join"], |task| {
            if task.arguments.count_only {
                return Err(Error::invalid("max_rows", "not for count_join, which returns no rows"));
            }
            task.arguments.max_rows = Some(i64::try_from(count).unwrap_or(i64::MAX));
            make_room(task);
            Ok(())
        })
    }
}

fn is_left_only(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Semi | JoinKind::Anti)
}

fn joining<'a>(kind: JoinKind, left: impl Input<'a>, right: impl Input<'a>) -> Result<Task<'a>> {
    let mut task = Task::new(Method::Join);
    task.arguments.join_kind = kind;
    task.input("left", checked("left", left.into_array())?);
    task.input("right", checked("right", right.into_array())?);
    Ok(task)
}

/// Changes a task whose join has more rows than there was room for, so that a second call succeeds. Returns whether there
/// is such a call.
pub(crate) fn makes_room(task: &mut Task<'_>, error: &Error) -> bool {
    let (Method::Join, None, Some(rows)) = (task.method, task.arguments.max_rows, error.rows) else {
        return false;
    };
    task.arguments.max_rows = Some(i64::try_from(rows).unwrap_or(i64::MAX));
    make_room(task);
    true
}

/// Tells the results for how many rows the server makes room.
fn make_room(task: &mut Task<'_>) {
    let (left, right) = (task.inputs[0].array.count, task.inputs[1].array.count);
    let wanted = task.arguments.max_rows.and_then(|rows| usize::try_from(rows).ok());
    let most = most_rows(task.arguments.join_kind, left, right, wanted);
    for output in &mut task.outputs {
        output.most = most;
    }
}

/// The rows for which the server makes room; `None`: not known.
fn most_rows(kind: JoinKind, left: Option<usize>, right: Option<usize>, wanted: Option<usize>) -> Option<usize> {
    let (Some(left), Some(right)) = (left, right) else {
        return left.filter(|_| is_left_only(kind)).or(wanted);
    };
    let (pairs, both) = (left.saturating_mul(right), left.saturating_add(right));
    let most = match kind {
        JoinKind::Left => pairs.max(left),
        JoinKind::Right => pairs.max(right),
        JoinKind::Full => pairs.max(both),
        JoinKind::Semi | JoinKind::Anti => left,
        _ => pairs,
    };
    Some(most.min(wanted.unwrap_or(both)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [JoinKind; 6] =
        [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full, JoinKind::Semi, JoinKind::Anti];

    #[test]
    fn room_is_what_the_contract_says() {
        let most = |left, right, wanted| KINDS.map(|kind| most_rows(kind, left, right, wanted));
        let all = |rows: [usize; 6]| rows.map(Some);
        assert_eq!(most(Some(5), Some(3), None), all([8, 8, 8, 8, 5, 5]));
        assert_eq!(most(Some(5), Some(3), Some(100)), all([15, 15, 15, 15, 5, 5]));
        assert_eq!(most(Some(5), Some(3), Some(4)), all([4; 6]));
        assert_eq!(most(Some(5), Some(0), None), all([0, 5, 0, 5, 5, 5]));
        assert_eq!(most(Some(0), Some(3), None), all([0, 0, 3, 3, 0, 0]));
        assert_eq!(most(Some(usize::MAX), Some(2), Some(7)), all([7; 6]));
        assert_eq!(most(None, Some(3), None), [None; 6]);
        assert_eq!(most(Some(5), None, None), [None, None, None, None, Some(5), Some(5)]);
        assert_eq!(most(None, Some(3), Some(7)), all([7; 6]));
    }
}
