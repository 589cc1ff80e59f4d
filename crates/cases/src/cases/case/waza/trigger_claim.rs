//! What a case says of the skill under test, in several places.

/// Whether the skill should trigger, if a place says so.
#[derive(Default)]
pub(super) struct TriggerClaim(pub Option<bool>);

impl TriggerClaim {
    /// Adds what a place says. Returns whether all places agree so far.
    pub fn agrees(&mut self, should: bool) -> bool {
        *self.0.get_or_insert(should) == should
    }
}
