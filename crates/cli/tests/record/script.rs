//! What the stand-in model does in each case of this repository: opens the skill where it should trigger, does the
//! work, and answers so that the case's checks have something to find.

use std::collections::HashMap;

use serde_json::json;
use skill_evals_cases::cases::catalog::Catalog;

use crate::support::stand_in::{Protocol, Request, Turn, call, named};

/// claude's tool for answers that follow a schema.
const STRUCTURED: &str = "StructuredOutput";

/// The answers to every prompt of a catalog.
pub struct Script {
    /// The case behind a prompt: its skill, its id, whether it should trigger.
    cases: HashMap<String, (String, String, bool)>,
}

impl Script {
    pub fn new(catalog: &Catalog) -> Self {
        let cases = catalog.cases.iter().filter_map(|found| {
            let case = found.case().ok()?;
            Some((case.prompt.trim().to_owned(), (case.skill.clone(), case.id.clone(), case.should_trigger)))
        });
        Self { cases: cases.collect() }
    }

    pub fn turn(&self, request: &Request) -> Turn {
        let Some((skill, id, triggers)) = self.cases.get(request.prompt.trim()) else {
            return Turn::Say(format!("no script for the prompt {:?}", request.prompt));
        };
        let mut steps: Vec<Turn> = Vec::new();
        // codex, which has no tool for its own skills, puts a `$skill` into the conversation by itself. It does not know those of
        // a server.
        let injected = request.protocol == Protocol::Responses
            && !has_tool(request, "skill")
            && !by_mcp(request)
            && request.prompt.contains(&format!("${skill}"));
        let offered = delivered(request, skill);
        // A case of another program may not say that the skill should stay unused.
        let triggers = *triggers && !id.starts_with("leaves-");
        if triggers && offered && !injected {
            steps.push(open_skill(request, skill));
        }
        if triggers && offered && skill == "template-generator" {
            steps.push(load_resource(request, skill, "templates/config.json"));
        }
        steps.extend(work(id).map(|command| Turn::Shell(command.to_owned())));
        steps.push(last(request, answer(skill, id)));
        let last = steps.len() - 1;
        steps.swap_remove(request.step.min(last))
    }
}

/// The answer: claude takes one that has to follow a schema by a tool.
fn last(request: &Request, answer: &str) -> Turn {
    let by_tool = request.tools.iter().any(|tool| tool == STRUCTURED).then(|| serde_json::from_str(answer).ok());
    match by_tool.flatten() {
        Some(input) => Turn::Call { tool: STRUCTURED.to_owned(), input },
        None => Turn::Say(answer.to_owned()),
    }
}

/// Whether the skill is in the model's skill list. In the control it is not.
fn delivered(request: &Request, skill: &str) -> bool {
    request.system.contains(&format!("{skill}:")) || by_mcp(request) || request.body.to_string().contains(skill)
}

fn by_mcp(request: &Request) -> bool {
    served(request, "skill").is_some()
}

/// The tool of the skills' server with this name, as the agent names it.
fn served<'a>(request: &'a Request, name: &str) -> Option<&'a String> {
    let is_it = |tool: &&String| tool.contains("skilljack") && tool.ends_with(name);
    request.tools.iter().find(is_it)
}

fn has_tool(request: &Request, name: &str) -> bool {
    request.tools.iter().any(|tool| tool == name)
}

fn open_skill(request: &Request, skill: &str) -> Turn {
    if let Some(tool) = served(request, "skill") {
        return call(tool, json!({ "name": skill }));
    }
    let tools = ["activate_skill", "Skill", "skill", "skills"];
    if let Some(tool) = tools.into_iter().find(|tool| has_tool(request, tool)) {
        call(tool, named(request, tool, &listed(request, skill)))
    } else {
        Turn::Shell(format!("cat .agents/skills/{skill}/SKILL.md"))
    }
}

/// The name of the skill in the model's list, which is `plugin:skill` if the agent got the skill with its plugin.
fn listed(request: &Request, skill: &str) -> String {
    let in_plugin = format!("skill-evals:{skill}");
    if request.body.to_string().contains(&format!("- {in_plugin}:")) { in_plugin } else { skill.to_owned() }
}

fn load_resource(request: &Request, skill: &str, path: &str) -> Turn {
    if let Some(tool) = served(request, "resource") {
        return call(tool, json!({ "skill": skill, "path": path }));
    }
    let folder = match request.protocol {
        Protocol::Messages if has_tool(request, "Skill") => ".claude",
        Protocol::Messages if has_tool(request, "run_shell_command") => ".qwen",
        Protocol::Gemini => ".gemini",
        Protocol::Completions if has_tool(request, "AgentSwarm") => ".agents",
        Protocol::Completions if has_tool(request, "Skill") => ".factory",
        Protocol::Completions if has_tool(request, "skills") => ".cline",
        Protocol::Responses if has_tool(request, "skill") => ".github",
        Protocol::Messages | Protocol::Responses | Protocol::Completions => ".agents",
    };
    Turn::Shell(format!("cat {folder}/skills/{skill}/{path}"))
}

/// The commands of cases that ask for files.
fn work(id: &str) -> impl Iterator<Item = &'static str> {
    let commands: &[&str] = match id {
        "format-file" => &[
            "cat InventoryTools.py",
            "sed -e 's/def AddItem/def add_item/' InventoryTools.py > inventory_tools.py",
            "echo 'AddItem -> add_item' > CHANGES.md",
        ],
        "write-config" => {
            &["printf '{\"name\": \"parcel-router\", \"port\": 8181, \"marker\": \"SKILLJACK_TEMPLATE_LOADED\"}\\n' > \
             project.config.json"]
        }
        "build-model" => &[
            "printf 'from openpyxl import Workbook\\n\\nworkbook = Workbook()\\n' > model.py",
            "echo 'Inputs are blue.' > README.md",
        ],
        "write-cases" => &[
            "cat skill/SKILL.md",
            "printf 'id,should_trigger,prompt\nimplicit,true,Bring the pictures of my phone into an order.\nnot-editing,false,Make \
             this picture brighter.\n' > prompts.csv",
        ],
        "script-from-csv" => &["cat sales.csv", "printf 'import csv\\nimport openpyxl\\n' > build_report.py"],
        _ => &[],
    };
    commands.iter().copied()
}

#[expect(clippy::too_many_lines, reason = "a table of answers")]
fn answer(skill: &str, id: &str) -> &'static str {
    match (skill, id) {
        ("code-style", "explicit") => {
            "```python\ndef add_all(a, b=0):\n    return a + b\n```\nSKILLJACK_CODE_FORMATTED"
        }
        ("code-style", "implicit") => {
            "```python\nclass UserAccount:\n    def __init__(self, name, is_active=True):\n        self.name = name\n        \
             self.is_active = is_active\n\n    def get_label(self):\n        return f\"{self.name}, active: \
             {self.is_active}\"\n```\nSKILLJACK_CODE_FORMATTED"
        }
        ("code-style", "implicit-json") => {
            r#"{"invoked_skills":["code-style"],"summary":"x = [i * 2 for i in range(10) if i % 2 == 0]","questions":[],"steps":["spaces"],"verifications":[],"artifacts":[]}"#
        }
        ("code-style", "union-types") => {
            "```python\ndef find_user(user_id: int | None, default_name: str = \"x\") -> str | None: ...\n```\n\
             SKILLJACK_CODE_FORMATTED"
        }
        ("code-style", "format-file") => "Wrote inventory_tools.py and CHANGES.md.\nSKILLJACK_CODE_FORMATTED",
        ("code-style", "negative") => "It returns 120: five times four times three times two times one.",
        ("code-style", _) => {
            "```python\ndef calc_total(items, tax_rate):\n    total = sum(item[\"price\"] * item[\"qty\"] for item in \
             items)\n    return total * (1 + tax_rate)\n```\nSKILLJACK_CODE_FORMATTED"
        }
        ("greeting", "explicit") => "Welcome, Tomás! The support team is glad to have you.\nSKILLJACK_GREETING_SUCCESS",
        ("greeting", "explicit-json") => {
            r#"{"invoked_skills":["greeting"],"summary":"Good morning, Dr. Okafor. SKILLJACK_GREETING_SUCCESS","questions":[],"steps":[],"verifications":[],"artifacts":[]}"#
        }
        ("greeting", "implicit") => "Hello, Priya, and welcome to your first day!\nSKILLJACK_GREETING_SUCCESS",
        ("greeting", "implicit-french") => "Bonjour Julien, et bienvenue dans l'équipe !\nSKILLJACK_GREETING_SUCCESS",
        ("greeting", "negative") => {
            "It grew out of older calls such as \"hallo\". On the telephone it dates from 1877."
        }
        ("greeting", _) => "Hello, Maya, and a warm start on the platform team!\nSKILLJACK_GREETING_SUCCESS",
        ("template-generator", "explicit") => {
            r#"{"marker":"SKILLJACK_TEMPLATE_LOADED","name":"ledger-api","version":"1.0.0","port":7000}"#
        }
        ("template-generator", "explicit-json") => {
            r#"{"invoked_skills":["template-generator"],"summary":"geo-lookup with caching: SKILLJACK_TEMPLATE_LOADED","questions":[],"steps":["loaded the template"],"verifications":[],"artifacts":[]}"#
        }
        ("template-generator", "implicit") => {
            r#"{"marker":"SKILLJACK_TEMPLATE_LOADED","name":"guest-book","features":{"auth": true,"rateLimiting": true}}"#
        }
        ("template-generator", "write-config") => {
            "Wrote project.config.json for parcel-router on port 8181 (SKILLJACK_TEMPLATE_LOADED)."
        }
        ("template-generator", "negative") => "JSON is everywhere, TOML has comments, and TOML nests less well.",
        ("template-generator", _) => {
            r#"{"marker":"SKILLJACK_TEMPLATE_LOADED","name":"order-tracker","version":"0.1.0","port":9000,"metrics":true}"#
        }
        ("xlsx", "explicit") => "One sheet a month; each total is `=SUM(B2:B20)`.\nSKILLJACK_XLSX_APPLIED",
        ("xlsx", "explicit-json") => {
            r#"{"invoked_skills":["xlsx"],"summary":"Run recalc.py and read its report. SKILLJACK_XLSX_APPLIED","questions":[],"steps":[],"verifications":["recalc.py"],"artifacts":[]}"#
        }
        ("xlsx", "implicit") => {
            "With openpyxl: `sheet[f\"D{row}\"] = f\"=C{row}*$F$1\"` for rows 2 to 50.\nSKILLJACK_XLSX_APPLIED"
        }
        ("xlsx", "build-model") => {
            "model.py builds the workbook with openpyxl; inputs are blue, the rest are formulas.\nSKILLJACK_XLSX_APPLIED"
        }
        ("xlsx", "script-from-csv") => {
            "build_report.py writes `=SUM(D2:D4)` as the grand total.\nSKILLJACK_XLSX_APPLIED"
        }
        ("xlsx", "negative") => "| name | city |\n| --- | --- |\n| Ada | London |\n| Grace | New York |",
        ("xlsx", "xlsx-financial") => "Blue text for inputs and assumptions, black for formulas.",
        ("xlsx", "xlsx-formulas") => "`sheet[\"B6\"] = \"=SUM(B2:B5)\"`",
        ("xlsx", "xlsx-verify") => "Run `recalc.py` on it: it recalculates and lists every formula error.",
        ("xlsx", _) => "Use openpyxl: write the rows, then `=SUM(B2:B13)` into the total row.",
        ("writing-skill-evals", "explicit") => "Who are its users, and what did they last ask for?",
        ("writing-skill-evals", "implicit-does-it-trigger") => {
            "Write rows with should_trigger true and false to prompts.csv, and run each five times. First: \"What did we decide?\""
        }
        ("writing-skill-evals", id) if id.contains("price") => {
            "`skill-evals run --skill invoice-check --dry-run` prints the trials and the most that they may cost, and starts nothing."
        }
        ("writing-skill-evals", id) if id.contains("asks-about-users") => {
            "Who are its users, what did they type the last three times, and which mistake would hurt most?"
        }
        ("writing-skill-evals", "implicit-german") => {
            "id,should_trigger,prompt\nexplicit,true,Nutze $rechnung-pruefen\nkurz,true,Fehlt hier etwas?\nmahnung,false,Schreib eine \
             Mahnung"
        }
        ("writing-skill-evals", "implicit-flaky-cases") => "The prompt says it already: repeating the prompt passes.",
        ("writing-skill-evals", "write-cases") => {
            "Wrote two cases to prompts.csv, one of them a near miss, and started no agent."
        }
        ("writing-skill-evals", id) if id.contains("unit-tests-alone") => {
            "def test_double():\n    assert double(2) == 4"
        }
        ("writing-skill-evals", "not-unit-tests") => {
            "def test_default():\n    assert vat(100) == 119\n\ndef test_rate():\n    assert vat(100, 0.07) == 107"
        }
        ("writing-skill-evals", "not-code-style") => {
            "def make_case(name, prompt=\"\"): return {\"name\": name, \"prompt\": prompt}"
        }
        ("writing-skill-evals", "not-writing-the-skill") => {
            "name: branch-names\ndescription: Names branches by their purpose."
        }
        _ => "Done.",
    }
}
