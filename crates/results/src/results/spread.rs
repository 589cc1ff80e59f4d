//! What the cases of a comparison tell of cases that were not asked, and whether all of them differ alike.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::decide::{CaseChange, Comparison, Rule};
use crate::stats::spread::{Reach, homogeneity, reach};
use crate::stats::stratified::Stratum;
use crate::stats::{holm_adjusted, len};
use crate::text::word_enum::word_enum;

word_enum! {
    /// What cases are drawn in: those of a cluster are likely to differ alike.
    pub enum ClusterBy {
        /// Each case, in all its modes.
        Case = "case",
        /// The cases of a skill.
        Skill = "skill",
        /// The cases with the same tags.
        Tag = "tag",
    }
}

/// What the given cases tell of others. Only of trials whose number did not depend on their results.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Spread {
    pub cluster: ClusterBy,
    /// The number of clusters.
    pub clusters: usize,
    /// How far the mean difference may be from that of all cases that could be asked, as a half-width at the level of the rule. Null if
    /// there are fewer than five clusters, or all differ alike.
    pub unasked: Option<Reach>,
    /// Where the difference is shown not to be the same, the surest first.
    pub differs: Vec<UnlikeGroups>,
}

/// Groups of cases whose sides differ differently.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct UnlikeGroups {
    /// What the groups are: `case`, `skill`, `tag` or `mode`.
    pub by: String,
    /// The probability of groups that differ this much if the odds ratio is the same in all cases, adjusted by Holm for the kinds of groups.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub p: f64,
    /// The group in which the candidate gains least or loses most.
    pub lowest: GroupDifference,
    pub highest: GroupDifference,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct GroupDifference {
    pub name: String,
    /// The mean over its cases of the candidate's pass rate minus the baseline's.
    pub difference: f64,
}

impl Spread {
    /// `None` for fewer than two cases. `names_cases` says whether a case is named `skill/case` or `skill/case/mode`; `cluster` is that of
    /// a `skill/case`.
    pub fn of(
        comparison: &Comparison,
        rule: &Rule,
        names_cases: bool,
        (by, cluster): (ClusterBy, &dyn Fn(&str) -> String),
    ) -> Option<Self> {
        let cases = &comparison.cases;
        let asked = |name: &str| match name.match_indices('/').nth(1).filter(|_| names_cases) {
            Some((end, _)) => name[..end].to_owned(),
            None => name.to_owned(),
        };
        let part = |at: usize| move |name: &str| name.split('/').nth(at).unwrap_or_default().to_owned();
        let clusters = groups(cases, |name| cluster(&asked(name)));
        let mut kinds = vec![(by.as_str(), clusters.clone())];
        if names_cases {
            kinds.extend([("skill", groups(cases, part(0))), ("mode", groups(cases, part(2)))]);
        }
        kinds.dedup_by(|later, before| later.0 == before.0);
        let places: BTreeMap<&String, usize> = clusters.keys().zip(0..).collect();
        let of_case = |case: &CaseChange| places.get(&cluster(&asked(&case.case))).copied();
        let (numbers, strata): (Option<Vec<usize>>, Vec<Stratum>) =
            (cases.iter().map(of_case).collect(), cases.iter().map(stratum).collect());
        (cases.len() > 1).then(|| Self {
            cluster: by,
            clusters: clusters.len(),
            unasked: numbers.and_then(|numbers| reach(&strata, &numbers, rule.level)),
            differs: unlike(kinds, rule.alpha),
        })
    }
}

/// The cases of each group.
type Groups<'a> = BTreeMap<String, Vec<&'a CaseChange>>;

fn groups(cases: &[CaseChange], of: impl Fn(&str) -> String) -> Groups<'_> {
    let mut groups = Groups::new();
    for case in cases {
        groups.entry(of(&case.case)).or_default().push(case);
    }
    groups
}

fn stratum(case: &CaseChange) -> Stratum {
    Stratum { baseline: case.baseline.rate, candidate: case.candidate.rate }
}

/// The kinds of groups that are shown not to differ alike.
fn unlike(kinds: Vec<(&str, Groups<'_>)>, alpha: f64) -> Vec<UnlikeGroups> {
    let tested = kinds.into_iter().filter_map(|(by, groups)| {
        let strata: Vec<Vec<Stratum>> =
            groups.values().map(|cases| cases.iter().map(|case| stratum(case)).collect()).collect();
        let differences = groups.into_iter().map(|(name, cases)| {
            let difference = cases.iter().map(|case| case.difference()).sum::<f64>() / len(cases.len());
            GroupDifference { name, difference }
        });
        let mut differences: Vec<GroupDifference> = differences.collect();
        differences.sort_by(|a, b| a.difference.total_cmp(&b.difference));
        let (lowest, highest) = (differences.first()?.clone(), differences.last()?.clone());
        Some(UnlikeGroups { by: by.to_owned(), p: homogeneity(&strata)?, lowest, highest })
    });
    let mut tested: Vec<UnlikeGroups> = tested.collect();
    let adjusted = holm_adjusted(&tested.iter().map(|unlike| unlike.p).collect::<Vec<_>>());
    for (unlike, p) in tested.iter_mut().zip(adjusted) {
        unlike.p = p;
    }
    tested.retain(|unlike| unlike.p <= alpha);
    tested.sort_by(|a, b| a.p.total_cmp(&b.p));
    tested
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{CaseCount, SideCounts, fixed};
    use crate::stats::proportion::Rate;

    /// The comparison of cases with these passes, of five trials on each side.
    fn compared(cases: &[(&str, u64, u64)]) -> Comparison {
        let side = |passed: fn(&(&str, u64, u64)) -> u64| -> SideCounts {
            let count = |case| CaseCount { rate: Rate::new(passed(case), 5), not_measured: 0 };
            cases.iter().map(|case| (case.0.to_owned(), count(case))).collect()
        };
        fixed::compare(&side(|case| case.1), &side(|case| case.2), &Rule::default())
    }

    fn spread(cases: &[(&str, u64, u64)], names_cases: bool, by: ClusterBy) -> Option<Spread> {
        let skill = |case: &str| case.split('/').next().unwrap_or_default().to_owned();
        let cluster: &dyn Fn(&str) -> String = if by == ClusterBy::Skill { &skill } else { &str::to_owned };
        Spread::of(&compared(cases), &Rule::default(), names_cases, (by, cluster))
    }

    const MODES: [(&str, u64, u64); 6] = [
        ("s/a/mcp", 1, 5),
        ("s/b/mcp", 1, 5),
        ("s/c/mcp", 1, 5),
        ("t/a/native", 5, 1),
        ("t/b/native", 5, 1),
        ("t/c/native", 5, 1),
    ];

    #[test]
    fn the_same_case_in_two_modes_is_one_cluster_and_only_named_cases_have_skills() {
        let twice = [("s/a/mcp", 1, 2), ("s/a/native", 3, 2), ("s/b/mcp", 1, 1), ("s/b/native", 5, 2)];
        let clusters = |names, by| spread(&twice, names, by).expect("cases").clusters;
        assert_eq!((clusters(true, ClusterBy::Case), clusters(false, ClusterBy::Case)), (2, 4));
        assert_eq!(clusters(true, ClusterBy::Skill), 1);
        assert_eq!(spread(&twice[..1], true, ClusterBy::Case), None);
    }

    #[test]
    fn a_difference_that_is_not_the_same_in_two_modes_names_them() {
        let found = spread(&MODES, true, ClusterBy::Case).expect("cases");
        let by: Vec<&str> = found.differs.iter().map(|unlike| unlike.by.as_str()).collect();
        assert!(by.contains(&"mode") && by.contains(&"case"), "{found:?}");
        let mode = found.differs.iter().find(|unlike| unlike.by == "mode").expect("modes");
        let named = |group: &GroupDifference| (group.name.clone(), (group.difference * 100.0).round());
        assert_eq!(
            (named(&mode.lowest), named(&mode.highest)),
            (("native".to_owned(), -80.0), ("mcp".to_owned(), 80.0))
        );
        assert!(mode.p < 0.01, "{mode:?}");
        // A kind of groups is tested once.
        let by_skill = spread(&MODES, true, ClusterBy::Skill).expect("cases");
        assert_eq!(by_skill.differs.iter().filter(|unlike| unlike.by == "skill").count(), 1);
    }

    #[test]
    fn cases_that_differ_alike_are_not_said_to_differ_and_few_skills_tell_nothing_of_others() {
        let alike = ["s/a", "s/b", "s/c", "s/d", "s/e", "s/f"].map(|case| (case, 4, 2));
        let found = spread(&alike, true, ClusterBy::Case).expect("cases");
        assert_eq!((found.differs, found.unasked), (Vec::new(), None));
        assert_eq!(spread(&MODES, true, ClusterBy::Skill).expect("cases").unasked, None);
        assert!(spread(&MODES, true, ClusterBy::Case).expect("cases").unasked.is_some());
    }
}
