//! Numbers for people. Programs take the JSON forms, which are exact.

use std::fmt;

use bytesize::ByteSize;

/// A number of bytes: exact below 1 KiB, else with one decimal.
#[derive(Clone, Copy, Debug)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ByteSize::b(self.0).display().iec().fmt(f)
    }
}

/// A number of things, with the word for one and for many.
#[derive(Clone, Copy, Debug)]
pub struct Count<'a>(pub u64, pub &'a str, pub &'a str);

impl fmt::Display for Count<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(n, one, many) = *self;
        write!(f, "{n} {}", if n == 1 { one } else { many })
    }
}

/// Rows with aligned columns; columns that hold numbers are aligned to the right.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
}

impl Table {
    /// A table whose columns of these numbers are aligned to the right.
    pub fn new(right: &[usize]) -> Self {
        Self {
            rows: Vec::new(),
            right: right.to_vec(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Writes it, each row behind `indent` spaces.
    ///
    /// # Errors
    /// As the writer says.
    pub fn write(&self, out: &mut dyn std::io::Write, indent: usize) -> std::io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = " ".repeat(indent);
            for (column, (cell, width)) in row.iter().zip(widths.iter().copied()).enumerate() {
                if column > 0 {
                    line.push_str("  ");
                }
                // By hand: `format!` takes no width above 65,535, and names can be longer.
                let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
                if self.right.contains(&column) {
                    line.extend([padding.as_str(), cell]);
                } else {
                    line.extend([cell, padding.as_str()]);
                }
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
