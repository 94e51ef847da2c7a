//! What pages of listings have in common.

use std::collections::HashSet;

use s3_documents::encoding::decode_form;
use stayput_guard::port::PortError;

use crate::failure::Call;

/// Refuses a listing that leads back to a page that was read already: it would never end.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    seen: HashSet<(String, String)>,
}

impl Pages {
    /// The token of the next page, if it is a new one. `rest`: the second half of a token that has two.
    pub(crate) fn next(
        &mut self,
        call: Call<'_>,
        token: Option<&str>,
        rest: Option<&str>,
    ) -> Result<(), PortError> {
        let Some(token) = token else {
            return Err(call.nonsense("the listing says that it goes on, but not where"));
        };
        let pair = (token.to_owned(), rest.unwrap_or_default().to_owned());
        if self.seen.insert(pair) {
            Ok(())
        } else {
            Err(call.nonsense(format!(
                "the listing leads back to {token:?}, which was read already"
            )))
        }
    }
}

/// Undoes `encoding-type=url`, which is form encoding, where the server says that it did it.
pub(crate) fn decoded(call: Call<'_>, encoded: bool, text: &str) -> Result<String, PortError> {
    if !encoded {
        return Ok(text.to_owned());
    }
    decode_form(text)
        .map(std::borrow::Cow::into_owned)
        .map_err(|e| call.nonsense(format!("{text:?} in the listing can't be decoded: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_that_goes_round_is_refused() {
        let call = Call::on("ListObjectVersions", "b", "p/");
        let mut pages = Pages::default();
        assert!(pages.next(call, Some("a"), Some("1")).is_ok());
        assert!(pages.next(call, Some("a"), Some("2")).is_ok());
        assert!(pages.next(call, Some("a"), Some("1")).is_err());
        assert!(pages.next(call, None, None).is_err());
    }

    #[test]
    fn keys_are_decoded_once_and_only_if_they_were_encoded() {
        let call = Call::on("ListObjectsV2", "b", "");
        assert_eq!(decoded(call, true, "a+b%2Bc%0A").as_deref(), Ok("a b+c\n"));
        assert_eq!(decoded(call, false, "a+b%2B").as_deref(), Ok("a+b%2B"));
        assert!(decoded(call, true, "100%").is_err());
    }
}
