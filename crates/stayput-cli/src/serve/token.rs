//! The secret that senders of notifications know.

use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq;

use super::TOKEN;

/// Whoever guesses tries so many at least.
const SHORTEST: usize = 16;

/// A secret text.
#[derive(Clone)]
pub struct Token(String);

/// It is never shown.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Why a token can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// Its file can't be read.
    #[error("{}: {source}", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is short, or has characters that no URL has.
    #[error(
        "the token must have at least {SHORTEST} characters, of A-Z, a-z, 0-9, - and _ alone: make one with `openssl rand -hex 24`"
    )]
    NoToken,
}

impl Token {
    /// From the file, else from the variable, else none.
    ///
    /// # Errors
    /// The file can't be read, or what is there is no token.
    pub fn read(file: Option<&Path>) -> Result<Option<Self>, TokenError> {
        let text = match file {
            Some(file) => std::fs::read_to_string(file).map_err(|source| TokenError::File {
                file: file.to_owned(),
                source,
            })?,
            None => match std::env::var(TOKEN) {
                Ok(text) => text,
                Err(_) => return Ok(None),
            },
        };
        Self::parse(text.trim()).map(Some)
    }

    /// A token as it is sent.
    ///
    /// # Errors
    /// It is short, or has other characters than URLs have.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if text.len() < SHORTEST || !text.bytes().all(plain) {
            return Err(TokenError::NoToken);
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether this is it. How long that takes tells its length and nothing else.
    pub fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::Token;

    #[test]
    fn only_the_whole_token_is_it() {
        let token = Token::parse("0123456789abcdef").unwrap();
        assert!(token.is("0123456789abcdef"));
        for other in ["", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF"] {
            assert!(!token.is(other), "{other}");
        }
        assert!(!format!("{token:?}").contains('0'));
        for none in ["", "short", "with spaces in it, and long", "0123456789abcde/"] {
            assert!(Token::parse(none).is_err(), "{none}");
        }
    }
}
