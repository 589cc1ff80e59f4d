// Stubs of the trials, for IDEs: made by `skill-evals stubs`, checked by `skill-evals lint --check-evals`.
// They are empty, and gone when this is compiled for the harness, which runs the trials of the same names.

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod code_style {
    #[test]
    fn lint() {}
    mod code_style {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
        #[test]
        fn mcp() {}
        #[test]
        fn mcp_native() {}
        #[test]
        fn native() {}
    }
    mod explicit {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod format_file {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod implicit {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod implicit_json {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod negative {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod union_types {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
}

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod greeting {
    #[test]
    fn lint() {}
    mod explicit {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod explicit_json {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod greeting {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
        #[test]
        fn mcp() {}
        #[test]
        fn mcp_native() {}
        #[test]
        fn native() {}
    }
    mod implicit {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod implicit_french {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod negative {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
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
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod explicit_json {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod implicit {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod negative {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod template_generator {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
        #[test]
        fn mcp() {}
        #[test]
        fn mcp_native() {}
        #[test]
        fn native() {}
    }
    mod write_config {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
}

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod writing_skill_evals {
    #[test]
    fn lint() {}
    mod explicit {
        #[test]
        fn codex() {}
    }
    mod implicit_does_it_trigger {
        #[test]
        fn codex() {}
    }
    mod implicit_flaky_cases {
        #[test]
        fn codex() {}
    }
    mod implicit_german {
        #[test]
        fn codex() {}
    }
    mod not_code_style {
        #[test]
        fn codex() {}
    }
    mod not_unit_tests {
        #[test]
        fn codex() {}
    }
    mod not_writing_the_skill {
        #[test]
        fn codex() {}
    }
    mod write_cases {
        #[test]
        fn codex() {}
    }
}

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod xlsx {
    #[test]
    fn lint() {}
    mod build_model {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod explicit {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod explicit_json {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod implicit {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod negative {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod script_from_csv {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
    }
    mod xlsx_financial {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
        #[test]
        fn mcp() {}
        #[test]
        fn mcp_native() {}
        #[test]
        fn native() {}
    }
    mod xlsx_formulas {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
        #[test]
        fn mcp() {}
        #[test]
        fn mcp_native() {}
        #[test]
        fn native() {}
    }
    mod xlsx_openpyxl {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
        #[test]
        fn mcp() {}
        #[test]
        fn mcp_native() {}
        #[test]
        fn native() {}
    }
    mod xlsx_verify {
        #[test]
        fn cli_native() {}
        #[test]
        fn codex() {}
        #[test]
        fn mcp() {}
        #[test]
        fn mcp_native() {}
        #[test]
        fn native() {}
    }
}
