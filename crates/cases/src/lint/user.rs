//! A user whose facts nobody needs to ask for: the agent knows them before, or the user says them with what it wants.

use crate::cases::case::Case;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::trial::user::has_value;

pub(super) fn check<'a>(
    case: &'a Case,
    place: impl Fn(&str) -> SourceLocation + 'a,
) -> impl Iterator<Item = Diagnostic> + 'a {
    let facts = case.user.iter().flat_map(|user| user.facts.iter().map(move |fact| (user, fact)));
    facts.filter_map(move |(user, (fact, value))| {
        let said = case.history.iter().map(|said| ("`history`", said.content.as_str()));
        let sent = case.follow_ups.iter().map(|text| ("`follow_ups`", text.as_str()));
        let told = [("the prompt", case.prompt.as_str()), ("`goal`", user.goal.as_str())];
        let (where_, _) = told.into_iter().chain(said).chain(sent).find(|(_, text)| has_value(text, value))?;
        let message = format!("the value of the fact `{fact}` is in {where_}: nobody needs to ask for it");
        let help = "leave it out there, or give the fact a value that is nowhere else";
        Some(Diagnostic::new(Code::BadUser, place(value), message).help(help))
    })
}
