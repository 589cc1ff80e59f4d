// Stubs of the trials, for IDEs: made by `skill-evals stubs`, checked by `skill-evals lint`.
// They are empty, and gone when this is compiled for the harness, which runs the trials of the same names.

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod code_style {
    #[test]
    fn lint() {}
    mod code_style {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn mcp() {}
        #[test]
        fn mcp_native() {}
        #[test]
        fn native() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod explicit {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod format_file {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod implicit {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod implicit_json {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod negative {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod union_types {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
}

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod greeting {
    #[test]
    fn lint() {}
    mod explicit {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod explicit_json {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod greeting {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn mcp() {}
        #[test]
        fn mcp_native() {}
        #[test]
        fn native() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod implicit {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod implicit_french {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod negative {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
}

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod repository {
    #[test]
    fn lint() {}
}

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod template_generator {
    #[test]
    fn lint() {}
    mod explicit {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod explicit_json {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod implicit {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod negative {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod template_generator {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn mcp() {}
        #[test]
        fn mcp_native() {}
        #[test]
        fn native() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod write_config {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
}

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod writing_skill_evals {
    #[test]
    fn lint() {}
    mod asks_about_users {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod explicit {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod implicit_does_it_trigger {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod implicit_flaky_cases {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod implicit_german {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod implicit_price {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod leaves_unit_tests_alone {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod not_code_style {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod not_unit_tests {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod not_writing_the_skill {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod shows_the_price_first {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod write_cases {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
}

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod xlsx {
    #[test]
    fn lint() {}
    mod build_model {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod explicit {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod explicit_json {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod implicit {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod negative {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod script_from_csv {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod xlsx_financial {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn mcp() {}
        #[test]
        fn mcp_native() {}
        #[test]
        fn native() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod xlsx_formulas {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn mcp() {}
        #[test]
        fn mcp_native() {}
        #[test]
        fn native() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod xlsx_openpyxl {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn mcp() {}
        #[test]
        fn mcp_native() {}
        #[test]
        fn native() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
    mod xlsx_verify {
        #[test]
        fn chat() {}
        #[test]
        fn cli_native() {}
        #[test]
        fn cline() {}
        #[test]
        fn codex() {}
        #[test]
        fn copilot() {}
        #[test]
        fn droid() {}
        #[test]
        fn gemini() {}
        #[test]
        fn kimi() {}
        #[test]
        fn mcp() {}
        #[test]
        fn mcp_native() {}
        #[test]
        fn native() {}
        #[test]
        fn opencode() {}
        #[test]
        fn qwen() {}
        #[test]
        fn vibe() {}
    }
}
