//! claude inside bubblewrap: the workspace, the home and the folder for temporary files can be written, nothing else.

use crate::agent::command::Command;
use crate::agent::room::Room;
use crate::process::find_program;
use crate::trial::trouble::{Trouble, TroubleKind};

/// Puts the command inside `bwrap`, where the settings ask for it; otherwise says what stays open.
pub(super) fn wrap(command: &mut Command, required: bool, room: &Room) -> Result<(), Trouble> {
    if !required {
        let open = "shell commands can write outside the workspace; `require_sandbox = true` in evals/evals.toml runs \
                    claude inside bwrap";
        command.not_enforced.push(open.to_owned());
        return Ok(());
    }
    let bwrap = find_program("bwrap").ok_or_else(|| {
        let why = "`require_sandbox` in evals/evals.toml asks for `bwrap`, which is not on the PATH; get it as \
                   `bubblewrap` from your system's packages";
        Trouble::new(TroubleKind::CouldNotStart, why)
    })?;
    let mut args: Vec<std::ffi::OsString> =
        ["--die-with-parent", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev"].map(Into::into).to_vec();
    for folder in [room.workspace(), room.home(), room.tmp()] {
        args.extend(["--bind".into(), folder.clone().into_os_string(), folder.into_os_string()]);
    }
    args.push("--".into());
    args.push(std::mem::replace(&mut command.program, bwrap).into_os_string());
    args.append(&mut command.args);
    command.args = args;
    Ok(())
}
