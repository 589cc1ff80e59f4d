//! A summary as one JSON document, the content of `summary.json`.

use crate::report::export::{Export, ExportKind};
use crate::text::escape;

pub static EXPORT: Export = Export {
    name: "json",
    about: "Print the results as one JSON document",
    kind: ExportKind::Output(|results| {
        let text = serde_json::to_string_pretty(results.summary).map_err(|error| error.to_string())?;
        Ok(escape::json(&text).into_owned() + "\n")
    }),
};
