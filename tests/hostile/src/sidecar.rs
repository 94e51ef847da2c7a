//! What must hold of whatever stands between the head and the seal of a sidecar.

use sha2::{Digest, Sha256};
use stayput_core::location::ObjectLocation;
use stayput_core::metadata::enter;
use stayput_core::reference_index::ReferenceIndex;
use stayput_core::root::Roots;
use stayput_core::sidecar::{Of, Recorder, Sidecar};

use crate::memory::bounded;

const ETAG: &str = "0123456789abcdef";
const SEAL: usize = 16;

fn metadata() -> ObjectLocation {
    ObjectLocation::new("bucket", "flink/job/chk-7/_metadata")
}

/// The head of every sidecar under test, as the table of `stayput_core::sidecar` says: these texts are short, so that a length is one byte.
fn head() -> Vec<u8> {
    let mut head = b"STAYREFS\x01".to_vec();
    let at = metadata();
    for text in [env!("CARGO_PKG_VERSION"), at.bucket(), at.key(), ETAG] {
        head.push(u8::try_from(text.len()).expect("a short text"));
        head.extend_from_slice(text.as_bytes());
    }
    head.push(100);
    head
}

fn of(at: &ObjectLocation) -> Of<'_> {
    Of {
        metadata: at,
        etag: ETAG,
        size: 100,
    }
}

/// Opens bytes as a sidecar's content, sealed. What opens is entered, and names no more than it has bytes for. Gives whether it opens.
///
/// # Panics
/// Something doesn't hold.
pub fn check(content: &[u8]) -> bool {
    let at = metadata();
    let mut bytes = head();
    bytes.extend_from_slice(content);
    let seal = Sha256::digest(&bytes);
    bytes.extend_from_slice(&seal[..SEAL]);
    let most = 24 * bytes.len() + 256 * 1024;
    let Ok(sidecar) = bounded("opening", most, || Sidecar::open(bytes, of(&at))) else {
        return false;
    };
    let mut index = ReferenceIndex::new();
    let roots = Roots::new(Vec::new());
    let facts = bounded("entering", most, || sidecar.enter(&roots, [], &mut index)).expect("room");
    let named: Vec<_> = index.objects_of(facts.references).collect();
    assert!(named.len() <= content.len());
    for object in named {
        let location = index.location(object);
        assert_eq!(index.find(&location), Some(object), "{location}");
        assert!(!index.extents(object).is_empty());
    }
    true
}

/// The content of the sidecar of a `_metadata`; `None` if that can't be read.
pub fn content_of(file: &[u8]) -> Option<Vec<u8>> {
    let at = metadata();
    let (mut index, roots) = (ReferenceIndex::new(), Roots::new(Vec::new()));
    let recorder = Recorder::of(of(&at), false);
    let entered = enter(file, &at, &roots, [], &mut index, Some(recorder)).ok()?;
    let sidecar = entered.sidecar?;
    let content = sidecar.strip_prefix(head().as_slice())?;
    Some(content[..content.len() - SEAL].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is changed in a real one: its seal says so, and if the seal is made again, it opens whole or not at all.
    #[test]
    fn no_change_in_a_sidecar_goes_unseen() {
        let file = crate::large::metadata(7, 10, &["s3://bucket/flink/job/shared/a".to_owned()]);
        let content = content_of(&file).expect("a whole file");
        assert!(check(&content));
        let at = metadata();
        let mut whole = head();
        whole.extend_from_slice(&content);
        let seal = Sha256::digest(&whole);
        whole.extend_from_slice(&seal[..SEAL]);
        assert!(Sidecar::open(whole.clone(), of(&at)).is_ok());
        for place in 0..whole.len() {
            assert!(Sidecar::open(whole[..place].to_vec(), of(&at)).is_err());
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[place] ^= 1 << bit;
                assert!(
                    Sidecar::open(changed, of(&at)).is_err(),
                    "bit {bit} of byte {place}"
                );
            }
        }
        for place in 0..content.len() {
            assert!(!check(&content[..place]), "cut off at {place}");
            for byte in 0..=255 {
                let mut changed = content.clone();
                changed[place] = byte;
                check(&changed);
            }
        }
    }
}
