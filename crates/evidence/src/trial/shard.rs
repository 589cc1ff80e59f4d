//! A part of a run's cases, so that several machines can share a run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::text::name::check_id;
use crate::text::problem::Problem;
use crate::trial::evidence::digest;
use crate::trial::id::CaseInMode;

/// Maximum number of shards of a run.
const MOST_SHARDS: u32 = 10_000;

/// What comes between a run's id and the shard in the id of the shard's run.
const INFIX: &str = "-shard-";

/// What comes between the number of a shard and the number of shards there.
const OF: &str = "-of-";

/// One of the equal parts of a run's cases. The name of a case in a mode decides its shard, so every case is in exactly one,
/// whatever else is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    /// Which, from 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Shard {
    fn new(number: &str, of: &str) -> Option<Self> {
        // u32's own parser accepts a leading `+`.
        let read = |text: &str| text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        let (number, of): (u32, u32) = (read(number)?, read(of)?);
        (1 <= number && number <= of && of <= MOST_SHARDS).then_some(Self { number, of })
    }

    /// The shard of the case, of this many. The answer must never change: machines with different versions share a run.
    pub fn of_case(case: &CaseInMode, of: u32) -> Self {
        let CaseInMode { skill, case, mode } = case;
        let digest = digest(format!("{skill}/{case}/{mode}").as_bytes());
        let hash = digest.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default();
        Self { number: u32::try_from(hash % u64::from(of)).unwrap_or_default() + 1, of }
    }

    /// Whether the case is in this shard.
    pub fn has(self, case: &CaseInMode) -> bool {
        Self::of_case(case, self.of) == self
    }

    /// The id of this shard's run, if all shards together are the run `id`. The id of this shard's run stays as it is.
    pub fn run_id(self, id: &str) -> Result<String, Problem> {
        match Self::of_run(id) {
            Some((_, shard)) if shard == self => return Ok(id.to_owned()),
            Some((run, shard)) => {
                return Err(
                    format!("the run id `{id}` is that of shard {shard}, not of {self}: use --run-id {run}").into()
                );
            }
            None => {}
        }
        let whole = format!("{id}{INFIX}{}{OF}{}", self.number, self.of);
        check_id(&whole).map(|()| whole).map_err(|why| format!("the run id {id:?} of a shard {why}").into())
    }

    /// The id of the run of all shards, and the shard, if `id` is the id of a shard's run.
    pub fn of_run(id: &str) -> Option<(&str, Self)> {
        let (run, shard) = id.rsplit_once(INFIX)?;
        let (number, of) = shard.split_once(OF)?;
        Some((run, Self::new(number, of)?))
    }
}

/// A line of `all-cases.jsonl`: a case in a mode of the run of all shards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShardedCase {
    /// Which.
    #[serde(flatten)]
    pub case: CaseInMode,
    /// Number of trials at the start of the run.
    pub trials: u32,
    /// The share of its trials that must pass.
    pub threshold: f64,
    /// Maximum number of trials, if it runs until it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_trials: Option<u32>,
    /// A digest of what its agent sees.
    pub inputs: String,
    /// A digest of what is expected of its trials.
    pub checks: String,
}

/// The form on the command line: `2/8`.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// A text that names no shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected M/N, for example 2/8: the second of eight shards; M is 1 to N, and N is at most {MOST_SHARDS}")]
pub struct NoShard;

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        text.split_once('/').and_then(|(number, of)| Self::new(number, of)).ok_or(NoShard)
    }
}

impl Serialize for Shard {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Shard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str) -> CaseInMode {
        let mut parts = name.split('/').map(str::to_owned);
        let mut part = || parts.next().unwrap_or_default();
        CaseInMode { skill: part(), case: part(), mode: part() }
    }

    fn place(name: &str, of: u32) -> Vec<u32> {
        (1..=of).filter(|number| Shard { number: *number, of }.has(&case(name))).collect()
    }

    #[test]
    fn a_case_is_in_exactly_one_shard_and_all_shards_have_cases() {
        let mut sizes = [0; 7];
        for index in 0..700 {
            let [shard] = place(&format!("tidy/c{index}/codex"), 7)[..] else { panic!("c{index} is in one shard") };
            sizes[shard as usize - 1] += 1;
        }
        assert!(sizes.iter().all(|size| (70..130).contains(size)), "{sizes:?}");
    }

    #[test]
    fn the_shard_of_a_case_never_changes() {
        // These numbers are a promise to machines that run other versions.
        assert_eq!(place("tidy/c0/codex", 8), [5]);
        assert_eq!(place("pdf/smoke-explicit/mcp+native", 8), [8]);
        assert_eq!(place("greeting/implicit/cli-native", 64), [55]);
    }

    #[test]
    fn only_m_of_n_is_a_shard() {
        assert_eq!("2/8".parse(), Ok(Shard { number: 2, of: 8 }));
        for wrong in ["", "1", "0/4", "5/4", "a/b", "1/0", "+1/2", "1/2/3", "-1/2", " 1/2", "1/10001"] {
            assert_eq!(wrong.parse::<Shard>(), Err(NoShard), "{wrong}");
        }
    }

    #[test]
    fn the_id_of_a_shard_names_its_run() {
        let shard = Shard { number: 2, of: 8 };
        let id = shard.run_id("nightly").expect("an id");
        assert_eq!((id.as_str(), shard.run_id(&id).as_deref()), ("nightly-shard-2-of-8", Ok("nightly-shard-2-of-8")));
        assert_eq!(Shard::of_run(&id), Some(("nightly", shard)));
        assert_eq!(Shard::of_run("nightly-shard-9-of-8"), None);
        assert!(shard.run_id(&"n".repeat(95)).is_err());
        let other = shard.run_id("nightly-shard-1-of-8").expect_err("the id of another shard");
        let other = other.to_string();
        assert!(other.contains("shard 1/8, not of 2/8: use --run-id nightly"), "{other}");
    }
}
