//! Limits how many trials run at once, whichever thread started them.

use std::sync::{Condvar, Mutex, PoisonError};

#[derive(Debug)]
pub struct Slots {
    free: Mutex<usize>,
    freed: Condvar,
}

/// Permission to run a trial, until dropped.
#[derive(Debug)]
pub struct Slot<'a>(&'a Slots);

impl Slots {
    pub fn new(count: usize) -> Self {
        Self { free: Mutex::new(count.max(1)), freed: Condvar::new() }
    }

    pub fn take(&self) -> Slot<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Slot(self)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}
