// Stubs of the trials, for IDEs: made by `skill-evals stubs`, checked by `skill-evals lint --check-evals`.
// They are empty, and gone when this is compiled for the harness, which runs the trials of the same names.

#[allow(non_snake_case, clippy::module_inception, reason = "the names are the trials'")]
mod code_style {
    #[test]
    fn lint() {}
    mod code_style {
        #[test]
        fn codex() {}
    }
    mod explicit {
        #[test]
        fn codex() {}
    }
    mod format_file {
        #[test]
        fn codex() {}
    }
    mod implicit {
        #[test]
        fn codex() {}
    }
    mod implicit_json {
        #[test]
        fn codex() {}
    }
    mod negative {
        #[test]
        fn codex() {}
    }
    mod union_types {
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
        fn codex() {}
    }
    mod explicit_json {
        #[test]
        fn codex() {}
    }
    mod greeting {
        #[test]
        fn codex() {}
    }
    mod implicit {
        #[test]
        fn codex() {}
    }
    mod implicit_french {
        #[test]
        fn codex() {}
    }
    mod negative {
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
        fn codex() {}
    }
    mod explicit_json {
        #[test]
        fn codex() {}
    }
    mod implicit {
        #[test]
        fn codex() {}
    }
    mod negative {
        #[test]
        fn codex() {}
    }
    mod template_generator {
        #[test]
        fn codex() {}
    }
    mod write_config {
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
        fn codex() {}
    }
    mod explicit {
        #[test]
        fn codex() {}
    }
    mod explicit_json {
        #[test]
        fn codex() {}
    }
    mod implicit {
        #[test]
        fn codex() {}
    }
    mod negative {
        #[test]
        fn codex() {}
    }
    mod script_from_csv {
        #[test]
        fn codex() {}
    }
    mod xlsx_financial {
        #[test]
        fn codex() {}
    }
    mod xlsx_formulas {
        #[test]
        fn codex() {}
    }
    mod xlsx_openpyxl {
        #[test]
        fn codex() {}
    }
    mod xlsx_verify {
        #[test]
        fn codex() {}
    }
}
