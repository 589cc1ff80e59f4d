//! Packs trials' documents for the page: JSON, deflated, in base64. The documents of one skill share most of their text
//! (the skill itself, the names of all skills). The page has that text once, and each document is deflated after it.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;

/// The shared text is this many bytes of the start, and of the end, of a skill's first document.
const HALF: usize = 6 * 1024;

/// Separates the shared text from a document; never in JSON.
const END: u8 = 0;

#[derive(Debug)]
pub struct PackedDocument {
    /// The place of its shared text.
    pub behind: usize,
    pub text: Vec<u8>,
}

/// Packs documents, and writes them into the page.
#[derive(Debug, Default)]
pub struct Packer {
    by_skill: HashMap<String, usize>,
    common: Vec<SharedTexts>,
    written: BTreeSet<usize>,
}

/// The text that the documents of a skill share.
#[derive(Debug)]
struct SharedTexts {
    plain: Vec<u8>,
    /// Deflated up to a whole byte, so that a document can follow.
    deflated: Vec<u8>,
}

impl Packer {
    pub fn pack(&mut self, skill: &str, document: &impl Serialize) -> io::Result<PackedDocument> {
        let json = serde_json::to_vec(document)?;
        let behind = *self.by_skill.entry(skill.to_owned()).or_insert(self.common.len());
        if behind == self.common.len() {
            self.common.push(SharedTexts { plain: ends(&json), deflated: Vec::new() });
        }
        let common = &mut self.common[behind];
        let mut deflated = DeflateEncoder::new(Vec::new(), Compression::default());
        deflated.write_all(&common.plain)?;
        deflated.flush()?;
        let from = deflated.get_ref().len();
        deflated.write_all(&json)?;
        let mut deflated = deflated.finish()?;
        let own = deflated.split_off(from);
        common.deflated = deflated;
        Ok(PackedDocument { behind, text: STANDARD.encode(own).into_bytes() })
    }

    /// The most bytes of the page that shared texts take.
    pub fn common_length(&self) -> u64 {
        let lengths = self.common.iter().filter_map(|common| base64::encoded_len(common.deflated.len(), true));
        lengths.sum::<usize>() as u64
    }

    /// Writes a packed document. `place` is the place of its trial in the index.
    pub fn write(&mut self, out: &mut impl Write, place: usize, packed: &PackedDocument) -> io::Result<()> {
        let behind = packed.behind;
        if let Some(common) = self.common.get(behind).filter(|_| self.written.insert(behind)) {
            let common = STANDARD.encode(&common.deflated);
            writeln!(out, "<script type=\"text/plain\" id=\"c{behind}\">{common}</script>")?;
        }
        write!(out, "<script type=\"text/plain\" id=\"t{place}\" data-behind=\"c{behind}\">")?;
        out.write_all(&packed.text)?;
        out.write_all(b"</script>\n")
    }
}

/// The start and the end of a document, with a separator.
fn ends(json: &[u8]) -> Vec<u8> {
    let (from, to) = (json.len().min(HALF), json.len().saturating_sub(HALF));
    [&json[..from], &json[to.max(from)..], &[END]].concat()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn unpacked(packer: &Packer, document: &PackedDocument) -> String {
        let common = &packer.common[document.behind].deflated;
        let own = STANDARD.decode(&document.text).expect("base64");
        let mut text = String::new();
        flate2::read::DeflateDecoder::new([common.as_slice(), &own].concat().as_slice())
            .read_to_string(&mut text)
            .expect("deflated");
        text.split_once('\0').expect("an end").1.to_owned()
    }

    #[test]
    fn what_documents_of_a_skill_have_in_common_is_packed_once() {
        let mut packer = Packer::default();
        let numbers: Vec<String> = (0..400).map(|number| (number * 7919 % 1009).to_string()).collect();
        let skill = numbers.join(" ");
        let documents: Vec<String> = (0..4).map(|number| format!("{skill} trial {number}")).collect();
        let all: Vec<PackedDocument> =
            documents.iter().map(|document| packer.pack("greeting", document).expect("packed")).collect();
        for (document, packed) in documents.iter().zip(&all) {
            assert_eq!(unpacked(&packer, packed), serde_json::to_string(document).expect("JSON"));
            assert!(packed.text.len() < 100, "{}", packed.text.len());
        }
        let other = packer.pack("minutes", &"\0 and\u{2028}é").expect("packed");
        assert_eq!((other.behind, unpacked(&packer, &other).as_str()), (1, "\"\\u0000 and\u{2028}é\""));
        let mut page = Vec::new();
        for (place, packed) in all.iter().enumerate() {
            packer.write(&mut page, place, packed).expect("written");
        }
        let page = String::from_utf8(page).expect("UTF-8");
        assert_eq!((page.matches("id=\"c").count(), page.matches("id=\"t").count()), (1, 4));
        let length = |from: &str| page.split_once(from).expect(from).1.split('<').next().map_or(0, str::len) as u64;
        let others = STANDARD.encode(&packer.common[1].deflated).len() as u64;
        assert_eq!(packer.common_length(), length("id=\"c0\">") + others);
    }

    #[test]
    fn a_long_document_gives_its_beginning_and_its_end() {
        assert_eq!(ends(&vec![b'x'; 5 * HALF]).len(), 2 * HALF + 1);
        assert_eq!(ends(b"short"), b"short\0");
        assert_eq!(ends(&vec![b'x'; HALF + 3]).len(), HALF + 4);
    }
}
