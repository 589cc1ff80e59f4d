//! `isolation`: what keeps an agent to its own directories.

use std::path::PathBuf;

use crate::settings::Problems;
use crate::text::relative_path::RelativePath;
use crate::text::word_enum::word_enum;

word_enum! {
    /// What keeps an agent to its own directories.
    #[derive(Default)]
    pub enum Isolation {
        /// bubblewrap: the agent sees programs, its own directories and the skills, and no other process.
        #[default]
        Bwrap = "bwrap",
        /// A container of docker or podman: the same, and the programs of an image in place of the system's.
        Docker = "docker",
        /// Only what the agent does by itself.
        Agent = "agent",
    }
}

impl Isolation {
    /// What agents are inside of.
    pub fn surroundings(self) -> &'static str {
        match self {
            Self::Bwrap => "bubblewrap",
            Self::Docker => "a container",
            Self::Agent => "their own sandboxes",
        }
    }
}

word_enum! {
    /// Whose settings, plugins, MCP servers and other skills an agent has in its home.
    #[derive(Default)]
    pub enum Home {
        /// Nobody's: of the user only the credentials and the provider.
        #[default]
        Isolated = "isolated",
        /// The user's, which the agent reads where it is.
        User = "user",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IsolationSettings {
    /// The kind. An agent runs without bubblewrap if that does not work, unless it is required.
    pub kind: Isolation,
    /// Whether a trial outside bubblewrap is an error.
    pub required: bool,
    /// The image of containers, if not the usual one.
    pub image: Option<String>,
    /// Whose setup agents have.
    pub home: Home,
    /// What the settings file says about it, if anything.
    pub declared: Option<String>,
    /// Absolute paths that agents may read besides the system's own.
    pub readable: Vec<PathBuf>,
    /// The directories of plugins whose hooks, servers and commands may run code.
    pub trusted: Vec<RelativePath>,
}

impl IsolationSettings {
    /// The image that `packages/` builds.
    const IMAGE: &str = "skill-evals";

    /// The image of containers.
    pub fn image(&self) -> &str {
        self.image.as_deref().unwrap_or(Self::IMAGE)
    }

    /// Keeps what the settings file says.
    pub(super) fn declare(&mut self, readable: &[String]) {
        let image = self.image.iter().fold(String::new(), |_, image| format!("\0\0{image}"));
        self.declared = Some(format!("{} {} {}{image}", self.kind, self.required, readable.join("\0")));
    }

    /// Adds paths that agents may read.
    pub(super) fn read(&mut self, paths: Vec<toml::Spanned<String>>, problems: &mut Problems<'_>) {
        for written in paths {
            let text = written.get_ref();
            let path = match text.strip_prefix("~/") {
                Some(rest) => std::env::home_dir().unwrap_or_default().join(rest),
                None => PathBuf::from(text),
            };
            if path.is_absolute() {
                self.readable.push(path);
            } else {
                let message = format!("`isolation_read`: {text:?} is not absolute; begin it with `/` or `~/`");
                problems.add(written.span(), message);
            }
        }
    }
}
