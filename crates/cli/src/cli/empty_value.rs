//! Refuses empty values: a shell variable that is not set would choose all trials, or a model without a name.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, Error};

/// The error of the first argument on the command line whose value is empty. Arguments that are handed on may be.
pub fn refuse(command: &Command, matches: &ArgMatches) -> Result<(), Error> {
    if let Some((name, matches)) = matches.subcommand() {
        return command.find_subcommand(name).map_or(Ok(()), |command| refuse(command, matches));
    }
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let is_handed_on = argument.is_trailing_var_arg_set() || argument.is_last_set();
        if is_handed_on || matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let mut values = matches.get_raw(id).into_iter().flatten();
        if values.any(|value| value.to_str().is_some_and(|text| text.trim().is_empty())) {
            let mut error = Error::new(ErrorKind::InvalidValue).with_cmd(command);
            error.insert(ContextKind::InvalidArg, ContextValue::String(argument.to_string()));
            error.insert(ContextKind::InvalidValue, ContextValue::String(String::new()));
            return Err(error);
        }
    }
    Ok(())
}
