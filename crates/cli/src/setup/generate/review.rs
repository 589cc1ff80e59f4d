//! Shows drafted cases to somebody who knows the skill, one by one.

use std::io::{self, BufRead, Write};

use super::GeneratedCase;
use crate::text::diagnostic::Diagnostic;
use crate::text::escape;

pub type LintDraft<'a> = dyn Fn(&GeneratedCase) -> Vec<Diagnostic> + 'a;

/// The drafts that are accepted, as they are or edited. At the end of the input, the rest is dropped.
pub fn one_by_one(
    drafts: Vec<GeneratedCase>,
    lint: &LintDraft<'_>,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<Vec<GeneratedCase>> {
    let mut accepted = Vec::new();
    let count = drafts.len();
    for (at, mut draft) in drafts.into_iter().enumerate() {
        let mut shows = true;
        loop {
            if std::mem::replace(&mut shows, false) {
                show(&draft, (at + 1, count), lint, output)?;
            }
            write!(output, "[a]ccept, [e]dit, [d]rop, [q]uit with the accepted ones? ")?;
            output.flush()?;
            let Some(answer) = line(input)? else { return Ok(accepted) };
            match answer.as_str() {
                "a" => {
                    accepted.push(draft);
                    break;
                }
                "d" => break,
                "q" => return Ok(accepted),
                "e" => {
                    write!(output, "new prompt, on one line: ")?;
                    output.flush()?;
                    let Some(prompt) = line(input)? else { return Ok(accepted) };
                    if !prompt.is_empty() && prompt != draft.prompt {
                        draft.prompt = prompt;
                        draft.author =
                            draft.author.map(|author| format!("{}, edited", author.trim_end_matches(", edited")));
                    }
                    shows = true;
                }
                _ => {}
            }
        }
    }
    Ok(accepted)
}

fn show(
    draft: &GeneratedCase,
    (number, count): (usize, usize),
    lint: &LintDraft<'_>,
    output: &mut impl Write,
) -> io::Result<()> {
    let expected = if draft.should_trigger { "must trigger" } else { "must not trigger" };
    writeln!(output, "\n{number} of {count}: {} ({expected})", escape::line(&draft.id))?;
    for line in escape::block(&draft.prompt).lines() {
        writeln!(output, "  {line}")?;
    }
    for problem in lint(draft) {
        writeln!(output, "  lint: {}", escape::line(&problem.message))?;
    }
    Ok(())
}

/// The next line without its end; `None` at the end of the input.
fn line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = input.read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}
