//! Sidecars outlive the program that wrote them.

use sha2::{Digest, Sha256};
use stayput_hostile::corpus;
use stayput_hostile::target::Target;

/// Of what format 1 says of all that real systems wrote, the first eight bytes of the SHA-256.
const SAID: &str = "2267de8f5984cbec";

/// What an older build read wrongly would be believed for ever: whoever changes what is read must count up `FORMAT` in `stayput_core::sidecar`.
#[test]
fn what_is_read_out_of_real_files_changes_only_with_the_format() {
    let seeds = corpus::seeds(Target::named("sidecar").expect("a target")).expect("the test corpus");
    let mut said = Sha256::new();
    for (_, content) in &seeds {
        said.update(content);
    }
    let said: String = said
        .finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        said,
        SAID,
        "{} sidecars say something else. If files were added to the corpus, put the new sum here; if what is read has changed, count up FORMAT too",
        seeds.len()
    );
}
