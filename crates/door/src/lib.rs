//! The one door of a trial's room. All traffic of the room passes it: it is recorded, rules say what may pass, and the credentials
//! are on this side of it.
//!
//! - [`Rules`] say which hosts a room reaches, and which request gets which credential. They are pure.
//! - A [`Door`] is open for one run. It has the certificate authority of the run, which never leaves memory, and the way out: the
//!   user's root certificates and the user's proxy.
//! - A [`Room`] is what one trial gets: sockets that the trial's programs reach, and a record, `wire.jsonl`, of each [`Exchange`].
//!
//! The door speaks HTTP/1.1, ends TLS, and forwards bodies byte for byte, but for the key of a kept prompt, which [`Rules::prompt_key`] replaces.
//! It decodes nothing: readers of the record do.

mod address;
mod answers;
mod authority;
mod cache_key;
mod door;
mod forward;
mod record;
mod room;
mod rules;
mod serve;
mod state;
mod way;

pub use address::is_public;
pub use answers::{Answers, Asked, WholeAnswer};
pub use door::Door;
pub use record::{Exchange, ExchangeEnd, Part, RecordError, read_record, store_record};
pub use room::Room;
pub use rules::{Credential, PathRule, Refusal, Request, Route, Rules};
pub use way::{DoorError, Upstream};
