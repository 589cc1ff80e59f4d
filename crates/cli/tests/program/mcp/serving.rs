//! What the server offers and answers.

use std::fs;

use serde_json::{Value, json};

use super::client::Client;
use super::{put, skill, skills};

fn uris(client: &mut Client) -> Vec<String> {
    let answer = client.request("resources/list", &json!({}));
    let resources = answer["result"]["resources"].as_array().unwrap();
    resources.iter().map(|resource| resource["uri"].as_str().unwrap().to_owned()).collect()
}

fn read(client: &mut Client, uri: &str) -> Value {
    client.request("resources/read", &json!({ "uri": uri }))
}

#[test]
fn it_introduces_itself_as_skilljack_with_the_catalogue_in_its_instructions() {
    let skills = skills();
    let mut client = Client::start(skills.path(), &["--skills", "."]);
    let hello = client.shake_hands(&json!({}));
    assert_eq!(hello["serverInfo"]["name"], "skilljack");
    assert_eq!(hello["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(hello["protocolVersion"], "2025-06-18");
    assert_eq!(hello["capabilities"]["tools"], json!({ "listChanged": true }));
    assert_eq!(hello["capabilities"]["resources"], json!({ "listChanged": true, "subscribe": true }));
    assert_eq!(hello["capabilities"]["prompts"], json!({ "listChanged": true }));
    assert_eq!(hello["capabilities"]["completions"], json!({}));
    let instructions = hello["instructions"].as_str().unwrap();
    assert!(instructions.contains("<name>greeting</name>"), "{instructions}");
    assert!(instructions.contains("Greets a person. Use for &lt;hello&gt; &amp; co."), "{instructions}");
}

/// More skills than claude shows of a description.
fn large_catalogue() -> tempfile::TempDir {
    let skills = tempfile::tempdir().unwrap();
    for n in 0..30 {
        skill(skills.path(), &format!("number-{n:02}"), &format!("Number {n} of many.\n{}", "x".repeat(60)), "body");
    }
    skills
}

#[test]
fn codex_which_shows_no_arguments_has_the_catalogue_in_the_tool_however_large_it_is() {
    let skills = large_catalogue();
    let mut client = Client::start(skills.path(), &["--skills", "."]);
    client.name = "codex-mcp-client";
    client.shake_hands(&json!({}));
    let tool = client.request("tools/list", &json!({}))["result"]["tools"][0].clone();
    let description = tool["description"].as_str().unwrap();
    assert!(description.len() > 2048, "{description}");
    assert!(description.contains("<name>number-29</name><description>Number 29 of many. xxx"), "{description}");
    assert_eq!(tool["inputSchema"]["properties"]["name"]["description"], "The skill's name, as listed");
}

#[test]
fn a_catalogue_that_claude_would_cut_off_stands_at_the_argument() {
    let skills = large_catalogue();
    let mut client = Client::start(skills.path(), &["--skills", "."]);
    let hello = client.shake_hands(&json!({}));
    let answer = client.request("tools/list", &json!({}));
    let tool = &answer["result"]["tools"][0];
    for shown in [&hello["instructions"], &tool["description"]] {
        let shown = shown.as_str().unwrap();
        assert!(shown.len() <= 2048 && shown.contains("number-00, ") && shown.contains("number-29"), "{shown}");
    }
    let argument = tool["inputSchema"]["properties"]["name"]["description"].as_str().unwrap();
    assert!(argument.contains("<name>number-29</name><description>Number 29 of many. xxx"), "{argument}");
}

#[test]
fn the_instructions_begin_with_the_names_since_codex_shows_one_line() {
    let skills = skills();
    skill(skills.path(), "many-lines", "first\nsecond", "body");
    let mut client = Client::start(skills.path(), &["--skills", "."]);
    let instructions = client.shake_hands(&json!({}))["instructions"].as_str().unwrap().to_owned();
    let (first, rest) = instructions.split_once('\n').unwrap();
    assert!(first.ends_with("greeting, many-lines, notes"), "{instructions}");
    assert!(rest.contains("<description>first second</description>"), "{instructions}");
}

#[test]
fn a_version_from_the_future_is_answered_with_one_that_it_speaks() {
    let skills = skills();
    let mut client = Client::start(skills.path(), &["--skills", "."]);
    let hello = json!({
        "protocolVersion": "2999-01-01", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    });
    let answer = client.request("initialize", &hello);
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn both_tools_say_that_they_only_read() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    let answer = client.request("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["skill", "skill-resource"]);
    for tool in tools {
        let annotations = &tool["annotations"];
        assert_eq!(annotations["readOnlyHint"], true);
        assert_eq!(annotations["destructiveHint"], false);
        assert_eq!(annotations["idempotentHint"], true);
        assert_eq!(annotations["openWorldHint"], false);
    }
    assert!(tools[0]["description"].as_str().unwrap().contains("<name>notes</name>"));
}

#[test]
fn a_skill_is_its_body_with_its_folder_and_its_files() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    let (text, is_error) = client.call("skill", &json!({ "name": "notes" }));
    assert!(!is_error);
    let folder = skills.path().join("notes");
    assert_eq!(
        text,
        format!(
            "Base directory for this skill: {}\n\n# Notes\n\nSee references/one.md.\n\n\
             Files of this skill, to be read with the tool `skill-resource`:\n- assets/100% new?.txt\n\
             - assets/pixel.bin\n- references/deep/two.md\n- references/one.md\n",
            folder.display()
        )
    );
}

#[test]
fn a_skill_answers_to_its_slug_too() {
    let skills = tempfile::tempdir().unwrap();
    put(skills.path(), "x/SKILL.md", b"---\nname: My Notes\ndescription: d\n---\nbody\n");
    let mut client = Client::serving(skills.path());
    for name in ["My Notes", "my-notes"] {
        assert!(client.call("skill", &json!({ "name": name })).0.contains("body"), "{name}");
    }
}

#[test]
fn an_unknown_skill_is_answered_with_the_known_ones_and_the_nearest() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    let (text, is_error) = client.call("skill", &json!({ "name": "greting" }));
    assert!(is_error);
    assert_eq!(
        text,
        "unknown skill `greting`, did you mean `greeting`? Call again with one of these names: greeting, notes"
    );
    let (text, is_error) = client.call("skill-resource", &json!({ "skill": "zzz" }));
    assert!(is_error);
    assert_eq!(text, "unknown skill `zzz`. Call again with one of these names: greeting, notes");
}

#[test]
fn a_resource_is_a_file_a_folder_of_files_or_the_list_of_all() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    let mut ask = |path: Value| client.call("skill-resource", &json!({ "skill": "notes", "path": path }));
    assert_eq!(ask(json!("references/one.md")), ("the first".to_owned(), false));
    assert_eq!(ask(json!("./references//deep/two.md")), ("the second".to_owned(), false));
    let (folder, is_error) = ask(json!("references/"));
    assert!(!is_error);
    assert_eq!(
        folder,
        "<file path=\"references/deep/two.md\">\nthe second\n</file>\n<file path=\"references/one.md\">\nthe first\n</file>\n"
    );
    for path in [json!(""), json!("."), Value::Null] {
        let (list, is_error) = ask(path);
        assert!(!is_error);
        assert!(list.contains("- SKILL.md (") && list.contains("- references/deep/two.md (10 bytes)"), "{list}");
    }
    assert!(client.call("skill-resource", &json!({ "skill": "notes" })).0.contains("references/one.md"));
}

#[test]
fn a_missing_file_is_answered_with_the_files_that_are_there() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    let (text, is_error) = client.call("skill-resource", &json!({ "skill": "notes", "path": "references/on.md" }));
    assert!(is_error);
    assert!(text.contains("is not there. Did you mean `references/one.md`?"), "{text}");
    assert!(text.contains("references/deep/two.md"), "{text}");
}

#[test]
fn a_binary_file_is_named_with_its_size_and_is_a_blob_as_a_resource() {
    let skills = skills();
    put(skills.path(), "notes/assets/latin1.txt", b"caf\xe9");
    let mut client = Client::serving(skills.path());
    let (text, is_error) = client.call("skill-resource", &json!({ "skill": "notes", "path": "assets/pixel.bin" }));
    assert!(is_error);
    assert_eq!(text, "`assets/pixel.bin` is a binary file of 4 bytes and is not shown as text");
    let (text, is_error) = client.call("skill-resource", &json!({ "skill": "notes", "path": "assets" }));
    assert!(!is_error, "what can be shown is shown");
    assert!(text.contains("spaces and signs"), "{text}");
    assert!(text.contains("latin1.txt\" not_shown=\"is a binary file of 4 bytes"), "{text}");
    let blob = read(&mut client, "skill://notes/assets/pixel.bin");
    assert_eq!(blob["result"]["contents"][0]["blob"], "AJ+Slg==");
}

#[test]
fn a_file_over_the_limit_is_refused_with_its_size() {
    let skills = skills();
    put(skills.path(), "notes/just.txt", &vec![b'a'; 256 * 1024]);
    put(skills.path(), "notes/over.txt", &vec![b'a'; 256 * 1024 + 1]);
    let mut client = Client::serving(skills.path());
    let (text, is_error) = client.call("skill-resource", &json!({ "skill": "notes", "path": "just.txt" }));
    assert_eq!((text.len(), is_error), (256 * 1024, false));
    let (text, is_error) = client.call("skill-resource", &json!({ "skill": "notes", "path": "over.txt" }));
    assert!(is_error);
    assert!(text.contains("`over.txt` is a file of 262145 bytes; the limit is 262144 bytes"), "{text}");
    let error = read(&mut client, "skill://notes/over.txt");
    assert!(error["error"]["message"].as_str().unwrap().contains("262145 bytes"), "{error}");
}

#[test]
fn a_folder_over_the_limit_names_what_is_left_out() {
    let skills = skills();
    for n in 0..6 {
        put(skills.path(), &format!("notes/many/{n}.txt"), &vec![b'a'; 200_000]);
    }
    let mut client = Client::serving(skills.path());
    let (text, is_error) = client.call("skill-resource", &json!({ "skill": "notes", "path": "many" }));
    assert!(!is_error);
    assert!(text.len() < 1024 * 1024 + 2000, "{}", text.len());
    assert_eq!(text.matches("</file>").count(), 5);
    assert!(text.contains("<file path=\"many/5.txt\" not_shown=\"is left out"));
}

#[test]
fn every_file_of_a_skill_is_a_resource_by_its_uri() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    let uris = uris(&mut client);
    assert!(uris.contains(&"skill://greeting/SKILL.md".to_owned()), "{uris:?}");
    assert!(uris.contains(&"skill://notes/assets/100%25%20new%3F.txt".to_owned()), "{uris:?}");
    for uri in uris.iter().filter(|uri| !uri.ends_with('/')) {
        assert_eq!(read(&mut client, uri)["result"]["contents"][0]["uri"], uri.as_str());
    }
    let text = read(&mut client, "skill://greeting/SKILL.md");
    assert!(text["result"]["contents"][0]["text"].as_str().unwrap().starts_with("---\nname: greeting"));
    let templates = client.request("resources/templates/list", &json!({}));
    assert_eq!(templates["result"]["resourceTemplates"][2]["uriTemplate"], "skill://{skill}/{+path}");
}

#[test]
fn every_skill_is_a_prompt_that_takes_arguments() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    let list = client.request("prompts/list", &json!({}));
    assert_eq!(list["result"]["prompts"][1]["name"], "greeting");
    assert_eq!(list["result"]["prompts"][1]["arguments"][0]["required"], false);
    let plain = client.request("prompts/get", &json!({ "name": "greeting" }));
    let message = &plain["result"]["messages"][0];
    assert_eq!(message["role"], "user");
    assert!(message["content"]["text"].as_str().unwrap().ends_with("Say hello.\n"));
    let answer = client.request("prompts/get", &json!({ "name": "greeting", "arguments": { "arguments": "Ada" } }));
    assert!(answer["result"]["messages"][0]["content"]["text"].as_str().unwrap().ends_with("ARGUMENTS: Ada"));
    let error = client.request("prompts/get", &json!({ "name": "nope" }));
    assert_eq!(error["error"]["code"], -32602);
}

#[test]
fn what_users_may_not_call_is_a_tools_and_no_prompt() {
    let skills = skills();
    let text = b"---\nname: quiet\ndescription: d\nuser-invocable: false\n---\nFor models.\n";
    std::fs::create_dir(skills.path().join("quiet")).unwrap();
    std::fs::write(skills.path().join("quiet/SKILL.md"), text).unwrap();
    let mut client = Client::serving(skills.path());
    assert!(client.call("skill", &json!({ "name": "quiet" })).0.contains("For models."));
    let list = client.request("prompts/list", &json!({}))["result"]["prompts"].to_string();
    assert!(list.contains("greeting") && !list.contains("\"name\":\"quiet\""), "{list}");
    for params in [json!({ "name": "quiet" }), json!({ "name": "skill", "arguments": { "name": "quiet" } })] {
        let refused = client.request("prompts/get", &params);
        assert!(refused["error"]["message"].as_str().unwrap().contains("user-invocable: false"), "{refused}");
    }
    let asked =
        json!({ "ref": { "type": "ref/prompt", "name": "skill" }, "argument": { "name": "name", "value": "" } });
    let completed = client.request("completion/complete", &asked)["result"]["completion"]["values"].to_string();
    assert!(completed.contains("greeting") && !completed.contains("quiet"), "{completed}");
}

#[test]
fn skills_are_found_in_nested_folders_and_a_folder_may_be_one_skill() {
    let skills = tempfile::tempdir().unwrap();
    skill(&skills.path().join("team/writing"), "letters", "Writes letters.", "Dear all");
    let mut client = Client::serving(skills.path());
    assert!(client.call("skill", &json!({ "name": "letters" })).0.contains("Dear all"));
    let mut client = Client::serving(&skills.path().join("team/writing/letters"));
    assert!(client.call("skill", &json!({ "name": "letters" })).0.contains("Dear all"));
}

#[test]
fn a_skill_may_be_named_like_a_folder_of_sources() {
    let skills = tempfile::tempdir().unwrap();
    for name in ["src", "tests", "target", "evals"] {
        skill(skills.path(), name, "d", &format!("about {name}"));
    }
    let link = skills.path().join("link");
    std::os::unix::fs::symlink(skills.path(), &link).unwrap();
    let mut client = Client::serving(&link);
    for name in ["src", "tests", "target", "evals"] {
        let (text, _) = client.call("skill", &json!({ "name": name }));
        assert!(text.contains(&format!("about {name}")), "{text}");
    }
}

#[test]
fn of_two_skills_with_one_slug_the_first_is_served() {
    let skills = tempfile::tempdir().unwrap();
    skill(&skills.path().join("a"), "same", "d", "from a");
    skill(&skills.path().join("b"), "same", "d", "from b");
    let mut client = Client::serving(skills.path());
    assert!(client.call("skill", &json!({ "name": "same" })).0.contains("from a"));
    let list = client.request("prompts/list", &json!({}));
    assert_eq!(list["result"]["prompts"].as_array().unwrap().len(), 2, "`skill` and `same`");
}

#[test]
fn a_folder_without_skills_says_so() {
    let skills = tempfile::tempdir().unwrap();
    let mut client = Client::serving(skills.path());
    let answer = client.request("tools/list", &json!({}));
    assert!(
        answer["result"]["tools"][0]["description"].as_str().unwrap().contains("No skills are available at the moment")
    );
    let (text, is_error) = client.call("skill", &json!({ "name": "greeting" }));
    assert!(is_error && text.contains("no skills are served"), "{text}");
}

#[test]
fn the_skills_are_those_below_the_clients_roots_and_follow_them() {
    let [first, second, elsewhere] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    skill(&first.path().join("skills"), "one", "d", "the one");
    // Found through percent-encoding, in another of the default skill roots.
    let spaced = second.path().join("a b");
    skill(&spaced.join(".claude/skills"), "two", "d", "the two");
    skill(&elsewhere.path().join("skills"), "stray", "d", "not asked for");
    let mut client = Client::start(elsewhere.path(), &[]);
    client.roots = vec![json!({ "uri": format!("file://{}", first.path().display()) })];
    let hello = client.shake_hands(&json!({ "roots": { "listChanged": true } }));
    assert!(!hello["instructions"].as_str().unwrap().contains("stray"));
    let (text, is_error) = client.call("skill", &json!({ "name": "stray" }));
    assert!(is_error && text.ends_with("these names: one"), "{text}");
    client.forget_notifications();
    let uri = format!("file://{}", spaced.display()).replace(' ', "%20");
    client.roots.push(json!({ "uri": uri }));
    client.roots.push(json!({ "uri": "https://example.com/" }));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }));
    assert!(client.is_told("notifications/tools/list_changed", std::time::Duration::from_secs(5)));
    for name in ["one", "two"] {
        assert!(client.call("skill", &json!({ "name": name })).0.contains(&format!("the {name}")));
    }
}

#[test]
fn a_client_without_roots_gets_the_skills_around_the_working_folder() {
    let repository = tempfile::tempdir().unwrap();
    skill(&repository.path().join("skills"), "here", "d", "from here");
    fs::create_dir(repository.path().join("src")).unwrap();
    let mut client = Client::start(&repository.path().join("src"), &[]);
    let hello = client.shake_hands(&json!({}));
    assert!(hello["instructions"].as_str().unwrap().contains("<name>here</name>"));
    assert!(client.call("skill", &json!({ "name": "here" })).0.contains("from here"));
}

#[test]
fn roots_do_not_add_to_the_skills_that_were_named() {
    let (skills, root) = (skills(), tempfile::tempdir().unwrap());
    skill(&root.path().join("skills"), "one", "d", "the one");
    let mut client = Client::start(root.path(), &["--skills", skills.path().to_str().unwrap()]);
    client.roots = vec![json!({ "uri": format!("file://{}", root.path().display()) })];
    client.shake_hands(&json!({ "roots": { "listChanged": true } }));
    assert!(client.call("skill", &json!({ "name": "one" })).1);
    assert!(!client.call("skill", &json!({ "name": "greeting" })).1);
}
