//! The secrets that this process knows. Whatever it stores or prints is masked by them, so no writer can forget it.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use super::Redactor;

/// The values, and the redactor that masks them.
static KNOWN: LazyLock<RwLock<(BTreeSet<String>, Arc<Redactor>)>> =
    LazyLock::new(|| RwLock::new((BTreeSet::new(), Arc::new(Redactor::new([])))));

/// Masks these values, too, in what is stored or printed from now on.
pub fn know(values: &[String]) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let before = known.0.len();
    known.0.extend(values.iter().cloned());
    if known.0.len() > before {
        known.1 = Arc::new(Redactor::new(known.0.iter().map(String::as_str)));
    }
}

/// Masks all values that are known by now, well-known kinds of keys, and passwords in addresses.
pub fn known() -> Arc<Redactor> {
    Arc::clone(&KNOWN.read().unwrap_or_else(PoisonError::into_inner).1)
}
