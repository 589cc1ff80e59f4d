//! Skills by their addresses: what is read there, what completes them, who hears of changes, and the prompt that embeds
//! one.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::Client;
use super::{put, skill, skills};

const SOON: Duration = Duration::from_secs(5);
const UPDATED: &str = "notifications/resources/updated";

/// Something that is done to a skill's directory.
type Deed = fn(&std::path::Path);

fn contents(client: &mut Client, uri: &str) -> Vec<Value> {
    let answer = client.request("resources/read", &json!({ "uri": uri }));
    answer["result"]["contents"].as_array().unwrap_or_else(|| panic!("{uri}: {answer}")).clone()
}

#[test]
fn the_bare_scheme_is_the_catalogue() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    let catalogue = contents(&mut client, "skill://");
    assert_eq!((catalogue.len(), &catalogue[0]["uri"]), (1, &json!("skill://")));
    let text = catalogue[0]["text"].as_str().unwrap();
    assert!(text.starts_with("<available_skills>") && text.contains("<name>notes</name>"), "{text}");
}

#[test]
fn a_skill_s_name_is_its_skill_md_as_it_is() {
    let skills = skills();
    put(skills.path(), "spaced/SKILL.md", b"---\nname: My Notes\ndescription: d\n---\nbody\n");
    let mut client = Client::serving(skills.path());
    let expected = fs::read_to_string(skills.path().join("greeting/SKILL.md")).unwrap();
    let read = contents(&mut client, "skill://greeting");
    assert_eq!(read, [json!({ "uri": "skill://greeting", "mimeType": "text/markdown", "text": expected })]);
    for uri in ["skill://my-notes", "skill://My%20Notes", "skill://My%20Notes/SKILL.md"] {
        assert!(contents(&mut client, uri)[0]["text"].as_str().unwrap().ends_with("body\n"), "{uri}");
    }
}

#[test]
fn a_skill_s_folder_is_all_its_other_files() {
    let skills = skills();
    put(skills.path(), "notes/huge.txt", &vec![b'a'; 256 * 1024 + 1]);
    let mut client = Client::serving(skills.path());
    let read = contents(&mut client, "skill://notes/");
    let uris: Vec<_> = read.iter().map(|content| content["uri"].as_str().unwrap()).collect();
    let expected = ["assets/100%25%20new%3F.txt", "assets/pixel.bin", "references/deep/two.md", "references/one.md"];
    assert_eq!(uris, expected.map(|path| format!("skill://notes/{path}")));
    assert_eq!((&read[1]["blob"], &read[3]["text"]), (&json!("AJ+Slg=="), &json!("the first")));
    assert_eq!(contents(&mut client, "skill://greeting/"), [] as [Value; 0], "nothing but a SKILL.md");
}

#[test]
fn templates_and_the_prompt_complete_names_and_paths() {
    let skills = skills();
    for n in 0..120 {
        skill(skills.path(), &format!("many-{n:03}"), "d", "b");
    }
    let mut client = Client::serving(skills.path());
    let mut complete = |of: Value, argument: &str, value: &str, skill: Option<&str>| {
        let context = skill.map(|skill| json!({ "arguments": { "skill": skill } }));
        let argument = json!({ "name": argument, "value": value });
        let mut params = json!({ "ref": of, "argument": argument });
        if let Some(context) = context {
            params["context"] = context;
        }
        client.request("completion/complete", &params)
    };
    let by_prompt = json!({ "type": "ref/prompt", "name": "skill" });
    let answer = complete(by_prompt, "name", "GR", None);
    assert_eq!(answer["result"]["completion"], json!({ "values": ["greeting"], "total": 1, "hasMore": false }));
    for template in ["skill://{skill}", "skill://{skill}/", "skill://{skill}/{+path}"] {
        let by_template = json!({ "type": "ref/resource", "uri": template });
        let answer = complete(by_template, "skill", "no", None);
        assert_eq!(answer["result"]["completion"]["values"], json!(["notes"]), "{template}");
    }
    let by_path = json!({ "type": "ref/resource", "uri": "skill://{skill}/{+path}" });
    let answer = complete(by_path.clone(), "path", "references/", Some("notes"));
    let expected = json!(["references/deep/two.md", "references/one.md"]);
    assert_eq!(answer["result"]["completion"]["values"], expected);
    let answer = complete(by_path.clone(), "path", "", None);
    assert_eq!(answer["result"]["completion"]["values"], json!([]), "of no skill");
    let many = complete(by_path.clone(), "skill", "many", None)["result"]["completion"].clone();
    assert_eq!(many["values"].as_array().unwrap().len(), 100);
    assert_eq!((&many["total"], &many["hasMore"]), (&json!(120), &json!(true)));
    assert_eq!(complete(by_path, "nonesuch", "", None)["error"]["code"], -32602);
    let unknown = json!({ "type": "ref/resource", "uri": "skill://{other}" });
    assert_eq!(complete(unknown, "skill", "", None)["error"]["code"], -32602);
}

#[test]
fn whoever_subscribed_to_a_skill_hears_of_its_files() {
    let skills = skills();
    let notes = skills.path().join("notes");
    std::os::unix::fs::symlink("references/one.md", notes.join("link.md")).unwrap();
    // What is subscribed to, what is done, and whether that is reported.
    let edit_file: Deed = |notes| put(notes, "references/one.md", b"changed");
    let add_file: Deed = |notes| put(notes, "references/new.md", b"new");
    let remove_file: Deed = |notes| fs::remove_file(notes.join("references/new.md")).unwrap();
    let edit_skill: Deed = |notes| put(notes, "SKILL.md", b"---\nname: notes\ndescription: New.\n---\nNew.\n");
    for (uri, deed, told) in [
        ("skill://notes", edit_file, false),
        ("skill://notes", edit_skill, true),
        ("skill://notes/", edit_skill, true),
        ("skill://notes/", add_file, true),
        ("skill://Notes/references/new.md", remove_file, true),
        ("skill://", add_file, true),
        ("skill://greeting/", edit_file, false),
        ("skill://notes/link.md", edit_file, true),
    ] {
        let mut client = Client::serving(skills.path());
        let answer = client.request("resources/subscribe", &json!({ "uri": uri }));
        assert_eq!(answer["result"], json!({}), "{uri}: {answer}");
        deed(&notes);
        let within = if told { SOON } else { Duration::from_millis(1200) };
        assert_eq!(client.is_told_of(UPDATED, uri, within), told, "{uri}");
    }
}

#[test]
fn the_prompt_skill_embeds_the_skill_that_it_is_given() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    let list = client.request("prompts/list", &json!({}));
    let prompt = &list["result"]["prompts"][0];
    assert_eq!((&prompt["name"], &prompt["arguments"][0]["name"]), (&json!("skill"), &json!("name")));
    assert_eq!(prompt["arguments"][0]["required"], true);
    assert!(prompt["description"].as_str().unwrap().contains("<name>notes</name>"), "{prompt}");
    let given = json!({ "name": "skill", "arguments": { "name": "greeting" } });
    let answer = client.request("prompts/get", &given);
    let text = fs::read_to_string(skills.path().join("greeting/SKILL.md")).unwrap();
    let resource = json!({ "uri": "skill://greeting", "mimeType": "text/markdown", "text": text });
    let annotations = json!({ "audience": ["assistant"], "priority": 1.0 });
    let content = json!({ "type": "resource", "resource": resource, "annotations": annotations });
    assert_eq!(answer["result"]["messages"], json!([{ "role": "user", "content": content }]));
    for arguments in [json!({}), json!({ "name": "" }), json!({ "name": 5 }), json!({ "name": "none" })] {
        let answer = client.request("prompts/get", &json!({ "name": "skill", "arguments": arguments }));
        assert_eq!(answer["error"]["code"], -32602, "{arguments}: {answer}");
    }
}
