//! Secrets never stay in what is kept, whatever form they take and however the stream is cut.

use std::sync::LazyLock;

use base64::Engine;
use base64::alphabet;
use base64::engine::{GeneralPurpose, general_purpose::NO_PAD, general_purpose::PAD};
use proptest::prelude::*;
use skill_evals_evidence::text::redact::{MASK, Redactor, looks_secret, secrets_within, strings};

const SECRETS: [&str; 7] = [
    "hunter2-hunter2",
    "/wJalrXUtnFEMI+K7MDENG/bPxRfiCY=",
    "p@ss w\"rd'\\ & é🦀x",
    "sk-ant-api03-short",
    "correct horse battery",
    "to be\tor\rnot\u{8}to\u{c}be",
    // Of digits that base64 has another of for URLs, and that JSON and URLs may escape.
    "??>~?~é🦀s🦀>>?o?~",
];

fn redactor() -> Redactor {
    Redactor::new(SECRETS)
}

fn masked(text: &str) -> String {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(redactor);
    REDACTOR.mask_text(text)
}

/// The text masked as a stream in pieces of this many bytes.
fn streamed(redactor: &Redactor, text: &str, piece: usize) -> String {
    let mut masker = redactor.stream();
    let mut out: Vec<u8> = text.as_bytes().chunks(piece).flat_map(|piece| masker.push(piece)).collect();
    out.extend(masker.finish());
    String::from_utf8_lossy(&out).into_owned()
}

/// Every character as `\uXXXX`.
fn unicode_escaped(text: &str, upper: bool) -> String {
    let unit = |unit: u16| if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
    text.encode_utf16().map(unit).collect()
}

fn percent(text: &str, all: bool) -> String {
    text.bytes()
        .map(|b| if all || !b.is_ascii_alphanumeric() { format!("%{b:02X}") } else { char::from(b).to_string() })
        .collect()
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string().trim_matches('"').to_owned()
}

#[test]
fn known_values_are_masked_in_every_form() {
    for secret in SECRETS {
        let json = json(secret);
        for form in [
            secret.to_owned(),
            json.clone(),
            self::json(&json),
            json.replace('/', "\\/"),
            unicode_escaped(secret, false),
            unicode_escaped(secret, true),
            self::json(&unicode_escaped(secret, false)),
            secret
                .chars()
                .map(|c| if c.is_alphanumeric() { c.to_string() } else { unicode_escaped(&c.to_string(), false) })
                .collect(),
            percent(secret, false),
            percent(secret, true),
            percent(secret, false).to_lowercase().replace(&secret.to_lowercase(), secret),
            percent(secret, false).replace('%', "%25"),
            secret.replace(' ', "+"),
        ] {
            if form.to_lowercase() == form && secret.to_lowercase() != *secret && form.contains('%') {
                // Lower case would change the value itself.
                continue;
            }
            for (front, behind) in [("", ""), ("key=", "\n"), ("\"", "\""), ("x", "x"), ("\\n", "\\n")] {
                assert_eq!(masked(&format!("{front}{form}{behind}")), format!("{front}{MASK}{behind}"), "{form}");
            }
        }
    }
}

#[test]
fn known_values_are_masked_in_base64_wherever_they_stand_in_it() {
    for secret in SECRETS {
        for (front, behind) in
            [("", ""), ("u", ""), ("us", "x"), ("use", "xy"), ("user:", "xyz"), ("a longer text: ", "\n")]
        {
            let whole = format!("{front}{secret}{behind}");
            for alphabet in [alphabet::STANDARD, alphabet::URL_SAFE] {
                for padding in [PAD, NO_PAD] {
                    let encoded = GeneralPurpose::new(&alphabet, padding).encode(&whole);
                    let text = masked(&format!("<{encoded}>"));
                    assert!(text.contains(MASK), "{whole}: {text}");
                    // What is left may hold what stands around the secret, and a digit shared with it on each side.
                    let left = text.replace(MASK, "").len() - 2;
                    let around = (front.len() * 4).div_ceil(3) + (behind.len() * 4).div_ceil(3) + 4;
                    assert!(left <= around, "{whole}: {text}");
                }
            }
        }
    }
}

#[test]
fn of_base64_all_digits_of_the_value_are_masked_and_no_others() {
    let escapes: [fn(&str) -> String; 8] = [
        str::to_owned,
        |digits| digits.replace('+', "-").replace('/', "_"),
        |digits| digits.replace('/', "\\/"),
        |digits| digits.replace('/', "\\\\\\/"),
        |digits| digits.replace('/', "\\u002F").replace('+', "\\u002b"),
        |digits| digits.replace('/', "\\\\u002f").replace('+', "\\\\u002B"),
        |digits| digits.replace('/', "%2F").replace('+', "%2b"),
        |digits| digits.replace('/', "%252f").replace('+', "%252B"),
    ];
    for (secret, front, behind, padding) in SECRETS.iter().flat_map(|secret| {
        ["", "u", "us", "a longer text: "].into_iter().flat_map(move |front| {
            [("", ""), ("", "="), ("", "=="), ("", "==="), ("x", ""), ("xyz", "\"")]
                .map(|(b, p)| (*secret, front, b, p))
        })
    }) {
        let encoded = GeneralPurpose::new(&alphabet::STANDARD, NO_PAD).encode([front, secret, behind].concat());
        // The digits of the value's bits, without one that begins with bits before them.
        let (start, end) = ((8 * front.len()).div_ceil(6), (8 * (front.len() + secret.len())).div_ceil(6));
        let padding_left = if end == encoded.len() { padding.strip_prefix("==").unwrap_or(padding) } else { padding };
        let padding_left = if padding_left == "=" && padding == "=" { "" } else { padding_left };
        for write in escapes {
            let expected = [&write(&encoded[..start]), MASK, &write(&encoded[end..]), padding_left].concat();
            assert_eq!(masked(&[&write(&encoded), padding].concat()), expected, "{front}{secret}{behind}");
        }
    }
}

#[test]
fn base64_that_a_text_cuts_off_is_masked_up_to_there() {
    let encoded = GeneralPurpose::new(&alphabet::STANDARD, NO_PAD).encode("hunter2-hunter2!");
    let cut = &encoded[..encoded.len() - 2];
    assert_eq!(Redactor::new(["hunter2-hunter2"]).mask_text(&format!("\"{cut}\"")), format!("\"{MASK}\""));
    let encoded = GeneralPurpose::new(&alphabet::STANDARD, NO_PAD).encode("hunter2-hunter22");
    let cut = &encoded[..encoded.len() - 1];
    assert_eq!(Redactor::new(["hunter2-hunter22"]).mask_text(&format!("\"{cut}\"")), format!("\"{MASK}\""));
}

#[test]
fn base64_that_a_tool_wraps_is_masked_wherever_the_line_breaks() {
    let encoded = GeneralPurpose::new(&alphabet::STANDARD, PAD).encode("hunter2-hunter2");
    for at in 1..encoded.len() {
        for wrap in ["\n", "\r\n", "\\n", "\\\\n"] {
            assert_eq!(masked(&format!("{}{wrap}{}", &encoded[..at], &encoded[at..])), MASK, "{at}");
        }
    }
}

/// `text` in lines of so many characters.
fn wrapped(text: &str, width: usize, end: &str) -> String {
    text.chars().collect::<Vec<_>>().chunks(width).map(String::from_iter).collect::<Vec<_>>().join(end)
}

/// A secret in lines of each width.
fn broken_by_lines(secret: &str) -> Vec<(&'static str, Vec<u8>)> {
    let base64 = GeneralPurpose::new(&alphabet::STANDARD, PAD).encode(secret);
    let hex = secret.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let mut all = Vec::new();
    for width in [1, 2, 3, 4, 5, 8, 11] {
        all.push(("lines", wrapped(secret, width, "\n").into_bytes()));
        all.push(("lines in JSON in JSON", json(&json(&wrapped(secret, width, "\n\t"))).into_bytes()));
        all.push(("base64 in lines", wrapped(&base64, width, "\n    ").into_bytes()));
        all.push(("hex in lines in JSON", json(&wrapped(&hex, width, "\r\n")).into_bytes()));
    }
    all
}

/// The hexadecimal digits of a secret, as programs print them.
fn hexadecimal(secret: &str) -> Vec<(&'static str, String)> {
    let hex = |between: &str| secret.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(between);
    let pairs = |first: usize| {
        let bytes = secret.bytes().enumerate();
        let space = |at: usize| if at > 0 && at % 2 == first { " " } else { "" };
        bytes.map(|(at, byte)| format!("{}{byte:02x}", space(at))).collect::<Vec<_>>().concat()
    };
    vec![
        ("hex", hex("")),
        ("HEX", hex("").to_uppercase()),
        ("hex with spaces", hex(" ")),
        ("xxd", pairs(0)),
        ("xxd, between two groups", pairs(1)),
        ("bytes of a program", format!("{{ 0x{} }}", hex(", 0x").to_uppercase().replace('X', "x"))),
        ("bytes of a program without spaces", format!("0x{}", hex(",0x"))),
        ("hex with colons", hex(":").to_uppercase()),
        ("hex escapes", format!("\\x{}", hex("\\x"))),
        ("hex in lines", wrapped(&hex(""), 7, "\n")),
    ]
}

/// Ways in which a program may print a secret.
fn encodings(secret: &str) -> Vec<(&'static str, Vec<u8>)> {
    let base64 = |bytes: &[u8]| GeneralPurpose::new(&alphabet::STANDARD, PAD).encode(bytes);
    let for_urls = |bytes: &[u8]| GeneralPurpose::new(&alphabet::URL_SAFE, PAD).encode(bytes);
    let utf16 = |unit: fn(u16) -> [u8; 2]| secret.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
    let each = |of: fn(char) -> String| secret.chars().map(of).collect::<String>();
    let named = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#039;".to_owned(),
        c => c.to_string(),
    };
    let shell = format!("'{}'", secret.replace('\'', r"'\''"));
    let backslashed: String = secret
        .chars()
        .flat_map(|c| ['\\', c].into_iter().skip(usize::from(!c.is_ascii_punctuation() && c != ' ')))
        .collect();
    let twice = |front: &str, of: &dyn Fn(&[u8]) -> String| {
        base64(["x", &of([front.as_bytes(), secret.as_bytes()].concat().as_slice())].concat().as_bytes())
    };
    let mut all: Vec<(&str, Vec<u8>)> = [
        ("HTML", each(named)),
        ("HTML by number", each(|c| format!("&#{};", u32::from(c)))),
        ("HTML by hex number", each(|c| format!("&#x{:X};", u32::from(c)))),
        ("HTML twice", each(named).replace('&', "&amp;")),
        ("HTML in JSON", json(&each(named))),
        ("shell", shell.clone()),
        ("shell with other quotes", format!("'{}'", secret.replace('\'', "'\"'\"'"))),
        ("shell in JSON", json(&shell)),
        ("shell with other quotes in JSON", json(&secret.replace('\'', "'\"'\"'"))),
        ("shell with backslashes", backslashed),
        ("base64 for URLs", for_urls(secret.as_bytes())),
        ("base64 twice", base64(base64(secret.as_bytes()).as_bytes())),
        ("base64 twice, not at its start", twice("user:", &base64)),
        ("base64 twice, for URLs", twice("us", &for_urls)),
        ("base64 twice in lines", wrapped(&base64(base64(secret.as_bytes()).as_bytes()), 5, "\r\n  ")),
        ("base64 of JSON", base64(json(secret).as_bytes())),
        ("base64 of UTF-16", base64(&utf16(u16::to_le_bytes))),
        ("base64 of UTF-16, big end first", base64(&utf16(u16::to_be_bytes))),
        ("colors", each(|c| format!("\u{1b}[3{}m{c}\u{1b}[0m", u32::from(c) % 8))),
        ("colors in JSON", json(&each(|c| format!("\u{1b}[1m{c}\u{1b}[K\u{1b}(B")))),
        ("links", each(|c| format!("\u{1b}]8;;http://a\u{7}{c}\u{1b}]8;;\u{1b}\\"))),
        ("zeros in JSON", json(&each(|c| format!("{c}\0")))),
        ("quoted-printable", wrapped(secret, 6, "=\r\n")),
        ("a shell's lines", wrapped(secret, 6, "\\\n")),
    ]
    .into_iter()
    .chain(hexadecimal(secret))
    .map(|(name, text)| (name, text.into_bytes()))
    .collect();
    all.extend(broken_by_lines(secret));
    all.extend([("UTF-16", utf16(u16::to_le_bytes)), ("UTF-16, big end first", utf16(u16::to_be_bytes))]);
    all
}

#[test]
fn known_values_are_masked_however_a_program_prints_them() {
    for secret in [
        "hunter2-hunter2",
        "it's <b>&\"quoted\" too",
        "/wJalrXUtnFEMI+K7MDENG/bPxRfiCY=",
        "p@ss w\"rd'\\ & \u{e9}\u{1f980}x",
    ] {
        let redactor = Redactor::new([secret, "another of them"]);
        // A backslash of the value itself and the escape of what is inserted after it cannot be told apart.
        let is_clear = |name: &str| !secret.contains('\\') || !(name.contains("in JSON") || name.contains("lines"));
        for (name, bytes) in encodings(secret).into_iter().filter(|(name, _)| is_clear(name)) {
            for (front, behind) in [("", ""), ("the key is ", "\nand more\n"), ("\\n", "\"")] {
                let text = [front.as_bytes(), &bytes, behind.as_bytes()].concat();
                let masked = redactor.mask(&text);
                let shown = String::from_utf8_lossy(&masked).into_owned();
                // Around a mask stay quotes, colors, and what base64 has of the bytes next to the value.
                let left = masked.len() - front.len() - behind.len();
                assert!(shown.contains(MASK) && left <= MASK.len() + 40, "{name} of {secret}: {shown:?}");
                let mut stream = redactor.stream();
                let mut pieces: Vec<u8> = text.iter().flat_map(|byte| stream.push(&[*byte])).collect();
                pieces.extend(stream.finish());
                assert_eq!(String::from_utf8_lossy(&pieces), shown, "{name} of {secret}");
            }
        }
    }
}

#[test]
fn what_only_looks_like_a_broken_value_stays() {
    let redactor = Redactor::new(["hunter2-hunter2"]);
    for text in [
        "hunter2-\nhunter3\n",
        "hunter2\n-\n\u{1b}[1mhunter\u{1b}[0m",
        &format!("hunter2-{}hunter2", "\n".repeat(300)),
        "hunter2-\\thunter2",
        "68756e746572322d\n68756e74657233",
    ] {
        assert_eq!(redactor.mask_text(text), text);
        assert_eq!(streamed(&redactor, text, 1), text);
    }
}

#[test]
fn a_number_in_hexadecimal_digits_stays_a_number() {
    let redactor = Redactor::new(["12345678"]);
    assert_eq!(redactor.mask_text(r#"{"n":3132333435363738}"#), r#"{"n":99999999}"#);
}

#[test]
fn what_differs_from_a_value_in_one_character_stays() {
    for secret in SECRETS {
        for (at, c) in secret.char_indices() {
            for other in ["_", "+", "%", "\\z", "\\u007a", "%7a"] {
                if other == "+" && matches!(c, '+' | ' ') {
                    continue;
                }
                let text = [&secret[..at], other, &secret[at + c.len_utf8()..]].concat();
                assert_eq!(masked(&text), text, "{secret}");
            }
        }
        let encoded = GeneralPurpose::new(&alphabet::STANDARD, NO_PAD).encode(secret);
        // A break among the first digits may hide them.
        for at in 3..8 * secret.len() / 6 {
            let digit = &encoded[at..=at];
            for other in ["0", "1", "\\/", "\\u002b", "%2f"] {
                let is_same = match other {
                    "0" | "1" => other == digit,
                    "\\u002b" => digit == "+",
                    _ => digit == "/",
                };
                let text = [&encoded[..at], other, &encoded[at + 1..]].concat();
                assert_eq!(masked(&text) == text, !is_same, "{secret}: {text}");
            }
        }
    }
    let text = r"key\\\u005cf mine";
    assert_eq!(Redactor::new([r"key\of mine"]).mask_text(text), text);
}

#[test]
fn a_long_value_is_masked_whole_wherever_an_escape_of_its_own_stands() {
    for escape in [r"\n", r"\\\\", r"\u00e9", r"\ud83e\udd80"] {
        for at in 110..130 {
            let value = ["z".repeat(at).as_str(), escape, &"0123456789".repeat(12)].concat();
            let redactor = Redactor::new([value.as_str()]);
            for text in [value.clone(), json(&value), json(&json(&value))] {
                let text = format!("\"{text}\"");
                assert_eq!(redactor.mask_text(&text), format!("\"{MASK}\""), "{escape} after {at} characters");
            }
        }
    }
    let escapes_alone = unicode_escaped(&"0123456789".repeat(20), false);
    assert_eq!(Redactor::new([escapes_alone.as_str()]).mask_text(&escapes_alone), MASK);
}

#[test]
fn a_value_with_an_escaped_percent_sign_of_its_own_is_masked() {
    let long = format!("{}%25{}", "z".repeat(126), "0123456789".repeat(12));
    for value in ["pa%25ss-word-1234", "postgres://u:p%2525w0rd@db/x", "abcdefgh%25", &long] {
        let redactor = Redactor::new([value]);
        for text in [value.to_owned(), json(value), value.replace("%25", "%"), value.replace('/', "%2F")] {
            assert_eq!(redactor.mask_text(&format!("x={text} y")), format!("x={MASK} y"), "{value}");
        }
    }
    let redactor = Redactor::new(["pa%25ss-word-1234"]);
    assert_eq!(redactor.mask_text("pa%2525ss-word-1234"), MASK, "escaped once more");
}

#[test]
fn of_two_values_that_begin_alike_the_longer_one_is_masked() {
    let redactor = Redactor::new(["hunter2-hunter2", "hunter2-hunter2 and more", "hunter2-hunter2 and"]);
    assert_eq!(redactor.mask_text("hunter2-hunter2 and more"), MASK);
    assert_eq!(redactor.mask_text("hunter2-hunter2 and less"), format!("{MASK} less"));
}

#[test]
fn of_more_backslashes_than_an_escape_has_the_mask_takes_the_one_that_escapes() {
    let redactor = Redactor::new(["nothing to see"]);
    for count in [1, 2, 63, 64, 65, 66, 131, 200, 201] {
        let text = ["\\".repeat(count).as_str(), "nothing to see"].concat();
        let left = if count > 64 { "\\".repeat(count - count % 2) } else { String::new() };
        assert_eq!(redactor.mask_text(&text), left + MASK, "{count}");
        for piece in [1, 7, 70] {
            for text in [format!("x{text}"), format!("{text}{text}")] {
                assert_eq!(
                    streamed(&redactor, &text, piece),
                    redactor.mask_text(&text),
                    "{count} in pieces of {piece}"
                );
            }
        }
    }
}

#[test]
fn the_secrets_in_credentials_are_their_longer_strings() {
    let login = serde_json::json!({
        "name": "somebody", "short": "fifteen letters", "key": "sixteen letters!", "expires": 1_700_000_000_000_000_i64,
        "tokens": [{ "access": "a token in a list" }, "another of its tokens", null, true],
    });
    assert_eq!(strings(&login), ["sixteen letters!", "a token in a list", "another of its tokens"]);
}

#[test]
fn keys_of_a_known_shape_are_masked() {
    let long = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9".to_owned();
    let payload = format!("eyJ{}", "zdWIiOiIx".repeat(300));
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n".repeat(40);
    for key in [
        "sk-ant-api03-abcdefghijklmnopqrstuvwxyz".to_owned(),
        "sk-abcdefghijklmnopqrstuvwxyz".to_owned(),
        format!("sk-proj-{}", "a1B2_".repeat(200)),
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789".to_owned(),
        "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz".to_owned(),
        "glpat-abcdefghij0123456789".to_owned(),
        ["xoxb", "-1234567890-abcdefghijkl"].concat(),
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        "AIzaSyA1234567890abcdefghijklmnopqrstuv".to_owned(),
        "npm_abcdefghijklmnopqrstuvwxyz0123456789".to_owned(),
        format!("{long}.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"),
        format!("{long}.{payload}.{}", "s".repeat(300)),
        format!("-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----"),
        format!("-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----").replace('\n', "\\n"),
        format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{body}-----END OPENSSH PRIVATE KEY-----").replace('\n', "\\\\n"),
    ] {
        for (front, behind) in
            [("", ""), ("\"", "\""), ("\\n", "\""), ("token: ", "\"\n"), ("%3D", "&"), ("\\u003d", "\"")]
        {
            assert_eq!(masked(&format!("{front}{key}{behind}")), format!("{front}{MASK}{behind}"), "{key}");
        }
    }
}

#[test]
fn words_and_short_values_stay() {
    let redactor = Redactor::new(["short", "", "  "]);
    for text in [
        "short",
        "task-management-system-configuration",
        "risk-assessment-of-everything-there-is",
        "sk-short",
        "eyJhbGciOiJIUzI1NiJ9 alone",
        "eyJ begins each of them.eyJhbGci goes on",
        "npm_config_registry=https://registry.npmjs.org/ and npm_config_user_agent=npm/10",
        "AKIA is how the id of a key begins, and capitals follow",
        "%task-management-system-configuration",
        "\\udatask-management-system-configuration",
        "-----BEGIN of a PRIVATE KEY-----",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "hunter2",
        "100%25 of \\u00e9 \\\\ text\n",
    ] {
        assert_eq!(redactor.mask_text(text), text);
    }
}

#[test]
fn passwords_in_addresses_are_masked() {
    for (before, password, after) in [
        ("https://user:", "hunter2", "@example.org/path"),
        ("postgres://u:", "p", "@db"),
        ("redis://:", "quartz-1234", "@[::1]:6379/0"),
        ("see ftp://a.b%40c:", "d%2Fe!$&()*+,;=:f", "@1.2.3.4:21, and"),
        ("http://u:", "p@ss@word", "@host?a=b@c"),
        ("{\"u\":\"https:\\/\\/u:", "p\\u0026q", "@h\\/\"}"),
        ("{\"u\":\"{\\\"v\\\":\\\"https:\\\\/\\\\/u:", "quartz-1234", "@h\\\"}\"}"),
        ("a://u:", &"x1".repeat(900), "@h"),
    ] {
        let text = [before, password, after].concat();
        let expected = [before, MASK, after].concat();
        assert_eq!(masked(&text), expected);
        assert_eq!(masked(&expected), expected);
        for piece in [1, 3, 50] {
            assert_eq!(streamed(&redactor(), &text, piece), expected, "in pieces of {piece}");
        }
    }
    let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    assert_eq!(masked(&format!("https://{token}:hunter2@github.com")), format!("https://{MASK}:{MASK}@github.com"));
}

#[test]
fn addresses_without_a_password_stay() {
    for text in [
        "git@host:path",
        "ssh://git@host:22/path",
        "https://user@host/",
        "http://localhost:8080/@scope",
        "http://localhost:8080?to=a@b.c",
        "http://localhost:8080 a@b.c",
        "\"http://localhost:8080\",\"a@b.c\" and 'http://localhost:8080','a@b.c'",
        "https://user:@host/",
        "http://localhost:8080@",
        "docker://image:3.19@sha256:0123",
        "https://user:password@host and postgres://postgres:postgres@host",
        "https://$USER:$PASSWORD@host and https://u:${PASSWORD}@host and https://{user}:{password}@host",
        "https://user:<password>@host and https://%s:%s@host and https://u:***@host and https://u:[masked]@host",
        "a.b://c:d\\n@e",
        "http://[::1]:80/a@b",
    ] {
        assert_eq!(masked(text), text);
        assert_eq!(streamed(&redactor(), text, 1), text);
    }
}

#[test]
fn secrets_in_command_lines_and_addresses_are_found() {
    for (text, secrets) in [
        ("npx server --api-key one --verbose --token=two", &["one", "two"][..]),
        ("API_KEY='one' A_TOKEN=two run", &["one", "two"]),
        ("curl -H 'Authorization: Bearer one' --header \"X-Any:two\" -H 'Accept: three'", &["one", "two"]),
        ("https://host/mcp?apiKey=one&mode=two", &["one"]),
        ("postgres://u:p%40ss@host/db?sslpassword=two", &["p%40ss", "two", "p@ss"]),
        ("docker login --password-stdin --username me", &[]),
        ("a password: two words, key = three, the api-key four", &[]),
        ("run --max-tokens 1000 --author=me --token-file x --key /etc/hosts", &[]),
    ] {
        let mut found = secrets_within(text);
        found.sort();
        found.dedup();
        let mut expected = secrets.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn a_value_of_many_lines_that_begin_alike_is_masked_whole_and_others_stay() {
    let line = |number: usize| format!("aws_secret_access_key = {number:08} \\\\{}\n", number % 7);
    let value: String = (0..3_000).map(line).collect();
    let redactor = Redactor::new([value.as_str(), "aws_secret_access_key = 00000001 and more"]);
    assert_eq!(redactor.mask_text(&value).replace(MASK, "").trim(), "");
    assert_eq!(redactor.mask_text(&json(&value)).replace(MASK, "").replace("\\n", ""), "");
    let text = "aws_secret_access_key = 00000001 and more, aws_secret_access_key = 10000000";
    assert_eq!(redactor.mask_text(text), format!("{MASK}, aws_secret_access_key = 10000000"));
}

#[test]
fn a_private_key_ends_at_its_marker() {
    for end in ["-----END PRIVATE KEY-----", "-----END-----"] {
        let text = format!("a\n-----BEGIN PRIVATE KEY-----\nMIIE\n{end}\nthe rest stays\n");
        assert_eq!(masked(&text), format!("a\n{MASK}\nthe rest stays\n"));
    }
}

#[test]
fn every_line_of_a_value_with_lines_is_masked() {
    let secret = "-----first line-----\nsecond line of it\nx\n";
    let redactor = Redactor::new([secret]);
    for text in [secret.to_owned(), json(secret), secret.replace('\n', "\r\n")] {
        let text = redactor.mask_text(&text);
        assert!(!text.contains("first line") && !text.contains("second line"), "{text}");
    }
}

#[test]
fn a_long_line_is_masked_at_every_place() {
    let secret = "correct horse battery";
    let redactor = redactor();
    for fill in (0..40_000).step_by(3_997) {
        let mut masker = redactor.stream();
        let mut out = masker.push("y".repeat(fill).as_bytes());
        for piece in secret.as_bytes().chunks(5) {
            out.extend(masker.push(piece));
        }
        out.extend(masker.push("y".repeat(9_000).as_bytes()));
        out.extend(masker.finish());
        let expected = ["y".repeat(fill), MASK.to_owned(), "y".repeat(9_000)].concat();
        assert!(out == expected.as_bytes(), "behind {fill} bytes");
    }
}

#[test]
fn names_tell_which_variables_hold_secrets() {
    for name in [
        "OPENAI_API_KEY",
        "GH_PAT",
        "GITHUB_TOKEN",
        "DB_PASS",
        "API_TOKEN_2",
        "TOKEN2",
        "MY_PASSPHRASE",
        "PASSPHRASE_OLD",
        "GPG_PASSPHRASE_FOR_CI",
        "db_password",
        "AWS_SECRET_ACCESS_KEY",
        "NPM_TOKEN",
        "ACCESSTOKEN",
        "CLIENT_SECRET_PROD",
        "GOOGLE_CREDENTIALS",
        "MYSQL_PWD",
        "SSHPASS",
        "SIGNING_KEY_1",
        "SIGNINGKEY",
        "ENCRYPTIONKEY",
        "DB_PASSWORDS",
        "PASSWORDHASH",
        "MY-API-KEY",
        "X_AUTH",
        "PROXY_AUTHORIZATION",
    ] {
        assert!(looks_secret(name, "some-value-1234"), "{name}");
        assert!(looks_secret(name, "/begins-like/a+path=="), "{name}");
    }
    for name in [
        "PATH",
        "PWD",
        "OLDPWD",
        "HOME",
        "KEYBOARD",
        "MONKEY",
        "COMPASS",
        "COMPAT",
        "SSH_AUTH_SOCK",
        "TOKEN_URL",
        "TOKENIZERS_PARALLELISM",
        "AWS_SECRETSMANAGER_REGION",
        "SECRET_NAME",
        "AUTHORIZATION_SERVERS",
        "LANG",
        "",
    ] {
        assert!(!looks_secret(name, "some-value-1234"), "{name}");
    }
    assert!(!looks_secret("SSH_KEY", "/etc/hosts"), "a path that is there");
}

#[test]
fn a_mask_covers_whole_escapes() {
    for (secret, text, expected) in [
        // The first character as an escape, in a string in a string.
        ("hunter2-hunter2", r#"{"a":"{\"b\":\"\\u0068unter2-hunter2\"}"}"#, r#"{"a":"{\"b\":\"[masked]\"}"}"#),
        ("'quoted value", r#"{"a":"{\"b\":\"\\u0027quoted value\"}"}"#, r#"{"a":"{\"b\":\"[masked]\"}"}"#),
        // Quotes and backslashes around the value may be those of the string.
        ("\"quoted value\"", r#"{"a":"{\"b\":\"\\\"quoted value\\\"\"}"}"#, r#"{"a":"{\"b\":\"\\\"[masked]\\\"\"}"}"#),
        ("\"quoted value\"", r#"{"a":"quoted value"}"#, r#"{"a":"[masked]"}"#),
        ("öffne Dich jetzt", r#"{"a":"\u00F6ffne Dich \u006Aetzt"}"#, r#"{"a":"[masked]"}"#),
        ("öffne Dich jetzt", r#"{"a":"\u00fFffne \u00f6ffne Dich jetzt"}"#, r#"{"a":"\u00fFffne [masked]"}"#),
        ("\u{fffd}replaced it", r#"{"a":"\uFfFdreplaced it"}"#, r#"{"a":"[masked]"}"#),
        ("🦀 walks sideways", r#"{"a":"\ud83e\uDD80 walks sideways"}"#, r#"{"a":"[masked]"}"#),
        // What begins like the value's first characters is an escape.
        ("nothing to see", r#"{"a":"\nothing to see"}"#, r#"{"a":"[masked]"}"#),
        ("00e9ffff0123", r#"{"a":"x\u00e9ffff0123"}"#, r#"{"a":"x[masked]"}"#),
        ("dd80 walks sideways", r#"{"a":"\ud83e\udd80 walks sideways"}"#, r#"{"a":"[masked]"}"#),
        ("npm", r#"{"a":"\npm_abcdefghijklmnopqrstuvwxyz0123456789"}"#, r#"{"a":"[masked]"}"#),
        // What ends like the value's last characters is one.
        ("in the open\\", r#"{"a":"in the open\\\"!"}"#, r#"{"a":"[masked]\\\"!"}"#),
        ("in the open\\", r#"{"a":"in the open\"!"}"#, r#"{"a":"[masked]\"!"}"#),
        ("in the open\\ud83e", r#"{"a":"in the open\ud83e\udd80!"}"#, r#"{"a":"[masked]!"}"#),
        ("in the open\\ud83", r#"{"a":"in the open\ud83e\udd80!"}"#, r#"{"a":"[masked]!"}"#),
        ("in the open\\u00", r#"{"a":"in the open\\u0041!"}"#, r#"{"a":"[masked]41!"}"#),
        // Backslashes of the value's own.
        (r"\\host\share\pass", r#"{"a":"\\\\host\\share\\pass"}"#, r#"{"a":"[masked]"}"#),
        (r"\\host\\\ünder", r#"{"a":"\\\\host\\\\\\\u00fcnder"}"#, r#"{"a":"[masked]"}"#),
        ("key\\\"\\/of mine", r#"{"a":"key\\\"\\\/of mine"}"#, r#"{"a":"[masked]"}"#),
        // A private key that its string ends before its marker does.
        ("-", r#"{"a":"{\"k\":\"-----BEGIN PRIVATE KEY-----\\nMII\"}"}"#, r#"{"a":"{\"k\":\"[masked]\"}"}"#),
    ] {
        let redactor = Redactor::new([secret]);
        assert_eq!(redactor.mask_text(text), expected, "{secret}");
        assert_eq!(streamed(&redactor, text, 1), expected, "{secret}");
        assert!(serde_json::from_str::<serde_json::Value>(expected).is_ok(), "{expected}");
    }
    for count in [3, 63, 64, 65, 66, 131] {
        let text = format!("\"{}\\nothing to see\"", "\\".repeat(2 * count));
        let text = Redactor::new(["nothing to see"]).mask_text(&text);
        assert!(serde_json::from_str::<String>(&text).is_ok_and(|text| !text.contains("nothing")), "{count}: {text}");
    }
}

/// A character in a string of JSON, in one of the ways in which JSON can have it.
fn in_json(c: char, how: u8) -> String {
    let either_case = |(at, c): (usize, char)| if how >> (at % 4) & 1 == 0 { c.to_ascii_uppercase() } else { c };
    let escape =
        |unit: &u16| ["\\u".to_owned(), format!("{unit:04x}").chars().enumerate().map(either_case).collect()].concat();
    match how % 3 {
        0 => c.encode_utf16(&mut [0; 2]).iter().map(escape).collect(),
        1 if c == '/' => "\\/".to_owned(),
        _ => json_escape(c),
    }
}

/// A character as serializers have it in a string.
fn json_escape(c: char) -> String {
    let text = serde_json::Value::from(c.to_string()).to_string();
    text[1..text.len() - 1].to_owned()
}

/// What is masked of a value.
fn trimmed(value: &str) -> &str {
    value.trim_matches(|c: char| c == '"' || c == '\\' || c.is_whitespace())
}

/// A value of characters that matter to JSON, and a line of JSONL that holds it, nested in this many strings.
fn value_in_json() -> impl Strategy<Value = (String, String)> {
    let character = || proptest::sample::select(r#"\\\"/'undU08é🦀ax -%{"#.chars().collect::<Vec<_>>());
    let value = proptest::collection::vec(character(), 8..14).prop_map(|chars| chars.into_iter().collect::<String>());
    // Of quotes and backslashes alone JSON itself is made.
    let value =
        value.prop_filter("no secret", |value| trimmed(value).len() >= 8 && value.contains(char::is_alphanumeric));
    let around = || proptest::collection::vec(prop_oneof![9 => character(), 1 => Just('\n')], 0..6);
    let parts = (value, around(), around(), 0..14usize, 0..3u8);
    parts.prop_flat_map(|(value, front, behind, cut, depth)| {
        let front: String = front.into_iter().collect();
        let behind: String = behind.into_iter().collect();
        let part: String = value.chars().skip(cut).collect();
        let text = format!("{part}{front}{value}{behind}{part}");
        let count = text.chars().count();
        proptest::collection::vec(any::<u8>(), count).prop_map(move |how| {
            let text: String = text.chars().zip(&how).map(|(c, how)| in_json(c, *how)).collect();
            let line = (0..depth).fold(format!("{{\"t\":\"{text}\"}}"), |line, _| {
                format!("{{\"t\":{}}}", serde_json::Value::from(line))
            });
            (value.clone(), line)
        })
    })
}

/// Texts in which secrets, parts of them and what may look like them stand close together.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let encoded = GeneralPurpose::new(&alphabet::STANDARD, PAD).encode("u:hunter2-hunter2");
    let mut parts: Vec<String> = SECRETS.iter().map(|secret| (*secret).to_owned()).collect();
    parts.extend(SECRETS.iter().map(|secret| json(secret)));
    parts.extend(SECRETS.iter().map(|secret| unicode_escaped(secret, true)));
    parts.extend(SECRETS.iter().map(|secret| percent(secret, false)));
    parts.extend([
        encoded,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc".to_owned(),
        "sk-ant-api03-abcdefghijklmnopqrstuvwxyz".to_owned(),
    ]);
    parts.extend(
        [
            "-----BEGIN PRIVATE KEY-----\nMIIE\n",
            "-----END PRIVATE KEY-----",
            "hunter2-",
            "\\u0068",
            "%68u",
            "\\",
            "\\\\",
            "\n",
            " ",
            "\"",
            "task-",
            "ghp_",
            "é",
            "://u:p@ss\\u0026",
            "@h",
            "\r\n",
            "\\n",
            "\\\\n\\t",
            "\u{1b}[1m",
            "\\u001b[0m",
            "\0",
            "=\n",
            "hunter\n  2-hun\u{1b}[0mter2",
            "correct\n  horse\\n battery",
            "68756e74\n6572322d68756e74657232",
            "&#104;&#117;&#110;&#116;er2-hunter2",
        ]
        .map(str::to_owned),
    );
    let part = prop_oneof![
        8 => proptest::sample::select(parts).prop_flat_map(|part| {
            let bytes = part.into_bytes();
            (0..=bytes.len(), 0..=bytes.len()).prop_map(move |(a, b)| {
                // Mostly whole.
                if (a + b) % 3 == 0 { bytes[a.min(b)..a.max(b)].to_vec() } else { bytes.clone() }
            })
        }),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
        1 => (0..1_500usize).prop_map(|n| b"z".repeat(n)),
    ];
    proptest::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

#[test]
fn a_value_that_is_little_else_than_a_shells_quotes_is_masked() {
    for value in [r"'\'\''8é", r"'\'''\''8"] {
        let in_json = serde_json::json!({ "t": value }).to_string();
        let nested = serde_json::json!({ "t": in_json }).to_string();
        for text in [value, &in_json, &nested, &format!("front'{value}'behind")] {
            let mut masked = Redactor::new([value]).mask_text(text);
            while let Ok(found) = serde_json::from_str::<serde_json::Value>(&masked) {
                masked = found["t"].as_str().unwrap_or_default().to_owned();
            }
            assert!(!masked.contains(value), "{masked} of {text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_in_pieces_is_masked_as_the_whole(bytes in hostile(), cuts in proptest::collection::vec(1..400usize, 1..40)) {
        let redactor = redactor();
        let whole = redactor.mask(&bytes).into_owned();
        let mut masker = redactor.stream();
        let mut out = Vec::new();
        let mut rest = bytes.as_slice();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, more) = rest.split_at((*cut).min(rest.len()));
            out.extend(masker.push(piece));
            rest = more;
        }
        out.extend(masker.finish());
        prop_assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&whole));
        for secret in SECRETS {
            prop_assert!(!String::from_utf8_lossy(&whole).contains(secret));
        }
    }

    #[test]
    fn valid_json_stays_valid_and_its_strings_lose_the_value(
        (value, line) in value_in_json(),
        cuts in proptest::collection::vec(1..20usize, 1..9),
    ) {
        let redactor = Redactor::new([value.as_str()]);
        let mut masker = redactor.stream();
        let mut text = Vec::new();
        let mut rest = line.as_bytes();
        for cut in cuts.iter().cycle() {
            let (piece, more) = rest.split_at((*cut).min(rest.len()));
            text.extend(masker.push(piece));
            rest = more;
            if rest.is_empty() {
                break;
            }
        }
        text.extend(masker.finish());
        let mut text = String::from_utf8_lossy(&text).into_owned();
        prop_assert_eq!(&text, &redactor.mask_text(&line));
        // Each string in a string is one more line.
        while let Ok(found) = serde_json::from_str::<serde_json::Value>(&text) {
            text = found["t"].as_str().unwrap_or_default().to_owned();
            prop_assert!(!text.contains(trimmed(&value)), "{}", text);
        }
        prop_assert!(!text.starts_with("{\"t\""), "no JSON any more: {} in {}", text, line);
    }

    #[test]
    fn a_number_in_json_stays_a_number(value in "-?[1-9][0-9]{3,5}[.e]?[0-9]{4}", before in "-?[1-9]?", behind in "[0-9]{0,3}") {
        let line = format!(r#"{{"n":{before}{value}{behind},"t":"{value}"}}"#);
        let masked = Redactor::new([value.as_str()]).mask_text(&line);
        prop_assert!(!masked.contains(&value), "{}", masked);
        // Any number, also one that is too large for a float.
        let read = serde_json::from_str::<&serde_json::value::RawValue>(&masked);
        prop_assert!(read.is_ok(), "{} in {}", masked, line);
    }

    #[test]
    fn byte_by_byte_is_as_good(bytes in hostile()) {
        let redactor = redactor();
        let mut masker = redactor.stream();
        let mut out: Vec<u8> = bytes.iter().flat_map(|byte| masker.push(&[*byte])).collect();
        out.extend(masker.finish());
        prop_assert_eq!(out, redactor.mask(&bytes).into_owned());
    }
}
