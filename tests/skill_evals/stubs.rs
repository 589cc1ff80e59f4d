// Stubs of the trials, for IDEs: made by `skill-evals stubs`, checked by `skill-evals lint`.
// The harness does not contain them: it runs the trials of the same names. In a test without `harness = false` each of them fails.

#[cfg(test)]
#[allow(dead_code, clippy::panic, reason = "only a test that is not the harness calls it, and must not pass")]
fn no_trial() -> ! {
    panic!(
        "no trial ran: the test `{0}` needs `harness = false`. Add to Cargo.toml:\n\n[[test]]\nname = \"{0}\"\nharness = false\n",
        module_path!()
    )
}

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod code_style {
    #[test]
    fn lint() { super::no_trial() }
    mod code_style {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn mcp() { super::super::no_trial() }
        #[test]
        fn mcp_native() { super::super::no_trial() }
        #[test]
        fn native() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod explicit {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod format_file {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod implicit {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod implicit_json {
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
    }
    mod negative {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod union_types {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
}

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod greeting {
    #[test]
    fn lint() { super::no_trial() }
    mod explicit {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod explicit_json {
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
    }
    mod greeting {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn mcp() { super::super::no_trial() }
        #[test]
        fn mcp_native() { super::super::no_trial() }
        #[test]
        fn native() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod implicit {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod implicit_french {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod negative {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
}

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod repository {
    #[test]
    fn lint() { super::no_trial() }
}

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod template_generator {
    #[test]
    fn lint() { super::no_trial() }
    mod explicit {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod explicit_json {
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
    }
    mod implicit {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod negative {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod template_generator {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn mcp() { super::super::no_trial() }
        #[test]
        fn mcp_native() { super::super::no_trial() }
        #[test]
        fn native() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod write_config {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
}

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod writing_skill_evals {
    #[test]
    fn lint() { super::no_trial() }
    mod asks_about_users {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod explicit {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod implicit_does_it_trigger {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod implicit_flaky_cases {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod implicit_german {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod implicit_price {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod leaves_unit_tests_alone {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod not_code_style {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod not_unit_tests {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod not_writing_the_skill {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod shows_the_price_first {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod write_cases {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
}

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod xlsx {
    #[test]
    fn lint() { super::no_trial() }
    mod build_model {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod explicit {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod explicit_json {
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
    }
    mod implicit {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod negative {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod script_from_csv {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod xlsx_financial {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn mcp() { super::super::no_trial() }
        #[test]
        fn mcp_native() { super::super::no_trial() }
        #[test]
        fn native() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod xlsx_formulas {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn mcp() { super::super::no_trial() }
        #[test]
        fn mcp_native() { super::super::no_trial() }
        #[test]
        fn native() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod xlsx_openpyxl {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn mcp() { super::super::no_trial() }
        #[test]
        fn mcp_native() { super::super::no_trial() }
        #[test]
        fn native() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
    mod xlsx_verify {
        #[test]
        fn chat() { super::super::no_trial() }
        #[test]
        fn cli_native() { super::super::no_trial() }
        #[test]
        fn cline() { super::super::no_trial() }
        #[test]
        fn codex() { super::super::no_trial() }
        #[test]
        fn copilot() { super::super::no_trial() }
        #[test]
        fn droid() { super::super::no_trial() }
        #[test]
        fn gemini() { super::super::no_trial() }
        #[test]
        fn kimi() { super::super::no_trial() }
        #[test]
        fn mcp() { super::super::no_trial() }
        #[test]
        fn mcp_native() { super::super::no_trial() }
        #[test]
        fn native() { super::super::no_trial() }
        #[test]
        fn opencode() { super::super::no_trial() }
        #[test]
        fn qwen() { super::super::no_trial() }
        #[test]
        fn vibe() { super::super::no_trial() }
    }
}
