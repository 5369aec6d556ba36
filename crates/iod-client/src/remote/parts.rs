//! A value that several requests fill in.

use super::Answer;
use isthmus_forward::Errno;
use std::sync::{Arc, Mutex, PoisonError};

struct State<T> {
    /// Number of requests without a reply.
    left: usize,
    result: Result<T, Errno>,
    answer: Option<Answer<T>>,
}

/// A value that several requests fill in, and the function that gets it after the last reply.
pub(super) struct Parts<T>(Mutex<State<T>>);

impl<T> Parts<T> {
    /// Create a value that `left` requests fill in.
    pub fn new(left: usize, value: T, answer: Answer<T>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            left,
            result: Ok(value),
            answer: Some(answer),
        })))
    }

    /// Fill in the part of one request. After the last one, pass the value on, or the first error.
    pub fn fill(&self, part: impl FnOnce(&mut T) -> Result<(), Errno>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = match &mut state.result {
            Ok(value) => part(value),
            Err(errno) => Err(*errno),
        };
        if let Err(errno) = filled {
            state.result = Err(errno);
        }
        state.left -= 1;
        if state.left == 0
            && let Some(answer) = state.answer.take()
        {
            let result = std::mem::replace(&mut state.result, Err(Errno::IO));
            drop(state);
            answer(result);
        }
    }
}
